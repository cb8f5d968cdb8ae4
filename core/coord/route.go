package coord

import (
	"fmt"
	"slices"

	"bellows"
	"bellows/core/planted"
	"bellows/link/wire"
)

// The route changes while the job runs, one change a record. Lanes learn of it by these, and
// clients from the controller, before the tasks that rely on it; who begins is told of all of it,
// and how far the job is. A message of a client says by which version it was sent, so that nobody
// has to wait until all others have heard: a lane that is behind keeps what is ahead of it, and one
// that is ahead says so.

// move is a split that goes to another node as soon as it rests: all that was dispatched of it
// counts. So nothing of it is under way when it goes, in any sum, push or done.
type move struct {
	split bellows.SplitID
	to    bellows.NodeID
}

// AddLane lets a lane take part that holds nothing yet. Its node is assembled and joined to every
// other. The lane begins with the record behind this one.
func (c *Controller) AddLane(a wire.Address, fx *Effects) error {
	if err := c.admits(a, fx); err != nil {
		return err
	}
	if err := c.change(c.cfg.Route.AddLane(a), fx); err != nil {
		return err
	}
	c.sendRecords(fx) // to those that there were
	c.enrol(a)
	c.welcome(a, fx)
	c.conclude(fx)
	return nil
}

// AddClient lets a node run tasks, though no split is its own yet. The node is assembled and joined
// to every other.
func (c *Controller) AddClient(n bellows.NodeID, fx *Effects) error {
	a := wire.ClientAt(n)
	if err := c.admits(a, fx); err != nil {
		return err
	}
	if err := c.change(c.cfg.Route.AddClient(n), fx); err != nil {
		return err
	}
	c.conclude(fx) // for those that there were
	c.enrol(a)
	c.welcome(a, fx)
	return nil
}

// MoveSplit gives a split to another node: at once if it rests, else between two of its clocks.
func (c *Controller) MoveSplit(s bellows.SplitID, to bellows.NodeID, fx *Effects) error {
	fx.Era = c.cfg.Era
	switch {
	case c.ending != nil:
		return errOver
	case !c.begun:
		return errEarly
	case int(s) >= len(c.next):
		return fmt.Errorf("there is no split %d", s)
	case int(to) >= len(c.clientOf) || c.clientOf[to] < 0 || c.roll.Lost(to):
		return fmt.Errorf("node %d runs no tasks", to)
	}
	c.moves = slices.DeleteFunc(c.moves, func(m move) bool { return m.split == s })
	c.moves = append(c.moves, move{s, to})
	c.finishMove(s, fx)
	c.conclude(fx)
	return nil
}

var (
	errOver = bellows.Errorf(bellows.Interrupted, "change the route", "", "the job is over")
	// errEarly is for now: before the first tasks, and while it is not known what the controller
	// before has recorded.
	errEarly = bellows.Errorf(bellows.Interrupted, "change the route", "", "the job has not begun, or its controller has been replaced and knows no route yet: ask again")
)

// admits refuses an actor that cannot take part.
func (c *Controller) admits(a wire.Address, fx *Effects) error {
	fx.Era = c.cfg.Era
	switch {
	case c.ending != nil:
		return errOver
	case !c.begun:
		return errEarly
	case c.roll.Lost(a.Node):
		return fmt.Errorf("%v cannot take part: %s", a, c.roll.Why(a.Node))
	}
	return nil
}

// finishMove makes the move of a split that rests: when it is asked for, or in the driver's call
// that dispatches the split's next clock, so that one that never pauses moves too. Then nothing of
// it is under way, in any sum, push or done (TestASplitMovesBetweenTwoOfItsClocks).
func (c *Controller) finishMove(s bellows.SplitID, fx *Effects) {
	for i, m := range c.moves {
		if m.split != s || c.progress.Split(s)+1 < c.next[s] && !planted.On("split-moved-busy") {
			continue
		}
		c.moves = slices.Delete(c.moves, i, i+1)
		if c.cfg.Route.Node(s) != m.to && !c.roll.Lost(m.to) {
			if err := c.change(c.cfg.Route.MoveSplit(s, m.to), fx); err != nil {
				panic(err) // MoveSplit has asked
			}
		}
		return
	}
}

// change makes the next route, by a record. The checker of this node learns of it at once
// (Effects.Route), clients behind the record.
func (c *Controller) change(change bellows.Control, fx *Effects) error {
	next, err := c.cfg.Route.Next(change)
	if err != nil {
		return err
	}
	c.cfg.Route, fx.Route = next, next
	c.changes = append(c.changes, change)
	c.control(change)
	return nil
}

// enrol counts an actor among those of the job, and its node among those that are watched.
func (c *Controller) enrol(a wire.Address) {
	switch {
	case a.Role == wire.Lane && !slices.Contains(c.cfg.Lanes, a):
		c.cfg.Lanes = append(slices.Clip(c.cfg.Lanes), a)
	case a.Role == wire.Client && !slices.Contains(c.cfg.Clients, a):
		c.cfg.Clients = append(slices.Clip(c.cfg.Clients), a)
		c.newest = append(c.newest, 0)
		c.place(a, len(c.cfg.Clients)-1)
	}
	c.roll.Add(a)
}

// announceRoute tells clients of changes of the route, when the records of them have left: what a
// client knows, a lane was told before (docs/decisions/0031).
func (c *Controller) announceRoute(fx *Effects) {
	if len(c.changes) == 0 {
		return
	}
	for _, a := range c.cfg.Clients {
		fx.Send(c.cfg.Controller, a, &wire.Route{Term: c.cfg.Term, Version: c.cfg.Route.Version(), Changes: slices.Clone(c.changes)})
	}
	c.changes = c.changes[:0]
}

// welcome tells an actor that begins who owns what, and how far the job is; or one that was there,
// when the controller is another.
func (c *Controller) welcome(a wire.Address, fx *Effects) {
	begin := &wire.Begin{Commit: c.number, Recorded: c.counted.List()}
	for s := range c.next {
		begin.Complete = append(begin.Complete, c.progress.Split(bellows.SplitID(s)))
	}
	if !planted.On("begins-without-units") {
		begin.Open = c.progress.Open()
	}
	for i := range c.cfg.Tables {
		begin.Staleness = append(begin.Staleness, int32(c.cfg.Tables[i].Consistency))
	}
	for _, m := range c.staleness {
		begin.Staleness[m.Table] = m.Clocks
	}
	fx.Send(c.cfg.Controller, a, &wire.Route{Term: c.cfg.Term, Version: c.cfg.Route.Version(), Changes: c.cfg.Route.Whole(), Begin: begin})
}

// place notes where a client is among them.
func (c *Controller) place(a wire.Address, i int) {
	for len(c.clientOf) <= int(a.Node) {
		c.clientOf = append(c.clientOf, -1)
	}
	c.clientOf[a.Node] = i
}
