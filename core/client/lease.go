package client

import (
	"fmt"
	"slices"

	"bellows"
	"bellows/core/planted"
	"bellows/link/wire"
)

// A lease is asked for like rows, but of one partition at a time, and not before the split's own updates of it are
// committed (acquire). While it is out its lane keeps commits out of the partition: behind a shared one until the task
// ends (unpin), behind an exclusive one until the flush is committed whose push brings the slab back. Within a node the
// grant is the slab itself and writes are in place; between nodes both are copies (docs/decisions/0004).

// leaseGrant is a lease that the task has.
type leaseGrant struct {
	task   *Task // of the split, whichever unit it runs by now
	number int
	lane   int           // that has given it: its index in Client.lanes
	grant  *wire.Granted // freed when nobody looks at its values any more
}

// A task that holds a lease and waits may be waited for by the tasks for which it waits: a
// deadlock. These rules leave no circle; a task that breaks one is refused by name, however it
// would have come out:
//
//   - Leases are taken in ascending order of (table, partition): who waits for one waits for
//     holders further on.
//   - A read that must wait for an answer is of a partition further on than all that are leased,
//     and a task with an exclusive lease waits for none. What such a read waits for are holders
//     further on, as a lease would, or records, which no lease keeps from being made.
//   - Neither a read nor another lease must see a clock that is newer than what the leases have
//     shown: its gate opens with tasks of other splits, which may wait for these leases
//     (TestATaskThatOthersWaitForDoesNotWaitForThem). Commits that it must see are recorded
//     already.
//
// Turned down: to let the lane find the circle. It knows of leases and of parked reads, but not
// which task is behind both.

// wouldDeadlock says which rule the task, which holds leases, breaks if it waits for a partition
// with a need; nil: none.
func (t *Task) wouldDeadlock(what string, n int, need wire.Need) error {
	for _, list := range [][]leaseGrant{t.leases, t.shared} {
		for _, l := range list {
			p, other := &t.client.partitions[n], t.client.partitions[l.number].ref
			switch {
			case n <= l.number:
				return fmt.Errorf("%v: %s on %v asked after a lease on %v; take leases in ascending order of table and partition, and read first what comes before them", t.Unit, what, p.ref, other)
			case need.Clock > l.grant.Complete:
				return fmt.Errorf("%v: %s on %v would wait for clock %d of other splits, which may wait for the lease on %v; ask for it first, or give its table as large a bound", t.Unit, what, p.ref, need.Clock, other)
			}
		}
	}
	return nil
}

// MayWait says why the task may not wait for what it has just read, since it holds leases; nil: it
// may.
func (c *Client) MayWait(t *Task) error {
	if len(t.leases) > 0 {
		return fmt.Errorf("%v: a read would wait while the task holds an exclusive lease; read first, then lease", t.Unit)
	}
	for _, f := range c.fetches {
		if len(t.shared) > 0 && slices.Contains(f.waiters, t) {
			if err := t.wouldDeadlock("a read", f.number, t.need(c.partitions[f.number].schema)); err != nil {
				return err
			}
		}
	}
	return nil
}

// Lease asks for a lease on a partition and reports whether the task has it; if not, the task waits until it is woken
// and asks again. An error ends the task: the table has keys, or it might wait for ever (wouldDeadlock).
func (c *Client) Lease(t *Task, ref bellows.PartitionRef, mode wire.Mode, fx *Effects) (bool, error) {
	fx.Era = c.cfg.Era
	n := c.cfg.Route.Number(ref)
	if s := c.partitions[n].schema; s.Sparse {
		return false, bellows.Errorf(bellows.Config, "lease", ref.String(),
			"table %s is sparse: rows that come and go have no slab to hand over; read and update them by their keys", s.Name)
	}
	if t.leaseOn(n) != nil {
		return true, nil
	}
	if err := t.wouldDeadlock("a lease", n, t.need(c.partitions[n].schema)); err != nil {
		return false, err
	}
	t.mode = mode
	c.suspend(t, 1, n, fx)
	c.acquire(t, fx)
	return false, nil
}

// acquire asks for the lease that a task waits for, once its split's own updates of the partition
// are committed: a lease shows the partition as the lane has it, and nothing can be laid over that
// (TestALeaseWaitsForTheSplitsOwnUpdates). The commits do not depend on the task: a flush leaves as
// soon as nothing else can run, a lease keeps no flush from being held or recorded, and one that
// has such updates does not wait for its clock. Under BSP all clocks before the task's are visible
// anyway; other rules than additive ones promise nothing before the commit.
//
// Turned down: a lane that holds the request back, which would have to know which of the client's
// flushes are the split's; and the deltas laid over a copy, which an exclusive lease would commit
// twice (docs/4-consistency.md).
func (c *Client) acquire(t *Task, fx *Effects) {
	n := t.waitsFor
	p := &c.partitions[n]
	need := t.need(p.schema)
	t.delayed = false
	for _, own := range t.own {
		if d := own.update.buffers[n]; p.barrier || !p.additive || d == nil || d.Len() == 0 || planted.On("lease-before-own") {
			continue
		}
		t.delayed = t.delayed || own.commit == 0
		need.Commit = max(need.Commit, own.commit)
	}
	if t.delayed {
		return
	}
	f := c.newFetch(n)
	f.lease, f.mode, f.need, f.waiters = true, t.mode, need, append(f.waiters, t)
	c.ask(f, fx)
}

// acquireDelayed asks for the leases that have waited for commits, behind each that has come.
func (c *Client) acquireDelayed(fx *Effects) {
	for _, s := range c.splits {
		if s != nil && s.running && s.task.delayed {
			c.acquire(s.task, fx)
		}
	}
}

// takeGranted hands a lease to the task that waits for it. Its split has seen that version then,
// whatever the cache has.
func (c *Client) takeGranted(m *wire.Granted, lane wire.Address, fx *Effects) {
	f := c.findFetch(m.Request, c.cfg.Route.Number(m.Ref))
	if f == nil || !f.lease || f.mode != m.Mode {
		c.breach(lane, fx, "a lease on %v that was not asked for", m.Ref)
		wire.Free(m)
		return
	}
	if c.partitions[f.number].outdated(m.Generation) {
		c.ask(f, fx)
		wire.Free(m)
		return
	}
	t := f.waiters[0]
	h := leaseGrant{t, f.number, f.lane, m}
	t.pins[f.number].sees(wire.Need{Commit: m.Commit, Clock: m.Complete})
	if m.Mode == wire.Exclusive {
		t.leases = append(t.leases, h)
	} else {
		t.shared = append(t.shared, h)
	}
	c.resume(f, fx)
}

// Leased is the slab of a partition that the task holds a lease on; nil: it holds none, or the
// partition has no rows.
func (t *Task) Leased(ref bellows.PartitionRef) []float32 {
	if l := t.leaseOn(t.client.cfg.Route.Number(ref)); l != nil {
		return l.grant.Values
	}
	return nil
}

// leaseOn is the task's lease on a partition, or nil.
func (t *Task) leaseOn(n int) *leaseGrant {
	for _, list := range [][]leaseGrant{t.leases, t.shared} {
		for i := range list {
			if list[i].number == n {
				return &list[i]
			}
		}
	}
	return nil
}
