package client

import (
	"bellows"
	"bellows/link/wire"
)

// The cache has what a task asks for, or asks lanes for it (package cache). Whenever a task begins to wait, the write
// sets leave as they are if nothing executes any more: their units may be what others wait for, and these what this
// task waits for.

// Read makes the rows [first, end) of a table readable for the task and reports whether they are; if not, the task
// waits until it is woken and asks again.
func (c *Client) Read(t *Task, tab bellows.TableID, first, end bellows.RowID, fx *Effects) bool {
	fx.Era = c.cfg.Era
	return c.asked(c.cache.Read(&t.reader, tab, first, end, &fx.Outbox), fx)
}

// ReadRows works like Read, for any rows, ascending.
func (c *Client) ReadRows(t *Task, tab bellows.TableID, rows []bellows.RowID, fx *Effects) bool {
	fx.Era = c.cfg.Era
	return c.asked(c.cache.ReadRows(&t.reader, tab, rows, &fx.Outbox), fx)
}

// ReadKeys works like Read, for the rows of the keys that the task has grouped.
func (c *Client) ReadKeys(t *Task, fx *Effects) bool {
	fx.Era = c.cfg.Era
	return c.asked(c.cache.ReadKeys(&t.reader, &fx.Outbox), fx)
}

// asked takes whether what a task asked for is there.
func (c *Client) asked(there bool, fx *Effects) bool {
	if !there {
		c.flushReady(fx)
	}
	return there
}

// Prefetch asks for the rows [first, end) of a table unless they are there or under way, and waits for nothing: a
// later Read finds them sooner (TestPrefetchWaitsForNothing).
func (c *Client) Prefetch(t *Task, tab bellows.TableID, first, end bellows.RowID, fx *Effects) {
	fx.Era = c.cfg.Era
	c.cache.Prefetch(&t.reader, tab, first, end, &fx.Outbox)
}

// PrefetchKeys works like Prefetch, for the rows of the keys that the task has grouped.
func (c *Client) PrefetchKeys(t *Task, fx *Effects) {
	fx.Era = c.cfg.Era
	c.cache.PrefetchKeys(&t.reader, &fx.Outbox)
}

// MayWait says why the task may not wait for what it has just read, since it holds leases; nil: it may.
func (c *Client) MayWait(t *Task) error { return c.cache.MayWait(&t.reader) }

// Lease asks for a lease on a partition and reports whether the task has it; if not, the task waits until it is woken
// and asks again. An error ends the task: the table has keys, or it might wait for ever.
func (c *Client) Lease(t *Task, ref bellows.PartitionRef, mode wire.Mode, fx *Effects) (bool, error) {
	fx.Era = c.cfg.Era
	there, err := c.cache.Lease(&t.reader, ref, mode)
	if there || err != nil {
		return there, err
	}
	c.flushReady(fx)
	c.cache.Acquire(&t.reader, &fx.Outbox)
	return false, nil
}

// takeRows hands the rows of a message, answers or sent unasked, to the cache.
func (c *Client) takeRows(m *wire.Rows, lane wire.Address, fx *Effects) {
	if m.Incarnation != c.cfg.Incarnation { // for the process before this one
		wire.Free(m)
		return
	}
	a := c.cache.Open(m)
	for i := range m.Parts {
		unsure := m.Request > 0 && c.flush.Unsure(m.Parts[i].Pair)
		if err := c.cache.Take(a, i, unsure, c.cached(fx)); err != nil {
			c.judge(err, lane, fx)
			break
		}
	}
	c.cache.Close(a)
	c.wake(fx)
}

// askAgain makes again what was stale and for which the route has come, or is there already. A question about rows
// that would be unsure waits for the flush that makes them so.
func (c *Client) askAgain(fx *Effects) {
	for i, pair := range c.cache.Refused() {
		if !c.flush.Unsure(pair) {
			c.cache.AskAgain(i, &fx.Outbox)
		}
	}
	c.flush.PushAgain(c.now.Route, c.flushing(fx))
	c.carry(fx)
}

// runSplits makes a place for each split that is this node's now, and lets go of the others. Nothing of one that goes
// is under way: all that was dispatched of it counts, though its commits may not have come here yet.
func (c *Client) runSplits(fx *Effects) {
	for i, t := range c.tasks {
		id := bellows.SplitID(i)
		own := c.now.Route.Node(id) == c.cfg.Self.Node
		switch {
		case own && t == nil:
			c.tasks[i] = newTask(c)
			c.work.Join(id)
			c.cache.Join(id, &c.tasks[i].reader, len(c.partitions))
		case !own && t != nil && c.work.Busy(id):
			c.breach(c.cfg.Controller, fx, "a route by which split %d is another's, and a task of it is out", i)
		case !own && t != nil:
			c.cache.Leave(id)
			c.work.Leave(id)
			c.tasks[i] = nil
			fx.Left = append(fx.Left, id)
		}
	}
}
