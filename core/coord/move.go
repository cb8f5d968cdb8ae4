package coord

import (
	"slices"

	"bellows"
	"bellows/core/planted"
	"bellows/core/roster"
	"bellows/core/route"
	"bellows/link/wire"
)

// Each change of the route is a record: actors join and leave, splits and partitions move. Package
// roster decides them; here they are recorded, and what is dispatched follows them. Lanes learn of a change by its
// record, and clients from the controller, before the tasks that rely on it. A message of a client says by which
// version of the route it was sent: a lane that is behind keeps what is ahead of it, and one that is ahead says so.

// The moves of partitions are the roster's.
type (
	// Moving is a partition on its way to another lane; its move has no record yet.
	Moving = roster.Moving
	// Moved is the end of a move: its record was made; or, with a reason, it was given up.
	Moved = roster.Moved
)

var (
	errOver = bellows.Errorf(bellows.Interrupted, "change the route", "", "the job is over")
	// errEarly is temporary: before the first tasks, and while it is not known what the controller before has recorded.
	errEarly = bellows.Errorf(bellows.Interrupted, "change the route", "",
		"the job has not begun, or its controller has been replaced and knows no route yet: ask again")
)

// mayChange begins a step that changes the route, and returns an error if the route cannot change now.
func (c *Controller) mayChange(fx *Effects) error {
	fx.Era = c.cfg.Era
	switch {
	case c.ending.Begun():
		return errOver
	case !c.begun:
		return errEarly
	}
	return nil
}

// recordChange records a change that the roster has made in the route. The checker of this node learns of it at once.
func (c *Controller) recordChange(change bellows.Control, fx *Effects) {
	fx.Route = c.roster.Route()
	c.control(change)
}

// change makes the next route, by a record.
func (c *Controller) change(change bellows.Control, fx *Effects) error {
	if err := c.roster.Change(change); err != nil {
		return err
	}
	c.recordChange(change, fx)
	return nil
}

// admit returns an error if an actor cannot take part now.
func (c *Controller) admit(a wire.Address, fx *Effects) error {
	if err := c.mayChange(fx); err != nil {
		return err
	}
	return c.roster.Admit(a)
}

// AddLane lets a lane take part that holds nothing yet. Its node is assembled and joined to every other. The lane
// begins with the record after this one.
func (c *Controller) AddLane(a wire.Address, fx *Effects) error {
	if err := c.admit(a, fx); err != nil {
		return err
	}
	if err := c.change(c.roster.Route().AddLane(a), fx); err != nil {
		return err
	}
	c.sendRecords(fx) // to those that there were
	c.roster.Enrol(a)
	c.welcome(a, c.roster.WithLost(c.roster.Route().Whole()), fx)
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
	if err := c.change(c.roster.Route().AddClient(n), fx); err != nil {
		return err
	}
	c.conclude(fx) // for those that there were
	c.roster.Enrol(a)
	c.welcome(a, c.roster.Route().Whole(), fx)
	return nil
}

// welcome sends an actor that begins the route and how far the job is; or one that has begun, if this controller
// follows another one.
func (c *Controller) welcome(a wire.Address, whole []bellows.Control, fx *Effects) {
	begin := &wire.Begin{Commit: c.log.Number(), Recorded: c.log.Recorded()}
	begin.Complete = c.claims.Completed()
	if !planted.On("begins-without-units") {
		begin.Open = c.claims.Progress().Open()
	}
	for i := range c.cfg.Tables {
		begin.Staleness = append(begin.Staleness, int32(c.cfg.Tables[i].Consistency))
	}
	for _, m := range c.agenda.staleness {
		begin.Staleness[m.Table] = m.Clocks
	}
	fx.Send(c.cfg.Controller, a, &wire.Route{Term: c.cfg.Term, Version: c.roster.Route().Version(), Changes: whole,
		Begin: begin})
}

// RemoveLane removes a lane that holds nothing.
func (c *Controller) RemoveLane(a wire.Address, fx *Effects) error { return c.remove(a, fx) }

// RemoveClient removes a client that runs no split and is to get none.
func (c *Controller) RemoveClient(n bellows.NodeID, fx *Effects) error {
	return c.remove(wire.ClientAt(n), fx)
}

// CheckRemoval returns why actors that hold nothing cannot be removed now. If it returns nil, all of them can be removed
// in this step, one after the other.
func (c *Controller) CheckRemoval(actors []wire.Address, fx *Effects) error {
	for _, a := range actors {
		if err := c.roster.CheckRemoval(a); err != nil {
			return err
		}
		if a.Role == wire.Client {
			if err := c.claims.CheckRemoval(a.Node); err != nil {
				return err
			}
		}
	}
	if err := c.roster.CheckRemaining(actors); err != nil {
		return err
	}
	return c.mayChange(fx)
}

