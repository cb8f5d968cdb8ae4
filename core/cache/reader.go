package cache

import (
	"bellows"
	"bellows/core/delta"
	"bellows/core/pending"
	"bellows/core/planted"
	"bellows/link/wire"
	"bellows/table"
)

// Reader is what one split sees: the blocks and leases of its task, and the split's own deltas, which it lays over
// rows that lack them (read-my-writes, docs/decisions/0007). The zero Reader is ready for Join.
//
// The cache writes to it while the task is suspended: under the caller's lock. The goroutine of the task calls Group,
// View, Row, KeyRow, OverlayKey, Overlay and the like without the lock; of these only Group and KeyRow write, to the
// scratch of the reader.
//
// A task sees the block of a partition that it has pinned. It pins another only for rows that this one lacks.
type Reader struct {
	id       uint64 // of the readers of a cache, from 1: a split that leaves and comes back has another
	unit     bellows.Unit
	active   bool                 // a task runs
	commit   bellows.CommitNumber // every commit up to this must be seen
	pins     []pin                // by route.Number
	pinned   []int                // which pins are set
	blocks   []*block             // every block that a view may point into
	leases   []Grant              // exclusive
	shared   []Grant
	retained []*delta.Bundle // own deltas that the tables may not show yet, oldest first; a pin has a bit for each
	// floor is what all tasks of the split must see: the newest of its commits that is not retained any more.
	floor  bellows.CommitNumber
	list   []uint32 // scratch: rows of one partition, of the read that is being made
	groups groups   // of keys, as Group left them
	wait   wait
}

// wait is what an active reader waits for.
type wait struct {
	answers  int       // that it waits for; 0: it executes
	last     int       // the last partition that it waits for, by route.Number: the one that is named
	delayed  bool      // it waits before it asks for a lease on that: for its split's own commits, or
	behind   bool      // for the answer to another reader's question, which brings the values
	mode     wire.Mode // of the lease
	patience pending.Patience
}

// pin is one partition's rows as a reader sees them.
type pin struct {
	block     *block
	uncovered uint64 // the retained deltas that the block lacks, by their places
	near      int    // after the last row that was found by its key
	// seen is the newest version at which the split has seen the partition in what the cache did not keep: rows, or a
	// lease, whose end is a commit that it has also seen. Cached rows may be older. It outlives the task (P3 of the
	// simulation: what a split reads never goes back).
	seen wire.Need
}

// readers are the splits that run here.
type readers struct {
	bySplit []*Reader // nil: it does not run here
	joined  uint64    // readers that there have been
}

// Join takes a split that runs here from now on. Its reader is the caller's, which does not copy it.
func (s *readers) Join(id bellows.SplitID, r *Reader, partitions int) {
	s.joined++
	*r = Reader{id: s.joined, pins: make([]pin, partitions)}
	for i := range r.pins {
		r.pins[i].seen.Clock = bellows.NoClock
	}
	s.bySplit[id] = r
}

// Leave forgets a split that runs here no more.
func (s *readers) Leave(id bellows.SplitID) {
	for _, b := range s.bySplit[id].retained {
		b.Drop()
	}
	s.bySplit[id] = nil
}

// Begin lets a task of the split run: a unit that is to see every commit up to one, and all of the split's own that
// are retained no more.
func (r *Reader) Begin(u bellows.Unit, commit bellows.CommitNumber) {
	r.unit, r.commit, r.active = u, max(commit, r.floor), true
}

// End ends the task: it gives back what the task has pinned, and its shared leases. Exclusive ones end with the flush
// that TakeLeases gives them to.
func (c *Cache) End(r *Reader, out *wire.Outbox) {
	r.active = false
	for _, n := range r.pinned {
		r.pins[n] = pin{seen: r.pins[n].seen}
	}
	r.pinned = r.pinned[:0]
	for _, b := range r.blocks {
		c.unpin(b)
	}
	r.blocks = r.blocks[:0]
	for _, l := range r.shared {
		m := wire.New[wire.Release]()
		m.Pair = l.Granted.Pair
		out.Send(c.self, c.lanes[l.Lane].address, m)
		c.copies.keep(l.Number, l.Granted, c.partitions[l.Number].pair)
	}
	r.shared = r.shared[:0]
}

// Retain keeps deltas of the split, which it lays over its reads until they are committed. The reader is one of their
// users.
func (r *Reader) Retain(b *delta.Bundle) { r.retained = append(r.retained, b) }

// Retained returns how many bundles of deltas the reader keeps.
func (r *Reader) Retained() int { return len(r.retained) }

// DropCommitted drops the deltas that are known to be committed. From its next task on the split must see them in the
// tables (floor; planted: own-commit-forgotten). It is called between two tasks, since a task that has pinned older
// rows still lays them over.
func (r *Reader) DropCommitted() {
	keep := r.retained[:0]
	for _, b := range r.retained {
		if b.Commit == 0 {
			keep = append(keep, b)
			continue
		}
		if !planted.On("own-commit-forgotten") {
			r.floor = max(r.floor, b.Commit)
		}
		b.Drop()
	}
	r.retained = keep
}

