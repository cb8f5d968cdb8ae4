package coord

import (
	"bellows"
	"bellows/link/wire"
)

// MovePartition gives a partition to another lane at once, with nothing of its state.
func (c *Controller) MovePartition(p bellows.PartitionRef, to wire.Address, fx *Effects) error {
	defer c.conclude(fx)
	return c.change(c.cfg.Route.MovePartition(p, to), fx)
}
