package validate

import (
	"cmp"
	"fmt"
	"math"

	"bellows"
	"bellows/core/handoff"
	"bellows/link/wire"
)

// check is what is asked of the messages of one kind. There is one for each, found by the number
// that frames carry; its type takes the number from the message, so that a check cannot stand
// beside the wrong kind (docs/decisions/0026).
type check struct {
	kind  uint8
	idle  bool // a node that runs no tasks may say it as a client
	judge func(ck *Checker, e wire.Envelope) *breach
}

// of checks messages of one kind. A client that says them runs tasks.
func of[M wire.Message](judge func(ck *Checker, e wire.Envelope, m M) *breach) check {
	var none M
	return check{wire.Envelope{Message: none}.Kind(), false, func(ck *Checker, e wire.Envelope) *breach {
		return judge(ck, e, e.Message.(M))
	}}
}

// anything passes messages of one kind: what they say can be about anything.
func anything[M wire.Message]() check {
	return of(func(*Checker, wire.Envelope, M) *breach { return nil })
}

// evenIdle lets nodes that run no tasks say it, too.
func (c check) evenIdle() check {
	c.idle = true
	return c
}

// checks has one for every kind, by number. A message whose kind has none is refused, and so is a
// test of this package.
var checks = byKind(
	of((*Checker).pull),
	of((*Checker).rows),
	of(func(ck *Checker, _ wire.Envelope, m *wire.Acquire) *breach { return ck.leasable(m.Pair.Ref) }),
	of(func(ck *Checker, e wire.Envelope, m *wire.Granted) *breach {
		return ck.slab(e.From, "the partition", -1, m.Pair, m.Values)
	}),
	of(func(ck *Checker, _ wire.Envelope, m *wire.Release) *breach { return ck.ref("the partition", -1, m.Ref) }),
	of((*Checker).push),
	of(func(ck *Checker, e wire.Envelope, m *wire.Held) *breach { return ck.answer(e.To, m.Flush, m.Pairs) }),
	of(func(ck *Checker, e wire.Envelope, m *wire.Full) *breach { return ck.answer(e.To, m.Flush, m.Pairs) }),
	of(func(ck *Checker, e wire.Envelope, m *wire.Room) *breach { return ck.answer(e.To, m.Flush, m.Pairs) }),
	of((*Checker).committed),
	anything[*wire.Refused](),
	of((*Checker).image),
	of(func(ck *Checker, _ wire.Envelope, m *wire.Unsubscribe) *breach {
		return ck.ref("the partition", -1, m.Ref)
	}),
	of(func(ck *Checker, _ wire.Envelope, m *wire.Inquiry) *breach { return ck.waits(m.Incarnation, m.List) }).evenIdle(), // a client that is ahead of this node
	of(func(ck *Checker, _ wire.Envelope, m *wire.Standing) *breach { return ck.waits(m.Incarnation, m.List) }),
	of(func(ck *Checker, e wire.Envelope, m *wire.Done) *breach { return ck.done(e.From, m, true) }),
	of(func(ck *Checker, e wire.Envelope, m *wire.Computing) *breach {
		return ck.unit(-1, m.Unit, !ck.ran(m.Unit.Split, e.From.Node), e.From.Node)
	}),
	anything[*wire.Failed]().evenIdle(),
	anything[*wire.Beat]().evenIdle(),
	of((*Checker).records),
	of((*Checker).staleness),
	of((*Checker).dispatch),
	of(func(ck *Checker, e wire.Envelope, m *wire.Recall) *breach {
		return ck.unit(-1, bellows.Unit{Split: m.Split}, !ck.ran(m.Split, e.To.Node), e.To.Node)
	}),
	of(func(ck *Checker, e wire.Envelope, m *wire.Recalled) *breach {
		return cmp.Or(ck.unit(-1, bellows.Unit{Split: m.Split}, !ck.ran(m.Split, e.From.Node), e.From.Node),
			within("the clock", -1, int64(m.Clock), int64(bellows.NoClock), math.MaxInt32))
	}),
	of((*Checker).end).evenIdle(), // a client that has said nothing else to this node
	of(func(ck *Checker, _ wire.Envelope, m *wire.Closed) *breach {
		if b := each(m.Missed, func(i int, o *wire.Missed) *breach { return ck.ref("the part missed", i, o.Ref) }); b != nil {
			return b
		}
		return cmp.Or(within("the tables of its ledgers", -1, int64(len(m.Counts.Ledgers)), 0, int64(len(ck.cfg.Tables))), each(m.Adopted, ck.named))
	}).evenIdle(), // a client that was removed, and that this node has never heard of
	of(func(ck *Checker, _ wire.Envelope, m *wire.Adopted) *breach { return each(m.List, ck.named) }),
	anything[*wire.Collect](),
	of(func(ck *Checker, _ wire.Envelope, m *wire.Fence) *breach {
		return cmp.Or(ck.node("the node gone", -1, m.Node), within("its incarnation", -1, int64(m.Incarnation), 1, math.MaxUint32))
	}),
	anything[*wire.Query](),
	of((*Checker).holding),
	anything[*wire.Collected](),
	anything[*wire.Ready]().evenIdle(),
	anything[*wire.Notice]().evenIdle(),
	of(func(ck *Checker, _ wire.Envelope, m *wire.Complaint) *breach { return ck.node("the node", -1, m.Node) }).evenIdle(),
	anything[*wire.Report]().evenIdle(),
	of((*Checker).piece),
	of(func(ck *Checker, _ wire.Envelope, m *wire.Taken) *breach {
		return ck.ref("the partition", -1, m.Pair.Ref)
	}),
	of(func(ck *Checker, _ wire.Envelope, m *wire.Handoff) *breach {
		return cmp.Or(ck.ref("the partition", -1, m.Pair.Ref), ck.node("the node that is to own it", -1, m.Node))
	}),
	of(func(ck *Checker, _ wire.Envelope, m *wire.Prepared) *breach {
		return cmp.Or(ck.ref("the partition", -1, m.Pair.Ref), within("how many bytes are copied", -1, int64(m.Copied), 0, int64(m.Of)))
	}),
	anything[*wire.Cut](),
	of(func(ck *Checker, _ wire.Envelope, m *wire.Shard) *breach { return ck.ref("the partition", -1, m.Ref) }),
	of((*Checker).route),
	of(func(ck *Checker, e wire.Envelope, m *wire.Stale) *breach {
		if m.Flush == (bellows.FlushID{}) {
			return nil
		}
		return ck.answer(e.To, m.Flush, m.Pairs)
	}),
)

