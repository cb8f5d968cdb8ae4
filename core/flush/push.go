package flush

import (
	"slices"

	"bellows"
	"bellows/core/planted"
	"bellows/core/route"
	"bellows/link/wire"
)

// The way of a push: Finish → Add → accumulate; Finish → Leave → send → load → post; then, as lanes answer, TakeFull
// and TakeRoom (backpressure), TakeHeld → done (all have voted), and TakeCommitted → close.
//
// A flush for one lane needs only that lane's vote, so its Done is part of the push and the lane sends it on when it
// holds all (docs/decisions/0022): one hop less. The coordinator learns that it was held when it is committed. A flush
// for several lanes leaves its results with the first, for a controller that recovers from what lanes hold
// (TestFirstLaneKeepsFinishedUnits); its Done is sent here.
//
// Rejected: a Done next to the pushes to several lanes, which would count before a lane without room holds its part.

// Finish takes the work of a task that has run, and sends what may leave then: its unit is Finished, its work is added
// (Add), and idle says that no task executes any more (Leave).
func (c *Coordinator) Finish(t *Work, idle bool, r *route.Route, fx *Effects) {
	c.Finished(t.Unit.Clock)
	c.Add(t, r, fx)
	c.Leave(idle, r, fx)
}

// Add takes the work of a task that has run; its unit is Finished. A task with exclusive leases is a separate flush, at
// once: they exclude all other tasks until it is committed. Waiting work of its clock leaves before it, since the units
// of a split count in their order (sendEarlier). A task with deltas that show with its whole clock leaves with that all
// the same (leavesWithClock).
func (c *Coordinator) Add(t *Work, r *route.Route, fx *Effects) {
	w := c.writeSetOf(t.Unit.Clock)
	if len(t.Leases) == 0 || c.leavesWithClock(w, t) {
		c.accumulate(w, t)
		return
	}
	c.sendEarlier(w, t.Unit.Split, r, fx)
	one := c.newWriteSet(t.Unit.Clock)
	c.accumulate(one, t)
	c.send(one, r, fx)
}

// sendEarlier sends a write set that has units of a split, and replaces it by an empty one: the split's next unit is a
// separate flush, and would otherwise wait at the controller for work that waits here, perhaps for a third unit
// (TestALeasedUnitPassesNone).
func (c *Coordinator) sendEarlier(w *writeSet, s bellows.SplitID, r *route.Route, fx *Effects) {
	if !w.finished(s) || planted.On("leased-unit-passes") {
		return
	}
	c.gatherer.open[slices.Index(c.gatherer.open, w)] = c.replacement(w)
	c.send(w, r, fx)
}

// Leave sends the write set of every clock that has no unit left here; and every one that has finished units if the
// node is idle, so that no task executes: what waits may wait for these (Litz §4). The rest of such a clock is
// another flush.
func (c *Coordinator) Leave(idle bool, r *route.Route, fx *Effects) {
	rest := c.gatherer.open[:0]
	for _, w := range c.gatherer.open {
		switch {
		case w.ready(idle):
			if w.open > 0 {
				rest = append(rest, c.replacement(w))
			}
			c.send(w, r, fx)
		case w.open == 0:
			c.gatherer.spare.Put(w)
		default:
			rest = append(rest, w)
		}
	}
	c.gatherer.open = rest
}

// send sends a write set as the next flush: each lane's parts to that lane, to be held.
func (c *Coordinator) send(w *writeSet, r *route.Route, fx *Effects) {
	c.seq++
	f := c.flushes.spare.Get()
	f.results = copyResults(w.done)
	f.id = bellows.FlushID{Client: c.self.Node, Incarnation: c.process, Seq: c.seq}
	f.clock, f.writes, f.sum = w.clock, w, c.sum(w)
	for u := range f.updates {
		c.count(f, u, c.partitions)
	}
	slices.SortFunc(w.leases, func(a, b Lease) int { return a.Number - b.Number }) // as a push has them
	for _, l := range w.leases {
		c.countLease(f, l, &c.partitions[l.Number])
	}
	v := r.Version()
	c.load(f, func(n int) *lanePush { return c.pushTo(f, n, v) })
	c.post(f, r, fx)
}

