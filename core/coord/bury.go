package coord

import (
	"fmt"
	"slices"

	"bellows"
	"bellows/core/audit"
	"bellows/core/planted"
	"bellows/link/wire"
	"bellows/table"
)

// A node that only runs tasks is lost, and the job goes on (docs/decisions/0060).
//
// Records say so, one behind the other: a move of each split that was its, and then LoseClient. That is the
// fence: behind it no lane holds anything of the node, takes anything more of it, or keeps a lease for
// it. So the log has a point before which what is recorded of the node counts, and behind which
// nothing does; and the units that were out at it are out again, at the nodes that have its splits now. They
// are dispatched again behind these records, and the new nodes go by the route that these make, so that
// what they send waits at a lane for the fence.
//
// The node says no last word. What it had sent is what its records have (audit.Sent): the rest is
// dropped by lanes, and in nobody's account. Whatever comes of it here is not heard any more.
//
// Turned down: wire.Fence, as for a job that ends: it comes between records, so that two lanes would
// disagree on what of the node counts. And an heir for its counts, as one who leaves has: there is
// nobody to give them.

// Buried is a node that was lost while the job went on.
type Buried struct {
	Node   bellows.NodeID
	Reason string
	Splits []bellows.SplitID // that it ran, ascending
	Units  int               // that were out at it and are run again
	To     []bellows.NodeID  // who has its splits now, ascending
	Again  bool              // the controller before had done so
}

// needs is why the job cannot go on without a node; empty: it can.
func (c *Controller) needs(n bellows.NodeID) string {
	is := func(a wire.Address) bool { return a.Node == n }
	switch {
	case !c.begun:
		return "the job has not begun"
	case c.recovery != nil:
		return "its controller does not know yet what was recorded"
	case slices.ContainsFunc(c.cfg.Lanes, is):
		return "it has a part of the model"
	case slices.ContainsFunc(c.leavers(), is):
		return "it was leaving, and what it has counted is with nobody else"
	case !slices.Contains(c.cfg.Clients, wire.ClientAt(n)):
		return "it has left"
	case !slices.ContainsFunc(c.cfg.Clients, func(a wire.Address) bool { return a.Node != n && !c.roll.Lost(a.Node) }):
		return "nobody else runs tasks"
	case c.cfg.Stays != "":
		return "its splits cannot go to others: " + c.cfg.Stays
	}
	for _, u := range c.progress.Open() {
		if c.cfg.Route.Node(u.Split) == n && c.anyBarrier() && !planted.On("half-clock-run-again") {
			return fmt.Sprintf("a part of split %d clock %d counts, and what that adds to BSP tables is with the node alone", u.Split, u.Clock)
		}
	}
	return ""
}

// spares reports whether the job goes on without a node; or, where it is ending, whether its state comes together without it: whoever else is lost then
// takes along what has no last word yet (TestOfTwoWhoLoseEachOtherAtTheEndTheStateStays; planted: state-not-spared).
func (c *Controller) spares(n bellows.NodeID) bool {
	switch {
	case c.ending == nil:
		return c.needs(n) == ""
	case c.over || !c.collects() || planted.On("state-not-spared"):
		return false
	case c.collecting:
		return !c.cfg.Collector.Owes(n)
	}
	return !slices.ContainsFunc(c.cfg.Route.Lanes(), func(a wire.Address) bool { return a.Node == n })
}

// anyBarrier reports whether the clocks of some table become visible as a whole.
func (c *Controller) anyBarrier() bool {
	for t := range c.cfg.Tables {
		now := c.cfg.Tables[t].Consistency
		for _, m := range c.staleness {
			if int(m.Table) == t {
				now = table.Consistency(m.Clocks)
			}
		}
		if now == table.BSP {
			return true
		}
	}
	return false
}

