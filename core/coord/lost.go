package coord

import (
	"errors"
	"fmt"
	"slices"

	"bellows"
	"bellows/link/wire"
)

// takeReady lets the job begin when the last node is ready. A node that has made another job ends this one.
func (c *Controller) takeReady(n bellows.NodeID, job bellows.Fingerprint, fx *Effects) {
	c.roll.Ready(n)
	if want := c.cfg.Fingerprint; want != (bellows.Fingerprint{}) && job != want && c.ending == nil {
		c.end(&Outcome{Kind: bellows.Config, Reason: fmt.Sprintf("node %d has made another job than node %d: what differs is %s",
			n, c.cfg.Controller.Node, want.Differs(job))}, fx)
	}
	c.begin(fx)
}

// Broken tells the controller that the connection to a node has ended, and why: the node is lost soon, if
// no better reason comes.
func (c *Controller) Broken(n bellows.NodeID, reason string) {
	c.roll.Suspect(n, reason, c.cfg.Times.Broken)
}

// Lost tells the controller that a node is dead, and why: the job ends, and nothing is expected of the
// node any more.
func (c *Controller) Lost(n bellows.NodeID, reason string, fx *Effects) {
	fx.Era = c.cfg.Era
	c.lose(n, reason, fx)
}

func (c *Controller) lose(n bellows.NodeID, reason string, fx *Effects) {
	if !c.roll.Lose(n, reason) {
		return
	}
	fx.Losses = append(fx.Losses, reason)
	c.fence(n, fx)
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

// fence tells the lanes that are left that a node is gone, behind the records of what counts of it.
func (c *Controller) fence(n bellows.NodeID, fx *Effects) {
	c.sendRecords(fx)
	for _, l := range c.cfg.Lanes {
		if !c.roll.Lost(l.Node) {
			fx.Send(c.cfg.Controller, l, &wire.Fence{Term: c.cfg.Term, Node: n, Incarnation: c.cfg.Incarnation(wire.ClientAt(n))})
		}
	}
}

// tellLoss tells lanes again of the end, with who is lost: they may wait for him to pass it on, and have no last word and no state before.
func (c *Controller) tellLoss(list []wire.Address, fx *Effects) {
	for _, a := range list {
		if a.Role == wire.Lane {
			c.sendEnd(a, fx)
		}
	}
}
