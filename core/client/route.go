package client

import (
	"math"
	"slices"

	"bellows"
	"bellows/core/planted"
	"bellows/link/wire"
	"bellows/vec"
)

// A client goes by the route that the controller has told it last. Three may be ahead of it or behind:
//
//   - A lane that knows a newer route refuses what is another's by that (wire.Stale). What was refused waits for that
//     route, and is then made again at the owner that there is: a question as a new one, the parts of a flush under
//     its own name. Nothing is asked again by the route by which it was refused (TestStaleRequestsWaitForRoute).
//   - The controller refuses a done likewise, in all pairs that have another owner. The parts are sent to the new
//     one, which says that it holds them even if they came to it with the partition (TestAStaleDoneIsDoneAgain).
//   - A lane that is behind keeps what it is asked, since that says by which route; the client knows nothing of it.
//
// Another controller says the whole route once more, which may be the one that there is (TestARouteIsToldAgain). An
// older one ends the job: whoever said the newer has recorded it before (TestRouteWithoutRecordEndsJob).
//
// Turned down: to ask the controller for the route, which is under way already, since a record that makes a route and
// the word to clients leave in one step; and to send to the owner that a refusal names, by which a client would go by
// two routes at once (docs/decisions/0031).

// takeRoute goes by another route from now on. What waited for it is made again before a new task begins.
func (c *Client) takeRoute(m *wire.Route, fx *Effects) {
	next, err := c.now.Route, error(nil)
	switch {
	case m.Begin == nil:
		for i := 0; i < len(m.Changes) && err == nil; i++ {
			next, err = next.Next(m.Changes[i])
		}
	case m.Version < next.Version() || m.Begin.Commit < c.told && !planted.On("told-more-overlooked"):
		c.giveUp(fx, "the controller of now knows %d records and route %d, and the one before has told of %d and route %d: "+
			"a decision is lost", m.Begin.Commit, m.Version, c.told, next.Version())
		return
	default:
		next, err = c.cfg.Route.Rebuilt(m.Version, m.Changes)
	}
	if err != nil {
		c.breach(c.cfg.Controller, fx, "%v", err)
		return
	}
	before := c.now.Route
	c.now.Route = next
	c.cache.SetRoute(next.Version())
	c.takeLeave(m, fx)
	if m.Begin != nil {
		c.followed(fx)
		for t, clocks := range m.Begin.Staleness {
			c.setStaleness(bellows.TableID(t), clocks)
		}
	}
	for n := range c.partitions {
		ref := c.partitions[n].ref
		if before.Owner(ref).Generation != next.Owner(ref).Generation {
			lane, g := c.setOwner(n)
			c.cache.Move(n, lane, g, &fx.Outbox)
		}
	}
	c.runSplits(fx)
	c.askAgain(fx)
	c.startQueued(fx)
	c.part(fx)
	c.leave(m.Changes, fx)
}

// followed makes up for what a controller that another has followed took with it, whose process may be gone: what is
// done is said again, and what was refused waits for no route that the one before has told nobody else of
// (TestUnrecordedRouteIsNotAwaited; planted: lost-route-awaited).
func (c *Client) followed(fx *Effects) {
	until := c.now.Route.Version()
	if planted.On("lost-route-awaited") {
		until = math.MaxUint32
	}
	c.cache.LowerRoutes(until)
	c.flush.Repeat(until, c.flushing(fx))
	c.carry(fx)
}

// setOwner takes note of the lane that owns a partition, and returns its number and the generation. Deltas for lanes
// of this node are not narrowed: they are pointers.
func (c *Client) setOwner(n int) (lane int, g bellows.Generation) {
	ref := c.partitions[n].ref
	owner := c.now.Route.Owner(ref)
	if lane = slices.Index(c.lanes, owner.Lane); lane < 0 {
		lane = len(c.lanes)
		c.lanes = append(c.lanes, owner.Lane)
		c.cache.AddLane(owner.Lane)
		c.flush.AddLane(owner.Lane)
		c.enquiries.lanes = append(c.enquiries.lanes, enquiry{lane: owner.Lane})
	}
	format := vec.Float32
	if int(ref.Table) < len(c.cfg.Wire) && owner.Lane.Node != c.cfg.Self.Node {
		format = c.cfg.Wire[ref.Table]
	}
	c.flush.SetOwner(n, lane, owner.Generation, format)
	return lane, owner.Generation
}

// setStaleness takes the consistency of a table.
func (c *Client) setStaleness(t bellows.TableID, clocks int32) {
	c.cfg.SetStaleness(t, clocks)
	c.cache.SetStaleness(t, c.cfg.Tables[t].Consistency)
	c.flush.SetBarrier(t, c.cfg.Barrier(t))
	c.setBarriers()
}

// takeStale notes what is to be made again by a newer route, which may be here already.
func (c *Client) takeStale(m *wire.Stale, from wire.Address, fx *Effects) {
	if m.Request > 0 {
		c.cache.Refuse(m.Request, m.Route)
	}
	err := c.flush.TakeStale(m, from, c.flushing(fx))
	c.carry(fx)
	c.judge(err, from, fx)
	c.askAgain(fx)
	c.startQueued(fx)
}
