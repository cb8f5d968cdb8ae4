package coord

import (
	"fmt"
	"slices"

	"bellows"
	"bellows/core/audit"
	"bellows/core/planted"
	"bellows/core/route"
	"bellows/link/wire"
)

// Who takes part may leave while the job goes on, when it owns nothing: a client that runs no split,
// a lane that holds no partition. The record of its removal is the decision, and names an heir: a
// lane that adds the leaver's counts to its own (server.Lane says how). Until the heir has said so the
// leaver is leaving, and its node is watched as before; a node that nobody of the job is left at may
// then go (Effects.Left). A controller that follows knows who has left by what the heirs hold.

// word is an actor's last word of a job that ends.
type word struct {
	from   wire.Address
	closed *wire.Closed
}

// RemoveLane lets a lane take part no more, which holds nothing.
func (c *Controller) RemoveLane(a wire.Address, fx *Effects) error {
	if slices.ContainsFunc(c.moving, func(m moving) bool { return m.To == a }) {
		fx.Era = c.cfg.Era
		return fmt.Errorf("a partition is on its way to %v", a)
	}
	return c.remove(a, func(heir wire.Address) bellows.Control { return c.cfg.Route.RemoveLane(a, heir) }, fx)
}

// RemoveClient lets a node run tasks no more, which runs no split and is to get none.
func (c *Controller) RemoveClient(n bellows.NodeID, fx *Effects) error {
	if slices.ContainsFunc(c.moves, func(m move) bool { return m.to == n }) {
		fx.Era = c.cfg.Era
		return fmt.Errorf("a split is on its way to node %d", n)
	}
	return c.remove(wire.ClientAt(n), func(heir wire.Address) bellows.Control { return c.cfg.Route.RemoveClient(n, heir) }, fx)
}

// remove makes the removal of an actor. What it has sent leaves before, and whoever must know of it hears of it in this step.
func (c *Controller) remove(a wire.Address, change func(heir wire.Address) bellows.Control, fx *Effects) error {
	if err := c.admits(a, fx); err != nil {
		return err
	}
	heir, found := c.heir(a)
	if !found {
		return fmt.Errorf("%v is the last lane of the job", a)
	}
	removal := change(heir)
	if err := c.change(removal, fx); err != nil {
		return err
	}
	c.conclude(fx)
	c.parts(removal)
	if c.ending == nil {
		c.drop(a)
		c.disarm(a, fx)
	}
	return nil
}

// heir is who takes over the counts of an actor: another lane, at node 0 if there is one, and if possible not at the actor's node, which may be about to go.
func (c *Controller) heir(of wire.Address) (heir wire.Address, found bool) {
	best := 0
	for _, l := range c.cfg.Route.Lanes() {
		rank := 1
		if l.Node != of.Node {
			rank = 2
		}
		if l.Node == c.cfg.Controller.Node {
			rank = 3
		}
		if l != of && rank > best {
			heir, best = l, rank
		}
	}
	return heir, best > 0
}

// Route is the route of now.
func (c *Controller) Route() *route.Route { return c.cfg.Route }

// awaitLeavers names who has been leaving for long, since a client has not told it that nothing more comes, or its heir is
// behind. The job goes on meanwhile, and its end is the end of that, too.
func (c *Controller) awaitLeavers(fx *Effects) {
	if len(c.leaving) == 0 || c.recovery != nil {
		return
	}
	if waited, name := c.departures.look(c.nowMillis, c.cfg.Times.Notice); name {
		r := c.leaving[0]
		a, _ := c.cfg.Route.Removed(r)
		fx.Notices = append(fx.Notices, fmt.Sprintf("%v has been leaving for %.1f s: what it has counted is not with %v yet, and it stays until then, or until the job's end",
			a, float64(waited)/1000, c.cfg.Route.Heir(r)))
	}
}

// parts notes that an actor leaves.
func (c *Controller) parts(removal bellows.Control) {
	if len(c.leaving) == 0 {
		c.departures.end(c.nowMillis)
	}
	a, _ := c.cfg.Route.Removed(removal)
	c.leaving, c.removed = append(c.leaving, removal), append(c.removed, a)
}

// drop takes an actor out of the lists of those that are told things.
func (c *Controller) drop(a wire.Address) {
	is := func(b wire.Address) bool { return a == b }
	c.cfg.Lanes = slices.DeleteFunc(slices.Clone(c.cfg.Lanes), is)
	c.log.Remove(a)
	if !slices.Contains(c.cfg.Clients, a) {
		return
	}
	c.cfg.Clients = slices.DeleteFunc(slices.Clone(c.cfg.Clients), is)
	c.newest = make([]int, len(c.cfg.Clients)) // no dispatch is under way: it is the end of a step
	c.clientOf = c.clientOf[:0]
	for i, a := range c.cfg.Clients {
		c.place(a, i)
	}
}

// leavers are those who were removed, and whose counts no heir has yet.
func (c *Controller) leavers() (list []wire.Address) {
	for _, r := range c.leaving {
		a, _ := c.cfg.Route.Removed(r)
		list = append(list, a)
	}
	return list
}

// takeAdopted takes a lane's word that it has the counts of some that were removed. At the end of the job the last words say so.
func (c *Controller) takeAdopted(list []bellows.Control, fx *Effects) {
	switch {
	case c.ending != nil:
		return
	case c.recovery != nil:
		c.excuse(list)
		c.chooseTail(fx)
		return
	}
	for _, r := range list {
		if i := slices.Index(c.leaving, r); i >= 0 {
			c.leaving = slices.Delete(c.leaving, i, i+1)
			c.departures.end(c.nowMillis)
			c.release(r.Node, fx)
		}
	}
}

// release lets a node go at which nobody of the job is left, but for that of the controller.
func (c *Controller) release(n bellows.NodeID, fx *Effects) {
	if n == c.cfg.Controller.Node || c.roll.Lost(n) || slices.Contains(fx.Left, n) ||
		slices.ContainsFunc(slices.Concat(c.cfg.Lanes, c.cfg.Clients, c.leavers()), func(a wire.Address) bool { return a.Node == n }) {
		return
	}
	c.roll.Leave(n)
	fx.Left = append(fx.Left, n)
}

// addMissed adds what a lane that was removed has missed of flushes that never got a number.
func (c *Controller) addMissed(to *wire.Counts, list []wire.Missed) {
	if len(list) > 0 {
		to.Ledgers = audit.Add(to.Ledgers, make([]audit.Ledger, len(c.cfg.Tables)))
	}
	for _, o := range list {
		if !c.log.Counted(o.Flush) && !c.isBuried(o.Flush.Client) {
			to.Dropped += o.Rows
			to.Ledgers[o.Ref.Table].Dropped += o.Bits
		}
	}
}

// total is the counts of a job that ends, by the last words: but for those who were removed, where an heir's has theirs.
func (c *Controller) total() (counts wire.Counts) {
	var adopted []wire.Address
	for _, w := range c.words {
		for _, r := range w.closed.Adopted {
			a, _ := c.cfg.Route.Removed(r)
			adopted = append(adopted, a)
		}
	}
	for _, w := range c.words {
		if !slices.Contains(adopted, w.from) || planted.On("bequest-counted-twice") {
			counts.Add(&w.closed.Counts)
			c.addMissed(&counts, w.closed.Missed)
		}
	}
	c.addBuried(&counts)
	return counts
}
