package client

import (
	"bellows/core/cache"
	"bellows/core/flush"
)

// A step of a state machine returns effects. Each is handed on before the next step begins.

// scratch is the effects of the client's state machines, in the step that is being made.
type scratch struct {
	fromCache cache.Effects
	fromFlush flush.Effects
	leases    []flush.Lease
}

// cached returns the effects of a step of the cache. The caller hands them on by wake.
func (s *scratch) cached(fx *Effects) *cache.Effects {
	s.fromCache.Outbox = &fx.Outbox
	return &s.fromCache
}

// wake wakes the tasks that the cache has woken.
func (c *Client) wake(fx *Effects) {
	e := &c.fromCache
	for _, r := range e.Woken {
		if t := c.tasks[r.Split()]; t != nil {
			fx.Wake = append(fx.Wake, t)
		}
	}
	clear(e.Woken)
	e.Woken = e.Woken[:0]
}

// flushing returns the effects of a step of the coordinator. The caller hands them on by carry.
func (s *scratch) flushing(fx *Effects) *flush.Effects {
	e := &s.fromFlush
	e.Outbox, e.Relays, e.Seen, e.Ended = &fx.Outbox, e.Relays[:0], e.Seen[:0], e.Ended[:0]
	return e
}

// carry tells the cache what a step of the coordinator has changed.
func (c *Client) carry(fx *Effects) {
	e := &c.fromFlush
	for _, r := range e.Relays {
		switch r.Change {
		case flush.RelayExpected:
			c.cache.Expect(r.Lane)
		case flush.RelayRecorded:
			c.cache.Recorded(r.Lane, r.Commit)
		case flush.RelayUncertain:
			c.cache.Uncertain(r.Lane, c.cached(fx))
		}
	}
	for _, s := range e.Seen {
		c.cache.Saw(s.Reader, s.Number, s.Commit)
	}
	for _, l := range e.Ended {
		c.cache.Keep(l.Number, l.Granted)
	}
	clear(e.Ended)
	e.Ended = e.Ended[:0]
	c.wake(fx)
}

// flushReady sends what nothing here can be added to, and everything if no task executes.
func (c *Client) flushReady(fx *Effects) {
	c.flush.Leave(c.idle(), c.now.Route, c.flushing(fx))
	c.carry(fx)
}

// idle reports whether no task executes: all that run wait.
func (c *Client) idle() bool { return c.work.Running() == c.cache.Waiting() }