// need returns what the task's reads of a table must see: all updates of the clocks that the table's staleness asks
// for and, except under BSP, the commits that were known when it was dispatched and those of its split. Under BSP the
// clocks say all: a commit of a clock that is not complete shows nowhere.
func (r *Reader) need(s *table.Schema) wire.Need {
	n := wire.Need{Clock: s.Consistency.Needs(r.unit.Clock)}
	if s.Consistency != table.BSP {
		n.Commit = r.commit
	}
	return n
}

// notBefore returns a need that cached rows must meet, so that the split does not see the partition as it was before.
// A lane does not learn of it: it answers with rows as they are, which are never older than what it has sent before.
func (p *pin) notBefore(n wire.Need) wire.Need {
	return wire.Need{Commit: max(n.Commit, p.seen.Commit), Clock: max(n.Clock, p.seen.Clock)}
}

// sees notes that the split has seen the partition in a version (TestALeaseDoesNotGoBack).
func (p *pin) sees(n wire.Need) {
	if !planted.On("lease-unseen") {
		p.seen = p.notBefore(n)
	}
}

// Saw notes that the split of a lease has seen a commit of the partition: that of the flush which ended the lease.
func (s *readers) Saw(reader uint64, n int, commit bellows.CommitNumber) {
	for _, r := range s.bySplit {
		if r != nil && r.id == reader {
			r.pins[n].sees(wire.Need{Commit: commit, Clock: bellows.NoClock})
		}
	}
}

// pin makes a block what a reader sees of a partition, and measures how stale it is. It decides, once, which of the
// split's retained deltas the block lacks: the lane has told a flush's number before it showed any row that has it,
// on the same connection, so that a number that is not known yet is one that the block does not contain
// (docs/decisions/0007). After a move another lane shows the rows than the one that told, and may be faster: see
// Cache.Take about unsure rows.
func (c *Cache) pin(r *Reader, n int, b *block) {
	at := &r.pins[n]
	if at.block == nil {
		r.pinned = append(r.pinned, n)
	}
	b.readers++
	r.blocks = append(r.blocks, b)
	*at = pin{block: b, seen: at.seen}
	for i, own := range r.retained {
		if d := own.Find(n); d == nil || d.Len() == 0 {
			continue
		}
		if own.Commit == 0 || own.Commit > b.commit || planted.On("own-updates-twice") {
			at.uncovered |= 1 << i
		}
	}
	lag := max(0, int(r.unit.Clock-1-b.complete))
	c.staleness[min(lag, len(c.staleness)-1)]++
}

// changedBetween reports whether a flush of this node that a split may still lay over its reads changed the partition
// after one commit and up to another.
func (s *readers) changedBetween(n int, after, upTo bellows.CommitNumber) bool {
	if planted.On("join-across-own") {
		return false
	}
	for _, r := range s.bySplit {
		if r == nil {
			continue
		}
		for _, b := range r.retained {
			if b.Find(n) != nil && b.Commit > after && b.Commit <= upTo {
				return true
			}
		}
	}
	return false
}

// View returns the rows [first, end) of a partition as they are pinned. The slice is read-only.
func (r *Reader) View(n, first, end, width int) []float32 {
	return r.pins[n].block.view(first, end, width)
}

// Gather copies the pinned rows of a partition that are named, counted from the row first, to dst, one after the other.
func (r *Reader) Gather(n int, rows []bellows.RowID, first bellows.RowID, width int, dst []float32) {
	r.pins[n].block.gather(rows, first, width, dst)
}

// Uncovered reports whether the pinned rows of a partition lack deltas of the split.
func (r *Reader) Uncovered(n int) bool { return r.pins[n].uncovered != 0 }

// Overlay adds to dst, which has the pinned rows [first, end) of a partition, the split's deltas that they lack, in
// the order in which they were made.
func (r *Reader) Overlay(n, first, end int, dst []float32) {
	for i, own := range r.retained {
		if r.pins[n].uncovered&(1<<i) != 0 {
			own.Find(n).Overlay(first, end, dst)
		}
	}
}

// Version returns how new what the task sees of a partition is, under a lease if it has one: it has every commit up
// to one, and every clock up to another of all splits.
func (r *Reader) Version(n int) wire.Need {
	if l := r.leaseOn(n); l != nil {
		return wire.Need{Commit: l.Granted.Commit, Clock: l.Granted.Complete}
	}
	b := r.pins[n].block
	return wire.Need{Commit: b.commit, Clock: b.complete}
}

// Grant is a lease that a reader has.
type Grant struct {
	Number  int           // of the partition
	Lane    int           // that has granted it
	Granted *wire.Granted // freed when its values are not used any more
}

// leaseOn returns the reader's lease on a partition, or nil.
func (r *Reader) leaseOn(n int) *Grant {
	for _, list := range [][]Grant{r.leases, r.shared} {
		for i := range list {
			if list[i].Number == n {
				return &list[i]
			}
		}
	}
	return nil
}

// Split returns the split of the reader's task, or of the last one that it had.
func (r *Reader) Split() bellows.SplitID { return r.unit.Split }

// Waits reports whether the reader waits for an answer.
func (r *Reader) Waits() bool { return r.wait.answers > 0 }

// ID returns the number of the reader among those of its cache.
func (r *Reader) ID() uint64 { return r.id }

// Leases returns the exclusive leases of the reader.
func (r *Reader) Leases() []Grant { return r.leases }

// ForgetLeases removes the exclusive leases, which a flush ends, or whose task has failed.
func (r *Reader) ForgetLeases() { r.leases = r.leases[:0] }
