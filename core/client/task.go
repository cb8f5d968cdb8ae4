package client

import (
	"fmt"
	"slices"

	"bellows"
	"bellows/core/delta"
	"bellows/core/planted"
	"bellows/link/wire"
	"bellows/table"
)

// Task is one dispatched unit of work and what it has pinned. Its methods are for the goroutine that
// runs it.
type Task struct {
	Unit bellows.Unit
	Args []float64 // valid until the task ends

	client  *Client
	commit  bellows.CommitNumber // every commit up to this is seen
	pins    []pin                // by route.Number
	pinned  []int                // which pins are set
	blocks  []*block             // every block that a view may point into
	leases  []leaseGrant         // exclusive
	shared  []leaseGrant
	barrier update    // deltas for BSP tables
	bounded update    // deltas for the others
	own     []*bundle // the split's retained deltas when the task began
	arena   []float32
	list    []uint32 // scratch
	groups  groups   // of keys, as Group left them

	waits    int       // answers that it waits for
	waitsFor int       // the partition it waits for, by route.Number
	delayed  bool      // it waits for its split's own commits before it asks for a lease on that
	mode     wire.Mode // of the lease
	patience patience
}

// pin is one partition's rows as the task sees them.
type pin struct {
	block     *block
	uncovered uint64 // retained deltas of the split that the block lacks, by their place
	near      int    // behind the last row that was found by its key
	// seen is the newest version at which the split has seen the partition in what the cache did not keep: rows, or a lease, whose end is a
	// commit that it has seen too. What is cached may be older. It outlives the task (P3).
	seen wire.Need
}

// sees notes that the split has seen the partition in a version.
func (p *pin) sees(n wire.Need) {
	if !planted.On("lease-unseen") {
		p.seen = p.notBefore(n)
	}
}

// leaseGrant is a lease that the task has.
type leaseGrant struct {
	task   *Task // of the split, whichever it runs
	number int
	lane   int           // that has given it: its index in Client.lanes
	grant  *wire.Granted // freed when nobody looks at its values any more
}

func newTask(c *Client) *Task {
	n := c.cfg.Route.Partitions()
	t := &Task{client: c, pins: make([]pin, n), barrier: update{buffers: make([]*delta.Buffer, n)},
		bounded: update{buffers: make([]*delta.Buffer, n)}}
	for i := range t.pins {
		t.pins[i].seen.Clock = bellows.NoClock
	}
	return t
}

// need is what the task's reads of a table must see.
func (t *Task) need(s *table.Schema) wire.Need {
	n := wire.Need{Clock: s.Consistency.Needs(t.Unit.Clock)}
	if s.Consistency != table.BSP {
		n.Commit = t.commit
	}
	return n
}

// waiting says what the task waits for.
func (t *Task) waiting() string {
	p := &t.client.parts[t.waitsFor]
	n := t.need(p.schema)
	s := fmt.Sprintf("%v at %v", p.ref, t.client.lanes[p.lane])
	if t.delayed {
		return fmt.Sprintf("table %s, %s, until its split's own updates of it are committed", p.schema.Name, s)
	}
	if n.Clock > bellows.NoClock {
		s += fmt.Sprintf(", after clock %d of every split", n.Clock)
	}
	return fmt.Sprintf("table %s, %s, after commit %d", p.schema.Name, s, n.Commit)
}

// View is the rows [first, end) as the task sees them, with its own deltas laid over (read-my-writes).
// Read must have said that they are there. The slice is read-only and valid until the task ends.
func (t *Task) View(tab bellows.TableID, first, end bellows.RowID) []float32 {
	if first == end {
		return nil // of no partition, behind the last row
	}
	c := t.client
	cut := c.cfg.Route.Cut(tab)
	p := cut.Find(first)
	lo, hi := cut.Rows(p)
	n := c.cfg.Route.Number(bellows.PartitionRef{Table: tab, Partition: p})
	if end <= hi && !t.overlaid(n) {
		return t.pins[n].block.view(int(first-lo), int(end-lo), c.parts[n].schema.Width)
	}
	dst := t.room(int(end-first) * c.cfg.Tables[tab].Width)
	t.copyRows(tab, first, end, dst)
	return dst
}

