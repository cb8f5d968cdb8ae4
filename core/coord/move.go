package coord

import (
	"fmt"
	"slices"

	"bellows"
	"bellows/core/planted"
	"bellows/link/wire"
)

// A partition goes to another lane in two steps: its owner copies it there, in the background (package handoff), and says when all is there and nothing is out; then the
// controller records the move, and that record is the only decision. What is asked for is no record and dies with the controller: who asked asks again. One that
// follows another has all lanes give up what has no record.

// Moving is a partition on its way to another lane, whose move has no record yet.
type Moving struct {
	Ref         bellows.PartitionRef
	From, To    wire.Address
	Copied, Of  uint64 // bytes that are there, and about how many will be, as the owner has said last; 0, 0: it has said nothing yet
	SinceMillis int64
	Urgent      bool
}

// Moved is the end of a move: its record was made; or, with a reason, it was given up.
type Moved struct {
	Moving
	Reason string
}

// moving is what the controller knows of a move besides.
type moving struct {
	Moving
	number uint64
	pair   wire.Pair
}

// MovePartition has a partition go to another lane; one that is urgent does not stand back behind other work. It takes the place of an earlier move of the partition.
func (c *Controller) MovePartition(ref bellows.PartitionRef, to wire.Address, urgent bool, fx *Effects) error {
	if err := c.mayChange(fx); err != nil {
		return err
	}
	switch {
	case !c.cfg.Route.Has(ref):
		return fmt.Errorf("there is no partition %v", ref)
	case !slices.Contains(c.cfg.Route.Lanes(), to):
		return fmt.Errorf("%v takes no part", to)
	case c.roll.Lost(to.Node):
		return fmt.Errorf("%v cannot own %v: %s", to, ref, c.roll.Why(to.Node))
	}
	owner := c.cfg.Route.Owner(ref)
	if i := c.movingAt(ref); i >= 0 && c.moving[i].To == to && c.moving[i].Urgent == urgent {
		return nil
	}
	if owner.Lane == to {
		c.CancelMove(ref, fx)
		return nil
	}
	c.moving = slices.DeleteFunc(c.moving, func(m moving) bool { return m.Ref == ref }) // the owner hears of the newer one
	c.asked++
	m := moving{Moving{Ref: ref, From: owner.Lane, To: to, SinceMillis: c.nowMillis, Urgent: urgent}, c.asked, wire.Pair{Ref: ref, Generation: owner.Generation}}
	c.moving = append(c.moving, m)
	c.tellOwner(&m, false, fx)
	return nil
}

// CancelMove gives up the move of a partition, if there is one that has no record.
func (c *Controller) CancelMove(ref bellows.PartitionRef, fx *Effects) {
	fx.Era = c.cfg.Era
	if i := c.movingAt(ref); i >= 0 {
		c.tellOwner(&c.moving[i], true, fx)
		c.moving = slices.Delete(c.moving, i, i+1)
	}
}

// Moving are the moves that have no record, in the order in which they were asked for.
func (c *Controller) Moving() (list []Moving) {
	for i := range c.moving {
		list = append(list, c.moving[i].Moving)
	}
	return list
}

func (c *Controller) movingAt(ref bellows.PartitionRef) int {
	return slices.IndexFunc(c.moving, func(m moving) bool { return m.Ref == ref })
}

// tellOwner tells the lane that owns a partition what is to become of it, behind the records that made it the owner.
func (c *Controller) tellOwner(m *moving, cancel bool, fx *Effects) {
	c.sendRecords(fx)
	fx.Send(c.cfg.Controller, m.From, &wire.Handoff{Term: c.cfg.Term, Number: m.number, Pair: m.pair, Node: m.To.Node, Lane: m.To.Index, Urgent: m.Urgent, Cancel: cancel})
}

// takePrepared records a move whose partition may go. What is said of a move that was given up, or of one that an earlier controller was asked for, is nothing.
func (c *Controller) takePrepared(from wire.Address, m *wire.Prepared, fx *Effects) {
	i := slices.IndexFunc(c.moving, func(o moving) bool {
		return (o.number == m.Number || planted.On("prepared-unnumbered")) && o.Ref == m.Pair.Ref
	})
	if i < 0 || m.Term != c.cfg.Term && !planted.On("prepared-unnumbered") || c.ending != nil || from != c.moving[i].From {
		return
	}
	one := &c.moving[i]
	if m.Copied >= one.Copied {
		one.Copied, one.Of = m.Copied, m.Of
	}
	switch {
	case m.Reason != "":
		fx.Moves = append(fx.Moves, Moved{one.Moving, m.Reason})
	case !m.Whole:
		return
	case c.roll.Lost(one.To.Node):
		c.CancelMove(one.Ref, fx)
		return
	default:
		if err := c.change(c.cfg.Route.MovePartition(one.Ref, one.To), fx); err != nil {
			c.tellOwner(one, true, fx)
			fx.Moves = append(fx.Moves, Moved{one.Moving, err.Error()})
			break
		}
		fx.Moves = append(fx.Moves, Moved{one.Moving, ""})
	}
	c.moving = slices.Delete(c.moving, i, i+1)
}

// voidMoves has every lane give up the copies that an earlier controller was asked for and has not recorded.
func (c *Controller) voidMoves(fx *Effects) {
	if planted.On("copies-left-behind") {
		return
	}
	for _, l := range c.cfg.Lanes {
		fx.Send(c.cfg.Controller, l, &wire.Handoff{Term: c.cfg.Term})
	}
}
