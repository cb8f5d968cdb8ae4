package server

import (
	"slices"

	"bellows"
	"bellows/core/planted"
	"bellows/link/wire"
)

// What the lane knows of a flush it knows by partition: it may hold one part of it, have no room for another, and get a third later, in
// a push of its own, since partitions come from other lanes. A record is different: it is made when every part is held, so that
// whatever comes of the flush afterwards has come before.

// mark gives the partitions of a push a stamp that no other has.
func (l *Lane) mark(m *wire.Push) {
	l.stamps++
	for i := range m.Chunks {
		l.byNumber[l.cfg.Route.Number(m.Chunks[i].Ref)].stamp = l.stamps
	}
	for i := range m.Leases {
		l.byNumber[l.cfg.Route.Number(m.Leases[i].Ref)].stamp = l.stamps
	}
}

// pairsOf are the pairs of which a push has parts, each once. The list is good until the next call.
func (l *Lane) pairsOf(m *wire.Push) []wire.Pair {
	l.stamps++
	list := l.pairs[:0]
	add := func(p wire.Pair) {
		if t := l.byNumber[l.cfg.Route.Number(p.Ref)]; t.stamp != l.stamps {
			t.stamp = l.stamps
			list = append(list, p)
		}
	}
	for i := range m.Chunks {
		add(m.Chunks[i].Pair)
	}
	for i := range m.Leases {
		add(m.Leases[i].Pair)
	}
	l.pairs = list
	return list
}

// least is the first of the partitions of which a push has parts.
func (l *Lane) least(m *wire.Push) int {
	first := l.cfg.Route.Partitions()
	for i := range m.Chunks {
		first = min(first, l.cfg.Route.Number(m.Chunks[i].Ref))
	}
	for i := range m.Leases {
		first = min(first, l.cfg.Route.Number(m.Leases[i].Ref))
	}
	return first
}

// sift leaves of a push what the lane does not know. It reports whether the lane knows something of the flush, and whether anything is left: of a flush that was
// recorded nothing is. Parts that wait for room are known, unless they are sent again: then what waits is what comes now.
func (l *Lane) sift(m *wire.Push) (known, fresh bool) {
	if planted.On("push-twice") {
		return false, true
	}
	if l.counted.Has(m.Flush) {
		return true, false
	}
	for _, f := range l.held {
		if same(f.push.Flush, m.Flush) {
			known, f.several = true, true
			if planted.On("dedupe-by-flush") {
				return true, false
			}
			l.mark(f.push)
			l.strip(m)
		}
	}
	for i := l.waits(m); i < len(l.waiting) && same(l.waiting[i].flush, m.Flush); i++ {
		w := &l.waiting[i]
		if w.asked {
			continue
		}
		if known = true; m.Again {
			if w.shares(l.pairsOf(m)) {
				l.waiting = slices.Delete(l.waiting, i, i+1)
				i--
			}
			continue
		}
		l.stamps++
		for _, p := range w.pairs {
			l.byNumber[l.cfg.Route.Number(p.Ref)].stamp = l.stamps
		}
		l.strip(m)
	}
	return known, !known || len(m.Chunks)+len(m.Leases) > 0
}

// strip takes out of a push the parts of partitions that have the last stamp.
func (l *Lane) strip(m *wire.Push) {
	stamped := func(p bellows.PartitionRef) bool { return l.byNumber[l.cfg.Route.Number(p)].stamp == l.stamps }
	m.Chunks = slices.DeleteFunc(m.Chunks, func(c wire.Chunk) bool { return stamped(c.Ref) })
	m.Leases = slices.DeleteFunc(m.Leases, func(e wire.LeaseEnd) bool { return stamped(e.Ref) })
}

// waits is the place of the first that waits of a push's flush, or where it would be.
func (l *Lane) waits(m *wire.Push) int {
	i, _ := slices.BinarySearchFunc(l.waiting, waiter{flush: m.Flush, clock: m.Clock, first: -1}, rank)
	return i
}

// said is how the pairs of a waiter are named.
func (w *waiter) said() []wire.Pair {
	if !w.named {
		return nil
	}
	return slices.Clone(w.pairs) // a message is its receiver's
}

// shares reports whether a waiter has one of the pairs' partitions.
func (w *waiter) shares(pairs []wire.Pair) bool {
	return slices.ContainsFunc(w.pairs, func(p wire.Pair) bool {
		return slices.ContainsFunc(pairs, func(q wire.Pair) bool { return p.Ref == q.Ref })
	})
}

// answerHeld answers a push that was sent again with all that is held of its flush. One that was not is answered where it is held: when it comes
// once more that answer is on its way.
func (l *Lane) answerHeld(from wire.Address, m *wire.Push, out *wire.Outbox) {
	if !m.Again {
		return
	}
	h := wire.New[wire.Held]()
	h.Flush = m.Flush
	for _, f := range l.held {
		if same(f.push.Flush, m.Flush) {
			h.Pairs = append(h.Pairs, l.pairsOf(f.push)...)
		}
	}
	if len(h.Pairs) > 0 {
		out.Send(l.cfg.Self, from, h)
	}
}
