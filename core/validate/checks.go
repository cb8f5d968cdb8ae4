package validate

import (
	"cmp"
	"fmt"
	"math"

	"bellows"
	"bellows/core/handoff"
	"bellows/core/tally"
	"bellows/link/wire"
)

// check judges the messages of one kind. Kinds have one each, found by the number that frames carry. Its type takes
// the number from the message, so that a check cannot be entered for the wrong kind (docs/decisions/0026).
type check struct {
	kind  uint8
	idle  bool // a node that runs no tasks may send it as a client
	judge func(ck *Checker, e wire.Envelope) *violation
}

// checkOf makes the check for messages of one kind, which clients send only if they run tasks.
func checkOf[M wire.Message](judge func(ck *Checker, e wire.Envelope, m M) *violation) check {
	var none M
	return check{wire.Envelope{Message: none}.Kind(), false, func(ck *Checker, e wire.Envelope) *violation {
		return judge(ck, e, e.Message.(M))
	}}
}

// anything passes all messages of one kind.
func anything[M wire.Message]() check {
	return checkOf(func(*Checker, wire.Envelope, M) *violation { return nil })
}

// evenIdle returns the check with permission for nodes that run no tasks.
func (c check) evenIdle() check {
	c.idle = true
	return c
}

// checks has one check for every kind, by number. A message whose kind has none is refused, and a test of this
// package finds it.
var checks = byKind(
	checkOf((*Checker).pull),
	checkOf((*Checker).rows),
	checkOf(func(ck *Checker, _ wire.Envelope, m *wire.Acquire) *violation { return ck.leasable(m.Pair.Ref) }),
	checkOf(granted),
	checkOf(func(ck *Checker, _ wire.Envelope, m *wire.Release) *violation {
		return ck.ref("the partition", -1, m.Ref)
	}),
	checkOf((*Checker).push),
	checkOf(func(ck *Checker, e wire.Envelope, m *wire.Held) *violation { return ck.answer(e.To, m.Flush, m.Pairs) }),
	checkOf(func(ck *Checker, e wire.Envelope, m *wire.Full) *violation { return ck.answer(e.To, m.Flush, m.Pairs) }),
	checkOf(func(ck *Checker, e wire.Envelope, m *wire.Room) *violation { return ck.answer(e.To, m.Flush, m.Pairs) }),
	checkOf((*Checker).committed),
	anything[*wire.Refused](),
	checkOf((*Checker).image),
	checkOf(func(ck *Checker, _ wire.Envelope, m *wire.Unsubscribe) *violation {
		return ck.ref("the partition", -1, m.Ref)
	}),
	checkOf(func(ck *Checker, _ wire.Envelope, m *wire.Inquiry) *violation { return ck.waits(m.Incarnation, m.List) }).evenIdle(), // from a client that knows a newer route than this node
	checkOf(func(ck *Checker, _ wire.Envelope, m *wire.Standing) *violation {
		return ck.waits(m.Incarnation, m.List)
	}),
	checkOf(func(ck *Checker, e wire.Envelope, m *wire.Done) *violation { return ck.done(e.From, m, true) }),
	checkOf(func(ck *Checker, e wire.Envelope, m *wire.Computing) *violation {
		return ck.unit(-1, m.Unit, !ck.ran(m.Unit.Split, e.From.Node), e.From.Node)
	}),
	anything[*wire.Failed]().evenIdle(),
	anything[*wire.Beat]().evenIdle(),
	checkOf((*Checker).records),
	checkOf((*Checker).staleness),
	checkOf((*Checker).dispatch),
	checkOf(func(ck *Checker, e wire.Envelope, m *wire.Recall) *violation {
		return ck.unit(-1, bellows.Unit{Split: m.Split}, !ck.ran(m.Split, e.To.Node), e.To.Node)
	}),
	checkOf(func(ck *Checker, e wire.Envelope, m *wire.Recalled) *violation {
		return cmp.Or(ck.unit(-1, bellows.Unit{Split: m.Split}, !ck.ran(m.Split, e.From.Node), e.From.Node),
			within("the clock", -1, int64(m.Clock), int64(bellows.NoClock), math.MaxInt32))
	}),
	checkOf((*Checker).end).evenIdle(), // from a client that has sent nothing else to this node
	checkOf(func(ck *Checker, _ wire.Envelope, m *wire.Closed) *violation {
		if b := each(m.Missed, func(i int, o *wire.Missed) *violation { return ck.ref("the part missed", i, o.Ref) }); b != nil {
			return b
		}
		return cmp.Or(within("the tables of its ledgers", -1, int64(len(m.Counts.Ledgers)), 0, int64(len(ck.cfg.Tables))), each(m.Adopted, ck.named))
	}).evenIdle(), // from a client that was removed, and of which this node has never heard
	checkOf(func(ck *Checker, _ wire.Envelope, m *wire.Adopted) *violation { return each(m.List, ck.named) }),
	anything[*wire.Collect](),
	checkOf(func(ck *Checker, _ wire.Envelope, m *wire.Fence) *violation {
		return cmp.Or(ck.node("the node gone", -1, m.Node), within("its incarnation", -1, int64(m.Incarnation), 1, math.MaxUint32))
	}),
	anything[*wire.Query](),
	checkOf((*Checker).holding),
	anything[*wire.Collected](),
	anything[*wire.Ready]().evenIdle(),
	anything[*wire.Notice]().evenIdle(),
	checkOf(func(ck *Checker, _ wire.Envelope, m *wire.Complaint) *violation {
		return ck.node("the node", -1, m.Node)
	}).evenIdle(),
	checkOf((*Checker).report).evenIdle(),
	checkOf((*Checker).piece),
	checkOf(func(ck *Checker, _ wire.Envelope, m *wire.Taken) *violation {
		return ck.ref("the partition", -1, m.Pair.Ref)
	}),
	checkOf(func(ck *Checker, _ wire.Envelope, m *wire.Handoff) *violation {
		return cmp.Or(ck.ref("the partition", -1, m.Pair.Ref), ck.node("the node that is to own it", -1, m.Node))
	}),
	checkOf(func(ck *Checker, _ wire.Envelope, m *wire.Prepared) *violation {
		return cmp.Or(ck.ref("the partition", -1, m.Pair.Ref), within("how many bytes are copied", -1, int64(m.Copied), 0, int64(m.Of)))
	}),
	anything[*wire.Cut](),
	checkOf(func(ck *Checker, _ wire.Envelope, m *wire.Shard) *violation {
		return ck.ref("the partition", -1, m.Ref)
	}),
	checkOf((*Checker).route),
	checkOf(func(ck *Checker, e wire.Envelope, m *wire.Stale) *violation {
		if m.Flush == (bellows.FlushID{}) {
			return nil
		}
		return ck.answer(e.To, m.Flush, m.Pairs)
	}),
)

