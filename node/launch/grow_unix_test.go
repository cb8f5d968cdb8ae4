//go:build unix

package launch

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"bellows"
	"bellows/internal/require"
	"bellows/node"
)

// TestAJobGrowsInProcesses begins with one process that computes next to node 0. Two more are started while it trains,
// and its splits and partitions go there and back: the model is that of one process, bit for bit. A process that does
// not come does no harm.
func TestAJobGrowsInProcesses(t *testing.T) {
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
		l.Members = []node.Member{{Lanes: 1}, {Node: 1, Slots: 2}} // a slot more than the task in the gate has: what it waits for may wait for another task
		l.Control = &Control{}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		commanded := make(chan error, 1)
		go func() {
			err := command(ctx, t, l.Control, job.Splits, folder, name)
			if err != nil {
				cancel()
			}
			commanded <- err
		}()
		led, err := gated(name, folder)
		require.NoError(t, err)
		joined, moved, shifted := 0, 0, 0
		r, err := l.Run(ctx, led, node.Options{OnChange: func(c node.Change) {
			switch c.Kind {
			case node.Joined:
				joined++
			case node.Moved:
				moved += len(c.Splits)
				shifted += len(c.Partitions)
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
		if joined != 2 || moved < job.Splits || shifted < 2 || r.Audit.Disagreements(true) != nil {
			t.Errorf("%s: %d nodes came and %d splits and %d partitions moved; audit %+v", name, joined, moved, shifted, r.Audit)
		}
	}
}

// command changes the job, a step at each gate.
func command(ctx context.Context, t *testing.T, c *Control, splits int, folder, name string) error {
	all := func(to func(s int) bellows.NodeID) (err error) {
		for s := range splits {
			_, moving := c.MoveSplit(ctx, bellows.SplitID(s), to(s))
			err = errors.Join(err, moving)
		}
		return err
	}
	shift := func(to func(i int) bellows.NodeID) error { // and waits for all to have gone
		now, err := c.Layout(ctx)
		var told []<-chan error
		for i, p := range now.Partitions {
			moved, moving := c.MovePartition(ctx, p.PartitionRef, to(i))
			err = errors.Join(err, moving)
			told = append(told, moved)
		}
		for _, moved := range told {
			if err == nil {
				select {
				case err = <-moved:
				case <-ctx.Done():
					err = ctx.Err()
				}
			}
		}
		return err
	}
	for n, step := range []func() error{
		func() error {
			t.Setenv(childRole, "dead")
			n, err := c.Add(ctx, 2, 0)
			t.Setenv(childRole, "grows "+name)
			if n != 2 || err == nil || !strings.Contains(err.Error(), "out of memory") {
				return errors.Join(errors.New("a process that dies has joined, or does not say why"), err)
			}
			_, err = c.Add(ctx, 2, 1)
			return err
		},
		func() error {
			return errors.Join(all(func(int) bellows.NodeID { return 3 }), shift(func(int) bellows.NodeID { return 3 }))
		},
		func() error {
			n, err := c.Add(ctx, 2, 0)
			return errors.Join(err, all(func(s int) bellows.NodeID { return []bellows.NodeID{1, 3, n}[s%3] }),
				shift(func(i int) bellows.NodeID { return bellows.NodeID(3 * (i % 2)) }))
		},
		func() error { return all(func(int) bellows.NodeID { return 1 }) },
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
