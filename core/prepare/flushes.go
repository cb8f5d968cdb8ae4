package prepare

import (
	"slices"

	"bellows"
	"bellows/core/fence"
	"bellows/core/gate"
	"bellows/core/route"
	"bellows/link/wire"
	"bellows/table"
)

// Flushes are the flushes of a lane that have no number.
//
// A part of a flush is what the flush has for one partition. It is in one of these states:
//
//	held     it is here, unseen, until a record numbers the flush (Hold, Take)
//	waiting  there was no room: only its name is here, and its deltas stay with the client (Judge, Admit)
//	missed   it came here and is not held: it was refused, or its partition has gone to another lane
//
// Several pushes may bring parts of one flush, because partitions move (docs/decisions/0030). A record
// is made only when every part is held, so that what comes of the flush after it has come before.
//
// Invariants:
//   - A part is held, or waits, or is neither, but never both, however often it comes
//     (TestJudgeTakesPartsOneByOne, TestJudgeQueuesPartsOneByOne).
//   - heldBytes is the sum of what is held (TestFlushesInvariants).
//   - The flush that is lowest by (clock, client) always has room, so that no two flushes wait for each
//     other. Flushes that are held above the cap have a bound (TestHasRoomBoundsDescendingFlushes).
//   - waiting is sorted by rank, and bounded (TestFlushesThatWaitAreBounded).
//   - Each part that never counts is missed once, where it came first (TestResentPartIsDroppedOnce).
//
// Rejected: a queue of the pushes that wait, which takes the memory that the cap must bound; and a note of flushes
// instead of parts, which loses parts when partitions move.
type Flushes struct {
	self, controller wire.Address
	heldBytesMax     int // 0: no cap
	waitingMax       int

	layout
	counted   gate.Counted // flushes that have a number
	held      []Held       // in the order in which they came
	heldBytes int
	waiting   []waiter // by rank
	missed    []wire.Missed
	taken     []Held // scratch: of Take
}

// Config is what Flushes are made of.
type Config struct {
	Self, Controller wire.Address
	Tables           []table.Schema
	Route            *route.Route
	HeldBytesMax     int // the cap on bytes of flushes without a number; 0: none
	WaitingMax       int // pushes that may wait for room; a client that sends more breaks the protocol
}

// Held is what is held of one flush, as it came in one push.
type Held struct {
	Push  *wire.Push
	From  wire.Address
	Named bool     // messages about it name its pairs, since other pushes bring others
	Rows  []uint32 // memory of the numbers of the rows that its keys name: it is given back with the flush

	bytes   int
	above   bool // it was taken above the cap, and nothing of the flush was known before
	several bool // other pushes may bring, or have brought, more of it
}

// Partitions are the partitions of a lane, as Prepare must know them: a store of partitions, which calls nothing of
// the lane. It is asked during the call only.
type Partitions interface {
	// Owns returns nil if the lane owns the partition at that generation, route.ErrStale if the partition has had
	// another owner since, and another error if no route has had the pair.
	Owns(p wire.Pair) error
	// Barrier reports whether the clocks of the partition's table become visible as a whole.
	Barrier(ref bellows.PartitionRef) bool
	// MayEnd reports whether a client has the exclusive lease on a partition, and no flush ends it yet.
	MayEnd(ref bellows.PartitionRef, client wire.Address) bool
	// Reserve gives a row to every key of a push and returns the numbers of these rows. It fails if there is no room.
	Reserve(m *wire.Push) (rows []uint32, err error)
	// Hold notes that a push is about to be held: a second one cannot end the leases that it ends.
	Hold(m *wire.Push)
}

// New returns the flushes of a lane that has none yet.
func New(c Config) *Flushes {
	return &Flushes{self: c.Self, controller: c.Controller, heldBytesMax: c.HeldBytesMax, waitingMax: c.WaitingMax,
		layout: newLayout(c.Tables, c.Route)}
}

// SetRoute replaces the route. How tables are cut into partitions never changes.
func (f *Flushes) SetRoute(r *route.Route) { f.route = r }

// Count notes that a flush has a number: it is known from now on. Every lane learns of every flush.
func (f *Flushes) Count(id bellows.FlushID) { f.counted.Add(id) }

