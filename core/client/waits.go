package client

import (
	"fmt"

	"bellows"
	"bellows/core/cache"
	"bellows/core/flush"
	"bellows/core/pending"
	"bellows/core/route"
	"bellows/core/tally"
	"bellows/link/wire"
)

// A wait that lasts longer than Times.Notice is named once, with its object and its deadline (P8 of the simulation):
// the first task that waits, with the number of the others; each flush that some lane does not hold; a route that does
// not come. By then the client has asked the lane what it waits for (enquire.go).

// Waits returns the node's current waits, as they are measured (docs/decisions/0021): tasks that wait for a read or a
// lease, flushes that some lane does not hold yet, and flushes that are held and not yet visible everywhere. The lane
// of a flush for one lane passes its done on; the client learns that it is held when it is recorded.
func (c *Client) Waits() tally.Waits {
	preparing := c.flush.Preparing()
	return tally.Waits{Tasks: c.cache.Waiting(), Pushes: preparing, Commits: c.flush.Open() - preparing}
}

// Tick tells the client the time: it names waits that last, with until when, and ends those that cannot end
// otherwise. It returns how much of the time since the last tick counts for a wait: the node may have slept.
func (c *Client) Tick(nowMillis int64, fx *Effects) (awakeMillis int64) {
	fx.Era = c.cfg.Era
	awake := c.enquiries.tick(nowMillis)
	if c.ended == nil && !c.broken {
		e, r := &c.enquiries, c.now.Route
		if silent := e.ask(awake, c.cache, c.flush, &fx.Outbox); silent != "" {
			c.giveUp(fx, "%s", silent)
		}
		fx.Notices = e.nameReads(c.cache, r, fx.Notices)
		fx.Notices = e.nameFlushes(c.flush, r, fx.Notices)
		c.awaitRoute(awake, fx)
	}
	return awake
}

// Computes reports which task of the node has computed for longest, and for how long: others may wait for it. The
// client reports a long time to the controller. A task that has not ended after Times.Task, nor asked for anything,
// ends the job (TestOverlongTaskEndsJob).
func (c *Client) Computes(s bellows.SplitID, millis int64, fx *Effects) {
	if !c.work.Runs(s) { // its task has ended meanwhile, and the split may have gone
		return
	}
	u := c.tasks[s].Unit
	switch {
	case c.ended != nil || c.broken:
	case millis > c.cfg.Times.Task:
		reason := fmt.Sprintf("it has computed for %s without an end", seconds(millis))
		c.stop(&wire.Failed{Unit: u, Kind: bellows.Lost, Reason: reason}, fx)
	case c.enquiries.computes(u, millis):
		fx.Send(c.cfg.Self, c.cfg.Controller, &wire.Computing{Unit: u, Millis: millis})
	}
}

// computes reports whether the controller must learn that a unit has computed for long, and records that it does.
func (e *enquiries) computes(u bellows.Unit, millis int64) bool {
	most := e.times.Notice / 2
	if millis <= most || u == e.computing && e.nowMillis-e.computingMillis <= most {
		return false
	}
	e.computing, e.computingMillis = u, e.nowMillis
	return true
}

// nameReads appends a notice of the first task that has waited for an answer for long, with how many others do.
func (e *enquiries) nameReads(c *cache.Cache, r *route.Route, to []string) []string {
	first, late := c.NameLate(e.nowMillis, e.times.Notice)
	if late == 0 {
		return to
	}
	until := e.givesUp(&first.At, r)
	sentence := fmt.Sprintf("%v has waited %s for %s%s", first.Unit, seconds(first.Millis), first.For, until)
	if late > 1 {
		sentence += fmt.Sprintf("; %d other splits of node %d wait too", late-1, e.self.Node)
	}
	return append(to, sentence)
}

// nameFlushes appends a notice for each lane that has not said for long that it holds its part of a flush.
func (e *enquiries) nameFlushes(f *flush.Coordinator, r *route.Route, to []string) []string {
	for u := range f.NameUnheld(e.nowMillis, e.times.Notice) {
		to = append(to, fmt.Sprintf("%v has waited %s for %v to hold its part%s",
			u.Flush, seconds(u.Millis), e.lanes[u.Lane].lane, e.givesUp(&u.At, r)))
	}
	return to
}

// givesUp says what a wait at a lane depends on, and when it is given up.
func (e *enquiries) givesUp(w *pending.At, r *route.Route) string {
	if !w.Known {
		return fmt.Sprintf(", and gives up after %s without a message from that lane", seconds(e.times.Answer))
	}
	task := seconds(e.times.Task)
	switch split := bellows.SplitID(w.Who); {
	case w.Behind == pending.Clock && int(split) < r.Splits():
		return fmt.Sprintf(", behind split %d on node %d, and gives up when a task has taken %s", split, r.Node(split), task)
	case w.Behind == pending.Lease:
		return fmt.Sprintf(", behind a lease of node %d, and gives up when a task has taken %s", w.Who, task)
	case w.Behind == pending.Silence:
		return fmt.Sprintf(", and gives up after %s without a message from the controller there", seconds(e.times.Leader))
	case w.Behind == pending.Room:
		return fmt.Sprintf(", behind others for whom there is room, and gives up after %s without a commit", task)
	}
	return fmt.Sprintf(", behind commits to come, and gives up after %s without one", task)
}

// awaitRoute names a wait for a route, and finally gives it up (TestMissingRouteIsNamed). The controller sent the route
// to this node when it made it, so a route that does not come means a lost controller. The next controller sends it
// when it knows what all lanes hold. That takes as long as it takes to detect another lost process, and longer than
// node 0 may be silent.
func (c *Client) awaitRoute(awake int64, fx *Effects) {
	what, until := "", bellows.RouteVersion(0)
	if id, v, awaited := c.flush.AwaitedRoute(); awaited {
		what, until = id.String(), v
	} else if ref, v, awaited := c.cache.AwaitedRoute(); awaited {
		what, until = fmt.Sprintf("a question about %v", ref), v
	}
	e, times := &c.enquiries, &c.cfg.Times
	if what == "" {
		e.routeless = 0
		return
	}
	before := e.routeless
	e.routeless += awake
	by := fmt.Sprintf("node %d goes by route %d", c.cfg.Self.Node, c.now.Route.Version())
	switch {
	case e.routeless > times.Task:
		c.giveUp(fx, "%s waits for route %d, which has not come in %s: %s", what, until, seconds(e.routeless), by)
	case before <= times.Notice && e.routeless > times.Notice:
		fx.Notices = append(fx.Notices, fmt.Sprintf("%s has waited %s for route %d, and gives up after %s: %s",
			what, seconds(e.routeless), until, seconds(times.Task), by))
	}
}
