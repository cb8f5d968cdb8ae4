package node_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"bellows"
	"bellows/internal/require"
	"bellows/node"
	"bellows/train"
)

// gambler is an executor whose tasks use one generator in sequence.
type gambler struct {
	*rand.PCG
	before func(*train.Task)
}

func (g *gambler) RunTask(t *train.Task) error {
	if g.before != nil {
		g.before(t)
	}
	row := make([]float32, 2)
	for i := range row {
		row[i] = t.PullRange(0, 0, 8)[i]/8 + rand.New(g).Float32()
	}
	t.PushRow(0, bellows.RowID(t.Split()), row)
	return nil
}

func (g *gambler) Save(to []byte) ([]byte, error) { return g.AppendBinary(to) }

func (g *gambler) Restore(version uint32, state []byte) error {
	if version != 3 {
		return errors.New("it is of another version")
	}
	return g.UnmarshalBinary(state)
}

// gambling returns a job of gamblers, whose states are saved.
func gambling(rounds int, before func(*train.Task)) train.Job {
	j := job(rounds, nil)
	j.NewExecutor = func(s bellows.SplitID) (train.Executor, error) {
		return &gambler{rand.NewPCG(uint64(s), 1), before}, nil
	}
	if err := train.SaveExecutors(&j, 3, 64); err != nil {
		panic(err)
	}
	return j
}

// TestExecutorsGoOnWithTheirSplits: what they keep goes to other nodes, there and back, and the result is that of the quiet job.
func TestExecutorsGoOnWithTheirSplits(t *testing.T) {
	t.Parallel()
	quiet := runAlone(t, gambling(40, nil), node.Options{})
	g := &growth{t: t, job: func() train.Job { return gambling(40, nil) }}
	g.oneToThree(4)
	g.check(quiet, 4)
}

// TestExecutorsGoOnWithASavedRun stops a job in each of its clocks.
func TestExecutorsGoOnWithASavedRun(t *testing.T) {
	t.Parallel()
	const rounds = 8
	whole := runAlone(t, gambling(rounds, nil), node.Options{})
	resumed := 0
	for stop := range rounds {
		ctx, cancel := context.WithCancel(context.Background())
		r, err := node.Train(ctx, gambling(rounds, func(t *train.Task) {
			if int(t.Clock()) == stop {
				cancel()
			}
		}), node.Options{})
		if err == nil && r.Image != nil {
			resumed++
			r, err = node.Train(context.Background(), gambling(rounds, nil), node.Options{Lanes: 2, Resume: r.Image})
		}
		cancel()
		require.NoError(t, err)
		for i := range whole.Tables {
			if !slices.Equal(r.Tables[i], whole.Tables[i]) {
				t.Errorf("stopped in clock %d: table %d is another", stop, i)
			}
		}
	}
	if resumed < rounds/2 {
		t.Errorf("%d runs were interrupted", resumed)
	}
}

// TestSplitsThatStayAreNotMoved checks that, and that their saved run cannot resume: the sentence is the application's.
func TestSplitsThatStayAreNotMoved(t *testing.T) {
	t.Parallel()
	const why = "each holds a game that is being played"
	make := func() train.Job {
		j := job(40, drift)
		j.Stays = why
		return j
	}
	g := &growth{t: t, job: make}
	g.script = []func(){
		func() { g.add(1, 0) },
		func() {
			_, err := g.commands.MoveSplit(context.Background(), 2, 1)
			if err == nil || bellows.KindOf(err) != bellows.Config || !errorSays(err, "2: it stays at node 0") || !errorSays(err, why) {
				t.Errorf("split 2 is moved: %v", err)
			}
			if err := g.commands.StaySplit(context.Background(), 2); err != nil {
				t.Error(err)
			}
			l, err := g.commands.Layout(context.Background())
			if err != nil || l.Stays != why || slices.ContainsFunc(l.Splits, func(n bellows.NodeID) bool { return n != 0 }) {
				t.Errorf("layout %+v, %v", l, err)
			}
		},
	}
	if _, err := g.run(node.Options{}); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	j := make()
	j.NewExecutor = func(bellows.SplitID) (train.Executor, error) {
		return task(func(t *train.Task) error { cancel(); return drift(t) }), nil
	}
	r, err := node.Train(ctx, j, node.Options{})
	if err != nil || r.Image == nil {
		t.Fatalf("image %v, %v", r.Image, err)
	}
	if _, err := node.Train(context.Background(), make(), node.Options{Resume: r.Image}); err == nil || bellows.KindOf(err) != bellows.Refused || !strings.Contains(err.Error(), why) {
		t.Errorf("it goes on: %v", err)
	}
}
