package client

import (
	"fmt"
	"slices"

	"bellows"
	"bellows/core/planted"
	"bellows/link/wire"
	"bellows/table"
)

// A client goes by the route that the controller has told it last. Two things can be behind or ahead of it:
//
// A lane that knows a newer route refuses what is another's by that (wire.Stale). What was refused then waits, whole: a question until the
// route comes, the parts of a flush too; then it is made again, a question as a new one, a flush under its own name, at the owner that there is by then. So
// does a flush whose done the controller refuses, in all parts that have another owner: the new one says that it holds what came to it with the
// partition, as if it had been sent. Nothing is asked again by the route by which it was refused (TestWhatIsStaleWaitsForTheRoute).
//
// Another controller says the whole route once more, which may be the one that there is. An older one ends the job: whoever said the newer has recorded it before
// (TestARouteOfNoRecordEndsTheJob).
//
// A lane that is behind keeps what it is asked, since that says by which route.
//
// Turned down: to ask the controller for the route, which is under way already, since a record that makes a route and the word to clients leave
// in one step; and to send to the owner that a refusal names, by which a client would go by two routes at once.

// takeRoute goes by another route from now on.
func (c *Client) takeRoute(m *wire.Route, fx *Effects) {
	next, err := c.now.Route, error(nil)
	switch {
	case m.Begin == nil:
		for i := 0; i < len(m.Changes) && err == nil; i++ {
			next, err = next.Next(m.Changes[i])
		}
	case m.Version < next.Version():
		err = fmt.Errorf("route %d as that of now, behind route %d, which nobody has recorded", m.Version, next.Version())
	default:
		next, err = c.cfg.Route.Rebuilt(m.Version, m.Changes)
	}
	if err != nil {
		c.breach(c.cfg.Controller, fx, "%v", err)
		return
	}
	c.now.Route = next
	if m.Begin != nil {
		for t, clocks := range m.Begin.Staleness {
			c.setStaleness(bellows.TableID(t), clocks)
		}
	}
	for n := range c.partitions {
		if p := &c.partitions[n]; p.pair.Generation != c.now.Route.Owner(p.ref).Generation {
			c.setOwner(p)
			c.ownerChanged(n, fx)
		}
	}
	c.runSplits(fx)
	c.tryAgain(fx)
	c.startQueued(fx)
}

// setOwner takes note of the lane that owns a partition.
func (c *Client) setOwner(p *partition) {
	owner := c.now.Route.Owner(p.ref)
	p.pair = wire.Pair{Ref: p.ref, Generation: owner.Generation}
	p.lane = slices.Index(c.lanes, owner.Lane)
	if p.lane < 0 {
		p.lane = len(c.lanes)
		c.lanes, c.pulls = append(c.lanes, owner.Lane), append(c.pulls, nil)
		c.relays, c.relayed = append(c.relays, 0), append(c.relayed, 0)
		c.enquiries = append(c.enquiries, enquiry{})
	}
	if p.format = 0; int(p.ref.Table) < len(c.cfg.Wire) && owner.Lane.Node != c.cfg.Self.Node {
		p.format = c.cfg.Wire[p.ref.Table]
	}
}

// ownerChanged ends the subscription to a partition, since its new owner knows of none: those who waited for rows that come unasked ask for them. What
// is cached is as it was.
func (c *Client) ownerChanged(n int, fx *Effects) {
	p := &c.partitions[n]
	if p.subscribed {
		p.subscribed, p.keySub = false, keySubscription{most: p.keySub.most}
	}
	for i := 0; i < len(c.fetches); i++ {
		if f := c.fetches[i]; f.number == n && f.request == 0 {
			c.askAll(p, f, fx)
		}
	}
}

