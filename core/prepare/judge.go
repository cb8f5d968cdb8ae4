package prepare

import (
	"fmt"
	"slices"

	"bellows"
	"bellows/core/planted"
	"bellows/core/route"
	"bellows/link/wire"
)

// verdict is what becomes of a push.
type verdict uint8

const (
	// verdictKnown: it brings nothing new. If it was sent again, the answer names all that is held of the flush.
	verdictKnown verdict = iota
	// verdictStale: it names a partition of another owner. Nothing of it is taken (Refuse).
	verdictStale
	// verdictRefused: it can never be held, because of the error. A client sends it that knows another job.
	verdictRefused
	// verdictBreach: no client sends it that keeps to the protocol, because of the error.
	verdictBreach
	// verdictWaits: there is no room here. Its client has the answer Full, and gets Room when there is some (Admit).
	verdictWaits
	// verdictFits: it may be held (hold), or missed (Miss).
	verdictFits
)

// judgement is a verdict with its reason.
type judgement struct {
	verdict verdict
	err     error // of verdictRefused and verdictBreach

	known bool // something of the flush is held or waits
	room  room
	bytes int // that it takes of the cap: before its keys have rows
}

// judge decides whether a push may be held. It asks, in this order:
//
//  1. Has the flush a number? Then all of it has come before, whatever owns its partitions now.
//  2. Does the lane own what the push names? A push is refused as a whole: its client makes it again.
//  3. Which parts are known? What is held is not held again, and what waits is not told to wait again.
//     This comes before what is judged by the lane's state, since a push that comes again is not new
//     in it: a lease that it ends is ending already.
//  4. Can it be? Sums are of splits that the sender runs, and leases are ended by their holders.
//  5. Is there room?
//
// Parts that are known are removed from the push.
func (f *Flushes) judge(from wire.Address, m *wire.Push, applied bellows.CommitNumber, at Partitions,
	out *wire.Outbox) judgement {
	if f.counted.Contains(m.Flush) && !planted.On("push-twice") {
		f.answerHeld(from, m, out)
		// A client that sends again a flush without parts had sent it to a lane that has left.
		if m.Again && len(m.Pairs) == 0 && !planted.On("left-behind-untold") {
			out.Send(f.self, from, &wire.Committed{List: []wire.Commitment{{Flush: m.Flush, Commit: applied}}})
		}
		return judgement{verdict: verdictKnown}
	}
	switch err := owns(m, at); {
	case err == route.ErrStale:
		return judgement{verdict: verdictStale}
	case err != nil:
		return judgement{verdict: verdictRefused, err: err}
	}
	known, fresh := f.dedupe(m)
	if !fresh {
		f.answerHeld(from, m, out)
		return judgement{verdict: verdictKnown}
	}
	if err := f.fits(from, m, at); err != nil {
		return judgement{verdict: verdictBreach, err: fmt.Errorf("%v %w", m.Flush, err)}
	}
	bytes, found := Bytes(m), below
	if len(m.Chunks)+len(m.Leases) > 0 { // a flush that changes nothing takes no room
		found = f.hasRoom(placeOf(m), bytes)
	}
	if found == full {
		return f.wait(from, m, known, out)
	}
	f.arrived(m)
	return judgement{verdict: verdictFits, known: known, room: found, bytes: bytes}
}

// owns checks that the lane owns the partitions of all parts of a push.
func owns(m *wire.Push, at Partitions) error {
	for p := range pairs(m) {
		if err := at.Owns(p); err != nil {
			return err
		}
	}
	return nil
}

// dedupe removes from a push the parts that are held or wait. It reports whether something of the flush
// is known, and whether anything is left. If parts that wait are sent again, then what waits is what
// comes now.
func (f *Flushes) dedupe(m *wire.Push) (known, fresh bool) {
	if planted.On("push-twice") {
		return false, true
	}
	for i := range f.held {
		h := &f.held[i]
		if !same(h.Push.Flush, m.Flush) {
			continue
		}
		known, h.several = true, true
		if planted.On("dedupe-by-flush") {
			return true, false
		}
		f.stampPairs(pairs(h.Push))
		f.strip(m)
	}
	first, _ := f.search(placeOf(m))
	for i := first; i < len(f.waiting) && same(f.waiting[i].flush, m.Flush); i++ {
		w := &f.waiting[i]
		if w.asked {
			continue
		}
		if known = true; m.Again {
			if w.shares(f.PairsOf(m)) {
				f.miss(w.parts)
				f.waiting = slices.Delete(f.waiting, i, i+1)
				i--
			}
			continue
		}
		f.stampPairs(slices.Values(w.pairs))
		f.strip(m)
	}
	return known, !known || len(m.Chunks)+len(m.Leases) > 0
}

