package lda

import (
	"context"
	"errors"
	"reflect"
	"testing"

	"bellows"
	"bellows/app"
	"bellows/app/apptest"
	"bellows/data"
	"bellows/data/demo"
	"bellows/progress"
)

// TestSplitsApartLieAlike lays splits out one by one and some at a time, lets them go, and lays them out again.
func TestSplitsApartLieAlike(t *testing.T) {
	t.Parallel()
	set, err := demo.Make(data.Documents, 1)
	if err != nil {
		t.Fatal(err)
	}
	another := set.Select([]int32{3, 1, 4, 15, 9, 2, 6})
	another.Documents.Vocab = append([]string{"nobody knows it"}, another.Documents.Vocab[1:]...)
	for _, test := range []*data.Set{nil, set.Select([]int32{5, 8, 13, 8}), another} {
		in := app.Input{Data: set, Test: test, Seed: 3, Settings: map[string]string{"topics": "5", "splits": "7", "clocks": "3"}}
		want := problemOf(t, in)
		in.Shared = true
		got := problemOf(t, in)
		if got.held != want.held || got.tested != want.tested || got.sampled != want.sampled || got.base != want.base || got.sampler != want.sampler || !reflect.DeepEqual(got.state, want.state) {
			t.Errorf("%d held out, %d tested, %d sampled of %d, %d and %d", got.held, got.tested, got.sampled, want.held, want.tested, want.sampled)
		}
		var held, tested, sampled int64
		for s := range want.scored {
			for _, b := range want.scored[s].held {
				held += scoredIn(b)
			}
			for _, b := range want.scored[s].test {
				tested += scoredIn(b)
			}
			for c := range want.clocks {
				u := &want.portions[s*want.clocks+c]
				for _, i := range u.train {
					sampled += int64(len(u.doc(int(i))))
				}
				if u.size != len(u.token) {
					t.Errorf("split %d clock %d has %d tokens, and is to have %d", s, c, len(u.token), u.size)
				}
			}
		}
		if held != want.held || tested != want.tested || sampled != want.sampled || held == 0 || sampled == 0 {
			t.Errorf("%d, %d and %d tokens are scored, and %d, %d and %d are to be", held, tested, sampled, want.held, want.tested, want.sampled)
		}
		comeAndGo(t, got, want)
	}
}

func scoredIn(b bag) (n int64) {
	for _, c := range b.score {
		n += int64(c)
	}
	return n
}

// comeAndGo holds splits that come and go at random against those of a problem that has all.
func comeAndGo(t *testing.T, got, want *problem) {
	t.Helper()
	apptest.ComeAndGo(t, got.splits, got.prepare, got.release, func(s int, here bool) {
		for c := range got.clocks {
			g, w := got.portions[s*got.clocks+c], want.portions[s*got.clocks+c]
			if !here {
				w = portion{size: w.size, first: w.first, begin: w.begin}
			}
			if !reflect.DeepEqual(g, w) {
				t.Fatalf("split %d clock %d, here: %v, is laid out in another way", s, c, here)
			}
		}
		switch {
		case here && !reflect.DeepEqual(got.scored[s], want.scored[s]):
			t.Fatalf("split %d scores something else", s)
		case !here && !reflect.DeepEqual(got.scored[s], scoreBatch{}):
			t.Fatalf("split %d is not here, and scores", s)
		}
	})
}

func TestApartEndsWithItsContext(t *testing.T) {
	t.Parallel()
	set, err := demo.Make(data.Documents, 1)
	if err != nil {
		t.Fatal(err)
	}
	ctx, end := context.WithCancel(t.Context())
	in := app.Input{Data: set, Seed: 3, Shared: true, Meter: progress.New(ctx), Settings: map[string]string{"topics": "5"}}
	p := problemOf(t, in)
	end()
	if err := p.prepare([]bellows.SplitID{0, 2}); !errors.Is(err, context.Canceled) {
		t.Errorf("prepare returns %v", err)
	}
	c, err := newConfig(in)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := newProblem(in, c, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("planning returns %v", err)
	}
}
