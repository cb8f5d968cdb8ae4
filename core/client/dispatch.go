package client

import (
	"bellows"
	"bellows/core/planted"
	"bellows/link/wire"
)

// Dispatched units wait in a claim.Queue. A task is started when its split is free, and none is started while
//
//   - a lane has no room for what has left (flush.Coordinator.Full): a new task would have to wait there too, and the
//     clocks that are behind come first (docs/4-consistency.md, Bounds);
//   - the split is Limits.Retained flushes ahead of what its reads would see (TestSplitFarAheadWaitsAndContinues);
//   - a task has failed, or the job has ended.
//
// If a job divides clocks, each unit of a clock is a task with a result and flushes of its own. Other nodes may have run
// the first units of the clock (docs/decisions/0116).

// takeDispatch queues units, and starts what can start.
func (c *Client) takeDispatch(m *wire.Dispatch, from wire.Address, fx *Effects) {
	c.told = max(c.told, m.Commit)
	for i := range m.Tasks {
		u := &m.Tasks[i].Unit
		if !c.work.Contains(u.Split) {
			v := c.now.Route.Version()
			c.breach(from, fx, "a task of split %d, which is not this node's by route %d", u.Split, v)
			return
		}
		if c.work.Add(&m.Tasks[i], m.Commit) {
			c.flush.Dispatched(u.Clock)
		}
	}
	c.startQueued(fx)
	wire.Free(m)
}

// takeRecall gives back the units of a split that are not begun, so that the split can move before they are run. Units
// that would have been sent together with them are sent without them.
func (c *Client) takeRecall(m *wire.Recall, fx *Effects) {
	if !c.work.Contains(m.Split) {
		v := c.now.Route.Version()
		c.breach(c.cfg.Controller, fx, "a recall of split %d, which is not this node's by route %d", m.Split, v)
		return
	}
	removed, kept := c.work.GiveBack(m.Split)
	for _, clock := range removed {
		c.flush.Finished(clock)
	}
	fx.Send(c.cfg.Self, c.cfg.Controller, &wire.Recalled{Term: m.Term, Split: m.Split, Clock: kept})
	c.flushReady(fx)
}

// startQueued starts the next task of every split that is free, unless no task may start (see above). It is called
// after whatever may have changed that.
func (c *Client) startQueued(fx *Effects) {
	if c.flush.Full() > 0 || (c.failed && !planted.On("failure-ignored")) || c.ended != nil {
		return
	}
	for i, t := range c.tasks {
		s := bellows.SplitID(i)
		if !c.work.Ready(s) {
			continue
		}
		t.reader.DropCommitted()
		if t.reader.Retained() < c.cfg.Limits.Retained {
			begun := c.work.Begin(s)
			t.Unit, t.Args = begun.Unit, append(t.Args[:0], begun.Args...)
			t.reader.Begin(t.Unit, begun.Commit)
			fx.Run = append(fx.Run, t)
		}
	}
}

// Unit returns what the task of a split that is active here runs, or ran last.
func (c *Client) Unit(s bellows.SplitID) bellows.Unit { return c.tasks[s].Unit }