// fits refuses sums of splits that the sender does not run, if sums of others are to be added to them,
// and the ends of leases that the sender does not have.
func (f *Flushes) fits(from wire.Address, m *wire.Push, at Partitions) error {
	for i := range m.Chunks {
		c := &m.Chunks[i]
		if at.Barrier(c.Ref) && !f.route.Runs(from.Node, c.Subtree) {
			return fmt.Errorf("has a sum over subtree %d of level %d, which has splits of others",
				c.Subtree.Index, c.Subtree.Level)
		}
	}
	for i := range m.Leases {
		if ref := m.Leases[i].Ref; !at.MayEnd(ref, from) {
			return fmt.Errorf("ends an exclusive lease on %v that it does not have", ref)
		}
	}
	return nil
}

// hold keeps a push that fits until a record numbers its flush, and votes: by wire.Held to the client,
// or by wire.Done to the controller if all of the flush is here and its done came along. Rows are the
// numbers of the rows that its keys name; nothing can be refused after the vote.
func (f *Flushes) hold(from wire.Address, m *wire.Push, j judgement, rows []uint32, out *wire.Outbox) {
	named := m.Again || j.known
	f.held = append(f.held, Held{Push: m, From: from, Named: named, Rows: rows,
		bytes: j.bytes, above: j.room == above && !j.known, several: named})
	f.heldBytes += j.bytes
	if f.passDone(m, j.known, out) {
		return
	}
	if m.Again {
		f.answerHeld(from, m, out)
		return
	}
	h := wire.New[wire.Held]()
	h.Flush = m.Flush
	if named {
		h.Pairs = append(h.Pairs, f.PairsOf(m)...)
	}
	out.Send(f.self, from, h)
}

// passDone tells the controller that a flush is held, if all of it is here, and reports whether it did.
// The done came with one of its pushes, which may not be the last. The push keeps it until the flush
// has a number, for a controller that follows another.
func (f *Flushes) passDone(m *wire.Push, several bool, out *wire.Outbox) bool {
	// When parts are sent again, their client reports to the controller itself, once wire.Held has named all of them. A
	// push without parts gets no wire.Held, and the lane that it was sent to first may have left before it arrived.
	if m.Again && len(m.Pairs) > 0 && !planted.On("old-done-passed") {
		return false
	}
	with, here := m, len(f.PairsOf(m))
	if several {
		for i := range f.held {
			if p := f.held[i].Push; p != m && same(p.Flush, m.Flush) {
				here += len(f.PairsOf(p))
				if p.Done != nil {
					with = p
				}
			}
		}
	}
	if with.Done == nil || here < len(m.Pairs) && !planted.On("done-passed-early") {
		return false
	}
	out.Send(f.self, f.controller, with.Done.Copy())
	return true
}

// wait tells a client that there is no room for a push, and notes that it must come again.
func (f *Flushes) wait(from wire.Address, m *wire.Push, known bool, out *wire.Outbox) judgement {
	w := waiter{place: placeOf(m), pairs: slices.Clone(f.PairsOf(m)), named: m.Again || known, from: from,
		parts: f.partsOf(m)}
	w.first = f.least(w.pairs)
	if !f.enqueue(w) {
		return judgement{verdict: verdictBreach, err: fmt.Errorf("%d flushes wait for room already", f.waitingMax)}
	}
	f.answerHeld(from, m, out)
	out.Send(f.self, from, &wire.Full{Flush: m.Flush, Pairs: w.pairsToName()})
	if m.Done != nil && planted.On("done-passed-unheld") {
		out.Send(f.self, f.controller, m.Done.Copy())
	}
	return judgement{verdict: verdictWaits}
}

// answerHeld tells a client that sends a push again all that is held of the flush. A push that is not
// sent again was answered when it was held: if it comes once more, that answer is on its way.
func (f *Flushes) answerHeld(from wire.Address, m *wire.Push, out *wire.Outbox) {
	if !m.Again {
		return
	}
	h := wire.New[wire.Held]()
	h.Flush = m.Flush
	for i := range f.held {
		if p := f.held[i].Push; same(p.Flush, m.Flush) {
			h.Pairs = append(h.Pairs, f.PairsOf(p)...)
		}
	}
	if len(h.Pairs) > 0 {
		out.Send(f.self, from, h)
	}
}
