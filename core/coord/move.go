package coord

import (
	"bellows"
	"bellows/link/wire"
)

// AddLane lets a lane take part that holds nothing yet. Its node is assembled and joined to every other. The lane
// begins with the record after this one.
func (c *Controller) AddLane(a wire.Address, fx *Effects) error {
	if err := c.admit(a, fx); err != nil {
		return err
	}
	if err := c.change(c.membership.Route().AddLane(a), fx); err != nil {
		return err
	}
	c.sendRecords(fx) // to those that there were
	c.membership.Enrol(a)
	c.welcome(a, c.membership.WithLost(c.membership.Route().Whole()), fx)
	c.cut.Arm(a, &fx.Outbox)
	c.conclude(fx)
	return nil
}

// AddClient lets a node run tasks, though no split is its own yet. The node is assembled and joined to every other.
func (c *Controller) AddClient(n bellows.NodeID, fx *Effects) error {
	a := wire.ClientAt(n)
	if err := c.admit(a, fx); err != nil {
		return err
	}
	if err := c.change(c.membership.Route().AddClient(n), fx); err != nil {
		return err
	}
	c.conclude(fx) // for those that there were
	c.membership.Enrol(a)
	c.welcome(a, c.membership.Route().Whole(), fx)
	return nil
}

// Remove removes an actor that holds nothing: a lane without partitions, or a client that runs no split and is to get
// none. Messages to it leave before, and the other actors learn of the removal in this step.
func (c *Controller) Remove(a wire.Address, fx *Effects) error {
	fx.Era = c.cfg.Era
	if err := c.CheckRemoval([]wire.Address{a}, fx); err != nil {
		return err
	}
	removal, err := c.membership.RemoveActor(a)
	if err != nil {
		return err
	}
	c.recordChange(removal, fx)
	c.conclude(fx)
	c.membership.StartLeaving(removal, c.nowMillis)
	if !c.ending.Begun() {
		c.membership.Remove(a)
		c.log.Remove(a)
		c.giveUpCut(c.cut.Remove(a), fx)
	}
	return nil
}

// takeAdopted takes a lane's report that it has the counts of some that were removed. After the end the last words
// say so.
func (c *Controller) takeAdopted(list []bellows.Control, fx *Effects) {
	switch {
	case c.ending.Begun():
		return
	case c.recovery != nil:
		c.recovery.Excuse(list, c.membership)
		c.advance(fx)
		return
	}
	for _, removal := range list {
		if c.membership.Adopt(removal, c.nowMillis) {
			c.vacate(removal.Node, fx)
		}
	}
}

// MoveSplit gives a split to another node: at once if it rests, else between two of its clocks.
func (c *Controller) MoveSplit(s bellows.SplitID, to bellows.NodeID, fx *Effects) error {
	if err := c.mayChange(fx); err != nil {
		return err
	}
	if err := c.membership.CheckSplitMove(s, to); err != nil {
		return err
	}
	c.claims.PlanMove(s, to)
	c.finishMove(s, fx)
	c.claims.Revoke(s, c.membership.Route().Node(s), &fx.Outbox)
	c.conclude(fx)
	return nil
}