// Counted reports whether a flush has a number.
func (f *Flushes) Counted(id bellows.FlushID) bool { return f.counted.Contains(id) }

// LoadCounted replaces the flushes that have a number, at a lane that begins while the job runs.
func (f *Flushes) LoadCounted(list []wire.Recorded) { f.counted.Load(list) }

// Take returns what is held of a flush that a record has numbered, and forgets the flush. The list is
// valid until the next call. As a rule all came in one push, near the first that is held: flushes get
// their numbers about in the order in which they came.
func (f *Flushes) Take(id bellows.FlushID) []Held {
	clear(f.taken)
	f.taken = f.taken[:0]
	for i := 0; i < len(f.held); i++ {
		h := &f.held[i]
		if h.Push.Flush != id {
			continue
		}
		one := *h
		f.held = slices.Delete(f.held, i, i+1)
		i--
		f.heldBytes -= one.bytes
		f.taken = append(f.taken, one)
		if !one.several {
			break
		}
	}
	f.forget(id)
	return f.taken
}

// forget forgets the parts of a flush that has a number: they are held elsewhere, and none is dropped.
func (f *Flushes) forget(id bellows.FlushID) {
	if len(f.missed) > 0 {
		f.missed = slices.DeleteFunc(f.missed, func(o wire.Missed) bool { return o.Flush == id })
	}
	if len(f.waiting) > 0 {
		f.waiting = slices.DeleteFunc(f.waiting, func(w waiter) bool { return w.flush == id })
	}
}

// Fence drops what a process has pushed that was declared gone.
func (f *Flushes) Fence(gone fence.Process) {
	f.held = slices.DeleteFunc(f.held, func(h Held) bool {
		if !gone.Covers(h.From, h.Push.Flush.Incarnation) {
			return false
		}
		f.Miss(h.Push)
		f.heldBytes -= h.bytes
		return true
	})
	f.waiting = slices.DeleteFunc(f.waiting, func(w waiter) bool {
		if !gone.Covers(w.from, w.flush.Incarnation) {
			return false
		}
		f.miss(w.parts)
		return true
	})
}

// Release returns all that is held, and holds nothing any more: the job is over.
func (f *Flushes) Release() []Held {
	list := f.held
	f.held, f.heldBytes = nil, 0
	return list
}

// DropWaiting drops what waits for room: the job is over.
func (f *Flushes) DropWaiting() {
	for i := range f.waiting {
		f.miss(f.waiting[i].parts)
	}
	f.waiting = nil
}

// Holding returns what is held, by flush, for a controller that follows another.
func (f *Flushes) Holding() (list []wire.HeldFlush) {
	for i := range f.held {
		m := f.held[i].Push
		at := slices.IndexFunc(list, func(o wire.HeldFlush) bool { return o.Flush == m.Flush })
		if at < 0 {
			at = len(list)
			list = append(list, wire.HeldFlush{Flush: m.Flush, Clock: m.Clock, Pairs: slices.Clone(m.Pairs)})
		}
		one := &list[at]
		one.Held = append(one.Held, f.PairsOf(m)...)
		if m.Done != nil {
			d := m.Done.Copy() // a message is its receiver's
			one.Done, one.Sent = d.Results, d.Sent
		}
	}
	return list
}

// Holds reports whether the part of a flush for a pair is held; any part, for a pair without generation.
func (f *Flushes) Holds(id bellows.FlushID, of wire.Pair) bool {
	return slices.ContainsFunc(f.held, func(h Held) bool {
		return h.Push.Flush == id && brings(f.PairsOf(h.Push), of)
	})
}

// Waits reports whether the part of a flush for a pair waits for room, and whether its client was
// asked since to send it again. A pair without generation stands for any part.
func (f *Flushes) Waits(id bellows.FlushID, of wire.Pair) (waits, asked bool) {
	for i := range f.waiting {
		if w := &f.waiting[i]; w.flush == id && brings(w.pairs, of) {
			return true, w.asked
		}
	}
	return false, false
}

// brings reports whether a list of pairs has one that is asked for.
func brings(pairs []wire.Pair, of wire.Pair) bool {
	return of.Generation == 0 || slices.Contains(pairs, of)
}
