package mf

import (
	"context"
	"errors"
	"slices"
	"testing"

	"bellows"
	"bellows/app/apptest"
	"bellows/data"
	"bellows/progress"
)

// equal reports whether two lie alike, and have the same values.
func (b *blocks) equal(o *blocks) bool {
	return slices.Equal(b.ends, o.ends) && slices.Equal(b.user, o.user) && slices.Equal(b.item, o.item) && slices.Equal(b.rating, o.rating)
}

// TestSplitsApartLieAlike lays splits out one by one and some at a time, lets them go, and lays them out again.
func TestSplitsApartLieAlike(t *testing.T) {
	t.Parallel()
	many := Made{Users: 3000, Items: 200, Rank: 1, Each: 40, Mean: 0, Unit: 1, Seed: 3}
	wide := Made{Users: 70_000, Items: 50, Rank: 1, Each: 2, Mean: 0, Unit: 1, Seed: 3}
	for name, c := range map[string]struct {
		made   Made
		config config
	}{
		"several pieces": {many, config{schedule: strata, splits: 7, clocks: 3, rank: 300, biases: true, step: 0.02}},
		"wide parts":     {wide, config{schedule: strata, splits: 1, clocks: 2, rank: 1, step: 0.02}},
		"chosen":         {many, config{schedule: strata, rank: 7, step: 0.02}},
	} {
		for _, tested := range []bool{false, true} {
			set, _ := c.made.Sets()
			var more *data.RatingSet
			if tested {
				more = set.Select([]int32{5, 9, 2, 700, 5, 1234, 3, 1, 11, 13}).Ratings
				more.Users, more.User[0] = append(slices.Clone(more.Users), "nobody knows"), int32(len(more.Users))
				more.Items, more.Item[1] = append(slices.Clone(more.Items), "nor this"), int32(len(more.Items))
			}
			want, err := newProblem(c.config, set.Ratings, more)
			if err != nil {
				t.Fatal(err)
			}
			own := c.config
			own.apart, own.idle = true, set.Idle
			got, err := newProblem(own, set.Ratings, more)
			if err != nil {
				t.Fatal(err)
			}
			if *got.baseline != *want.baseline || got.heldOut != want.held.Rows() || got.tested != want.tested || got.scale != want.scale {
				t.Errorf("%s: %v, %d held out, %d tested, %v", name, got.baseline, got.heldOut, got.tested, got.scale)
			}
			if !slices.Equal(got.seenBy(set.Ratings), want.seenBy(set.Ratings)) {
				t.Errorf("%s: users have seen something else", name)
			}
			comeAndGo(t, name, got, want)
		}
	}
}

// comeAndGo holds splits that come and go at random against those of a problem that has all.
func comeAndGo(t *testing.T, name string, got, want *problem) {
	t.Helper()
	apptest.ComeAndGo(t, got.splits, got.prepare, got.release, func(s int, here bool) {
		g, w := &got.shares[s], &want.shares[s]
		if !slices.Equal(g.ends, w.ends) {
			t.Fatalf("%s: split %d has other items", name, s)
		}
		if here && !(g.blocks.equal(&w.blocks) && g.held.blocks.equal(&w.held.blocks) && g.test.blocks.equal(&w.test.blocks)) {
			t.Fatalf("%s: split %d is laid out in another way: training %v, held out %v, test %v", name, s, g.blocks.equal(&w.blocks), g.held.equal(&w.held.blocks), g.test.equal(&w.test.blocks))
		}
		if !here && len(g.user)+len(g.held.user)+len(g.test.user)+cap(g.user) > 0 {
			t.Fatalf("%s: split %d is laid out, and is not here", name, s)
		}
	})
}

// TestApartEndsWithItsContext ends the context of the meter at each step.
func TestApartEndsWithItsContext(t *testing.T) {
	t.Parallel()
	set, _ := small.Sets()
	ctx, end := context.WithCancel(t.Context())
	c := config{schedule: strata, splits: 3, clocks: 2, rank: 7, step: 0.02, apart: true, idle: set.Idle, meter: progress.New(ctx)}
	p, err := newProblem(c, set.Ratings, nil)
	if err != nil {
		t.Fatal(err)
	}
	end()
	if err := p.prepare([]bellows.SplitID{0, 2}); !errors.Is(err, context.Canceled) {
		t.Errorf("prepare returns %v", err)
	}
	if _, err := newProblem(c, set.Ratings, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("planning returns %v", err)
	}
}