// bury has the job go on without a node that is lost, and of which it needs nothing. What was under way before
// in this step has left.
func (c *Controller) bury(n bellows.NodeID, reason string, fx *Effects) {
	splits, _ := c.cfg.Route.Owned(n)
	one := Buried{Node: n, Reason: reason, Splits: splits}
	for _, s := range splits {
		c.moves = slices.DeleteFunc(c.moves, func(m move) bool { return m.split == s })
		to := c.successor(n)
		c.mustChange(c.cfg.Route.MoveSplit(s, to), fx)
		c.renew(s)
		one.Units += len(c.out[s])
		if !slices.Contains(one.To, to) {
			one.To = append(one.To, to)
		}
		if c.computing != nil {
			c.computing[s] = computed{}
		}
	}
	slices.Sort(one.To)
	lost := c.cfg.Route.LoseClient(n)
	c.mustChange(lost, fx)
	c.parted(lost)
	c.drop(wire.ClientAt(n))
	for _, s := range splits {
		if planted.On("units-of-the-lost-forgotten") {
			break
		}
		for _, t := range c.out[s] {
			c.dispatchTo(c.clientOf[c.cfg.Route.Node(s)], t.Commit).Append(t.Unit, t.Args)
			if planted.On("units-of-the-lost-run-twice") {
				for _, a := range c.cfg.Clients {
					if a.Node != c.cfg.Route.Node(s) {
						c.dispatchTo(c.clientOf[a.Node], t.Commit).Append(t.Unit, t.Args)
						break
					}
				}
			}
		}
	}
	fx.Buried = append(fx.Buried, one)
	c.conclude(fx)
}

// mustChange makes a change that fits.
func (c *Controller) mustChange(change bellows.Control, fx *Effects) {
	if err := c.change(change, fx); err != nil {
		panic(err)
	}
}

// parted takes note of a node that is lost by a record, here or in a replay.
func (c *Controller) parted(lost bellows.Control) {
	n := lost.Node
	c.buried, c.removed = append(c.buried, lost), append(c.removed, wire.ClientAt(n))
	c.retract(n)
	c.early.Drop(n)
}

// retract takes back what a node has said of others that is lost itself.
func (c *Controller) retract(n bellows.NodeID) {
	if !planted.On("accusation-of-the-lost-believed") {
		c.roll.Retract(n)
	}
}

// isBuried reports whether a node was lost while the job went on: it is not heard any more.
func (c *Controller) isBuried(n bellows.NodeID) bool {
	return slices.ContainsFunc(c.buried, func(b bellows.Control) bool { return b.Node == n })
}

// successor is who gets a split of a node that is lost: the one that runs the fewest, and of these the first.
func (c *Controller) successor(lost bellows.NodeID) (to bellows.NodeID) {
	fewest := -1
	for _, a := range c.cfg.Clients {
		if a.Node == lost || c.roll.Lost(a.Node) {
			continue
		}
		if own, _ := c.cfg.Route.Owned(a.Node); fewest < 0 || len(own) < fewest {
			to, fewest = a.Node, len(own)
		}
	}
	return to
}

// counts adds up what a client's records say that it has sent, for when it is lost.
func (c *Controller) counts(client bellows.NodeID, list []audit.Sent) {
	for len(c.sent) <= int(client) {
		c.sent = append(c.sent, nil)
	}
	to := c.sent[client]
	for _, s := range list {
		i := slices.IndexFunc(to, func(o audit.Sent) bool { return o.Table == s.Table })
		if i < 0 {
			to = append(to, s)
			continue
		}
		to[i].Rows, to[i].Bits = to[i].Rows+s.Rows, to[i].Bits+s.Bits
	}
	c.sent[client] = to
}

// addBuried adds what those have sent who are lost, and that counts.
func (c *Controller) addBuried(to *wire.Counts) {
	for _, b := range c.buried {
		if int(b.Node) >= len(c.sent) || planted.On("word-of-the-lost-missing") {
			continue
		}
		to.Ledgers = audit.Add(to.Ledgers, make([]audit.Ledger, len(c.cfg.Tables)))
		for _, s := range c.sent[b.Node] {
			to.Sent += s.Rows
			to.Ledgers[s.Table].Sent += s.Bits
		}
	}
}

// sayBuried says once more who was lost: whoever parted from them for the controller before may not have.
func (c *Controller) sayBuried(fx *Effects) {
	for _, b := range c.buried {
		fx.Buried = append(fx.Buried, Buried{Node: b.Node, Reason: fmt.Sprintf("node %d is gone: the controller before has declared it so", b.Node), Again: true})
	}
}

// withBuried is a route as a whole in which those who are lost come and go, so that whoever has not heard of it does.
func (c *Controller) withBuried(whole []bellows.Control) []bellows.Control {
	for _, b := range c.buried {
		whole = append(whole, c.cfg.Route.AddClient(b.Node))
	}
	return append(whole, c.buried...)
}
