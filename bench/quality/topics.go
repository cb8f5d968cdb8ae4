package main

import (
	"context"
	"fmt"
	"maps"
	"strings"

	"bellows/app/lda"
	"bellows/bench/internal/pair"
	"bellows/bench/internal/trial"
	"bellows/data"
)

// The long runs of a topic model, and how far a run that stops early may be from them.
const (
	topicSeeds  = 5
	longEpochs  = 200
	shortfall   = 0.005 // of likelihood per token
	timeMost    = 0.5   // of their time
	testSalt    = 1000  // keeps the choice of test documents apart from that of held-out ones
	staleEpochs = 60
)

// priors keep α and β as they are.
var priors = map[string]string{"alpha": "0.05", "beta": "0.05"}

// papers returns the NIPS papers.
func (b *bench) papers(part string) (set *data.Set, found bool) {
	if b.shelf.Generated() {
		b.Note("%s is left out: no --data", part)
		return nil, false
	}
	path := b.shelf.Bag("nips")
	set = pair.Must(data.Read(context.Background(), []string{path}, data.Documents, data.Options{}))
	b.Section(part + ", " + path + ": " + set.Detected.String())
	return set, true
}

// reached returns the likelihood of held-out documents under the model that a run kept: of its best epoch if it stops
// early, else of its last one.
func reached(out *trial.Outcome, best bool) float64 {
	last, _ := out.Metric("test_loglik_per_token", len(out.Epochs))
	if !best {
		return last
	}
	for _, e := range out.Epochs {
		v, _ := out.Metric("test_loglik_per_token", e.Number)
		last = max(last, v)
	}
	return last
}

// topics compares runs that stop early with long ones, by the documents that are held out of both. These documents also
// stop the early runs; in the full form others, which stop nothing, are compared as well.
func (b *bench) topics() {
	set, found := b.papers("topics")
	if !found {
		return
	}
	b.endings("held-out", func(seed uint64) (ended, whole *trial.Outcome, short, long float64) {
		s := trial.Setup{App: lda.New(), Data: set, Slots: b.slots, Seed: seed, Settings: priors}
		ended = s.Train()
		s.Epochs = longEpochs
		whole = s.Train()
		return ended, whole, reached(ended, true), reached(whole, false)
	})
	if !b.Full {
		return
	}
	b.endings("test", func(seed uint64) (ended, whole *trial.Outcome, short, long float64) {
		rows, rest := data.HoldOut(seed+testSalt, set.Rows(), data.HeldAlone)
		train, test := set.Select(rows), set.Select(rest)
		s := trial.Setup{App: lda.New(), Data: train, Test: test, Slots: b.slots, Seed: seed, Settings: priors}
		ended = s.Train()
		// The long run leaves out the documents that end the short one, so that both learn from as many, and never ends by them.
		s.Epochs, s.Settings = longEpochs, map[string]string{"early_stop": "true", "patience": fmt.Sprint(longEpochs)}
		maps.Copy(s.Settings, priors)
		whole = s.Train()
		return ended, whole, ended.Score(test, "loglik_per_token"), reached(whole, false)
	})
}

// endings compares runs that stop early with long ones, over the seeds: each is a pair of runs, and the likelihoods of
// their documents.
func (b *bench) endings(documents string, runs func(seed uint64) (ended, whole *trial.Outcome, short, long float64)) {
	var shorts, longs, part []float64
	var each []string
	for seed := uint64(1); seed <= topicSeeds; seed++ {
		ended, whole, short, long := runs(seed)
		shorts, longs = append(shorts, short), append(longs, long)
		took, of := ended.Until(len(ended.Epochs)).CPU, whole.Until(longEpochs).CPU
		part = append(part, took.Seconds()/of.Seconds())
		each = append(each, fmt.Sprintf("%d epochs %.4f in %.1f s (%.4f in %.1f s)", len(ended.Epochs), short, took.Seconds(), long, of.Seconds()))
	}
	b.AddFact(pair.Fact{Figure: fmt.Sprintf("NIPS, %s likelihood at the end, mean of %d seeds", documents, topicSeeds), Ours: average(shorts),
		Peer: fmt.Sprintf("%d epochs %.4f, less %g:", longEpochs, average(longs), shortfall), Bound: average(longs) - shortfall, Least: true, Exact: true})
	b.AddFact(pair.Fact{Figure: "NIPS, part of their CPU time", Ours: average(part), Peer: "wanted", Bound: timeMost, Exact: true})
	b.Note("ended (after %d epochs) by seed, CPU time: %s", longEpochs, strings.Join(each, ", "))
}

// staleness compares the default's order with one in which tasks may miss the counts of the sweep before.
func (b *bench) staleness() {
	set, found := b.papers("staleness")
	if !found {
		return
	}
	side := func(stale int) (side pair.Side, last func() *trial.Outcome) {
		var out *trial.Outcome
		s := trial.Setup{App: lda.New(), Data: set, Slots: b.slots, Epochs: staleEpochs, Stale: &stale}
		return pair.Side{Name: fmt.Sprintf("staleness %d", stale), Run: pair.Measure(func() float64 {
			out = s.Train()
			return 1
		})}, func() *trial.Outcome { return out }
	}
	none, ours := side(0)
	one, theirs := side(1)
	b.Race(pair.Row{Figure: fmt.Sprintf("NIPS, %d epochs, %d threads", staleEpochs, b.slots), Unit: "s", Cost: true, Clock: pair.Wall}, none, one)
	b.AddFact(pair.Fact{Figure: "NIPS, held-out likelihood after them", Ours: reached(ours(), false), Peer: "staleness 1",
		Bound: reached(theirs(), false), Least: true, Exact: true})
}
