package client

import (
	"fmt"
	"math"
	"slices"

	"bellows"
	"bellows/core/planted"
	"bellows/link/wire"
	"bellows/table"
)

// A client goes by the route that the controller has told it last. Three may be ahead of it or
// behind:
//
//   - A lane that knows a newer route refuses what is another's by that (wire.Stale). What was
//     refused waits for that route, and is then made again at the owner that there is: a question
//     as a new one, the parts of a flush under its own name. Nothing is asked again by the route by
//     which it was refused (TestWhatIsStaleWaitsForTheRoute).
//   - The controller refuses a done likewise, in all pairs that have another owner. The parts are
//     sent to the new one, which says that it holds them even if they came to it with the partition
//     (TestAStaleDoneIsDoneAgain).
//   - A lane that is behind keeps what it is asked, since that says by which route; the client
//     knows nothing of it.
//
// Another controller says the whole route once more, which may be the one that there is (TestARouteIsToldAgain). An older one ends the job: whoever
// said the newer has recorded it before (TestARouteOfNoRecordEndsTheJob).
//
// Turned down: to ask the controller for the route, which is under way already, since a record that makes a route and the word to clients leave in
// one step; and to send to the owner that a refusal names, by which a client would go by two routes at once (docs/decisions/0031).

// takeRoute goes by another route from now on. What waited for it is made again before a new task
// begins.
func (c *Client) takeRoute(m *wire.Route, fx *Effects) {
	next, err := c.now.Route, error(nil)
	switch {
	case m.Begin == nil:
		for i := 0; i < len(m.Changes) && err == nil; i++ {
			next, err = next.Next(m.Changes[i])
		}
	case m.Version < next.Version() || m.Begin.Commit < c.told && !planted.On("told-more-overlooked"):
		c.giveUp(fx, "the controller of now knows %d records and route %d, and the one before has told of %d and route %d: a decision is lost", m.Begin.Commit, m.Version, c.told, next.Version())
		return
	default:
		next, err = c.cfg.Route.Rebuilt(m.Version, m.Changes)
	}
	if err != nil {
		c.breach(c.cfg.Controller, fx, "%v", err)
		return
	}
	c.now.Route = next
	c.takeLeave(m, fx)
	if m.Begin != nil {
		c.followed(fx)
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
	c.part(fx)
	c.leave(m.Changes, fx)
}

// followed makes up for what a controller that another has followed took with it, whose process may be gone. What is done is said again: the
// word is lost, and lanes that have promised before all of it was held have not spoken of it (TestWhatIsDoneIsSaidToWhoFollows; planted:
// done-unrepeated). And what was refused waits for no route that the one before has told nobody else of
// (TestARouteThatNobodyHasIsNotAwaited; planted: lost-route-awaited).
func (c *Client) followed(fx *Effects) {
	until := c.now.Route.Version()
	if planted.On("lost-route-awaited") {
		until = math.MaxUint32
	}
	for _, f := range c.fetches {
		f.staleUntil = min(f.staleUntil, until)
	}
	for _, f := range c.flushes {
		f.staleUntil = min(f.staleUntil, until)
		held := len(f.parts) > 0 && !slices.ContainsFunc(f.parts, func(p flushPart) bool { return p.state != partHeld })
		if held && f.writes.done == nil && !planted.On("done-unrepeated") {
			fx.Send(c.cfg.Self, c.cfg.Controller, c.doneAgain(f))
		}
	}
}

// setOwner takes note of the lane that owns a partition. Deltas for lanes of this node are not
// narrowed: they are pointers.
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

// ownerChanged ends the subscription to a partition, since its new owner knows of none: those who waited for rows that come unasked ask for them.
// What is cached is as it was (TestAMoveEndsASubscription).
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

// runSplits makes a place for each split that is this node's now, and lets go of the others. Nothing of one that goes is under way: all that was
// dispatched of it counts, though its commits may not have come here yet.
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
			fx.Left = append(fx.Left, bellows.SplitID(i))
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
	c.startQueued(fx)
}

// staleParts notes parts of a flush that have another owner. A pair at another generation than that at which it was sent last is not meant. A flush
// that loses parts is not done any more, and what its record would have brought is not sure.
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
		case p.state == partHeld:
			f.votes--
		case p.state == partFull:
			c.full--
		case p.state != partSent:
			continue
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

// reopen undoes that a flush is done: not all of it is held where it must be. What has been sent is
// its receivers' and stays as it is, so the new Done is made of a copy of the results.
func (c *Client) reopen(f *flush) {
	f.reopened = true
	if f.writes.done == nil {
		f.writes.done = copyResults(f.results)
	}
	if !f.preparing {
		f.preparing = true
		c.preparing++
	}
}

