package main

import (
	"fmt"

	"bellows/bench/internal/pair"
	"bellows/bench/internal/trial"
)

// The first sweeps at many topics, while most words have hundreds of topics; with --full also the later ones, in which
// they have few; and the least speeds, tokens a second by CPU time.
const (
	manyTopics  = 1000
	manyEarly   = 12
	manyLate    = 100
	earlyWanted = 2e6
	lateWanted  = 4e6
)

// many shows the default sampler at many topics, one run for each seed: its speed and the likelihood that it reaches.
func (b *bench) many(c *corpus) {
	sweeps := manyEarly
	if b.Full {
		sweeps = manyLate
	}
	var runs []*trial.Outcome
	value := 0.0
	for seed := range b.Turns {
		setup := c.setup(manyTopics, sweeps, samplers[0])
		setup.Seed = uint64(seed + 1)
		runs = append(runs, setup.Train())
		after, _ := runs[seed].Metric(loglik, manyEarly)
		value += after / float64(b.Turns)
		b.Note("seed %d: %.4f after %d sweeps", seed+1, after, manyEarly)
	}
	early, late := turns(runs, manyEarly), pair.Series{}
	b.rate(fmt.Sprintf("%d topics, the first %d sweeps with scoring", manyTopics, manyEarly), early, earlyWanted)
	b.AddFact(pair.Fact{Figure: fmt.Sprintf("  held-out log-likelihood per token, mean of %d seeds", len(runs)), Unit: "nats", Ours: value, Exact: true})
	if !b.Full {
		return
	}
	for _, out := range runs {
		late.Turns = append(late.Turns, out.Whole(manyLate/2, manyLate))
	}
	b.rate(fmt.Sprintf("%d topics, sweeps %d to %d with scoring", manyTopics, manyLate/2+1, manyLate), late, lateWanted)
}

// rate adds the median of the tokens a second of a series by CPU time, which is to be at least the bound on real
// documents.
func (b *bench) rate(figure string, series pair.Series, least float64) {
	fact := pair.Fact{Figure: figure, Unit: "tokens/s", Ours: series.Rates(pair.CPU).Median}
	if !b.shelf.Generated() {
		fact.Peer, fact.Bound, fact.Least = "wanted", least, true
	}
	b.AddFact(fact)
}
