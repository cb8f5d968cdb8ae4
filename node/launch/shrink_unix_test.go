//go:build unix

package launch

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"bellows"
	"bellows/internal/require"
	"bellows/node"
)

// TestAJobGrowsAndShrinksInProcesses begins with this process alone; two others join, its splits go there and come back, and the processes leave while it trains, and
// end without an error; then another one comes. The model is that of one process, bit for bit.
func TestAJobGrowsAndShrinksInProcesses(t *testing.T) {
	for name := range apps {
		job, err := ungated(name)
		require.NoError(t, err)
		quiet, err := node.Train(t.Context(), job, node.Options{})
		require.NoError(t, err)
		folder := t.TempDir()
		for n := range gates {
			makePipe(t, gate(folder, n))
		}
		t.Setenv(gateFolder, folder)
		l := processes(t, "grows "+name, "unix", nil)
		l.Members = []node.Member{{Slots: 1, Lanes: 1}}
		l.Control = &Control{}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		commanded := make(chan error, 1)
		go func() {
			err := shrink(ctx, l.Control, job.Splits, folder)
			if err != nil {
				cancel()
			}
			commanded <- err
		}()
		led, err := gated(name, folder)
		require.NoError(t, err)
		var left []bellows.NodeID
		r, err := l.Run(ctx, led, node.Options{OnChange: func(c node.Change) {
			if c.Kind == node.Left {
				left = append(left, c.Node)
			}
		}})
		cancel()
		if err := errors.Join(err, <-commanded); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		for i := range quiet.Tables {
			if !slices.Equal(r.Tables[i], quiet.Tables[i]) {
				t.Errorf("%s: table %d is not that of one process", name, i)
			}
		}
		if !slices.Equal(left, []bellows.NodeID{1, 2}) || r.Audit.Disagreements(true) != nil {
			t.Errorf("%s: %v left; audit %+v", name, left, r.Audit)
		}
	}
}

// shrink grows a job and lets it shrink again, a step at each gate.
func shrink(ctx context.Context, c *Control, splits int, folder string) error {
	var moving []<-chan error
	all := func(to ...bellows.NodeID) (err error) {
		for s := range splits {
			moved, refused := c.MoveSplit(ctx, bellows.SplitID(s), to[s%len(to)])
			moving = append(moving, moved)
			err = errors.Join(err, refused)
		}
		return err
	}
	rest := func() (err error) {
		for _, moved := range moving {
			select {
			case why := <-moved:
				err = errors.Join(err, why)
			case <-ctx.Done():
				return context.Cause(ctx)
			}
		}
		moving = nil
		return err
	}
	for n, step := range []func() error{
		func() error {
			errs := make(chan error, 2)
			for lanes := range 2 { // at the same time
				go func() {
					_, err := c.Add(ctx, 1, lanes)
					errs <- err
				}()
			}
			return errors.Join(<-errs, <-errs, all(1, 2))
		},
		func() error {
			if err := rest(); err != nil {
				return err
			}
			if err := c.Remove(ctx, 1); err == nil || !strings.Contains(err.Error(), "split") {
				return fmt.Errorf("a node with splits leaves, or is not told what it has: %w", err)
			}
			return all(0)
		},
		func() error {
			if err := rest(); err != nil {
				return err
			}
			if err := errors.Join(c.Remove(ctx, 1), c.Remove(ctx, 2)); err != nil {
				return err
			}
			f := c.grow.Load().fleet
			f.mu.Lock()
			defer f.mu.Unlock()
			if len(f.children) > 0 {
				return fmt.Errorf("%d processes are kept although their nodes have left", len(f.children))
			}
			return nil
		},
		func() error {
			n, err := c.Add(ctx, 1, 0)
			if err != nil || n != 3 {
				return fmt.Errorf("node %d comes back as node 3: %w", n, err)
			}
			return nil
		},
	} {
		at, err := openGate(ctx, gate(folder, n))
		if err != nil {
			return err
		}
		if err := errors.Join(step(), at.Close()); err != nil {
			return err
		}
	}
	return nil
}