// doneAgain is once more what was said of a flush when all of it was held.
func (c *Client) doneAgain(f *flush) *wire.Done {
	d := copyResults(f.results)
	d.Flush, d.Clock, d.Pairs = f.id, f.clock, f.pairs(d.Pairs)
	f.say(d)
	return d
}

// copyResults is a done with the results of another.
func copyResults(d *wire.Done) *wire.Done {
	to := wire.New[wire.Done]()
	to.AppendAll(d.Results)
	return to
}

// tryAgain makes again what was stale and for which the route has come, or is there already.
func (c *Client) tryAgain(fx *Effects) {
	v := c.now.Route.Version()
	for i := 0; i < len(c.fetches); i++ {
		if f := c.fetches[i]; f.stale && f.staleUntil <= v && !c.unsure(f.number, c.partitions[f.number].pair.Generation) {
			c.ask(f, fx)
		}
	}
	for _, f := range c.flushes {
		if f.stale > 0 && f.staleUntil <= v {
			c.pushAgain(f, fx)
		}
	}
}

// outdated reports whether an answer is that of an owner of the past.
func (p *partition) outdated(g bellows.Generation) bool { return g < p.pair.Generation }

// pushAgain sends the stale parts of a flush to their owners of now, in pushes behind those that there are. Their deltas are taken from the write
// set: of a push within one node its lane may have taken out what it held.
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
			p.push = c.pushAt(f, c.partitions[n].lane, old)
			now := &f.pushes[p.push]
			now.again, now.push.Again, now.asked = true, true, -1
			if was.lane == now.lane { // which is waited for all the same
				now.wait.Patience = was.wait.Patience
			}
			p.next, now.first = now.first, k
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
			if i == old && !planted.On("results-left-behind") { // for another controller: who had it has perhaps nothing of the flush any more
				p.push.Done = c.doneAgain(f)
			}
			fx.Send(c.cfg.Self, c.lanes[p.lane], p.push)
		}
	}
}

// unlink takes the stale parts out of what a push has brought. Of those that are left perhaps none shows before its clock is complete
// (TestWhatIsLeftOfAStalePushWaitsForItsClock; planted: stale-part-shows).
func (c *Client) unlink(f *flush, p *lanePush) {
	kept, first, shows := none, none, false
	for k := p.first; k != none; k = f.parts[k].next {
		if f.parts[k].state == partStale {
			p.parted = true
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

// awaitRoute names what waits for a route, and in the end gives it up (TestARouteThatDoesNotComeIsNamed): the controller told this node of the
// route when it made it, so that a route which does not come means a controller that is lost. The one that follows tells of it when it knows
// what all lanes hold, which takes as long as it takes to find that somebody is lost, and longer than node 0 may be silent.
func (c *Client) awaitRoute(awake int64, fx *Effects) {
	what, until := c.stale()
	if what == "" {
		c.routeless = 0
		return
	}
	before, times := c.routeless, &c.cfg.Times
	c.routeless += awake
	switch {
	case c.routeless > times.Task:
		c.giveUp(fx, "%s waits for route %d, which has not come in %s: node %d goes by route %d", what, until, seconds(c.routeless), c.cfg.Self.Node, c.now.Route.Version())
	case before <= times.Notice && c.routeless > times.Notice:
		fx.Notices = append(fx.Notices, fmt.Sprintf("%s has waited %s for route %d, and gives up after %s: node %d goes by route %d",
			what, seconds(c.routeless), until, seconds(times.Task), c.cfg.Self.Node, c.now.Route.Version()))
	}
}

// stale is something that waits for a route, and for which; "": nothing does. A question whose route is there waits for a flush
// (unsure), which has a wait of its own (TestAQuestionBehindAFlushWaitsForNoRoute).
func (c *Client) stale() (what string, until bellows.RouteVersion) {
	for _, f := range c.flushes {
		if f.stale > 0 {
			return f.id.String(), f.staleUntil
		}
	}
	for _, f := range c.fetches {
		if f.stale && f.staleUntil > c.now.Route.Version() {
			return fmt.Sprintf("a question about %v", c.partitions[f.number].ref), f.staleUntil
		}
	}
	return "", 0
}

// outgrown reports whether some part of a push has another owner now: its lane need not have it any more, and what it says of it is no
// contradiction. It is asked all the same, since it must say something, unless it has refused some of it.
func (c *Client) outgrown(f *flush, p *lanePush) bool {
	for k := p.first; k != none; k = f.parts[k].next {
		if part := &f.parts[k]; part.state == partStale || part.pair.Generation < c.partitions[c.cfg.Route.Number(part.pair.Ref)].pair.Generation {
			return true
		}
	}
	return false
}
