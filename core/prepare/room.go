package prepare

import (
	"cmp"
	"slices"

	"bellows"
	"bellows/core/planted"
	"bellows/link/wire"
)

// place is where a flush stands among those that want room.
type place struct {
	flush bellows.FlushID
	clock bellows.Clock
	first int // the least of its partitions, by route.Number; -1: before all
}

// placeOf returns the place before all parts of a push's flush.
func placeOf(m *wire.Push) place { return place{flush: m.Flush, clock: m.Clock, first: -1} }

// rank compares two places in the order in which flushes get room, which is the same at every lane: by
// clock, then by client, incarnation and sequence, and parts of one flush by their first partition.
func (a place) rank(b place) int {
	switch {
	case a.clock != b.clock:
		return cmp.Compare(a.clock, b.clock)
	case a.flush.Client != b.flush.Client:
		return cmp.Compare(a.flush.Client, b.flush.Client)
	case a.flush.Incarnation != b.flush.Incarnation && !planted.On("incarnation-ignored"):
		return cmp.Compare(a.flush.Incarnation, b.flush.Incarnation)
	case a.flush.Seq != b.flush.Seq:
		return cmp.Compare(a.flush.Seq, b.flush.Seq)
	}
	return a.first - b.first
}

// room is where a flush finds room.
type room uint8

const (
	full  room = iota // nowhere: it must come again
	below             // below the cap
	above             // above the cap, because it is the lowest
)

// sameProcess reports whether two flushes come from one process of a client.
func sameProcess(a, b bellows.FlushID) bool {
	return a.Client == b.Client && a.Incarnation == b.Incarnation
}

// waiter is a push that must come again. When there is room its client is asked for it, once. The push may find
// no room when it comes, because others of lower rank came first; then it waits as before.
type waiter struct {
	place
	pairs []wire.Pair // of its parts
	named bool        // messages about it name its pairs
	from  wire.Address
	parts []wire.Missed // what is dropped if the flush never gets a number
	asked bool          // its client was asked for it
}

// shares reports whether a waiter has a part for the partition of one of the pairs.
func (w *waiter) shares(pairs []wire.Pair) bool {
	return slices.ContainsFunc(w.pairs, func(p wire.Pair) bool {
		return slices.ContainsFunc(pairs, func(q wire.Pair) bool { return p.Ref == q.Ref })
	})
}

// pairsToName returns the pairs that a message about a waiter names.
func (w *waiter) pairsToName() []wire.Pair {
	if !w.named {
		return nil
	}
	return slices.Clone(w.pairs) // a message is its receiver's
}

// Admit tells the client of the lowest flush that waits to send it again, in all pushes that wait, if
// there is room. One flush at a time is enough: its own record admits the next, or what keeps it from
// being recorded here (Leave, Fence, Refuse).
func (f *Flushes) Admit(out *wire.Outbox) {
	i := slices.IndexFunc(f.waiting, func(w waiter) bool { return !w.asked })
	if i < 0 {
		return
	}
	first := &f.waiting[i]
	id := first.flush
	if f.hasRoom(first.place, 0) == full {
		return
	}
	to, answer := first.from, &wire.Room{Flush: id, Pairs: first.pairsToName()}
	first.asked = true
	next := i + 1
	more := next < len(f.waiting) && f.waiting[next].flush == id
	if answer.Pairs == nil && more && !planted.On("room-for-one") {
		answer.Pairs = slices.Clone(first.pairs) // if others also wait, all are named
	}
	// They are named in one message: what waits may be one push at its client.
	for i = next; i < len(f.waiting) && f.waiting[i].flush == id; i++ {
		if w := &f.waiting[i]; !w.asked {
			w.asked = true
			answer.Pairs = append(answer.Pairs, w.pairs...)
		}
	}
	if !planted.On("room-forgotten") {
		out.Send(f.self, to, answer)
	}
}

// hasRoom applies the cap on bytes of flushes without a number. The lowest flush by (clock, client) always
// has room, at every lane, so that no two flushes can wait for each other.
//
// Flushes above the cap also have a bound: of a client that runs S splits, 2S + 1 flushes at a
// time. A client that keeps to the protocol never has more. Each is below all that are held, so that
// its clocks descend; and none passes another that waits, so that they come as they were sent. Some
// bring work that was finished since the one before: by S splits at most, since the clocks of a split
// ascend. The others left because nothing could run, and took along all that had gathered, in the order
// of clocks; so no two of them are neighbours.
func (f *Flushes) hasRoom(this place, bytes int) room {
	if f.heldBytesMax == 0 || len(f.held) == 0 || f.heldBytes+bytes <= f.heldBytesMax {
		return below
	}
	if planted.On("cap-without-floor") {
		return full
	}
	this.first = 0
	aboves := 0
	for i := range f.held {
		h := &f.held[i]
		if (place{flush: h.Push.Flush, clock: h.Push.Clock}).rank(this) < 0 { // of another flush
			return full
		}
		if h.above && sameProcess(h.Push.Flush, this.flush) {
			aboves++
		}
	}
	for i := range f.waiting {
		w := &f.waiting[i]
		if w.rank(this) >= 0 {
			break
		}
		if sameProcess(w.flush, this.flush) {
			return full
		}
	}
	if aboves < 2*f.splitsOf(this.flush.Client)+1 {
		return above
	}
	return full
}

// search finds a place among those that wait.
func (f *Flushes) search(p place) (int, bool) {
	return slices.BinarySearchFunc(f.waiting, p, func(w waiter, p place) int { return w.rank(p) })
}

// enqueue notes a push that must come again, and reports whether so many may wait. Its client may have
// been asked for it, and it found no room.
func (f *Flushes) enqueue(w waiter) bool {
	i, again := f.search(w.place)
	if again {
		if w.parts == nil { // sent again: what came first counts
			f.miss(f.waiting[i].parts)
		}
		f.waiting[i] = w
		return true
	}
	if len(f.waiting) == f.waitingMax {
		return false
	}
	f.waiting = slices.Insert(f.waiting, i, w)
	return true
}

// arrived forgets that what a push brings waits.
func (f *Flushes) arrived(m *wire.Push) {
	if len(f.waiting) == 0 {
		return
	}
	pairs := Pairs(m)
	f.waiting = slices.DeleteFunc(f.waiting, func(w waiter) bool {
		gone := w.flush == m.Flush && w.shares(pairs)
		if gone && m.Again {
			f.miss(w.parts)
		}
		return gone
	})
}
