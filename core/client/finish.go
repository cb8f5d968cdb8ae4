package client

import (
	"bellows/core/flush"
	"bellows/core/planted"
	"bellows/link/wire"
)

// A finished task leaves its work to the coordinator of flushes (package flush), which sends it, alone or with
// others, and hears what becomes of it.

// Finish takes a task that has run, with what it signalled. With an error the task's work is dropped and the
// controller told.
func (c *Client) Finish(t *Task, result []float64, err error, fx *Effects) {
	fx.Era = c.cfg.Era
	if c.ended != nil {
		return
	}
	c.work.End(t.Unit.Split)
	t.endReads()
	c.cache.End(&t.reader, &fx.Outbox)
	work := flush.Work{Unit: t.Unit, Clock: t.Unit.Items, Result: result, Summed: c.barriers, Barrier: &t.bspDeltas}
	if c.cfg.Units != nil && !planted.On("sum-for-each-unit") {
		work.Clock = c.cfg.Items(t.Unit.Split, t.Unit.Clock)
	}
	if err != nil {
		c.flush.Finished(t.Unit.Clock)
		t.discard()
		c.failed = true
		c.complain(&wire.Failed{Unit: t.Unit, Reason: err.Error(), Err: err}, fx)
		return
	}
	work.Leases, work.Stream = c.endLeases(t), t.retain()
	c.startQueued(fx) // which may leave no task idle
	c.flush.Finish(&work, c.idle(), c.now.Route, c.flushing(fx))
	c.carry(fx)
}

// endLeases takes the exclusive leases of a task, which its flush ends. The list is valid in this step.
func (s *scratch) endLeases(t *Task) []flush.Lease {
	c := t.client
	s.leases = s.leases[:0]
	for _, l := range t.reader.Leases() {
		end := flush.Lease{Reader: t.reader.ID(), Number: l.Number, Granted: l.Granted}
		if c.lanes[l.Lane].Node != c.cfg.Self.Node {
			end.Copied = len(l.Granted.Values)
		}
		s.leases = append(s.leases, end)
	}
	t.reader.ForgetLeases()
	return s.leases
}

// takeRoom sends again what a lane had no room for.
func (c *Client) takeRoom(m *wire.Room, lane wire.Address, fx *Effects) {
	again, err := c.flush.TakeRoom(m, lane)
	if c.judge(err, lane, fx); again.Empty() {
		return
	}
	for stale := true; stale; {
		stale = c.flush.Resend(&again, c.now.Route, c.flushing(fx))
		if c.carry(fx); stale {
			c.askAgain(fx)
		}
	}
	c.startQueued(fx)
}

// takeCommitted learns which flushes have a number: what has waited for that is asked, sent or begun.
func (c *Client) takeCommitted(m *wire.Committed, lane wire.Address, fx *Effects) {
	for i := range m.List {
		err := c.flush.TakeCommitted(&m.List[i], lane, c.flushing(fx))
		c.carry(fx)
		c.judge(err, lane, fx)
	}
	c.cache.AcquireDelayed(&fx.Outbox)
	c.askAgain(fx)
	c.startQueued(fx)
	wire.Free(m)
}
