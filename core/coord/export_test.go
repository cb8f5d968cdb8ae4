package coord

import (
	"bellows"
	"bellows/link/wire"
)

// Whole returns the route as another controller tells it.
func (c *Controller) Whole() []bellows.Control { return c.membership.Whole() }

// GivePartition gives a partition to another lane at once, with nothing of its state.
func (c *Controller) GivePartition(p bellows.PartitionRef, to wire.Address, fx *Effects) error {
	defer c.conclude(fx)
	return c.change(c.membership.Route().MovePartition(p, to), fx)
}

// MarkLost marks a node as lost, without the consequences that Lost has.
func (c *Controller) MarkLost(n bellows.NodeID, reason string) { c.membership.Lose(n, reason) }
