package lda

import (
	"slices"
	"testing"

	"bellows"
	"bellows/app"
	"bellows/app/apptest"
	"bellows/table"
	"bellows/train"
)

// TestGrowthDoubles checks that the first splits have tokens enough, that each step doubles, and that all have joined
// when the opening ends.
func TestGrowthDoubles(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		splits        int
		tokens, least int64
		joins         []int32
		opens         int
	}{
		"one begins":     {6, 6000, 1000, []int32{0, 17, 26, 26, 31, 31}, 32},
		"two begin":      {8, 8000, 2000, []int32{0, 0, 17, 17, 26, 26, 26, 26}, 27},
		"too large part": {8, 8000, 2001, make([]int32, 8), 1},
		"all tokens":     {8, 8000, 8000, make([]int32, 8), 1},
		"one split":      {1, 8000, 1, make([]int32, 1), 1},
	} {
		if g := newGrowth(c.splits, c.tokens, c.least); !slices.Equal(g.joins, c.joins) || g.opens != c.opens {
			t.Errorf("%s: %v, %d", name, g.joins, g.opens)
		}
	}
	set := planted(40, 3, 1)
	for k, n := range set.Documents.Count {
		set.Documents.Count[k] = 900 * n
	}
	for topics, begin := range map[string]int{"3": 1, "150": 2, "400": 8} {
		in := app.Input{Data: set, Seed: 1, Settings: map[string]string{"topics": topics, "splits": "8"}}
		p := problemOf(t, in)
		if n := len(slices.DeleteFunc(slices.Clone(p.growth.joins), func(c int32) bool { return c > 0 })); n != begin {
			t.Errorf("%s topics and %d tokens: %d splits begin, not %d", topics, p.tokens, n, begin)
		}
		if p, err := newProblem(in, p.config, &warm{}); err != nil || p.growth.opens != 1 {
			t.Errorf("a run that begins with a model opens with %d clocks, %v", p.growth.opens, err)
		}
	}
}

// TestDocumentsJoinStepByStep checks a run whose documents join by steps: it counts every token once, with any
// consistency and sampler; gives one model for any number of slots if its sweeps wait for each other; and has a better
// first epoch than without.
func TestDocumentsJoinStepByStep(t *testing.T) {
	t.Parallel()
	for _, sampler := range []string{samplerSparse, samplerMH} {
		for _, staleness := range []int{0, 2, -1} {
			in := app.Input{Data: planted(300, 6, 1), Seed: 2, Epochs: 2, Staleness: &staleness,
				Settings: map[string]string{"topics": "6", "splits": "8", "clocks": "2", "sampler": sampler}}
			grown := func(slots int) ([][]float32, []train.Epoch, *problem) {
				p := problemOf(t, in)
				p.growth = newGrowth(p.splits, p.tokens, 1)
				run := p.run(&in)
				tables, epochs := apptest.Play(t, run, slots)
				return tables, epochs, p
			}
			tables, epochs, p := grown(1)
			consistent(t, in, tables)
			visits := p.before() - int64(p.items(0, 0).Len()) // the first clock makes what there is to visit
			if epochs[1].Items != 2*p.tokens+visits {
				t.Errorf("%s, staleness %d: %d tokens visited of %d, and %d before", sampler, staleness, epochs[1].Items, p.tokens, visits)
			}
			for s := range p.splits {
				if at := p.growth.joins[s]; s > 0 && (at == 0 || p.items(bellows.SplitID(s), bellows.Clock(at-1)).Len() != 0 || p.items(bellows.SplitID(s), bellows.Clock(at)).Len() == 0) {
					t.Errorf("split %d joins in clock %d", s, at)
				}
			}
			if staleness != 0 {
				continue
			}
			more, _, _ := grown(3)
			for i := range tables {
				if !slices.Equal(table.Counts(tables[i]), table.Counts(more[i])) {
					t.Errorf("%s: table %d differs between one slot and three", sampler, i)
				}
			}
			_, _, straight := trained(t, in, 1)
			const name = "test_loglik_per_token"
			if is, was := apptest.Metric(t, epochs[0].Metrics, name), apptest.Metric(t, straight[0].Metrics, name); is < was+0.3 {
				t.Errorf("%s: the first epoch comes to %.3f, and to %.3f without", sampler, is, was)
			}
		}
	}
}
