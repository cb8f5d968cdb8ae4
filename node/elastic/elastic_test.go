package elastic_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"bellows"
	"bellows/app"
	"bellows/app/lda"
	"bellows/app/linear"
	"bellows/app/mf"
	"bellows/app/mlr"
	"bellows/data/demo"
	"bellows/internal/require"
	"bellows/node"
	"bellows/policy/shape"
	"bellows/train"
)

// application is an application whose job is scaled.
type application struct {
	app      app.Application
	settings map[string]string
	epochs   int
	rests    bellows.Clock // clocks between two moments at which a split may move
}

var applications = map[string]application{
	"mlr":                       {mlr.New(), nil, 100, 11},
	"mf":                        {mf.New(), map[string]string{"splits": "8"}, 100, 2},
	"lda":                       {lda.New(), map[string]string{"splits": "6", "topics": "4", "clocks": "4"}, 100, 5},
	"linear by Newton's method": {linear.New(), map[string]string{"loss": "squared", "splits": "8"}, 100, 3},
	"linear by dual ascent":     {linear.New(), map[string]string{"loss": "svr", "splits": "8", "clocks": "10", "solver": "dual"}, 100, 11},
}

func (a *application) job(t *testing.T) train.Job {
	set, err := demo.Make(a.app.Describe().Data, 1)
	if err != nil {
		t.Error(err)
		return train.Job{}
	}
	epochs := a.epochs
	if testing.Short() {
		epochs /= 2 // its script has fewer changes
	}
	run, err := a.app.NewRun(app.Input{Data: set, Seed: 1, Epochs: epochs, Slots: 2, Settings: a.settings})
	if err != nil {
		t.Error(err)
		return train.Job{}
	}
	return run.Job
}

// TestApplicationsAreElastic takes applications through twenty changes (six with -short), from one node to five. Each
// reaches the requested shape, and the model is that of an undisturbed job, bit for bit.
func TestApplicationsAreElastic(t *testing.T) {
	t.Parallel()
	for name, a := range applications {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			job := func() train.Job { return a.job(t) }
			quiet, err := node.Train(context.Background(), job(), node.Options{})
			require.NoError(t, err)
			v := newVillage(t, job, 3*a.rests, node.Member{Slots: 1, Lanes: 1})
			rng := rand.New(rand.NewPCG(1, 3))
			var script []func(context.Context) error
			changes := 20
			if testing.Short() {
				changes = 6
			}
			for i := range changes {
				if i%5 == 0 {
					script = append(script, func(ctx context.Context) error { return v.workers(ctx, 2+i/5) })
					continue
				}
				script = append(script, func(ctx context.Context) error {
					_, err := v.shaper.Shape(ctx, anywhere(rng))
					return err
				})
			}
			r, err := v.run(script)
			require.NoError(t, err)
			v.equal(r, quiet)
			moved := 0
			for _, c := range v.changes {
				moved += len(c.Splits)
			}
			if moved < 2*changes {
				t.Errorf("%d splits have moved", moved)
			}
		})
	}
}

// anywhere gives each split to any node that runs tasks.
func anywhere(rng *rand.Rand) shape.Policy {
	return func(now shape.Snapshot) (shape.Decision, error) {
		want := now.Shape
		want.Splits = slices.Clone(want.Splits)
		var workers []bellows.NodeID
		for _, n := range now.Nodes {
			if n.Slots > 0 {
				workers = append(workers, n.ID)
			}
		}
		for s := range want.Splits {
			want.Splits[s] = workers[rng.IntN(len(workers))]
		}
		return shape.Decision{Shape: want, Reason: "it was drawn"}, nil
	}
}

// TestAWarnedNodeIsDrained warns a node that its process will end: its work moves elsewhere without a request.
func TestAWarnedNodeIsDrained(t *testing.T) {
	t.Parallel()
	a := applications["mf"]
	v := newVillage(t, func() train.Job { return a.job(t) }, 3*a.rests, node.Member{Slots: 1, Lanes: 1})
	if _, err := v.run([]func(context.Context) error{
		func(ctx context.Context) error { return v.workers(ctx, 3) },
		func(ctx context.Context) error {
			v.warned(2) <- time.Minute
			v.await(func(c node.Change) bool {
				return c.Kind == node.Planned && len(c.Steps) > 0 && strings.Contains(c.Sentence, "node-2 is to leave within ")
			})
			v.await(func(c node.Change) bool { return c.Kind == node.Moved && c.From == 2 })
			return nil
		},
	}); err != nil {
		t.Fatal(err)
	}
}

// workers makes so many nodes run tasks, and looks whether they do.
func (v *village) workers(ctx context.Context, n int) error {
	if _, err := v.shaper.Scale(ctx, n, 1); err != nil {
		return err
	}
	l, err := v.commands.Layout(ctx)
	if err != nil {
		return err
	}
	count := map[bellows.NodeID]int{}
	for _, at := range l.Splits {
		count[at]++
	}
	least, most := len(l.Splits), 0
	for _, c := range count {
		least, most = min(least, c), max(most, c)
	}
	if len(count) != n || most-least > 1 {
		return fmt.Errorf("splits are at %v, of %d nodes that are wanted", count, n)
	}
	return nil
}