// copyRows writes the rows [first, end) as the task sees them to dst.
func (t *Task) copyRows(tab bellows.TableID, first, end bellows.RowID, dst []float32) {
	c := t.client
	w := c.cfg.Tables[tab].Width
	cut := c.cfg.Route.Cut(tab)
	for p := cut.Find(first); first < end; p++ {
		lo, hi := cut.Rows(p)
		if lo == hi {
			continue // which read has not asked for
		}
		n := c.cfg.Route.Number(bellows.PartitionRef{Table: tab, Partition: p})
		a, b := int(first-lo), int(min(end, hi)-lo)
		to := dst[:(b-a)*w]
		t.pins[n].block.read(a, b, w, to)
		t.overlay(n, a, b, to)
		dst, first = dst[len(to):], hi
	}
}

// Gather writes the named rows, one after the other, to dst, as View would show them.
func (t *Task) Gather(tab bellows.TableID, rows []bellows.RowID, dst []float32) {
	w := t.client.cfg.Tables[tab].Width
	for i, r := range rows {
		t.copyRows(tab, r, r+1, dst[i*w:(i+1)*w])
	}
}

// room is memory of the task's for n values, valid until the task ends.
func (t *Task) room(n int) []float32 {
	at := len(t.arena)
	if cap(t.arena)-at < n {
		t.arena = make([]float32, 0, max(2*cap(t.arena), n))
		at = 0
	}
	t.arena = t.arena[:at+n]
	return t.arena[at : at+n : at+n]
}

// AddRange adds deltas to consecutive rows from first; len(deltas) is a multiple of the width.
func (t *Task) AddRange(tab bellows.TableID, first bellows.RowID, deltas []float32) {
	c := t.client
	w := c.cfg.Tables[tab].Width
	cut := c.cfg.Route.Cut(tab)
	for p := cut.Find(first); len(deltas) > 0; p++ {
		lo, hi := cut.Rows(p)
		if lo == hi {
			continue
		}
		n := min(len(deltas), int(hi-first)*w)
		t.buffer(c.cfg.Route.Number(bellows.PartitionRef{Table: tab, Partition: p})).AddRange(int(first-lo), deltas[:n])
		deltas, first = deltas[n:], hi
	}
}

// AddRow adds a delta to one row.
func (t *Task) AddRow(tab bellows.TableID, row bellows.RowID, d []float32) {
	cut := t.client.cfg.Route.Cut(tab)
	p := cut.Find(row)
	lo, _ := cut.Rows(p)
	t.buffer(t.client.cfg.Route.Number(bellows.PartitionRef{Table: tab, Partition: p})).AddRow(int(row-lo), d)
}

// buffer is the task's deltas for a partition.
func (t *Task) buffer(number int) *delta.Buffer {
	u := &t.bounded
	if t.client.parts[number].barrier {
		u = &t.barrier
	}
	return u.buffer(number, t.client)
}

// Leased is the slab of a partition that the task holds a lease on; nil: it holds none, or the partition has no rows.
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

// Whoever holds a lease and waits may be waited for by those for whom he waits. These rules leave no circle; who breaks one is refused by name, however
// it would have come out:
//
//   - Leases are taken in ascending order of (table, partition), so that who waits for a lease waits for holders further on.
//   - A read that must wait for an answer is of a partition further on than all that are leased, and nobody who holds an exclusive lease waits for
//     one. It waits for what leases keep out there, as a lease would: for holders further on, or for records, which no lease keeps from being made.
//   - Neither a read nor another lease must see a clock that is newer than what the leases have shown: its gate opens with tasks of other splits,
//     which may wait for these leases (TestATaskThatOthersWaitForDoesNotWaitForThem). Commits that it must see are recorded already.
//
// Turned down: to let the lane find the circle, since it knows of leases and of parked reads, but not of which task is behind both.

