package coord

import (
	"slices"

	"bellows"
	"bellows/link/wire"
)

// How a node is lost. Three callers can notice: its connection ends (Broken), its process is known to be dead (Lost),
// or it is silent for a lease (Tick). Silence and broken connections make it a suspect, since a better reason may still
// come (heartbeat.Monitor); lose is the verdict. The lanes learn it first: after the records of the node's work that
// counts, a fence rejects its messages, so that the node changes no state any more, however late it wakes. Then the job
// ends with the node's name; or, if it was ending, ends without the node. If the node only runs tasks, other nodes run
// its tasks again, and the job continues (removeLost).

// Broken tells the controller that the connection to a node has ended, and why: the node is lost soon, if
// no better reason comes.
func (c *machines) Broken(n bellows.NodeID, reason string) {
	c.membership.Suspect(n, reason, c.cfg.Times.Broken)
}

// Lost tells the controller that a node is dead, and why: nothing is expected of it any more, and the
// job ends if it needs the node.
func (c *Controller) Lost(n bellows.NodeID, reason string, fx *Effects) {
	c.declare(n, reason, false, fx)
}

// Mistrust tells the controller that a node has sent what cannot be: whatever it runs, the job ends.
func (c *Controller) Mistrust(n bellows.NodeID, reason string, fx *Effects) {
	c.declare(n, reason, true, fx)
}

// declare declares a node lost, unless it may have left.
func (c *Controller) declare(n bellows.NodeID, reason string, breach bool, fx *Effects) {
	if fx.Era = c.cfg.Era; c.mayHaveLeft(n) {
		c.membership.Suspect(n, reason, 0)
		return
	}
	c.lose(n, reason, breach, fx)
}

// lose declares a node lost, once. A job that is ending waits for it no more, and one that has
// finished loses its state only if the node still owes some of it
// (TestCollectionNeedsOnlyOwnersOfState).
func (c *Controller) lose(n bellows.NodeID, reason string, breach bool, fx *Effects) {
	if !c.membership.Lose(n, reason) {
		return
	}
	fx.Losses = append(fx.Losses, reason)
	if !c.ending.Begun() && !breach && c.needs(n) == "" {
		if c.conclude(fx); !c.ending.Begun() { // a dispatch names a client by its place
			c.removeLost(n, reason, fx)
			return
		}
	}
	c.fence(n, fx)
	c.membership.Retract(n)
	switch {
	case !c.ending.Begun():
		c.end(&Outcome{Kind: bellows.Lost, Reason: reason}, fx)
	default:
		c.ending.Lose(n, reason)
		c.ending.TellOpen(c.membership, &fx.Outbox)
		c.proceed(fx)
	}
}

// fence notifies the remaining lanes that a node is gone, after the records of its work that counts: a process, by its
// incarnation, and not the node, which may be started again.
func (c *Controller) fence(n bellows.NodeID, fx *Effects) {
	c.sendRecords(fx)
	job := c.cfg.Job
	job.Clients = c.membership.Clients() // incarnations are listed in the order of the current clients
	incarnation := job.Incarnation(wire.ClientAt(n))
	for _, l := range c.membership.Lanes() {
		if !c.membership.Lost(l.Node) {
			fx.Send(c.cfg.Controller, l, &wire.Fence{Term: c.cfg.Term, Node: n, Incarnation: incarnation})
		}
	}
}

// Buried is a node that was lost while the job continued.
type Buried struct {
	Node   bellows.NodeID
	Reason string
	Splits []bellows.SplitID // that it ran, ascending
	Units  int               // that were out at it and are run again
	To     []bellows.NodeID  // who has its splits now, ascending
	Again  bool              // the previous controller had done so
}

// needs returns why the job cannot continue without a node; empty: it can.
func (c *routing) needs(n bellows.NodeID) string {
	switch {
	case !c.begun:
		return "the job has not begun"
	case c.recovery != nil:
		return "its controller does not know yet what was recorded"
	}
	return c.membership.Needs(n)
}

// spares reports whether the job continues without a node; or, if it is ending, whether its state can be collected
// without the node: another lost node then takes along state without final counts (TestStateOwnerIsKeptOfTwoAccusers;
// planted: state-not-spared).
func (c *routing) spares(n bellows.NodeID) bool {
	if c.ending.Begun() {
		return c.ending.Spares(n, c.membership)
	}
	return c.needs(n) == ""
}

// removeLost continues the job without a lost node whose state it does not need. Other nodes run its units again: they
// are dispatched after the records that give them its splits, so that their messages wait at a lane for the fence.
// Units that count are with the lanes, and are not run again, even if other units of their clock are
// (TestLostWorkerLeavesRestOfClock). Messages from earlier in this step were sent before.
func (c *Controller) removeLost(n bellows.NodeID, reason string, fx *Effects) {
	one := Buried{Node: n, Reason: reason}
	for _, change := range c.membership.RemoveLost(n) {
		c.recordChange(change, fx)
		if change.Kind != bellows.MoveSplit {
			continue
		}
		s := change.Split
		to := c.membership.Route().Node(s)
		c.claims.Rehome(s, to, c.log.Number())
		c.claims.ForgetComputing(s)
		one.Splits, one.Units = append(one.Splits, s), one.Units+c.claims.Uncounted(s)
		if !slices.Contains(one.To, to) {
			one.To = append(one.To, to)
		}
	}
	slices.Sort(one.To)
	c.claims.DropEarly(n)
	c.log.Remove(wire.ClientAt(n))
	c.claims.RedispatchLost(one.Splits, c.membership.Clients())
	fx.Buried = append(fx.Buried, one)
	c.conclude(fx)
}

// takeState takes a lane's message about the state. A breach costs the lane.
func (c *Controller) takeState(from wire.Address, breach error, fx *Effects) {
	if breach != nil {
		c.lose(from.Node, breach.Error(), true, fx)
		return
	}
	c.proceed(fx)
}
