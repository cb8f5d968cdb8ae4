package membership

import (
	"fmt"
	"slices"

	"bellows"
	"bellows/core/planted"
	"bellows/link/wire"
)

// Moving is a partition on its way to another lane; its move has no record yet.
type Moving struct {
	Ref      bellows.PartitionRef
	From, To wire.Address
	// Copied and Of are the bytes that are there, and about how many will be, by the owner's last report; 0 and 0
	// before it.
	Copied, Of  uint64
	SinceMillis int64
	Urgent      bool
}

// Moved is the end of a move: its record was made; or, with a reason, it was given up.
type Moved struct {
	Moving
	Reason string
}

// Order is a message to the lane that owns a partition. It must be sent after the pending records, which may have
// made it the owner.
type Order struct {
	To wire.Address
	*wire.Handoff
}

// copies are the moves of partitions.
//
// A partition goes to another lane in two steps: its owner copies it there in the background (package handoff), and
// reports when all is there and nothing is held back; then the controller records the move, and that record alone
// decides. A request is no record and ends with the controller: the caller asks the next one again, which has all lanes
// give up copies that have no record (VoidCopies).
type copies struct {
	list  []copying
	asked uint64 // requests so far
}

// copying is one move.
type copying struct {
	Moving
	number uint64
	pair   wire.Pair
}

// index returns the place of a partition's move; -1: none.
func (c *copies) index(ref bellows.PartitionRef) int {
	return slices.IndexFunc(c.list, func(m copying) bool { return m.Ref == ref })
}

// isTarget reports whether a partition is on its way to a lane.
func (c *copies) isTarget(lane wire.Address) bool {
	return slices.ContainsFunc(c.list, func(m copying) bool { return m.To == lane })
}

// order returns the message that begins a move, or cancels it.
func (m *copying) order(term bellows.Term, cancel bool) *Order {
	return &Order{m.From, &wire.Handoff{Term: term, Number: m.number, Pair: m.pair, Node: m.To.Node, Lane: m.To.Index,
		Urgent: m.Urgent, Cancel: cancel}}
}

// MovePartition begins to move a partition to another lane; an urgent move does not yield to other work. It takes
// the place of an earlier move of the partition. The order is nil if nothing is to be sent.
func (g *Group) MovePartition(ref bellows.PartitionRef, to wire.Address, urgent bool, nowMillis int64) (
	*Order, error,
) {
	switch {
	case !g.route.Contains(ref):
		return nil, fmt.Errorf("there is no partition %v", ref)
	case !slices.Contains(g.route.Lanes(), to):
		return nil, fmt.Errorf("%v takes no part", to)
	case g.Lost(to.Node):
		return nil, fmt.Errorf("%v cannot own %v: %s", to, ref, g.Why(to.Node))
	}
	c := &g.copies
	owner := g.route.Owner(ref)
	if i := c.index(ref); i >= 0 && c.list[i].To == to && c.list[i].Urgent == urgent {
		return nil, nil
	}
	if owner.Lane == to {
		return g.CancelMove(ref), nil
	}
	c.list = slices.DeleteFunc(c.list, func(m copying) bool { return m.Ref == ref }) // the owner hears of the newer one
	c.asked++
	m := copying{Moving{Ref: ref, From: owner.Lane, To: to, SinceMillis: nowMillis, Urgent: urgent}, c.asked,
		wire.Pair{Ref: ref, Generation: owner.Generation}}
	c.list = append(c.list, m)
	return m.order(g.opt.Term, false), nil
}

// CancelMove gives up the move of a partition that has no record. The order is nil if nothing moves.
func (g *Group) CancelMove(ref bellows.PartitionRef) *Order {
	i := g.copies.index(ref)
	if i < 0 {
		return nil
	}
	order := g.copies.list[i].order(g.opt.Term, true)
	g.copies.list = slices.Delete(g.copies.list, i, i+1)
	return order
}

// Moving returns the moves that have no record, in the order of their requests.
func (g *Group) Moving() (list []Moving) {
	for i := range g.copies.list {
		list = append(list, g.copies.list[i].Moving)
	}
	return list
}

// Prepared is what follows from a lane's report of a move.
type Prepared struct {
	Change bellows.Control // to be recorded; its kind is bellows.NoControl if nothing is recorded
	Order  *Order          // to be sent; nil: none
	Moved  []Moved         // moves that have ended
}

// TakePrepared takes an owner's report of a move, which is made once its partition may go. Reports of a move that was
// given up, or that an earlier controller has ordered, are ignored.
func (g *Group) TakePrepared(from wire.Address, m *wire.Prepared) (p Prepared) {
	c := &g.copies
	i := slices.IndexFunc(c.list, func(o copying) bool {
		return (o.number == m.Number || planted.On("prepared-unnumbered")) && o.Ref == m.Pair.Ref
	})
	if i < 0 || m.Term != g.opt.Term && !planted.On("prepared-unnumbered") || from != c.list[i].From {
		return p
	}
	one := &c.list[i]
	if m.Copied >= one.Copied {
		one.Copied, one.Of = m.Copied, m.Of
	}
	switch {
	case m.Reason != "":
		p.Moved = []Moved{{one.Moving, m.Reason}}
	case !m.Whole:
		return p
	case g.Lost(one.To.Node):
		p.Order = g.CancelMove(one.Ref)
		return p
	default:
		change := g.route.MovePartition(one.Ref, one.To)
		if err := g.Change(change); err != nil {
			p.Order, p.Moved = one.order(g.opt.Term, true), []Moved{{one.Moving, err.Error()}}
			break
		}
		p.Change, p.Moved = change, []Moved{{one.Moving, ""}}
	}
	c.list = slices.Delete(c.list, i, i+1)
	return p
}

// VoidCopies tells every lane to give up the copies that an earlier controller has ordered and not recorded.
func (g *Group) VoidCopies(out *wire.Outbox) {
	if planted.On("copies-left-behind") {
		return
	}
	for _, l := range g.lanes {
		out.Send(g.self, l, &wire.Handoff{Term: g.opt.Term})
	}
}

// Stale returns the parts of a flush that are held by earlier owners than the current ones. A later owner cannot be
// known: that is an error.
func (g *Group) Stale(held []wire.Pair) (stale []wire.Pair, err error) {
	for _, p := range held {
		switch current := g.route.Owner(p.Ref).Generation; {
		case p.Generation < current && !planted.On("old-done-accepted"):
			stale = append(stale, p)
		case p.Generation > current && !planted.On("newer-done-accepted"):
			return nil, fmt.Errorf("partition %v is at generation %d, not %d", p.Ref, current, p.Generation)
		}
	}
	return stale, nil
}