// byKind enters checks by the numbers of their kinds.
func byKind(list ...check) (to [1 << 8]check) {
	for _, c := range list {
		to[c.kind] = c
	}
	return to
}

// report refuses links to nodes that the job does not have, or to the node itself, or that do not ascend.
func (ck *Checker) report(e wire.Envelope, m *wire.Report) *violation {
	last := int64(-1)
	b := each(m.Links, func(i int, l *tally.Link) *violation {
		n := bellows.NodeID(l.To)
		b := cmp.Or(ck.node("the node linked", i, n), within("the node linked", i, int64(n), last+1, math.MaxUint16),
			within("the bytes sent", i, l.Bytes, 0, math.MaxInt64), within("the busy time", i, int64(l.Busy), 0, math.MaxInt64))
		if last = int64(n); b == nil && n == e.From.Node {
			b = &violation{"the node linked", i, fmt.Sprint(n), "another than the sender"}
		}
		return b
	})
	return cmp.Or(b, within("the memory to spare", -1, m.Spare, 0, math.MaxInt64))
}

// image refuses a part of a slab, or of the values that its rule keeps, that the lane does not hold. The collector
// judges how much may come, since it knows how much has come.
func (ck *Checker) image(e wire.Envelope, m *wire.Slab) *violation {
	if b := ck.ref("the partition", -1, m.Ref); b != nil {
		return b
	}
	if b := ck.owned(e.From, "the partition", -1, wire.Pair{Ref: m.Ref, Generation: ck.now.Load().route.Owner(m.Ref).Generation}); b != nil {
		return b
	}
	return within("the slot", -1, int64(m.Slot), 0, int64(ck.slots[m.Ref.Table]))
}

// piece refuses a part of a copy unless it belongs to a partition of the job: existing rows with all that is kept of
// each, or a chunk as clients push it. The receiver judges whether it takes a copy.
func (ck *Checker) piece(_ wire.Envelope, m *wire.Piece) *violation {
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

// holding refuses partitions that the lane does not hold, and flushes that clients cannot have sent it. What a lane
// reports about added lanes and clients concerns nodes of the cluster; the controller asks those, by address (Meet).
// Which node runs the units' splits is for the controller to judge: it asks before it knows the route.
func (ck *Checker) holding(e wire.Envelope, m *wire.Holding) *violation {
	if m.Tail == 0 || m.Tail > m.Last+1 {
		return &violation{"the first record kept", -1, fmt.Sprint(m.Tail), fmt.Sprintf("from 1 to %d", m.Last+1)}
	}
	b := cmp.Or(
		each(m.Flushes, func(i int, h *wire.HeldFlush) *violation {
			done := wire.Done{Flush: h.Flush, Clock: h.Clock, Pairs: h.Pairs, Results: h.Done, Sent: h.Sent}
			return cmp.Or(ck.node("the flush's client", i, h.Flush.Client), ck.done(e.From, &done, false), ck.pairs(h.Held))
		}),
		each(m.Owned, func(i int, p *wire.Owned) *violation { return ck.ref("the partition", i, p.Ref) }),
		each(m.Added, func(i int, c *bellows.Control) *violation { return ck.node("the node added", i, c.Node) }),
		each(m.Adopted, ck.named),
		each(m.Gone, func(i int, f *wire.Fence) *violation { return ck.node("the node gone", i, f.Node) }))
	if b != nil || m.End == nil {
		return b
	}
	return ck.end(e, m.End)
}

// staleness refuses a consistency that the table cannot have.
func (ck *Checker) staleness(_ wire.Envelope, m *wire.Staleness) *violation {
	return ck.consistency(-1, m.Table, m.Clocks)
}

// end refuses lost clients that the job does not have, and lanes at nodes that the cluster does not have. The route
// of this checker may not have the lanes yet.
func (ck *Checker) end(_ wire.Envelope, m *wire.End) *violation {
	b := cmp.Or(each(m.Gone, func(i int, n *bellows.NodeID) *violation { return ck.node("the node gone", i, *n) }),
		each(m.Lanes, func(i int, a *wire.LaneName) *violation { return ck.node("the node of the lane added", i, a.Node) }))
	if b == nil {
		ck.Lose(m.Gone)
	}
	return b
}
