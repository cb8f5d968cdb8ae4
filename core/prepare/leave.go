package prepare

import (
	"fmt"
	"slices"

	"bellows"
	"bellows/core/planted"
	"bellows/core/route"
	"bellows/link/wire"
)

// Parts that belong to other lanes: they are refused as stale, or their partition moves.

// Refuse tells a client that a push names a partition of another owner. The push comes again under the
// same name, to where it belongs. Parts of it that wait here at the generation that is refused are
// forgotten; those that have come again since wait on. Refuse fails if too much is missed.
func (f *Flushes) Refuse(from wire.Address, m *wire.Push, out *wire.Outbox) error {
	f.SayStale(from, f.StaleOf(m), out)
	err := f.Drop(m)
	pairs := Pairs(m)
	f.waiting = slices.DeleteFunc(f.waiting, func(w waiter) bool {
		refused := slices.ContainsFunc(w.pairs, func(p wire.Pair) bool { return slices.Contains(pairs, p) })
		gone := w.flush == m.Flush && (refused || planted.On("refused-erases") && w.shares(pairs))
		if gone {
			f.miss(w.parts)
		}
		return gone
	})
	return err
}

// StaleOf returns the refusal of a whole push.
func (f *Flushes) StaleOf(m *wire.Push) *wire.Stale {
	return &wire.Stale{Route: f.route.Version(), Flush: m.Flush, Pairs: Pairs(m)}
}

// SayStale tells a client what of a push is to come again: nothing of a flush that has a number, and not
// what is held of the flush, since this push may be a copy.
func (f *Flushes) SayStale(to wire.Address, m *wire.Stale, out *wire.Outbox) {
	for i := range f.held {
		if h := &f.held[i]; h.Push.Flush == m.Flush {
			here := Pairs(h.Push)
			m.Pairs = slices.DeleteFunc(m.Pairs, func(p wire.Pair) bool { return slices.Contains(here, p) })
		}
	}
	if len(m.Pairs) > 0 && !f.counted.Contains(m.Flush) {
		out.Send(f.self, to, m)
	}
}

// Leave forgets what is held and what waits for a partition that goes to another lane. Its clients are
// told, and send it again to the new owner, so that nothing depends on a controller that may be lost. No
// flush that is held for an exclusive lease is concerned: a partition does not move while it is leased.
func (f *Flushes) Leave(p wire.Pair, out *wire.Outbox) {
	for i := range f.held {
		f.sendBack(&f.held[i], p, out)
	}
	f.sendBackWaiting(p.Ref, out)
	f.held = slices.DeleteFunc(f.held, func(h Held) bool {
		return len(h.Push.Chunks)+len(h.Push.Leases) == 0 && len(h.Push.Pairs) > 0
	})
}

// sendBack removes the part for a partition from what is held of a flush, and tells its client. The vote
// for what is left is sent: the vote may have gone with a done, which is void now.
func (f *Flushes) sendBack(h *Held, p wire.Pair, out *wire.Outbox) {
	m, bytes := h.Push, Bytes(h.Push)
	of := func(c wire.Chunk) bool { return c.Ref == p.Ref }
	if !slices.ContainsFunc(m.Chunks, of) {
		return
	}
	for _, one := range f.partsOf(m) {
		if one.Ref == p.Ref {
			f.miss([]wire.Missed{one})
		}
	}
	m.Chunks = slices.DeleteFunc(m.Chunks, of)
	bytes -= Bytes(m)
	f.heldBytes -= bytes
	h.bytes -= bytes
	h.Named, h.several = true, true
	if !planted.On("forgotten-untold") {
		f.sayMoved(h.From, m.Flush, p, out)
	}
	if len(m.Chunks)+len(m.Leases) > 0 && !planted.On("rest-unvoted") {
		held := wire.New[wire.Held]()
		held.Flush, held.Pairs = m.Flush, append(held.Pairs, f.PairsOf(m)...)
		out.Send(f.self, h.From, held)
	}
}

// sendBackWaiting tells clients of parts for a partition that wait for room here. Other parts of the
// same pushes wait on.
func (f *Flushes) sendBackWaiting(ref bellows.PartitionRef, out *wire.Outbox) {
	for i := range f.waiting {
		w := &f.waiting[i]
		at := slices.IndexFunc(w.pairs, func(p wire.Pair) bool { return p.Ref == ref })
		if at < 0 {
			continue
		}
		f.sayMoved(w.from, w.flush, w.pairs[at], out)
		w.named, w.pairs = true, slices.Delete(slices.Clone(w.pairs), at, at+1)
		for k, one := range w.parts {
			if one.Ref == ref {
				f.miss([]wire.Missed{one})
				w.parts = slices.Delete(slices.Clone(w.parts), k, k+1)
				break
			}
		}
	}
	f.waiting = slices.DeleteFunc(f.waiting, func(w waiter) bool { return len(w.pairs) == 0 })
	for i := range f.waiting { // parts of one flush stand in the order of what is left
		f.waiting[i].first = f.least(f.waiting[i].pairs)
	}
	slices.SortFunc(f.waiting, func(a, b waiter) int { return a.rank(b.place) })
}

// sayMoved tells a client that one part of a flush belongs to another lane.
func (f *Flushes) sayMoved(to wire.Address, id bellows.FlushID, p wire.Pair, out *wire.Outbox) {
	out.Send(f.self, to, &wire.Stale{Route: f.route.Version(), Flush: id, Pairs: []wire.Pair{p}})
}

// DropLate counts as dropped what a process pushes that was declared gone, as far as there is memory.
func (f *Flushes) DropLate(m *wire.Push, at Partitions) {
	if err := owns(m, at); (err == nil || err == route.ErrStale) && len(f.missed) < missedMax {
		f.Miss(m)
	}
}

// Drop works like Miss, for a push that its client will send again elsewhere. It fails if too much is missed: each
// client has a bounded number of flushes under way.
func (f *Flushes) Drop(m *wire.Push) error {
	if f.Miss(m); len(f.missed) > missedMax {
		return fmt.Errorf("parts of %d flushes, of which it knows that they belong elsewhere", missedMax)
	}
	return nil
}
