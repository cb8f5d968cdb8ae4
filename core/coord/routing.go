package coord

import (
	"slices"

	"bellows"
	"bellows/core/membership"
	"bellows/core/planted"
	"bellows/link/wire"
)

// Each change of the route is a record: actors join and leave, splits and partitions move. Package membership decides
// them; here they are recorded. Lanes learn of a change by its record, and clients from the controller, before the
// tasks that rely on it. Each message of a client has the version of the route by which it was sent. A lane with an
// older route keeps the message until it has the newer one; a lane with a newer route refuses it (wire.Stale).

// Package membership decides moves of partitions, and has their types.
type (
	// Moving is a partition on its way to another lane. The move has no record yet.
	Moving = membership.Moving
	// Moved is the end of a move: its record was made; or, with a reason, it was given up.
	Moved = membership.Moved
)

var (
	errOver = bellows.Errorf(bellows.Interrupted, "change the route", "", "the job is over")
	// errEarly is temporary: before the first tasks, and while a controller that takes over does not know the records.
	errEarly = bellows.Errorf(bellows.Interrupted, "change the route", "",
		"the job has not begun, or its controller has been replaced and knows no route yet: ask again")
)

// routing changes the route by records, and tells actors of the changes.
type routing struct{ machines }

// mayChange begins a step that changes the route, and returns an error if the route cannot change now.
func (c *routing) mayChange(fx *Effects) error {
	fx.Era = c.cfg.Era
	switch {
	case c.ending.Begun():
		return errOver
	case !c.begun:
		return errEarly
	}
	return nil
}

// recordChange records a change that package membership has made in the route. The checker of this node learns of it at
// once.
func (c *routing) recordChange(change bellows.Control, fx *Effects) {
	fx.Route = c.membership.Route()
	c.control(change)
}

// change makes the next route, by a record.
func (c *routing) change(change bellows.Control, fx *Effects) error {
	if err := c.membership.Change(change); err != nil {
		return err
	}
	c.recordChange(change, fx)
	return nil
}

// admit returns an error if an actor cannot take part now.
func (c *routing) admit(a wire.Address, fx *Effects) error {
	if err := c.mayChange(fx); err != nil {
		return err
	}
	return c.membership.Admit(a)
}

// welcome sends the route and the progress of the job to an actor that begins. A controller that takes over sends them
// to actors that have begun as well.
func (c *routing) welcome(a wire.Address, whole []bellows.Control, fx *Effects) {
	begin := &wire.Begin{Commit: c.log.Number(), Recorded: c.log.Recorded(), Complete: c.claims.Completed()}
	if !planted.On("begins-without-units") {
		begin.Open = c.claims.Progress().Open()
	}
	for i := range c.cfg.Tables {
		begin.Staleness = append(begin.Staleness, int32(c.cfg.Tables[i].Consistency))
	}
	c.agenda.Override(begin.Staleness)
	fx.Send(c.cfg.Controller, a, &wire.Route{Term: c.cfg.Term, Version: c.membership.Route().Version(), Changes: whole,
		Begin: begin})
}

// CheckRemoval returns why actors that hold nothing cannot be removed now. If it returns nil, all of them can be
// removed in this step, one after the other.
func (c *routing) CheckRemoval(actors []wire.Address, fx *Effects) error {
	if err := c.membership.CheckRemoval(actors); err != nil {
		return err
	}
	for _, a := range actors {
		if a.Role != wire.Client {
			continue
		}
		if err := c.claims.CheckRemoval(a.Node); err != nil {
			return err
		}
	}
	return c.mayChange(fx)
}

// vacate lets a node go if no actor is left there.
func (c *routing) vacate(n bellows.NodeID, fx *Effects) {
	if !slices.Contains(fx.Left, n) && c.membership.Vacate(n) {
		fx.Left = append(fx.Left, n)
	}
}

// MovePartition begins to move a partition to another lane; an urgent move does not yield to other work. It takes
// the place of an earlier move of the partition.
func (c *routing) MovePartition(ref bellows.PartitionRef, to wire.Address, urgent bool, fx *Effects) error {
	if err := c.mayChange(fx); err != nil {
		return err
	}
	order, err := c.membership.MovePartition(ref, to, urgent, c.nowMillis)
	if err != nil {
		return err
	}
	c.order(order, fx)
	return nil
}

// CancelMove gives up the move of a partition, if there is one that has no record.
func (c *routing) CancelMove(ref bellows.PartitionRef, fx *Effects) {
	fx.Era = c.cfg.Era
	c.order(c.membership.CancelMove(ref), fx)
}

// order sends an order to the owner of a partition, after the records that made it the owner.
func (c *routing) order(o *membership.Order, fx *Effects) {
	if o != nil {
		c.sendRecords(fx)
		fx.Send(c.cfg.Controller, o.To, o.Handoff)
	}
}

// takePrepared takes an owner's report of a move, and records the move if its partition may go.
func (c *routing) takePrepared(from wire.Address, m *wire.Prepared, fx *Effects) {
	if c.ending.Begun() {
		return
	}
	p := c.membership.TakePrepared(from, m)
	if p.Change.Kind != bellows.NoControl {
		c.recordChange(p.Change, fx)
	}
	c.order(p.Order, fx)
	fx.Moves = append(fx.Moves, p.Moved...)
}

// ask asks the lanes of nodes that are ready what they hold, each once. If the job is to end, it asks all lanes.
func (c *routing) ask(fx *Effects) {
	fx.Met = append(fx.Met, c.recovery.Ask(c.membership, c.ending.Begun(), &fx.Outbox)...)
}

// mayHaveLeft reports whether a node may have left: a lane that has not answered yet may know it.
func (c *routing) mayHaveLeft(n bellows.NodeID) bool {
	return c.recovery != nil && !c.ending.Begun() && !planted.On("leaver-judged") &&
		c.recovery.MayHaveLeft(n, c.membership)
}

// askAdded asks the lanes that have begun since, by the answer of a lane.
func (c *routing) askAdded(m *wire.Holding, fx *Effects) {
	fx.Met = append(fx.Met, c.recovery.EnrolAdded(m, c.membership)...)
	c.ask(fx)
}

// catchUp sends lanes the records that they lack, and the whole route to lanes that have not begun.
func (c *routing) catchUp(r *recovery, fx *Effects) {
	for i, l := range c.membership.Lanes() {
		switch {
		case planted.On("lane-left-behind"):
		case r.Fresh(i, c.membership):
			c.welcome(l, c.membership.Whole(), fx)
		default:
			r.CatchUp(i, c.membership, c.cfg.Limits.Records, &fx.Outbox)
		}
	}
}

// partAll removes actors that the route no longer has. If a lane has the counts of an actor, the actor is not leaving
// any more either, and its node may go.
func (c *routing) partAll(r *recovery, fx *Effects) {
	for _, a := range c.membership.SettleRemoved(r.Adopted(), c.nowMillis) {
		c.log.Remove(a)
	}
	for _, one := range r.Adopted() {
		if one.Kind != bellows.LoseClient && !planted.On("left-not-told-again") {
			c.vacate(one.Node, fx)
		}
	}
}