// remove removes an actor. Messages to it leave before, and the other actors learn of the removal in this step.
func (c *Controller) remove(a wire.Address, fx *Effects) error {
	fx.Era = c.cfg.Era
	if err := c.CheckRemoval([]wire.Address{a}, fx); err != nil {
		return err
	}
	removal, err := c.roster.RemoveActor(a)
	if err != nil {
		return err
	}
	c.recordChange(removal, fx)
	c.conclude(fx)
	c.roster.StartLeaving(removal, c.nowMillis)
	if !c.ending.Begun() {
		c.roster.Remove(a)
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
		c.recovery.Excuse(list, c.roster)
		c.chooseTail(fx)
		return
	}
	for _, removal := range list {
		if c.roster.Adopt(removal, c.nowMillis) {
			c.vacate(removal.Node, fx)
		}
	}
}

// vacate lets a node go at which no actor is left.
func (c *Controller) vacate(n bellows.NodeID, fx *Effects) {
	if !slices.Contains(fx.Left, n) && c.roster.Vacate(n) {
		fx.Left = append(fx.Left, n)
	}
}

// nameLeaver returns a sentence about an actor that has been leaving for long; empty: none. The job continues
// meanwhile.
func (c *Controller) nameLeaver() string {
	if c.recovery != nil {
		return ""
	}
	return c.roster.NameLeaver(c.nowMillis, c.cfg.Times.Notice)
}

// Route returns the current route.
func (c *Controller) Route() *route.Route { return c.roster.Route() }

// MoveSplit gives a split to another node: at once if it rests, else between two of its clocks.
func (c *Controller) MoveSplit(s bellows.SplitID, to bellows.NodeID, fx *Effects) error {
	if err := c.mayChange(fx); err != nil {
		return err
	}
	if err := c.roster.CheckSplitMove(s, to); err != nil {
		return err
	}
	c.claims.PlanMove(s, to)
	c.finishMove(s, fx)
	c.claims.Revoke(s, c.roster.Route().Node(s), &fx.Outbox)
	c.conclude(fx)
	return nil
}

// takeRecalled takes a client's answer that it has given back what it had not begun of a split.
func (c *Controller) takeRecalled(from wire.Address, m *wire.Recalled, fx *Effects) {
	if !c.ending.Begun() && c.claims.TakeRecalled(from.Node, c.roster.Route(), m) {
		c.finishMove(m.Split, fx)
	}
}

// finishMove makes the move of a split that rests, and dispatches what its node has given back.
func (c *Controller) finishMove(s bellows.SplitID, fx *Effects) {
	if c.ending.Begun() {
		return
	}
	to, ended := c.claims.FinishMove(s)
	if !ended {
		return
	}
	if change := c.roster.MoveSplit(s, to); change.Kind != bellows.NoControl {
		c.recordChange(change, fx)
		c.claims.Rehome(s, to, c.log.Number())
	}
	if planted.On("recalled-forgotten") {
		return
	}
	c.claims.Redispatch(s, c.roster.Route().Node(s))
}

// MovePartition begins to move a partition to another lane; an urgent move does not yield to other work. It takes
// the place of an earlier move of the partition.
func (c *Controller) MovePartition(ref bellows.PartitionRef, to wire.Address, urgent bool, fx *Effects) error {
	if err := c.mayChange(fx); err != nil {
		return err
	}
	order, err := c.roster.MovePartition(ref, to, urgent, c.nowMillis)
	if err != nil {
		return err
	}
	c.order(order, fx)
	return nil
}

// CancelMove gives up the move of a partition, if there is one that has no record.
func (c *Controller) CancelMove(ref bellows.PartitionRef, fx *Effects) {
	fx.Era = c.cfg.Era
	c.order(c.roster.CancelMove(ref), fx)
}

// Moving returns the moves that have no record, in the order of their requests.
func (c *Controller) Moving() []Moving { return c.roster.Moving() }

// order sends an order to the owner of a partition, after the records that made it the owner.
func (c *Controller) order(o *roster.Order, fx *Effects) {
	if o != nil {
		c.sendRecords(fx)
		fx.Send(c.cfg.Controller, o.To, o.Handoff)
	}
}

// takePrepared takes an owner's report of a move, and records the move if its partition may go.
func (c *Controller) takePrepared(from wire.Address, m *wire.Prepared, fx *Effects) {
	if c.ending.Begun() {
		return
	}
	p := c.roster.TakePrepared(from, m)
	if p.Change.Kind != bellows.NoControl {
		c.recordChange(p.Change, fx)
	}
	c.order(p.Order, fx)
	fx.Moves = append(fx.Moves, p.Moved...)
}