// runSplits makes a place for each split that is this node's now, and lets go of the others. Nothing of one that goes is under way: all that
// was dispatched of it counts, though its commits may not have come here yet.
func (c *Client) runSplits(fx *Effects) {
	for i := range c.splits {
		own, s := c.now.Route.Node(bellows.SplitID(i)) == c.cfg.Self.Node, c.splits[i]
		switch {
		case own && s == nil:
			c.splits[i] = &split{}
			c.splits[i].task = newTask(c)
		case !own && s != nil && (s.running || len(s.queue) > 0):
			c.breach(c.cfg.Controller, fx, "a route by which split %d is another's, and a task of it is out", i)
		case !own && s != nil:
			for _, b := range s.retained {
				b.drop(c)
			}
			c.splits[i] = nil
		}
	}
}

// setStaleness takes the consistency of a table.
func (c *Client) setStaleness(t bellows.TableID, clocks int32) {
	c.cfg.Tables[t].Consistency = table.Consistency(clocks)
	c.setBarriers()
}

// takeStale notes what is to be made again by a newer route, which may be here already.
func (c *Client) takeStale(m *wire.Stale, from wire.Address, fx *Effects) {
	if m.Request > 0 {
		for _, f := range c.fetches {
			if f.request == m.Request {
				f.stale, f.staleUntil = true, m.Route
			}
		}
	}
	if f := c.find(m.Flush); f != nil {
		c.staleParts(f, m, from, fx)
	}
	c.tryAgain(fx)
}

// staleParts notes parts of a flush that have another owner. A pair at another generation than that at which it was sent last is not meant.
func (c *Client) staleParts(f *flush, m *wire.Stale, from wire.Address, fx *Effects) {
	for _, pair := range m.Pairs {
		k := slices.IndexFunc(f.parts, func(p flushPart) bool { return p.pair == pair })
		if k < 0 {
			continue
		}
		p := &f.parts[k]
		switch at := c.lanes[f.pushes[p.push].lane]; {
		case from.Role == wire.Lane && from != at:
			c.breach(from, fx, "%v is another's, of which it was sent nothing", m.Flush)
			return
		case p.state == partHeld && from.Role == wire.Controller:
			f.votes--
		case p.state != partSent:
			continue // it has come there before
		}
		p.state, f.staleUntil = partStale, max(f.staleUntil, m.Route)
		f.stale++
	}
	if f.stale == 0 {
		return
	}
	for i := range f.pushes {
		c.noRoom(&f.pushes[i], fx)
	}
	c.reopen(f)
}

// reopen undoes that a flush is done: not all of it is held where it must be. What it has sent is its receivers' and stays as it is.
func (c *Client) reopen(f *flush) {
	if f.writes.done == nil {
		f.writes.done = copyResults(f.results)
	}
	if !f.preparing {
		f.preparing = true
		c.preparing++
	}
}

// copyResults is what a done has of results.
func copyResults(d *wire.Done) *wire.Done {
	to := wire.New[wire.Done]()
	to.AppendAll(d.Results)
	return to
}

// tryAgain makes again what was stale and for which the route has come.
func (c *Client) tryAgain(fx *Effects) {
	v := c.now.Route.Version()
	for i := 0; i < len(c.fetches); i++ {
		if f := c.fetches[i]; f.stale && f.staleUntil <= v {
			c.ask(f, fx)
		}
	}
	for _, f := range c.flushes {
		if f.stale > 0 && f.staleUntil <= v {
			c.pushAgain(f, fx)
		}
	}
}

// outdated reports whether an answer is that of an owner of the past. What it says was so, and others may have seen newer rows since.
func (p *partition) outdated(g bellows.Generation) bool { return g < p.pair.Generation }

// pushAgain sends the stale parts of a flush to their owners of now. Their deltas are taken from the write set: of a push within one node its lane may have
// taken out what it held.
func (c *Client) pushAgain(f *flush, fx *Effects) {
	old := len(f.pushes)
	for i := range f.pushes {
		c.unlink(f, &f.pushes[i])
	}
	again := func(n int) *lanePush {
		k := c.partAt[n] - 1
		if k < 0 {
			return nil
		}
		p := &f.parts[k]
		switch {
		case p.state == partStale:
			p.pair, p.state = c.partitions[n].pair, partSent
			f.stale--
			was := f.pushes[p.push]
			p.push = c.newPush(f, c.partitions[n].lane, old)
			if now := &f.pushes[p.push]; was.lane == now.lane { // which is waited for all the same
				now.wait.patience = was.wait.patience
			}
			p.next, f.pushes[p.push].first = f.pushes[p.push].first, k
		case p.push < old:
			return nil // it is where it belongs
		}
		return &f.pushes[p.push]
	}
	c.indexParts(f, true)
	c.load(f, again)
	c.indexParts(f, false)
	for i := range f.pushes {
		if i >= old {
			p := &f.pushes[i]
			p.push.Pairs = f.pairs(p.push.Pairs)
			fx.Send(c.cfg.Self, c.lanes[p.lane], p.push)
		}
	}
}