// barred says why the task, which holds leases, may not wait for a partition with a need; nil: it may.
func (t *Task) barred(what string, n int, need wire.Need) error {
	for _, list := range [][]leaseGrant{t.leases, t.shared} {
		for _, l := range list {
			p, other := &t.client.parts[n], t.client.parts[l.number].ref
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

// MayWait says why the task may not wait for what it has just read, since it holds leases; nil: it may.
func (c *Client) MayWait(t *Task) error {
	if len(t.leases) > 0 {
		return fmt.Errorf("%v: a read would wait while the task holds an exclusive lease; read first, then lease", t.Unit)
	}
	for _, f := range c.fetches {
		if len(t.shared) > 0 && slices.Contains(f.waiters, t) {
			if err := t.barred("a read", f.number, t.need(c.parts[f.number].schema)); err != nil {
				return err
			}
		}
	}
	return nil
}

// Lease asks for a lease on a partition and reports whether the task has it; if not, the task waits
// until it is woken and asks again. An error says that it may not (barred).
func (c *Client) Lease(t *Task, ref bellows.PartitionRef, mode wire.Mode, fx *Effects) (bool, error) {
	fx.Era = c.cfg.Era
	n := c.cfg.Route.Number(ref)
	if s := c.parts[n].schema; s.Sparse {
		return false, bellows.Errorf(bellows.Config, "lease", ref.String(),
			"table %s is sparse: rows that come and go have no slab to hand over; read and update them by their keys", s.Name)
	}
	if t.leaseOn(n) != nil {
		return true, nil
	}
	if err := t.barred("a lease", n, t.need(c.parts[n].schema)); err != nil {
		return false, err
	}
	t.mode = mode
	c.block(t, 1, n, fx)
	c.acquire(t, fx)
	return false, nil
}

// acquire asks for the lease that a task waits for, once its split's own updates of the partition are committed: a lease shows the
// partition as the lane has it, and nothing can be laid over that (read-my-writes). The commits do not depend on the task: a flush leaves as
// soon as nothing else can run, a lease keeps no flush from being held or recorded, and one that has such updates does not wait for its
// clock. Under BSP all clocks before the task's are visible anyway; other rules than additive ones promise nothing before the commit.
func (c *Client) acquire(t *Task, fx *Effects) {
	n := t.waitsFor
	p := &c.parts[n]
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
	a := wire.New[wire.Acquire]()
	c.request++
	*a = wire.Acquire{Request: c.request, Pair: p.pair, Mode: t.mode, Need: need, Route: c.now.Route.Version()}
	fx.Send(c.cfg.Self, c.lanes[p.lane], a)
	f := c.newFetch(n)
	f.request, f.lease, f.mode, f.need, f.waiters = c.request, true, t.mode, need, append(f.waiters, t)
}

// acquireDelayed asks for the leases that have waited for commits.
func (c *Client) acquireDelayed(fx *Effects) {
	for _, s := range c.splits {
		if s != nil && s.running && s.task.delayed {
			c.acquire(s.task, fx)
		}
	}
}

func (c *Client) takeGranted(m *wire.Granted, lane wire.Address, fx *Effects) {
	f := c.takeFetch(m.Request, c.cfg.Route.Number(m.Ref))
	if f == nil || !f.lease || f.mode != m.Mode {
		c.breach(lane, fx, "a lease on %v that was not asked for", m.Ref)
		wire.Free(m)
		return
	}
	if c.parts[f.number].outdated(m.Generation) {
		c.askAgain(f, fx)
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
	c.unblock(f, fx)
}

// block counts a task as waiting for answers about a partition. If nothing runs any more, what has
// gathered leaves.
func (c *Client) block(t *Task, answers, number int, fx *Effects) {
	if t.waits == 0 {
		c.executing--
		c.waiting++
		t.patience = patience{}
	}
	t.waits += answers
	t.waitsFor = number
	c.flushReady(fx)
}

func (c *Client) unblock(f *fetch, fx *Effects) {
	for _, t := range f.waiters {
		if t.waits--; t.waits == 0 {
			c.executing++
			c.waiting--
			fx.Wake = append(fx.Wake, t)
		}
	}
	c.freeFetch(f)
}

// unpin gives back what a finished task holds, except its exclusive leases: those end with its flush.
func (c *Client) unpin(t *Task, fx *Effects) {
	for _, n := range t.pinned {
		t.pins[n] = pin{seen: t.pins[n].seen}
	}
	t.pinned = t.pinned[:0]
	for _, b := range t.blocks {
		c.unpinBlock(b)
	}
	t.blocks = t.blocks[:0]
	for _, l := range t.shared {
		r := wire.New[wire.Release]()
		r.Pair = l.grant.Pair
		fx.Send(c.cfg.Self, c.lanes[l.lane], r)
		wire.Free(l.grant)
	}
	t.shared = t.shared[:0]
	t.arena = t.arena[:0]
}

// discard forgets what a failed task changed.
func (t *Task) discard() {
	t.barrier.reset(t.client)
	t.bounded.reset(t.client)
	t.leases = t.leases[:0]
}
