package cache

import (
	"fmt"
	"slices"

	"bellows"
	"bellows/core/gate"
	"bellows/core/planted"
	"bellows/link/wire"
)

// A lease is asked for like rows, but of one partition at a time, and not before the split's own updates of it are
// committed (Acquire). While it is out its lane keeps commits out of the partition: a shared one until the task ends
// (End), an exclusive one until the commit of the flush that brings the slab back. Within a node the grant is the
// slab itself and writes are in place; between nodes both are copies (docs/decisions/0004).
//
// A task that holds a lease and waits may be waited for by the tasks for which it waits: a deadlock. These rules
// leave no circle. A task that breaks one is refused by name, whether or not a deadlock would have come about:
//
//   - Leases are taken in ascending order of (table, partition): a task that waits for one waits for holders further
//     on.
//   - A read that must wait for an answer is of a partition further on than all that are leased, and a task with an
//     exclusive lease waits for none. Such a read waits for holders further on, as a lease would, or records, which
//     no lease keeps from being made.
//   - Neither a read nor another lease must see a clock that is newer than what the leases have shown: its gate opens
//     with tasks of other splits, which may wait for these leases (TestLeaseHolderMustNotWait).
//     Commits that it must see are recorded already.
//
// Turned down: to let the lane find the circle. It knows of leases and of parked reads, but not which task causes
// both.

// wouldDeadlock says which rule the task, which holds leases, breaks if it waits for a partition with a need; nil:
// none.
func (c *Cache) wouldDeadlock(r *Reader, what string, n int, need wire.Need) error {
	for _, list := range [][]Grant{r.leases, r.shared} {
		for _, l := range list {
			ref, other := c.partitions[n].pair.Ref, c.partitions[l.Number].pair.Ref
			switch {
			case n <= l.Number:
				return fmt.Errorf("%v: %s on %v asked after a lease on %v; take leases in ascending order of table "+
					"and partition, and read first what comes before them", r.unit, what, ref, other)
			case need.Clock > l.Granted.Complete:
				return fmt.Errorf("%v: %s on %v would wait for clock %d of other splits, which may wait for the lease "+
					"on %v; ask for it first, or give its table as large a bound", r.unit, what, ref, need.Clock, other)
			}
		}
	}
	return nil
}

// MayWait says why the task may not wait for what it has just read, since it holds leases; nil: it may.
func (c *Cache) MayWait(r *Reader) error {
	if len(r.leases) > 0 {
		return fmt.Errorf("%v: a read would wait while the task holds an exclusive lease; "+
			"read first, then lease", r.unit)
	}
	for _, f := range c.open {
		if len(r.shared) > 0 && slices.Contains(f.waiters, r) {
			need := r.need(c.partitions[f.number].schema)
			if err := c.wouldDeadlock(r, "a read", f.number, need); err != nil {
				return err
			}
		}
	}
	return nil
}

// Lease reports whether the task has a lease on a partition. If not, the reader waits from now on, and the caller is
// to call Acquire. An error ends the task: the table has keys, or the task might wait for ever (wouldDeadlock).
func (c *Cache) Lease(r *Reader, ref bellows.PartitionRef, mode wire.Mode) (bool, error) {
	n := c.number(ref)
	if s := c.partitions[n].schema; s.Sparse {
		return false, bellows.Errorf(bellows.Config, "lease", ref.String(), "table %s is sparse: rows that come and "+
			"go have no slab to hand over; read and update them by their keys", s.Name)
	}
	if r.leaseOn(n) != nil {
		return true, nil
	}
	if err := c.wouldDeadlock(r, "a lease", n, r.need(c.partitions[n].schema)); err != nil {
		return false, err
	}
	r.wait.mode = mode
	c.suspend(r, 1, n)
	return false, nil
}