// byKind puts checks where their kinds' numbers say.
func byKind(list ...check) (to [1 << 8]check) {
	for _, c := range list {
		to[c.kind] = c
	}
	return to
}

// image is a part of a slab that the lane holds, or of what its rule keeps beside it. How much of
// it may come is for the collector, which knows how much has.
func (ck *Checker) image(e wire.Envelope, m *wire.Slab) *breach {
	if b := ck.ref("the partition", -1, m.Ref); b != nil {
		return b
	}
	if b := ck.owned(e.From, "the partition", -1, wire.Pair{Ref: m.Ref, Generation: ck.now.Load().route.Owner(m.Ref).Generation}); b != nil {
		return b
	}
	return within("the slot", -1, int64(m.Slot), 0, int64(ck.slots[m.Ref.Table]))
}

// piece is of a partition of the job: rows that it has, with all that is kept of each, or a chunk as clients push them. Whether the receiver takes a copy of it is for that.
func (ck *Checker) piece(_ wire.Envelope, m *wire.Piece) *breach {
	if b := ck.ref("the partition", -1, m.Pair.Ref); b != nil {
		return b
	}
	switch t := m.Pair.Ref.Table; m.Kind {
	case handoff.Rows, handoff.Image:
		rows, width := ck.size(m.Pair.Ref)
		if b := ck.way(-1, m.Pair.Ref, m.Keys); b != nil {
			return b
		}
		if m.Keys != nil {
			cut := ck.cfg.Route.Cut(t)
			if b := cmp.Or(within("the number of keys", -1, int64(len(m.Keys)), 0, int64(cut.Most())), exactly("the number of rows", -1, int64(m.Count), int64(len(m.Keys))),
				ownKeys(cut, -1, m.Pair.Ref, m.Keys)); b != nil {
				return b
			}
		} else if b := cmp.Or(within("the first row", -1, int64(m.First), 0, int64(rows)), within("the number of rows", -1, int64(m.Count), 0, int64(rows)-int64(m.First))); b != nil {
			return b
		}
		if m.Kind == handoff.Image && len(m.Values) == int(m.Count)*width {
			return nil
		}
		return exactly("the number of values", -1, int64(len(m.Values)), int64(m.Count)*int64(width+ck.above[t]))
	case handoff.Chunk:
		c := wire.Chunk{Pair: m.Pair, Subtree: m.Subtree, Rows: m.Rows, Keys: m.Keys, Values: m.Values}
		most, _ := ck.size(m.Pair.Ref)
		if m.Keys != nil {
			most = ck.cfg.Route.Cut(t).Most()
		}
		return cmp.Or(within("the number of rows of the change", -1, int64(m.Count), 0, int64(most)), clock(-1, m.Clock),
			subtree(ck, -1, max(m.Clock, 0), m.Subtree), ck.chunk(-1, &c))
	}
	return exactly("the number of values", -1, int64(len(m.Values)+len(m.Rows)+len(m.Keys)), 0)
}