// unlink takes the stale parts out of what a push has brought. Of those that are left perhaps none shows before its clock is complete
// (TestWhatIsLeftOfAStalePushWaitsForItsClock).
func (c *Client) unlink(f *flush, p *lanePush) {
	kept, first, shows := none, none, false
	for k := p.first; k != none; k = f.parts[k].next {
		if f.parts[k].state == partStale {
			continue
		}
		if kept == none {
			first = k
		} else {
			f.parts[kept].next = k
		}
		kept = k
		number := c.cfg.Route.Number(f.parts[k].pair.Ref)
		leased := slices.ContainsFunc(f.writes.leases, func(l leaseGrant) bool { return l.number == number })
		shows = shows || !leased && !c.partitions[number].barrier
	}
	p.visibleOnCommit = p.visibleOnCommit && (shows || planted.On("stale-part-shows"))
	if kept != none {
		f.parts[kept].next = none
	}
	p.first = first
}

// newPush is the place of the push to a lane among those that are sent again, behind the others.
func (c *Client) newPush(f *flush, lane, old int) int {
	if i := slices.IndexFunc(f.pushes[old:], func(p lanePush) bool { return p.lane == lane }); i >= 0 {
		return old + i
	}
	m := wire.New[wire.Push]()
	m.Flush, m.Clock, m.Route, m.Again = f.id, f.clock, c.now.Route.Version(), true
	f.pushes = append(f.pushes, lanePush{lane: lane, push: m, first: none, again: true, asked: -1})
	return len(f.pushes) - 1
}

// awaitRoute names what waits for a route, and in the end gives it up: who made the route has told this node of it at once.
func (c *Client) awaitRoute(awake int64, fx *Effects) {
	what, until := c.stale()
	if what == "" {
		c.routeless = 0
		return
	}
	before, times := c.routeless, &c.cfg.Times
	c.routeless += awake
	switch {
	case c.routeless > times.Leader:
		c.giveUp(fx, "%s waits for route %d, which has not come in %s: node %d goes by route %d", what, until, seconds(c.routeless), c.cfg.Self.Node, c.now.Route.Version())
	case before <= times.Notice && c.routeless > times.Notice:
		fx.Notices = append(fx.Notices, fmt.Sprintf("%s waits for route %d since %.1f s, and gives up after %.1f s: node %d goes by route %d", what, until, float64(c.routeless)/1000, float64(times.Leader)/1000, c.cfg.Self.Node, c.now.Route.Version()))
	}
}

// stale is something that waits for a route, and for which; "": nothing does.
func (c *Client) stale() (what string, until bellows.RouteVersion) {
	for _, f := range c.flushes {
		if f.stale > 0 {
			return f.id.String(), f.staleUntil
		}
	}
	for _, f := range c.fetches {
		if f.stale {
			return fmt.Sprintf("a question about %v", c.partitions[f.number].ref), f.staleUntil
		}
	}
	return "", 0
}

// outgrown reports whether some part of a push has another owner now: its lane need not have it any more. When the flush is done, its client is told.
func (c *Client) outgrown(f *flush, p *lanePush) bool {
	for k := p.first; k != none; k = f.parts[k].next {
		if part := &f.parts[k]; part.state == partStale || part.pair.Generation < c.partitions[c.cfg.Route.Number(part.pair.Ref)].pair.Generation {
			return true
		}
	}
	return false
}
