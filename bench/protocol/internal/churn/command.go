package churn

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"bellows"
	"bellows/app"
	"bellows/app/lda"
	"bellows/app/mf"
	"bellows/app/mlr"
	"bellows/bench/internal/pair"
	"bellows/core/visits"
	"bellows/data/demo"
	"bellows/node/elastic"
	"bellows/node/launch"
	"bellows/train"
)

// application is one that trains, on a set that is made from a seed.
type application struct {
	name     string
	app      app.Application
	settings map[string]string
	epochs   int
}

var applications = []application{
	{"mf", mf.New(), map[string]string{"splits": "12"}, 200},
	{"mlr", mlr.New(), map[string]string{"splits": "12"}, 100},
	{"lda", lda.New(), map[string]string{"splits": "8", "topics": "4"}, 200},
}

// jobOf returns the job of an order, the same in each process, and what proves its visits.
func jobOf(order string) (train.Job, *visits.Proof) {
	var name string
	var epochs int
	pair.Must(fmt.Sscan(order, &name, &epochs))
	a := applications[slices.IndexFunc(applications, func(a application) bool { return a.name == name })]
	set := pair.Must(demo.Make(a.app.Describe().Data, 1))
	run := pair.Must(a.app.NewRun(app.Input{Data: set, Seed: 1, Epochs: epochs, Slots: 1, Settings: a.settings}))
	opens, clocks := 0, 0
	if c, ok := run.Job.Driver.(visits.Cycler); ok {
		opens, clocks = c.Cycle()
	}
	return run.Job, pair.Must(visits.NewProof(pair.Must(visits.State(run.Job.Splits, opens, clocks, run.Job.Items))))
}

// command changes the job's shape, one command after the other, sometimes two at once, until it is over. A refusal of
// an impossible command is an answer; any other failure is an error of this project.
func (c *churn) command(ctx context.Context, control *launch.Control, over <-chan struct{}) error {
	for {
		what, do := c.draw(ctx, control)
		c.out.Commands[what]++
		answers := []error{}
		if c.rng.IntN(4) == 0 { // and something else before it has come about
			other, also := c.draw(ctx, control)
			c.out.Commands[other]++
			first := make(chan error, 1)
			go func() { first <- do() }()
			time.Sleep(time.Duration(c.rng.IntN(50)) * time.Millisecond)
			answers = append(answers, also(), <-first)
		} else {
			answers = append(answers, do())
		}
		for _, err := range answers {
			if err == nil {
				c.out.Answers["done"]++
				continue
			}
			kind := bellows.KindOf(err)
			c.out.Answers[fmt.Sprintf("exit %d", kind.ExitCode())]++
			if c.out.Last = append(c.out.Last, err.Error()); len(c.out.Last) > 5 {
				c.out.Last = c.out.Last[1:]
			}
			if kind == bellows.Bug {
				return err
			}
		}
		select {
		case <-over:
			return nil
		case <-ctx.Done():
			return errors.New("a job does not end")
		case <-time.After(time.Duration(c.rng.IntN(100)) * time.Millisecond):
		}
	}
}

// draw returns a random command.
func (c *churn) draw(ctx context.Context, control *launch.Control) (what string, do func() error) {
	is := func(_ elastic.Result, err error) error { return err }
	someone := bellows.NodeID(1)
	if l, err := control.Layout(ctx); err == nil && len(l.Members) > 1 {
		someone = l.Members[1+c.rng.IntN(len(l.Members)-1)].Node
	}
	switch n := c.rng.IntN(10); {
	case n < 5:
		workers, servers := 1+c.rng.IntN(c.nodes), 0
		if c.rng.IntN(2) == 0 {
			servers = 1 + c.rng.IntN(min(3, c.nodes))
			workers = min(workers, c.nodes-1)
		}
		return "scale", func() error { return is(control.Scale(ctx, max(1, workers), servers)) }
	case n < 8:
		var notice time.Duration
		if c.rng.IntN(2) == 0 {
			notice = time.Duration(1+c.rng.IntN(3000)) * time.Millisecond
		}
		return "drain", func() error { return is(control.Drain(ctx, someone, notice)) }
	}
	role := elastic.Role(1 + c.rng.IntN(3))
	return "switch", func() error { return is(control.Switch(ctx, someone, role)) }
}
