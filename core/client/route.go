package client

import (
	"math"
	"slices"

	"bellows"
	"bellows/core/planted"
	"bellows/link/wire"
	"bellows/vec"
)

// A client uses the last route that the controller has sent. Three cases need care:
//
//   - A lane that knows a newer route refuses what that route gives to another lane (wire.Stale). The client waits for
//     that route, and then sends to the current owner: a question as a new one, the parts of a flush under its name.
//     Nothing is asked again by the route that was refused (TestStaleRequestsWaitForRoute).
//   - The controller refuses a done in the same way, for all pairs with another owner. The parts are sent to the new
//     owner, which reports that it holds them even if they came to it with the partition (TestAStaleDoneIsDoneAgain).
//   - A lane with an older route keeps the request, since that names its route; the client does not notice.
//
// Another controller sends the whole route once more, which may be the current one (TestARouteIsToldAgain). An older
// route ends the job: the newer one was recorded before it was sent (TestRouteWithoutRecordEndsJob).
//
// Rejected: to ask the controller for the route, which is under way already, since the record of a route and the
// message to clients leave in one step; and to send to the owner that a refusal names, because the client would then
// use two routes at once (docs/decisions/0031).

// takeRoute switches to another route. Requests that waited for it are made again before a new task begins.
func (c *Client) takeRoute(m *wire.Route, fx *Effects) {
	next, err := c.now.Route, error(nil)
	switch {
	case m.Begin == nil:
		for i := 0; i < len(m.Changes) && err == nil; i++ {
			next, err = next.Next(m.Changes[i])
		}
	case m.Version < next.Version() || m.Begin.Commit < c.told && !planted.On("told-more-overlooked"):
		c.giveUp(fx, "the current controller knows %d records and route %d, the previous one reported %d and route %d: "+
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

// followed repeats what a previous controller may have lost, since its process may be gone: dones are sent again, and
// refused parts no longer wait for a route that the previous controller has sent to no other node
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

// setBarriers marks the partitions of tables with clocks that become visible as a whole. A driver may change a table's
// staleness only while no task is out (coord.Dispatcher.SetStaleness), so tasks read the marks without a lock.
func (c *Client) setBarriers() {
	c.barriers = false
	for i := range c.partitions {
		p := &c.partitions[i]
		p.barrier = c.cfg.Barrier(p.ref.Table)
		c.barriers = c.barriers || p.barrier
	}
}
