package coord

import (
	"errors"
	"slices"

	"bellows"
	"bellows/link/wire"
)

// How a node is lost. Three can notice: its connection ends (Broken), its process is known to be
// dead (Lost), or it is silent for a lease (Tick). Silence and broken connections make a suspect of
// it, for which a better reason may still come (members.Roll); lose is the verdict. It is told to
// the lanes first: behind the records of what counts of the node they are fenced from it (fence),
// so that nothing of it changes state any more, however late it wakes. Then the job ends by its
// name; or, where it was ending, goes on without the node. One that only runs tasks costs these tasks:
// others run them again, and the job goes on (bury).

// Broken tells the controller that the connection to a node has ended, and why: the node is lost soon, if
// no better reason comes.
func (c *Controller) Broken(n bellows.NodeID, reason string) {
	c.roll.Suspect(n, reason, c.cfg.Times.Broken)
}

// Lost tells the controller that a node is dead, and why: nothing is expected of it any more, and the
// job ends if it needs the node.
func (c *Controller) Lost(n bellows.NodeID, reason string, fx *Effects) {
	fx.Era = c.cfg.Era
	if c.mayHaveLeft(n) {
		c.roll.Suspect(n, reason, 0)
		return
	}
	c.lose(n, reason, false, fx)
}

// Mistrust tells the controller that a node has sent what cannot be: whatever it runs, the job ends.
func (c *Controller) Mistrust(n bellows.NodeID, reason string, fx *Effects) {
	fx.Era = c.cfg.Era
	if c.mayHaveLeft(n) {
		c.roll.Suspect(n, reason, 0)
		return
	}
	c.lose(n, reason, true, fx)
}

// lose declares a node lost, once. A job that is ending waits for it no more, and one that has
// finished loses its state only if the node still owes some of it
// (TestWhoHoldsNothingMayDieWhileTheStateIsCollected).
func (c *Controller) lose(n bellows.NodeID, reason string, breach bool, fx *Effects) {
	if !c.roll.Lose(n, reason) {
		return
	}
	fx.Losses = append(fx.Losses, reason)
	if c.ending == nil && !breach && c.needs(n) == "" {
		if c.conclude(fx); c.ending == nil { // a dispatch names a client by its place
			c.bury(n, reason, fx)
			return
		}
	}
	c.fence(n, fx)
	c.retract(n)
	switch {
	case c.ending == nil:
		c.end(&Outcome{Kind: bellows.Lost, Reason: reason}, fx)
	case c.collecting:
		if c.cfg.Collector.Owes(n) {
			c.uncollected(errors.New(reason), fx)
		}
		c.tellLoss(c.cfg.Collector.Open(), fx) // whose last word was perhaps not waited for
	default:
		c.open = slices.DeleteFunc(c.open, func(a wire.Address) bool { return a.Node == n })
		c.tellLoss(c.open, fx)
		c.closeWhenAll(fx)
	}
}

// fence tells the lanes that are left that a node is gone, behind the records of what counts of it:
// a process, by its incarnation, and not the node, which may be started again.
func (c *Controller) fence(n bellows.NodeID, fx *Effects) {
	c.sendRecords(fx)
	for _, l := range c.cfg.Lanes {
		if !c.roll.Lost(l.Node) {
			fx.Send(c.cfg.Controller, l, &wire.Fence{Term: c.cfg.Term, Node: n, Incarnation: c.cfg.Incarnation(wire.ClientAt(n))})
		}
	}
}

// tellLoss tells lanes again of the end, with who is lost: they may wait for him to pass it on, and
// have no last word and no state before.
func (c *Controller) tellLoss(list []wire.Address, fx *Effects) {
	for _, a := range list {
		if a.Role == wire.Lane {
			c.sendEnd(a, fx)
		}
	}
}