// load puts a flush's deltas and ends of leases into the pushes that to names for their partitions; nil: not sent. They
// share memory with the write set, which does not change until the flush is closed.
func (c *Coordinator) load(f *flush, to func(number int) *lanePush) {
	for u, at := range f.updates {
		touched := u.Touched()
		for _, n := range touched {
			b := u.Find(n)
			if b.Len() == 0 || planted.On("chunk-lost") && n == touched[0] && len(touched) > 1 {
				continue
			}
			if p := to(n); p != nil {
				rows, values := b.Chunk()
				chunk := wire.Chunk{Pair: c.partitions[n].pair, Subtree: at, Rows: rows, Keys: b.Keys(), Values: values}
				p.push.Chunks = append(p.push.Chunks, chunk)
				p.visibleOnCommit = p.visibleOnCommit || !c.partitions[n].barrier
			}
		}
	}
	for _, l := range f.writes.leases {
		if p := to(l.Number); p != nil {
			g := l.Granted
			end := wire.LeaseEnd{Pair: c.partitions[l.Number].pair, Columns: g.Columns, Values: g.Values}
			p.push.Leases = append(p.push.Leases, end)
		}
	}
}

// pushTo returns the flush's push to the lane of a partition, which thereby has a part in the flush.
func (c *Coordinator) pushTo(f *flush, n int, v bellows.RouteVersion) *lanePush {
	if at := c.at[n]; at > 0 {
		return &f.pushes[f.parts[at-1].push]
	}
	i := c.pushAt(f, c.partitions[n].lane, 0, v)
	p := &f.pushes[i]
	f.parts = append(f.parts, flushPart{pair: c.partitions[n].pair, push: i, next: p.first})
	p.first = len(f.parts) - 1
	c.at[n] = len(f.parts)
	return p
}

// pushAt returns the place of the push to a lane among those of a flush from a place on. A new one, by a version of
// the route, is the last.
func (c *Coordinator) pushAt(f *flush, lane, from int, v bellows.RouteVersion) int {
	for i := from; i < len(f.pushes); i++ {
		if f.pushes[i].lane == lane {
			return i
		}
	}
	m := wire.New[wire.Push]()
	m.Flush, m.Clock, m.Route = f.id, f.clock, v
	f.pushes = append(f.pushes, lanePush{lane: lane, push: m, first: none})
	return len(f.pushes) - 1
}

// post sends the pushes of a flush. Each names all pairs of the flush, so that a lane can tell a controller that
// recovers what else there must be (TestEveryPushNamesTheWholeFlush).
func (c *Coordinator) post(f *flush, r *route.Route, fx *Effects) {
	c.indexParts(f, false)
	c.flushes.open = append(c.flushes.open, f)
	if len(f.pushes) == 0 && len(c.lanes) > 0 {
		c.pushNothing(f, r)
	}
	if len(f.pushes) > 0 {
		f.preparing = true
		c.preparing++
	}
	switch len(f.pushes) {
	case 0:
	case 1: // its lane sends the done on when it holds all of the flush
		f.pushes[0].push.Done = c.done(f, fx)
	default: // for another controller, which asks the lanes what they hold
		f.pushes[0].push.Done = c.fillDone(f).Copy()
	}
	for i := range f.pushes {
		p := &f.pushes[i]
		p.push.Pairs = f.pairs(p.push.Pairs)
		fx.Send(c.self, c.lanes[p.lane], p.push)
	}
	if len(f.pushes) == 0 { // no lane
		fx.Send(c.self, c.controller, c.done(f, fx))
		c.close(f, fx)
	}
}

