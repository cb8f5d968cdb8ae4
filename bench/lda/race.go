package main

import (
	"fmt"
	"math"

	"bellows/bench/internal/pair"
	"bellows/bench/internal/trial"
)

const (
	raceTopics = 1000
	// raceMargin is how far from the best likelihood that either sampler comes to a run has arrived, as a share.
	raceMargin = 0.005
)

// samplers shows both samplers where topics are many: speed, and the CPU time to a likelihood that is all but the best
// that either comes to.
func (b *bench) samplers(c *corpus) {
	sweeps := 20
	if b.Full {
		sweeps = 100
	}
	runs := b.alternate(c, raceTopics, sweeps)
	best := math.Inf(-1)
	for i, sampler := range samplers {
		b.rates(fmt.Sprintf("%s, %d topics, %d sweeps", sampler, raceTopics, sweeps), runs[i], sweeps, 0)
		value, _ := runs[i][0].Metric(loglik, sweeps)
		best = max(best, value)
	}
	goal := best * (1 + raceMargin)
	b.Note("the goal is %.4f: the better likelihood after %d sweeps, less %g %%", goal, sweeps, 100*raceMargin)
	for i, sampler := range samplers {
		b.arrive(sampler, runs[i], goal)
	}
}

// arrive adds the CPU time of a sampler to the goal, scoring after every sweep included.
func (b *bench) arrive(sampler string, runs []*trial.Outcome, goal float64) {
	got, sweep := runs[0].First(loglik, goal)
	if got < goal {
		b.Note("%s did not come to the goal: %.4f after %d sweeps", sampler, got, sweep)
		return
	}
	series := turns(runs, sweep)
	for i := range series.Turns {
		series.Turns[i].Work = 1
	}
	b.Add(pair.Row{Figure: fmt.Sprintf("%s to the goal: %d sweeps", sampler, sweep), Unit: "s", Cost: true, Clock: pair.CPU, Ours: series})
}
