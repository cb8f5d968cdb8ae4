package main

import (
	"fmt"
	"strconv"

	"bellows/app/lda"
	"bellows/bench/internal/pair"
	"bellows/bench/internal/trial"
)

// wanted is the least speed of the sparse sampler at 100 topics on 20 Newsgroups, tokens a second and core, over the
// first sweeps.
const (
	wanted      = 1.9e6
	speedTopics = 100
	speedSweeps = 50
)

// samplers are the values of the setting, the default first.
var samplers = []string{"sparse", "mh"}

// loglik is the metric that both sides are held against.
const loglik = "test_loglik_per_token"

// setup returns a run on one compute slot that ends after some sweeps.
func (c *corpus) setup(topics, sweeps int, sampler string) trial.Setup {
	return trial.Setup{App: lda.New(), Data: c.train, Test: c.test, Epochs: sweeps, Slots: 1,
		Settings: map[string]string{"topics": strconv.Itoa(topics), "sampler": sampler}}
}

// alternate trains turn by turn with every sampler. No turn is thrown away: one lasts seconds and warms itself up.
func (b *bench) alternate(c *corpus, topics, sweeps int) [][]*trial.Outcome {
	runs := make([][]*trial.Outcome, len(samplers))
	for range b.Turns {
		for i, sampler := range samplers {
			runs[i] = append(runs[i], c.setup(topics, sweeps, sampler).Train())
		}
	}
	return runs
}

// speed shows both samplers over the first sweeps.
func (b *bench) speed(c *corpus) {
	runs := b.alternate(c, speedTopics, speedSweeps)
	for i, sampler := range samplers {
		least := 0.0
		if sampler == samplers[0] && !b.shelf.Generated() {
			least = wanted
		}
		b.rates(fmt.Sprintf("%s, %d topics, %d sweeps", sampler, speedTopics, speedSweeps), runs[i], speedSweeps, least)
	}
}

// turns returns some runs to the end of a sweep, each a turn.
func turns(runs []*trial.Outcome, sweep int) (series pair.Series) {
	for _, out := range runs {
		series.Turns = append(series.Turns, out.Until(sweep))
	}
	return series
}

// rates adds the tokens a second of some runs to the end of a sweep: while sampling, by wall time, and of everything
// by CPU time, laying out the documents and scoring after every sweep included. Both are to be at least the bound, unless that is 0.
func (b *bench) rates(figure string, runs []*trial.Outcome, sweeps int, least float64) {
	series := turns(runs, sweeps)
	for _, by := range []struct {
		clock pair.Clock
		what  string
	}{{pair.Wall, figure}, {pair.CPU, "  with scoring, by CPU time"}} {
		fact := pair.Fact{Figure: by.what, Unit: "tokens/s", Ours: series.Rates(by.clock).Median}
		if least > 0 {
			fact.Peer, fact.Bound, fact.Least = "wanted", least, true
		}
		b.AddFact(fact)
	}
	value, _ := runs[0].Metric(loglik, sweeps)
	b.AddFact(pair.Fact{Figure: "  held-out log-likelihood per token", Unit: "nats", Ours: value, Exact: true})
}