// pushNothing makes a lane, one of this node if it has one, hold a flush that changes nothing, as it holds any other:
// another process than the controller's then knows the signals of its tasks (TestAFlushOfNothingIsHeld).
func (c *Coordinator) pushNothing(f *flush, r *route.Route) {
	lane := none
	for i, a := range c.lanes {
		own := a.Node == c.self.Node
		if slices.Contains(r.Lanes(), a) && (lane == none || own && c.lanes[lane].Node != c.self.Node) {
			lane = i
		}
	}
	m := wire.New[wire.Push]()
	m.Flush, m.Clock = f.id, f.clock
	f.pushes = append(f.pushes, lanePush{lane: lane, push: m, first: none})
}

// fillDone completes what is said of a flush when all of it is held: the results of its units, and its pairs, which
// the controller compares with its route. A record that shows nothing before its clock is complete, and holds up no
// lease and little memory, may leave with the record that completes the clock (Deferrable;
// TestOnlyBarrierDeltasAreDeferrable).
func (c *Coordinator) fillDone(f *flush) *wire.Done {
	d := f.writes.done
	d.Flush, d.Clock, d.Pairs = f.id, f.clock, f.pairs(d.Pairs[:0])
	f.addSent(d)
	d.Deferrable = len(f.writes.leases) == 0 && f.values <= c.deferrable && !f.shows()
	return d
}

// done hands out what the controller learns when every part of a flush is held: once, unless the flush is reopened.
// From then on what shows at once is sure to come.
func (c *Coordinator) done(f *flush, fx *Effects) *wire.Done {
	d := c.fillDone(f)
	f.writes.done = nil
	for i := range f.pushes {
		f.pushes[i].expect(fx)
	}
	return d
}

// expect notes that a push is sure to be recorded: if some of it shows at once, its lane will send, after the record,
// what the node has subscribed to.
func (p *lanePush) expect(fx *Effects) {
	if p.visibleOnCommit && !p.countedAsCertain {
		p.countedAsCertain = true
		fx.Relays = append(fx.Relays, Relay{Lane: p.lane, Change: RelayExpected})
	}
}

// doubt notes that a push that was expected is not sure to be recorded: its lane had no room for it, and may have to
// wait for the very tasks that wait for what its record would bring; or some of it has another owner.
func (p *lanePush) doubt(fx *Effects) {
	if p.countedAsCertain {
		p.countedAsCertain = false
		fx.Relays = append(fx.Relays, Relay{Lane: p.lane, Change: RelayUncertain})
	}
}

// recorded notes that a lane has recorded its parts of a flush. Rows that it sends unasked come after this.
func (p *lanePush) recorded(n bellows.CommitNumber, fx *Effects) {
	if p.countedAsCertain {
		p.countedAsCertain = false
		fx.Relays = append(fx.Relays, Relay{Lane: p.lane, Change: RelayRecorded, Commit: n})
	}
}

// close ends a flush that is visible everywhere. Nothing looks at its memory any more but splits at what they retain
// (delta.Bundle), so it is used again. A push that was sent once more when there was room may still be on its way, if
// its lane has refused it meanwhile by what it knew of it: then all of the flush is left to the garbage collector
// (TestPushInTransitKeepsItsMemory).
func (c *Coordinator) close(f *flush, fx *Effects) {
	c.remove(f)
	if slices.ContainsFunc(f.pushes, func(p lanePush) bool { return p.parted }) {
		return
	}
	w := f.writes
	for _, s := range w.tree {
		s.bundle.Drop()
	}
	for _, b := range w.members {
		b.Drop()
	}
	if f.sum != nil {
		f.sum.Drop()
	}
	fx.Ended = append(fx.Ended, w.leases...)
	clear(w.leases)
	c.gatherer.spare.Put(w)
	for i := range f.pushes {
		if c.lanes[f.pushes[i].lane].Node != c.self.Node { // that lane freed a separate push
			wire.Free(f.pushes[i].push)
		}
	}
	wire.Free(f.results)
	clear(f.pushes)
	*f = flush{pushes: f.pushes[:0], parts: f.parts[:0], sent: f.sent[:0]}
	c.flushes.spare.Put(f)
}

// copyResults returns a done with the results of another.
func copyResults(d *wire.Done) *wire.Done {
	to := wire.New[wire.Done]()
	to.AppendAll(d.Results)
	return to
}
