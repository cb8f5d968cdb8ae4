package client

import (
	"slices"

	"bellows"
	"bellows/core"
	"bellows/core/planted"
	"bellows/link/wire"
)

// Units are started in the order in which they are dispatched, one at a time in a split, and none while
//
//   - a lane has no room for what has left (flush.Coordinator.Full): what is begun now would have to wait there too,
//     and the clocks that are behind come first (docs/4-consistency.md, Bounds);
//   - the split is Limits.Retained flushes ahead of what its reads would see (TestASplitFarAheadWaitsAndGoesOn);
//   - a task has failed, or the job has ended.
//
// Where a job divides clocks, the units of one are tasks of their own, each with a result and flushes of its own;
// what they add to tables with a barrier is one sum, which leaves with the last of them (flush.Coordinator.Add).
//
// A unit may be dispatched twice: another controller dispatches again whatever has no number yet. The client runs it
// once (firstDispatch); its flush, which has left or will, is taken by the new controller as by the old one.

// split is one executor's place in the client.
type split struct {
	task    *Task
	clock   bellows.Clock   // of the last unit that was dispatched
	units   []bellows.Range // the units of that clock that were
	ran     int             // items of the clock that its task runs, or ran last, of units that have run
	running bool            // its task executes or waits
	queue   []queued
}

// queued is a unit that is dispatched and not begun: it is to see every commit up to one.
type queued struct {
	unit   bellows.Unit
	commit bellows.CommitNumber
	args   []float64
}

// enqueue takes a unit behind the others of its split.
func (c *Client) enqueue(t wire.Task, commit bellows.CommitNumber) {
	s := c.splits[t.Unit.Split]
	if !s.firstDispatch(&t.Unit) && !planted.On("unit-run-twice") {
		return
	}
	n := len(s.queue)
	if n < cap(s.queue) {
		s.queue = s.queue[:n+1]
	} else {
		s.queue = append(s.queue, queued{})
	}
	q := &s.queue[n]
	q.unit, q.commit, q.args = t.Unit, commit, append(q.args[:0], t.Args...)
	c.flush.Dispatched(t.Unit.Clock)
}

// firstDispatch takes note of a unit, and reports whether it was not dispatched before (TestAUnitIsRunOnce). Those of
// a split come in the order of clocks, so that the last clock is all there is to remember.
func (s *split) firstDispatch(u *bellows.Unit) bool {
	switch {
	case u.Clock < s.clock:
		return false
	case u.Clock > s.clock:
		s.clock, s.units = u.Clock, s.units[:0]
	case slices.Contains(s.units, u.Items), len(s.units) > 0 && planted.On("second-unit-ignored"):
		return false
	}
	s.units = append(s.units, u.Items)
	return true
}

// takeRecall gives back the units of a split that are not begun, so that the split can move before they are run:
// those of clocks of which nothing was. They may be dispatched here again, by another controller or because the split
// stays. What they would have left together with others leaves without them.
func (c *Client) takeRecall(m *wire.Recall, fx *Effects) {
	s := c.splits[m.Split]
	if s == nil {
		v := c.now.Route.Version()
		c.breach(c.cfg.Controller, fx, "a recall of split %d, which is not this node's by route %d", m.Split, v)
		return
	}
	begun := s.begun(c)
	rest := s.queue[:0]
	for i := range s.queue {
		if q := &s.queue[i]; q.unit.Clock <= begun {
			rest = append(rest, *q)
		} else {
			c.flush.Finished(q.unit.Clock)
		}
	}
	if len(rest) < len(s.queue) {
		clear(s.queue[len(rest):]) // those that are left have the memory of their arguments
		s.queue = rest
		s.clock, s.units = begun, unitsOf(&c.cfg.Job, m.Split, begun, s.units[:0])
	}
	fx.Send(c.cfg.Self, c.cfg.Controller, &wire.Recalled{Term: m.Term, Split: m.Split, Clock: begun})
	c.flushReady(fx)
}

// begun is the last clock of which a unit was begun, of those that were dispatched here.
func (s *split) begun(c *Client) bellows.Clock {
	switch {
	case len(s.queue) == 0:
		return s.clock
	case s.running:
		return s.task.Unit.Clock
	}
	next := &s.queue[0].unit
	if next.Items.Begin > c.cfg.Items(next.Split, next.Clock).Begin {
		return next.Clock
	}
	return next.Clock - 1
}

// unitsOf appends the units of a clock of a split, which are dispatched together.
func unitsOf(job *core.Job, s bellows.SplitID, clock bellows.Clock, to []bellows.Range) []bellows.Range {
	if clock == bellows.NoClock {
		return to
	}
	all, n := job.Items(s, clock), job.UnitsOf(s, clock)
	for i := range n {
		to = append(to, all.Part(i, n))
	}
	return to
}

// endsClock notes that a unit has run, and reports whether all of its clock's have.
func (s *split) endsClock(u bellows.Unit, job *core.Job) bool {
	if job.Units == nil {
		return true
	}
	if s.ran += u.Items.Len(); s.ran < job.Items(u.Split, u.Clock).Len() {
		return false
	}
	s.ran = 0
	return true
}

// startQueued starts the next task of every split that is free, unless nothing may begin (see above): called behind
// whatever may have changed that.
func (c *Client) startQueued(fx *Effects) {
	if c.flush.Full() > 0 || (c.failed && !planted.On("failure-ignored")) || c.ended != nil {
		return
	}
	for _, s := range c.splits {
		if s == nil || s.running || len(s.queue) == 0 {
			continue
		}
		s.task.reader.DropCommitted()
		if s.task.reader.Retained() < c.cfg.Limits.Retained {
			c.running++
			fx.Run = append(fx.Run, s.start())
		}
	}
}

// start makes the oldest queued unit of a split its task.
func (s *split) start() *Task {
	q := s.queue[0]
	copy(s.queue, s.queue[1:])
	s.queue[len(s.queue)-1] = queued{args: q.args}
	s.queue = s.queue[:len(s.queue)-1]
	t := s.task
	t.Unit, t.Args = q.unit, append(t.Args[:0], q.args...)
	t.reader.Begin(q.unit, q.commit)
	s.running = true
	return t
}

// Unit is what the task of a split that is active here runs, or ran last.
func (c *Client) Unit(s bellows.SplitID) bellows.Unit { return c.splits[s].task.Unit }
