package client

import (
	"bellows"
	"bellows/core/delta"
	"bellows/core/pending"
	"bellows/core/planted"
	"bellows/link/wire"
	"bellows/table"
)

// Task is one dispatched unit of work, what it has pinned, and what it has changed. A split has
// one, which runs its units one after the other.
//
// Two write to it, never at once. The client does, under the shell's lock, while the task asks or
// waits: pins, blocks, leases, and how long it waits. The goroutine that runs the task does without
// the lock, between two questions: its deltas, its scratch, and pin.near. Its methods are for that
// goroutine.
//
// What a task sees of a partition is the block that it has pinned; it pins another only for rows
// that this one lacks. Over that, where the table's rule adds, lie the split's retained flushes
// that the block lacks, in the order in which they were made, and then what the task itself has
// added: read-my-writes (docs/decisions/0007).
type Task struct {
	Unit bellows.Unit
	Args []float64 // valid until the task ends

	client       *Client
	commit       bellows.CommitNumber // every commit up to this must be seen
	pins         []pin                // by route.Number
	pinned       []int                // which pins are set
	blocks       []*block             // every block that a view may point into
	leases       []leaseGrant         // exclusive
	shared       []leaseGrant
	bspDeltas    update    // for BSP tables: summed along the tree over splits
	streamDeltas update    // for the others: summed as tasks finish, and retained until their commit
	own          []*bundle // the split's retained deltas when the task began
	arena        []float32
	list         []uint32 // scratch: rows of one partition, of the read being made
	groups       groups   // of keys, as Group left them

	waits    int       // answers that it waits for; 0: it executes, or does not run
	waitsFor int       // the last partition that it waits for, by route.Number: the one that is named
	delayed  bool      // it waits for its split's own commits before it asks for a lease on that
	mode     wire.Mode // of the lease
	patience pending.Patience
}

// pin is one partition's rows as the task sees them.
type pin struct {
	block     *block
	uncovered uint64 // retained deltas of the split that the block lacks, by their place
	near      int    // behind the last row that was found by its key
	// seen is the newest version at which the split has seen the partition in what the cache did
	// not keep: rows, or a lease, whose end is a commit that it has seen too. What is cached may be
	// older. It outlives the task (P3 of the simulation: what a split reads never goes back).
	seen wire.Need
}

func newTask(c *Client) *Task {
	n := c.cfg.Route.Partitions()
	t := &Task{client: c, pins: make([]pin, n), bspDeltas: update{buffers: make([]*delta.Buffer, n)},
		streamDeltas: update{buffers: make([]*delta.Buffer, n)}}
	for i := range t.pins {
		t.pins[i].seen.Clock = bellows.NoClock
	}
	return t
}

// need is what the task's reads of a table must see: all updates of the clocks that the table's staleness asks for, and,
// but under BSP, the commits that were known when it was dispatched and those of its own split. Under BSP the clocks say
// all: a commit of a clock that is not complete shows nowhere.
func (t *Task) need(s *table.Schema) wire.Need {
	n := wire.Need{Clock: s.Consistency.Needs(t.Unit.Clock)}
	if s.Consistency != table.BSP {
		n.Commit = t.commit
	}
	return n
}

// View is the rows [first, end) as the task sees them, with its own deltas laid over (read-my-writes). Read must have
// said that they are there. The slice is read-only and valid until the task ends. It is the cache's own memory where the
// rows lie in one partition and nothing is to be laid over them.
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
		return t.pins[n].block.view(int(first-lo), int(end-lo), c.partitions[n].schema.Width)
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
		copy(to, t.pins[n].block.view(a, b, w))
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

// room is memory of the task's for n values, valid until the task ends: slices that were given
// before stay, in the arena before this one.
func (t *Task) room(n int) []float32 {
	at := len(t.arena)
	if cap(t.arena)-at < n {
		t.arena = make([]float32, 0, max(2*cap(t.arena), n))
		at = 0
	}
	t.arena = t.arena[:at+n]
	return t.arena[at : at+n : at+n]
}

// Version is how new what the task sees of a partition is, under a lease if it has one: it has every commit up to one,
// and every clock up to another of all splits. Read must have said that some of the partition is there, or Lease that it
// is leased.
func (t *Task) Version(ref bellows.PartitionRef) wire.Need {
	n := t.client.cfg.Route.Number(ref)
	if l := t.leaseOn(n); l != nil {
		return wire.Need{Commit: l.grant.Commit, Clock: l.grant.Complete}
	}
	b := t.pins[n].block
	return wire.Need{Commit: b.commit, Clock: b.complete}
}

// overlaid reports whether the task has deltas of its own to lay over a partition's rows. Other rules than additive ones
// show a split its updates from their commit on, since what they make of a delta is known only there.
func (t *Task) overlaid(n int) bool {
	p := &t.client.partitions[n]
	if !p.additive || planted.On("own-updates-forgotten") {
		return false
	}
	if t.pins[n].uncovered != 0 {
		return true
	}
	open := t.open(n)
	return open != nil && open.Len() > 0
}

// open is what the task has added to a partition so far, or nil.
func (t *Task) open(n int) *delta.Buffer {
	if t.client.partitions[n].barrier {
		return t.bspDeltas.buffers[n]
	}
	return t.streamDeltas.buffers[n]
}

// overlay adds to dst, the rows [first, end) of a partition, the split's deltas that they lack.
func (t *Task) overlay(n, first, end int, dst []float32) {
	if !t.overlaid(n) {
		return
	}
	for i, own := range t.own {
		if t.pins[n].uncovered&(1<<i) != 0 {
			own.update.buffers[n].Overlay(first, end, dst)
		}
	}
	if open := t.open(n); open != nil {
		open.Overlay(first, end, dst)
	}
}

// notBefore is a need that what the cache holds must meet, so that the split does not see the partition as it was
// before. A lane is not told of it: it answers with rows as they are, never older than what it has sent before.
func (p *pin) notBefore(n wire.Need) wire.Need {
	return wire.Need{Commit: max(n.Commit, p.seen.Commit), Clock: max(n.Clock, p.seen.Clock)}
}

// sees notes that the split has seen the partition in a version (TestALeaseDoesNotGoBack).
func (p *pin) sees(n wire.Need) {
	if !planted.On("lease-unseen") {
		p.seen = p.notBefore(n)
	}
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
	u := &t.streamDeltas
	if t.client.partitions[number].barrier {
		u = &t.bspDeltas
	}
	return u.buffer(number, t.client)
}

// unpin gives back what a finished task has pinned. Its shared leases end here, its exclusive ones
// with its flush.
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
	t.bspDeltas.reset(t.client)
	t.streamDeltas.reset(t.client)
	t.leases = t.leases[:0]
}
