package guard

import (
	"fmt"
	"math"

	"bellows"
	"bellows/link/wire"
)

// check is what is asked of the messages of one kind.
type check struct {
	kind  uint8
	idle  bool // a node that runs no tasks may say it as a client
	judge func(g *Guard, e wire.Envelope) *breach
}

// of checks messages of one kind. A client that says them runs tasks.
func of[M wire.Message](judge func(g *Guard, e wire.Envelope, m M) *breach) check {
	var none M
	return check{wire.Envelope{Message: none}.Kind(), false, func(g *Guard, e wire.Envelope) *breach {
		return judge(g, e, e.Message.(M))
	}}
}

// anything passes messages of one kind: what they say can be about anything.
func anything[M wire.Message]() check {
	return of(func(*Guard, wire.Envelope, M) *breach { return nil })
}

// evenIdle lets nodes that run no tasks say it, too.
func (c check) evenIdle() check {
	c.idle = true
	return c
}

// checks has one for every kind, by number. A message whose kind has none is refused, and so is a test of this package.
var checks = byKind(
	of((*Guard).pull),
	of((*Guard).rows),
	of(func(g *Guard, _ wire.Envelope, m *wire.Acquire) *breach { return g.leasable(m.Pair.Ref) }),
	of(func(g *Guard, e wire.Envelope, m *wire.Granted) *breach {
		return g.slab(e.From, "the partition", -1, m.Pair, m.Values)
	}),
	of(func(g *Guard, _ wire.Envelope, m *wire.Release) *breach { return g.ref("the partition", -1, m.Ref) }),
	of((*Guard).push),
	of(func(g *Guard, e wire.Envelope, m *wire.Held) *breach { return g.answer(e.To, m.Flush, m.Pairs) }),
	of(func(g *Guard, e wire.Envelope, m *wire.Full) *breach { return g.answer(e.To, m.Flush, m.Pairs) }),
	of(func(g *Guard, e wire.Envelope, m *wire.Room) *breach { return g.answer(e.To, m.Flush, m.Pairs) }),
	of((*Guard).committed),
	anything[*wire.Refused](),
	of((*Guard).image),
	of(func(g *Guard, _ wire.Envelope, m *wire.Unsubscribe) *breach { return g.ref("the partition", -1, m.Ref) }),
	of(func(g *Guard, _ wire.Envelope, m *wire.Inquiry) *breach { return g.waits(m.Incarnation, m.List) }),
	of(func(g *Guard, _ wire.Envelope, m *wire.Standing) *breach { return g.waits(m.Incarnation, m.List) }),
	of(func(g *Guard, e wire.Envelope, m *wire.Done) *breach { return g.done(e.From, m, true) }),
	of(func(g *Guard, e wire.Envelope, m *wire.Computing) *breach {
		return g.unit(-1, m.Unit, !g.ran(m.Unit.Split, e.From.Node), e.From.Node)
	}),
	anything[*wire.Failed]().evenIdle(),
	anything[*wire.Beat]().evenIdle(),
	of((*Guard).records),
	of((*Guard).staleness),
	of((*Guard).dispatch),
	of((*Guard).end).evenIdle(), // a client that has said nothing else to this node
	of(func(g *Guard, _ wire.Envelope, m *wire.Closed) *breach {
		return within("the tables of its ledgers", -1, int64(len(m.Counts.Ledgers)), 0, int64(len(g.cfg.Tables)))
	}),
	anything[*wire.Collect](),
	of(func(g *Guard, _ wire.Envelope, m *wire.Fence) *breach {
		if b := g.node("the node gone", -1, m.Node); b != nil {
			return b
		}
		return within("its incarnation", -1, int64(m.Incarnation), 1, math.MaxUint32)
	}),
	anything[*wire.Query](),
	of((*Guard).holding),
	anything[*wire.Collected](),
	anything[*wire.Ready]().evenIdle(),
	anything[*wire.Notice]().evenIdle(),
	of(func(g *Guard, _ wire.Envelope, m *wire.Severed) *breach { return g.node("the node", -1, m.Node) }).evenIdle(),
	anything[*wire.Report]().evenIdle(),
	of((*Guard).route),
	of(func(g *Guard, e wire.Envelope, m *wire.Stale) *breach {
		if m.Flush == (bellows.FlushID{}) {
			return nil
		}
		return g.answer(e.To, m.Flush, m.Pairs)
	}),
)

// byKind puts checks where their kinds' numbers say.
func byKind(list ...check) (to [1 << 8]check) {
	for _, c := range list {
		to[c.kind] = c
	}
	return to
}

// image is a part of a slab that the lane holds, or of what its rule keeps beside it.
func (g *Guard) image(e wire.Envelope, m *wire.Slab) *breach {
	if b := g.ref("the partition", -1, m.Ref); b != nil {
		return b
	}
	if b := g.owned(e.From, "the partition", -1, wire.Pair{Ref: m.Ref, Generation: g.now.Load().route.Owner(m.Ref).Generation}); b != nil {
		return b
	}
	return within("the slot", -1, int64(m.Slot), 0, int64(g.slots[m.Ref.Table]))
}

// holding is of partitions that the lane holds, and of flushes that clients may have sent it.
func (g *Guard) holding(e wire.Envelope, m *wire.Holding) *breach {
	if m.Tail == 0 || m.Tail > m.Last+1 {
		return &breach{"the first record kept", -1, fmt.Sprint(m.Tail), fmt.Sprintf("from 1 to %d", m.Last+1)}
	}
	for i := range m.Flushes {
		h := &m.Flushes[i]
		if b := g.node("the flush's client", i, h.Flush.Client); b != nil {
			return b
		}
		done := wire.Done{Flush: h.Flush, Clock: h.Clock, Pairs: h.Pairs, Results: h.Done}
		if b := g.done(e.From, &done, true); b != nil {
			return b
		}
		if b := g.pairs(h.Held); b != nil {
			return b
		}
	}
	for i := range m.Parts {
		if b := g.ref("the partition", i, m.Parts[i].Ref); b != nil {
			return b
		}
	}
	for i := range m.Added {
		if b := g.node("the node added", i, m.Added[i].Node); b != nil {
			return b
		}
	}
	for i := range m.Gone {
		if b := g.node("the node gone", i, m.Gone[i].Node); b != nil {
			return b
		}
	}
	if m.End != nil {
		return g.end(e, m.End)
	}
	return nil
}

func (g *Guard) staleness(_ wire.Envelope, m *wire.Staleness) *breach {
	return g.consistency(-1, m.Table, m.Clocks)
}

func (g *Guard) end(_ wire.Envelope, m *wire.End) *breach {
	for i, n := range m.Gone {
		if b := g.node("the node gone", i, n); b != nil {
			return b
		}
	}
	return nil
}