// Acquire asks for the lease that a reader waits for, once its split's own updates of the partition are committed: a
// lease shows the partition as the lane has it, and nothing can be laid over that
// (TestLeaseWaitsForSplitsOwnUpdates). The commits do not depend on the task: a flush leaves as soon as nothing
// else can run, a lease keeps no flush from being held or recorded, and one that has such updates does not wait for
// its clock. Under BSP all clocks before the task's are visible anyway; other rules than additive ones promise
// nothing before the commit.
//
// Turned down: a lane that holds the request back, which would have to know which of the client's flushes are the
// split's; and the deltas laid over a copy, which an exclusive lease would commit twice (docs/4-consistency.md).
func (c *Cache) Acquire(r *Reader, out *wire.Outbox) {
	n := r.wait.last
	p := &c.partitions[n]
	need := r.need(p.schema)
	r.wait.delayed = false
	for _, own := range r.retained {
		d := own.Find(n)
		if p.barrier || !p.additive || d == nil || d.Len() == 0 || planted.On("lease-before-own") {
			continue
		}
		r.wait.delayed = r.wait.delayed || own.Commit == 0
		need.Commit = max(need.Commit, own.Commit)
	}
	if !r.wait.delayed && !r.wait.behind && r.wait.mode == wire.Shared && c.asksShared(n, need) {
		r.wait.delayed, r.wait.behind = true, true
	}
	if r.wait.delayed {
		return
	}
	r.wait.behind = false
	f := c.add(n, p.lane)
	f.lease, f.mode, f.need, f.waiters = true, r.wait.mode, need, append(f.waiters, r)
	c.ask(f, out)
}

// AcquireDelayed asks for the leases that have waited for commits. It is called after each that has come.
func (c *Cache) AcquireDelayed(out *wire.Outbox) {
	for _, r := range c.bySplit {
		if r != nil && r.active && r.wait.delayed && !r.wait.behind {
			c.Acquire(r, out)
		}
	}
}

// asksShared reports whether another reader of this node has asked a lane of another node for a shared lease on the
// partition. Its answer brings the values, which a later question then names (TestSharedLeasesAreSentOnce). It needs no
// more than this one, so nothing keeps it from being answered that does not also keep this one.
func (c *Cache) asksShared(n int, need wire.Need) bool {
	if c.lanes[c.partitions[n].lane].address.Node == c.self.Node {
		return false
	}
	for _, f := range c.open {
		if f.number == n && f.lease && f.mode == wire.Shared && gate.Admits(f.need, need.Commit, need.Clock) {
			return true
		}
	}
	return false
}

// acquireBehind asks for the leases that have waited for an answer about a partition.
func (c *Cache) acquireBehind(n int, out *wire.Outbox) {
	for _, r := range c.bySplit {
		if r != nil && r.active && r.wait.behind && r.wait.last == n {
			c.Acquire(r, out)
		}
	}
}

// TakeGranted gives a lease to the reader that waits for it. Its split has then seen that version, whatever the cache
// has. A lease that was not asked for is an error.
func (c *Cache) TakeGranted(m *wire.Granted, fx *Effects) error {
	f := c.find(m.Request, c.number(m.Ref))
	if f == nil || !f.lease || f.mode != m.Mode {
		defer wire.Free(m)
		return fmt.Errorf("a lease on %v that was not asked for", m.Ref)
	}
	if c.partitions[f.number].outdated(m.Generation) {
		c.ask(f, fx.Outbox)
		wire.Free(m)
		return nil
	}
	if m.Unchanged {
		if err := c.copies.fill(f.number, m); err != nil {
			wire.Free(m)
			return err
		}
	} else if m.Mode == wire.Shared {
		c.copies.clone(f.number, m)
	}
	r, g := f.waiters[0], Grant{f.number, f.lane, m}
	r.pins[f.number].sees(wire.Need{Commit: m.Commit, Clock: m.Complete})
	if m.Mode == wire.Exclusive {
		r.leases = append(r.leases, g)
	} else {
		r.shared = append(r.shared, g)
	}
	c.resume(f, fx)
	c.acquireBehind(g.Number, fx.Outbox)
	return nil
}

// Keep takes the copy of an exclusive lease that has ended, for the next lease. It is free where it is not kept.
func (c *Cache) Keep(n int, g *wire.Granted) { c.copies.keep(n, g, c.partitions[n].pair) }

// Leased returns the slab of a partition that the task holds a lease on; nil: it holds none, or the partition has no
// rows.
func (r *Reader) Leased(n int) []float32 {
	if l := r.leaseOn(n); l != nil {
		return l.Granted.Values
	}
	return nil
}