// holding is of partitions that the lane holds, and of flushes that clients may have sent it. What
// a lane says of lanes and clients that were added is about nodes of the cluster; the controller
// asks those, by address (Meet). Whose splits the units are is for the controller: it asks before it
// knows the route.
func (ck *Checker) holding(e wire.Envelope, m *wire.Holding) *breach {
	if m.Tail == 0 || m.Tail > m.Last+1 {
		return &breach{"the first record kept", -1, fmt.Sprint(m.Tail), fmt.Sprintf("from 1 to %d", m.Last+1)}
	}
	b := cmp.Or(
		each(m.Flushes, func(i int, h *wire.HeldFlush) *breach {
			done := wire.Done{Flush: h.Flush, Clock: h.Clock, Pairs: h.Pairs, Results: h.Done, Sent: h.Sent}
			return cmp.Or(ck.node("the flush's client", i, h.Flush.Client), ck.done(e.From, &done, false), ck.pairs(h.Held))
		}),
		each(m.Owned, func(i int, p *wire.Owned) *breach { return ck.ref("the partition", i, p.Ref) }),
		each(m.Added, func(i int, c *bellows.Control) *breach { return ck.node("the node added", i, c.Node) }),
		each(m.Adopted, ck.named),
		each(m.Gone, func(i int, f *wire.Fence) *breach { return ck.node("the node gone", i, f.Node) }))
	if b != nil || m.End == nil {
		return b
	}
	return ck.end(e, m.End)
}

// staleness is a consistency that a table may have.
func (ck *Checker) staleness(_ wire.Envelope, m *wire.Staleness) *breach {
	return ck.consistency(-1, m.Table, m.Clocks)
}

// end is of clients of the job that are gone, and of lanes at nodes of the cluster, which the route
// of this checker may not have yet.
func (ck *Checker) end(_ wire.Envelope, m *wire.End) *breach {
	b := cmp.Or(each(m.Gone, func(i int, n *bellows.NodeID) *breach { return ck.node("the node gone", i, *n) }),
		each(m.Lanes, func(i int, a *wire.LaneName) *breach { return ck.node("the node of the lane added", i, a.Node) }))
	if b == nil {
		ck.Lose(m.Gone)
	}
	return b
}
