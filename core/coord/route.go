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

// move is a split that goes to another node as soon as it rests: all of it that a node has begun
// counts. So nothing of it is under way when it goes, in any sum, push or done.
//
// What was dispatched ahead and is not begun need not be run first: the node is asked for it
// (wire.Recall), says which clock is the last that it has begun (wire.Recalled), and forgets what is
// behind that. Meanwhile nothing of the split is sent to anybody; with the record of the move it is
// all dispatched to the new node, as what that record has caused. A controller that follows another
// knows nothing of a recall: it dispatches again to whoever has the split by the records, and that
// may be the node that has given it back.
type move struct {
	split bellows.SplitID
	to    bellows.NodeID
	asked bool          // for what is not begun
	given bool          // it is back
	begun bellows.Clock // given: the last clock that the node keeps
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
	c.welcome(a, c.withBuried(c.cfg.Route.Whole()), fx)
	c.armLane(a, fx)
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
	c.welcome(a, c.cfg.Route.Whole(), fx)
	return nil
}

// MoveSplit gives a split to another node: at once if it rests, else between two of its clocks.
func (c *Controller) MoveSplit(s bellows.SplitID, to bellows.NodeID, fx *Effects) error {
	if err := c.mayChange(fx); err != nil {
		return err
	}
	switch {
	case int(s) >= len(c.next):
		return fmt.Errorf("there is no split %d", s)
	case int(to) >= len(c.clientOf) || c.clientOf[to] < 0 || c.roll.Lost(to):
		return fmt.Errorf("node %d runs no tasks", to)
	}
	m := c.moveOf(s)
	if m == nil {
		c.moves = append(c.moves, move{split: s})
		m = &c.moves[len(c.moves)-1]
	}
	m.to = to
	if c.finishMove(s, fx); c.progress.Split(s)+2 < c.next[s] { // one clock that is out is begun, or soon
		c.recall(s, fx)
	}
	c.conclude(fx)
	return nil
}

// moveOf is the move that waits for a split to rest; nil: there is none.
func (c *Controller) moveOf(s bellows.SplitID) *move {
	i := slices.IndexFunc(c.moves, func(m move) bool { return m.split == s })
	if i < 0 {
		return nil
	}
	return &c.moves[i]
}

// recall asks for what was dispatched of a split that is to move, and is not begun.
func (c *Controller) recall(s bellows.SplitID, fx *Effects) {
	if m := c.moveOf(s); m != nil && !m.asked && m.to != c.cfg.Route.Node(s) {
		m.asked = true
		fx.Send(c.cfg.Controller, wire.ClientAt(c.cfg.Route.Node(s)), &wire.Recall{Term: c.cfg.Term, Split: s})
	}
}

// takeRecalled takes a client's word that it has given back what it had not begun of a split. What
// was said to the controller before this one is nothing: that was dispatched again since.
func (c *Controller) takeRecalled(from wire.Address, r *wire.Recalled, fx *Effects) {
	m := c.moveOf(r.Split)
	if c.ending != nil || r.Term != c.cfg.Term && !planted.On("recalled-of-another") || m == nil || !m.asked || from.Node != c.cfg.Route.Node(r.Split) {
		return
	}
	m.given, m.begun = true, r.Clock
	c.finishMove(r.Split, fx)
}

// rests reports whether nothing of a split is under way: what is out of it, if anything, was given back.
func (c *Controller) rests(s bellows.SplitID) bool {
	done := c.progress.Split(s)
	if m := c.moveOf(s); m != nil && m.asked {
		return m.given && done >= m.begun
	}
	return done+1 >= c.next[s]
}

var (
	errOver = bellows.Errorf(bellows.Interrupted, "change the route", "", "the job is over")
	// errEarly is for now: before the first tasks, and while it is not known what the controller
	// before has recorded.
	errEarly = bellows.Errorf(bellows.Interrupted, "change the route", "", "the job has not begun, or its controller has been replaced and knows no route yet: ask again")
)

// mayChange begins a step that changes the route, and refuses it when there is none to change.
func (c *Controller) mayChange(fx *Effects) error {
	fx.Era = c.cfg.Era
	switch {
	case c.ending != nil:
		return errOver
	case !c.begun:
		return errEarly
	}
	return nil
}

// admits refuses an actor that cannot take part.
func (c *Controller) admits(a wire.Address, fx *Effects) error {
	if err := c.mayChange(fx); err != nil {
		return err
	}
	switch {
	case c.roll.Lost(a.Node):
		return fmt.Errorf("%v cannot take part: %s", a, c.roll.Why(a.Node))
	case slices.Contains(c.removed, a):
		return fmt.Errorf("%v cannot take part: it was removed; let it join as another", a)
	case c.roll.HasLeft(a.Node):
		return fmt.Errorf("%v cannot take part: its node has left; let it join as another", a)
	}
	return nil
}

// finishMove makes the move of a split that rests: when it is asked for, when the last of what its
// node has begun is committed, or in the driver's call that dispatches the split's next clock, so
// that one that never pauses moves too. Then nothing of it is under way, in any sum, push or done
// (TestASplitMovesBetweenTwoOfItsClocks, TestASplitThatIsFarAheadMovesAtOnce).
func (c *Controller) finishMove(s bellows.SplitID, fx *Effects) {
	m := c.moveOf(s)
	if m == nil || c.ending != nil || !c.rests(s) && !planted.On("split-moved-busy") {
		return
	}
	to := m.to
	c.moves = slices.DeleteFunc(c.moves, func(m move) bool { return m.split == s })
	if c.cfg.Route.Node(s) != to && !c.roll.Lost(to) {
		if err := c.change(c.cfg.Route.MoveSplit(s, to), fx); err != nil {
			panic(err) // MoveSplit has asked
		}
		c.renew(s)
	}
	if planted.On("recalled-forgotten") {
		return
	}
	for _, t := range c.out[s] { // which its node has given back
		c.dispatchTo(c.clientOf[c.cfg.Route.Node(s)], t.Commit).Append(t.Unit, t.Args)
	}
}

// renew makes what is out of a split that has just moved depend on that record: its new node has not
// seen what the one before has seen.
func (c *Controller) renew(s bellows.SplitID) {
	if planted.On("recalled-not-renewed") {
		return
	}
	for i := range c.out[s] {
		c.out[s][i].Commit = c.log.Number()
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
func (c *Controller) welcome(a wire.Address, whole []bellows.Control, fx *Effects) {
	begin := &wire.Begin{Commit: c.log.Number(), Recorded: c.log.Recorded()}
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
	fx.Send(c.cfg.Controller, a, &wire.Route{Term: c.cfg.Term, Version: c.cfg.Route.Version(), Changes: whole, Begin: begin})
}

// whole is the route for those whom another controller tells it: who is leaving comes and goes in it,
// so that whoever has not heard of the removal does. All come before any goes: one may be the heir of
// another (TestWhoLeavesMayBeAnHeir).
func (c *Controller) whole() []bellows.Control {
	list := c.withBuried(c.cfg.Route.Whole())
	for _, a := range c.leavers() {
		if a.Role == wire.Lane {
			list = append(list, c.cfg.Route.AddLane(a))
		} else {
			list = append(list, c.cfg.Route.AddClient(a.Node))
		}
	}
	return append(list, c.leaving...)
}

// place notes where a client is among them.
func (c *Controller) place(a wire.Address, i int) {
	for len(c.clientOf) <= int(a.Node) {
		c.clientOf = append(c.clientOf, -1)
	}
	c.clientOf[a.Node] = i
}
