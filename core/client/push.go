package client

import (
	"slices"

	"bellows"
	"bellows/core/delta"
	"bellows/core/planted"
	"bellows/link/wire"
	"bellows/table"
)

// The way of a push: Finish → accumulate → flushReady → flush → load → sendFlush; then, as lanes
// answer, takeFull and takeRoom (backpressure), takeHeld → done (all have voted), and takeCommitted
// → close.
//
// A flush for one lane needs nobody's vote but that lane's, so its Done is part of the push and the
// lane sends it on when it holds all (docs/decisions/0022): one hop less. The client learns that it
// was held when it is committed. A flush for several lanes leaves its results with the first, for a
// controller that recovers from what lanes hold (TestTheFirstLaneKeepsWhatAFlushHasFinished); its
// Done is said here.
//
// Turned down: a Done beside the pushes to several lanes, which would count before a lane that has
// no room holds its part; and lanes that vote at the controller, to which clients times lanes
// frames would come (0022).

// Finish takes a task that has run, with what it signalled. With an error the task's work is dropped and the controller
// told. A task with exclusive leases is a flush of its own, at once: they keep everybody else out until it is committed.
// What waits to leave with other units of its clock leaves before it, since the units of a split count in their order
// (sendEarlier). One whose deltas show with its whole clock leaves with that all the same (leavesWithClock).
func (c *Client) Finish(t *Task, result []float64, err error, fx *Effects) {
	fx.Era = c.cfg.Era
	if c.ended != nil {
		return
	}
	s := c.splits[t.Unit.Split]
	s.running = false
	c.executing--
	c.unpin(t, fx)
	ends := c.barriers && (c.endsClock(t.Unit) || planted.On("sum-for-each-unit"))
	w := c.writeSetOf(t.Unit.Clock)
	w.open--
	if err != nil {
		t.discard()
		c.failed = true
		c.complain(&wire.Failed{Unit: t.Unit, Reason: err.Error(), Err: err}, fx)
		return
	}
	if len(t.leases) > 0 && !c.leavesWithClock(w, t, ends) {
		c.sendEarlier(w, t.Unit.Split, fx)
		one := c.newWriteSet(t.Unit.Clock)
		c.accumulate(one, t, result, ends)
		c.flush(one, fx)
	} else {
		c.accumulate(w, t, result, ends)
	}
	c.startQueued(fx)
	c.flushReady(fx)
}

// leavesWithClock reports whether a task with exclusive leases leaves with the others of its clock on this node: where
// all that it adds shows with the whole clock, so that it is a part of one sum instead of a message of its own, which
// every lane would keep until then (TestLeasedTasksOfAClockAreOneSum). Its leases end that much later: who waits for one waits
// for tasks of this clock, and for no longer than some task executes here (flushReady; planted: clock-keeps-leases). What
// comes back of leases of other nodes is in memory until then, so that it has a bound (Limits.LeasedValues).
func (c *Client) leavesWithClock(w *writeSet, t *Task, ends bool) bool {
	if !ends || len(t.bspDeltas.touched) == 0 || len(t.streamDeltas.touched) > 0 {
		return false
	}
	leased := w.leased
	for _, l := range t.leases {
		leased += c.copied(l)
	}
	return leased <= c.cfg.Limits.LeasedValues
}

// copied is how many values of a lease are a copy, which goes back to its lane.
func (c *Client) copied(l leaseGrant) int {
	if c.lanes[l.lane].Node == c.cfg.Self.Node {
		return 0
	}
	return len(l.grant.Values)
}

// sendEarlier sends a write set that has units of a split, and puts an empty one in its place: the split's next unit is
// a flush of its own, and would otherwise wait at the controller for what waits here, perhaps for a third
// (TestALeasedUnitPassesNone).
func (c *Client) sendEarlier(w *writeSet, s bellows.SplitID, fx *Effects) {
	if w.done == nil || !slices.ContainsFunc(w.done.Results, func(r wire.Result) bool { return r.Unit.Split == s }) || planted.On("leased-unit-passes") {
		return
	}
	again := c.newWriteSet(w.clock)
	again.open = w.open
	c.writeSets[slices.Index(c.writeSets, w)] = again
	c.flush(w, fx)
}

// accumulate moves a finished task's deltas, leases and result into a write set. Under BSP a
// split's place in the tree is taken even where it has changed nothing, so that its siblings' sums
// meet; deltas of the other tables stay with their split, too, which lays them over its reads until
// they are committed (split.retained).
//
// A split has one place in the tree, whatever its clock is divided into: what its units add to tables with a
// barrier gathers in its task, and leaves with the last of them. So the sum has the bits of a clock
// that is one unit, a unit sees what those before it have added, and nothing is lost by waiting,
// since it shows with the whole clock (TestUnitsOfAClockAreOneSum). Turned down: a chunk for each
// unit, for which lanes would need an order of units (docs/decisions/0033).
//
// The task ends its split's clock, or units of that are to come.
func (c *Client) accumulate(w *writeSet, t *Task, result []float64, ends bool) {
	if w.done == nil {
		w.done = wire.New[wire.Done]()
	}
	w.done.Append(t.Unit, result)
	for _, l := range t.leases {
		w.leased += c.copied(l)
	}
	w.leases = append(w.leases, t.leases...)
	t.leases = t.leases[:0]
	if ends {
		b := c.newBundle()
		b.update, t.bspDeltas = t.bspDeltas, b.update
		w.addCounts(b, c)
		w.addSubtree(subtree{at: delta.Leaf(t.Unit.Split), bundle: b}, c)
	}
	if len(t.streamDeltas.touched) > 0 {
		b := c.newBundle()
		b.update, t.streamDeltas = t.streamDeltas, b.update
		w.members = append(w.members, b)
		s := c.splits[t.Unit.Split]
		s.retained = append(s.retained, b)
		b.users++
	}
}

// addCounts moves the deltas of counts from a split's to the write set's own, which leave as a part of its first
// subtree: integers have one sum in whatever order, so that nothing waits in memory for its sibling
// (TestCountsAreOneSum; planted: counts-of-one).
func (w *writeSet) addCounts(b *bundle, c *Client) {
	rest := b.update.touched[:0]
	for _, n := range b.update.touched {
		if c.partitions[n].schema.DType != table.Int32 {
			rest = append(rest, n)
			continue
		}
		if w.counts == nil {
			w.counts = c.newBundle()
		}
		w.counts.update.take(n, &b.update, c)
	}
	b.update.touched = rest
}

// addSubtree adds a subtree's sum and joins it with its sibling, as long as that is here, into their parent's: what a
// node sends are sums over aligned groups of splits (TestAFlushIsSummedAlongTheTree). Only siblings are joined, so that
// the sum is that of the one tree, whichever splits run here (delta.Sum; planted: cousins-merged). A subtree whose
// sibling has no splits stands for its parent. Two siblings are joined without being added; four in a row are added at
// once, which reads and writes about half of what three additions do.
func (w *writeSet) addSubtree(s subtree, c *Client) {
	for merged := true; merged; {
		merged = false
		if delta.Empty(delta.Sibling(s.at), len(c.splits)) && uint64(s.at.Index) > 0 {
			s.at, merged = delta.Parent(s.at), true
			continue
		}
		for i, o := range w.tree {
			if o.at != delta.Sibling(s.at) && !(planted.On("cousins-merged") && o.at.Level == s.at.Level) {
				continue
			}
			left, right := s, o
			if delta.Left(s.at) != s.at {
				left, right = o, s
			}
			w.tree[i] = w.tree[len(w.tree)-1]
			w.tree = w.tree[:len(w.tree)-1]
			s, merged = left.join(right, c), true
			break
		}
	}
	w.tree = append(w.tree, s)
}

// flushReady sends the write set of every clock that has no unit left here; and every one that has finished units where
// no task executes, since what waits may wait for these (Litz §4). The rest of such a clock is another flush.
func (c *Client) flushReady(fx *Effects) {
	rest := c.writeSets[:0]
	for _, w := range c.writeSets {
		switch {
		case w.done != nil && (w.open == 0 || c.executing == 0 && !(len(w.leases) > 0 && planted.On("clock-keeps-leases"))):
			open := w.open
			c.flush(w, fx)
			if open > 0 {
				again := c.newWriteSet(w.clock)
				again.open = open
				rest = append(rest, again)
			}
		case w.open == 0:
			c.spare.writeSets.put(w)
		default:
			rest = append(rest, w)
		}
	}
	c.writeSets = rest
}

// flush sends a write set as the next flush: each lane's parts to that lane, to be held.
func (c *Client) flush(w *writeSet, fx *Effects) {
	c.seq++
	f := c.spare.flushes.get()
	f.results = copyResults(w.done)
	f.id, f.clock, f.writes = bellows.FlushID{Client: c.cfg.Self.Node, Incarnation: c.cfg.Incarnation, Seq: c.seq}, w.clock, w
	for i := range w.tree {
		w.tree[i].add(c)
	}
	if w.counts != nil { // some split has ended its clock
		for _, n := range w.counts.update.touched {
			w.tree[0].bundle.update.take(n, &w.counts.update, c)
		}
		w.counts.update.touched = w.counts.update.touched[:0]
		w.counts.drop(c)
		w.counts = nil
	}
	if len(w.members) > 1 {
		f.sum = c.newBundle()
		for _, m := range w.members {
			f.sum.update.merge(&m.update, c)
		}
	}
	for u := range f.updates {
		c.account(f, u)
	}
	slices.SortFunc(w.leases, func(a, b leaseGrant) int { return a.number - b.number }) // as a push has them
	for _, l := range w.leases {
		c.accountLease(f, l)
	}
	c.load(f, func(number int) *lanePush { return c.pushTo(f, number) })
	c.sendFlush(f, fx)
}

// updates are the sums that a flush sends, with where each stands in the tree; the deltas of the
// other tables stand nowhere.
func (f *flush) updates(yield func(*update, wire.Subtree) bool) {
	for _, s := range f.writes.tree {
		if !yield(&s.bundle.update, s.at) {
			return
		}
	}
	switch {
	case f.sum != nil:
		yield(&f.sum.update, wire.Subtree{})
	case len(f.writes.members) == 1:
		yield(&f.writes.members[0].update, wire.Subtree{})
	}
}

// load puts a flush's deltas and ends of leases into the pushes that to names for their partitions; nil: not sent. What
// it puts there is memory of the write set's, which stays as it is until the flush is closed.
func (c *Client) load(f *flush, to func(number int) *lanePush) {
	for u, at := range f.updates {
		for _, n := range u.touched {
			if u.buffers[n].Len() == 0 || planted.On("chunk-lost") && n == u.touched[0] && len(u.touched) > 1 {
				continue
			}
			if p := to(n); p != nil {
				rows, values := u.buffers[n].Chunk()
				p.push.Chunks = append(p.push.Chunks, wire.Chunk{Pair: c.partitions[n].pair, Subtree: at, Rows: rows, Keys: u.buffers[n].Keys(), Values: values})
				p.visibleOnCommit = p.visibleOnCommit || !c.partitions[n].barrier
			}
		}
	}
	for _, l := range f.writes.leases {
		if p := to(l.number); p != nil {
			p.push.Leases = append(p.push.Leases, wire.LeaseEnd{Pair: c.partitions[l.number].pair, Values: l.grant.Values})
		}
	}
}

// pushTo is the flush's push to the lane of a partition, which thereby has a part in the flush.
func (c *Client) pushTo(f *flush, number int) *lanePush {
	if at := c.partAt[number]; at > 0 {
		return &f.pushes[f.parts[at-1].push]
	}
	i := c.pushAt(f, c.partitions[number].lane, 0)
	p := &f.pushes[i]
	f.parts = append(f.parts, flushPart{pair: c.partitions[number].pair, push: i, next: p.first})
	p.first = len(f.parts) - 1
	c.partAt[number] = len(f.parts)
	return p
}

// pushAt is the place of the push to a lane among those of a flush from a place on: behind them, if
// it is a new one.
func (c *Client) pushAt(f *flush, lane, from int) int {
	for i := from; i < len(f.pushes); i++ {
		if f.pushes[i].lane == lane {
			return i
		}
	}
	m := wire.New[wire.Push]()
	m.Flush, m.Clock, m.Route = f.id, f.clock, c.now.Route.Version()
	f.pushes = append(f.pushes, lanePush{lane: lane, push: m, first: none})
	return len(f.pushes) - 1
}

// sendFlush sends the pushes of a flush. Each names all pairs of the flush, so that a lane can tell
// a controller that recovers what else there must be (TestEveryPushNamesTheWholeFlush).
func (c *Client) sendFlush(f *flush, fx *Effects) {
	c.indexParts(f, false)
	c.flushes = append(c.flushes, f)
	if len(f.pushes) == 0 && len(c.lanes) > 0 {
		c.pushNothing(f)
	}
	if len(f.pushes) > 0 {
		f.preparing = true
		c.preparing++
	}
	switch len(f.pushes) {
	case 0:
	case 1: // whose lane sends it on when it holds all of the flush
		f.pushes[0].push.Done = c.done(f)
	default: // for another controller, which asks the lanes what they hold
		f.pushes[0].push.Done = c.fillDone(f).Copy()
	}
	for i := range f.pushes {
		p := &f.pushes[i]
		p.push.Pairs = f.pairs(p.push.Pairs)
		fx.Send(c.cfg.Self, c.lanes[p.lane], p.push)
	}
	if len(f.pushes) == 0 { // there is no lane
		fx.Send(c.cfg.Self, c.cfg.Controller, c.done(f))
		c.close(f)
	}
}

// pushNothing has a lane, one of this node where there is one, hold a flush that changes nothing, as it holds any other:
// what its tasks have signalled is known to somebody besides the controller then (TestAFlushOfNothingIsHeld).
func (c *Client) pushNothing(f *flush) {
	lane := none
	for i, a := range c.lanes {
		if takes := slices.Contains(c.now.Route.Lanes(), a); takes && (lane == none || a.Node == c.cfg.Self.Node && c.lanes[lane].Node != c.cfg.Self.Node) {
			lane = i
		}
	}
	m := wire.New[wire.Push]()
	m.Flush, m.Clock = f.id, f.clock
	f.pushes = append(f.pushes, lanePush{lane: lane, push: m, first: none})
}

// nothingAgain has another lane hold what changes nothing and was sent to one that leaves: that takes
// no records any more. It may have told this node its number all the same.
func (c *Client) nothingAgain(leaver wire.Address, fx *Effects) {
	for _, f := range c.flushes {
		last := len(f.pushes) - 1
		if len(f.parts) > 0 || c.lanes[f.pushes[last].lane] != leaver {
			continue
		}
		f.pushes[last].moved = true
		c.reopen(f)
		c.pushNothing(f)
		p := &f.pushes[last+1]
		p.again, p.parted, p.push.Again, p.asked = true, !planted.On("sent-again-freed"), true, -1
		p.push.Done = c.done(f)
		fx.Send(c.cfg.Self, c.lanes[p.lane], p.push)
	}
}

// fillDone completes what is said of a flush when all of it is held: the results of its units, and its pairs, which the
// controller compares with its route. A record that shows nothing before its clock is complete, and holds up no lease
// and little memory, may leave with the record that completes the clock (Deferrable;
// TestOnlyBarrierDeltasAreDeferrable).
func (c *Client) fillDone(f *flush) *wire.Done {
	d := f.writes.done
	d.Flush, d.Clock, d.Pairs = f.id, f.clock, f.pairs(d.Pairs[:0])
	f.say(d)
	d.Deferrable = len(f.writes.leases) == 0 && f.values <= c.cfg.Limits.DeferrableValues && !slices.ContainsFunc(f.pushes, func(p lanePush) bool { return p.visibleOnCommit })
	return d
}

// takeFull notes that a lane has no room for parts of a flush, and has not kept them. Until it has,
// no task begins (TestAFullLaneStopsNewTasks).
func (c *Client) takeFull(m *wire.Full, lane wire.Address, fx *Effects) {
	const sentence = "found no room, which it did not ask for"
	f := c.spokenOf(m.Flush, m.Pairs, lane, false, fx, sentence)
	if f == nil {
		return
	}
	for _, k := range c.named {
		p := &f.parts[k]
		switch {
		case p.state >= partHeld:
			c.breach(lane, fx, "%v %s", m.Flush, sentence)
			return
		case p.state == partSent:
			p.state = partFull
			c.full++
		}
		f.pushes[p.push].waited = true
		c.noRoom(&f.pushes[p.push], fx)
	}
}

// noRoom notes that a lane had no room for a flush that was done as soon as it was sent: it is not sure to be recorded,
// since it may have to wait for the very tasks that wait for what its record would bring. Those ask instead
// (TestWhoWaitsForAFlushWithoutRoomAsks).
func (c *Client) noRoom(p *lanePush, fx *Effects) {
	if !p.countedAsCertain {
		return
	}
	p.countedAsCertain = false
	c.relays[p.lane]--
	for n := range c.partitions {
		if c.partitions[n].lane == p.lane && c.partitions[n].subscribed {
			c.wakeAwaiting(n, fx)
		}
	}
}

// takeRoom sends again what a lane had no room for, with the rest of that push, which the lane
// knows and passes over.
func (c *Client) takeRoom(m *wire.Room, lane wire.Address, fx *Effects) {
	const sentence = "found room, for which it did not wait"
	f := c.spokenOf(m.Flush, m.Pairs, lane, false, fx, sentence)
	if f == nil || len(c.named) == 0 {
		return
	}
	for _, k := range c.named {
		p := &f.parts[k]
		if !f.pushes[p.push].waited {
			c.breach(lane, fx, "%v %s", m.Flush, sentence)
			return
		}
	}
	for i := range f.pushes {
		if slices.ContainsFunc(c.named, func(k int) bool { return f.parts[k].push == i && f.parts[k].state < partHeld }) {
			c.sendAgain(f, &f.pushes[i], fx)
		}
	}
	c.startQueued(fx)
}

// sendAgain sends a push for which there was no room. The message is the one that was sent before, which the lane has
// not kept, without what was sent elsewhere since: two pushes that bring the same part would each be taken for all that
// waits (TestWhatIsSentAgainBringsAPartOnce).
func (c *Client) sendAgain(f *flush, p *lanePush, fx *Effects) {
	if f.reopened || c.outgrown(f, p) {
		c.sendRest(f, p, fx)
		return
	}
	p.resent++
	for k := p.first; k != none; k = f.parts[k].next {
		if part := &f.parts[k]; part.state == partFull {
			part.state = partSent
			c.full--
		}
	}
	p.push.Chunks = slices.DeleteFunc(p.push.Chunks, func(m wire.Chunk) bool { return !p.links(f, m.Pair) })
	p.push.Leases = slices.DeleteFunc(p.push.Leases, func(m wire.LeaseEnd) bool { return !p.links(f, m.Pair) })
	if f.writes.done == nil {
		c.expectRelay(p)
	}
	fx.Send(c.cfg.Self, c.lanes[p.lane], p.push)
}

// sendRest sends again, in a push of its own, what a lane had no room for of a push of which other parts have gone elsewhere, or are to: the message that was sent before has them, too.
func (c *Client) sendRest(f *flush, p *lanePush, fx *Effects) {
	for k := p.first; k != none; k = f.parts[k].next {
		if part := &f.parts[k]; part.state == partFull {
			part.state = partStale
			c.full--
			f.stale++
		}
	}
	f.staleUntil = max(f.staleUntil, c.now.Route.Version())
	c.noRoom(p, fx)
	c.reopen(f)
	c.tryAgain(fx)
}

// takeHeld counts a lane's votes; when all are in, the controller is told (planted:
// done-after-first, held-by-lane). A vote that comes twice counts once.
func (c *Client) takeHeld(m *wire.Held, lane wire.Address, fx *Effects) {
	f := c.spokenOf(m.Flush, m.Pairs, lane, false, fx, "is held, of which it was sent nothing")
	if f == nil {
		return
	}
	if planted.On("held-by-lane") {
		c.allOf(f, lane)
	}
	for _, k := range c.named {
		if p := &f.parts[k]; p.state == partSent {
			p.state = partHeld
			f.votes++
		}
	}
	if f.votes == len(f.parts) {
		c.votesIn(f)
	}
	if (f.votes == len(f.parts) || planted.On("done-after-first")) && f.writes.done != nil {
		fx.Send(c.cfg.Self, c.cfg.Controller, c.done(f))
	}
}

// votesIn notes that all parts of a flush are known to be held.
func (c *Client) votesIn(f *flush) {
	if f.preparing {
		f.preparing = false
		c.preparing--
	}
}

// done hands out what the controller is told when every part of a flush is held: once, unless the
// flush is reopened. From then on what shows at once is sure to come.
func (c *Client) done(f *flush) *wire.Done {
	d := c.fillDone(f)
	f.writes.done = nil
	for i := range f.pushes {
		c.expectRelay(&f.pushes[i])
	}
	return d
}

// expectRelay notes that a push is sure to be recorded: if some of it shows at once, its lane will
// send, behind the record, what the node has subscribed to (relayComes).
func (c *Client) expectRelay(p *lanePush) {
	if p.visibleOnCommit && !p.countedAsCertain {
		p.countedAsCertain = true
		c.relays[p.lane]++
	}
}

// takeCommitted learns a flush's number, and counts the parts that are visible. When all are, its memory is free again.
// A lane says the number as soon as it has the record, though parts may have to wait for a clock or a lease: rows that
// it shows from then on may hold the flush, and a split that did not know would lay its deltas over them once more.
func (c *Client) takeCommitted(m *wire.Commitment, lane wire.Address, fx *Effects) {
	const sentence = "is committed, of which it held nothing more"
	f := c.spokenOf(m.Flush, m.Pairs, lane, true, fx, sentence)
	if f == nil {
		return
	}
	if d := f.writes.done; d != nil { // a controller that recovered has numbered it from what lanes hold, before their votes came here
		f.writes.done = nil
		wire.Free(d)
	}
	for _, k := range c.named {
		p := &f.parts[k]
		if p.state == partVisible {
			c.breach(lane, fx, "%v %s", m.Flush, sentence)
			return
		}
		c.recordedAt(&f.pushes[p.push], m.Commit)
		if p.state < partHeld {
			f.votes++
		}
		switch p.state {
		case partFull:
			c.full--
		case partStale: // its new owner got it with the partition, and a controller that recovered has numbered it
			f.stale--
		}
		if p.state = partRecorded; !m.Waiting {
			p.state = partVisible
			f.visible++
		}
	}
	c.votesIn(f)
	for _, b := range f.writes.members {
		b.commit = m.Commit
	}
	for _, l := range f.writes.leases {
		if planted.On("lease-end-unseen") {
			break
		}
		l.task.pins[l.number].sees(wire.Need{Commit: m.Commit, Clock: bellows.NoClock})
	}
	if f.visible == len(f.parts) {
		c.close(f)
	}
}

// recordedAt notes that a lane has recorded its parts of a flush. What it sends unasked comes
// behind this.
func (c *Client) recordedAt(p *lanePush, n bellows.CommitNumber) {
	if p.countedAsCertain {
		p.countedAsCertain = false
		c.relays[p.lane]--
		c.relayed[p.lane] = max(c.relayed[p.lane], n)
	}
}

// close ends a flush that is visible everywhere. Nobody looks at its memory any more but splits at
// what they retain (bundle), so it is used again. A push that was sent once more when there was room may
// still be on its way, where its lane has refused it meanwhile by what it knew of it: then all of
// the flush is left to the garbage collector (TestAPushOnItsWayKeepsItsMemory).
func (c *Client) close(f *flush) {
	if slices.ContainsFunc(f.pushes, func(p lanePush) bool { return p.parted }) {
		c.flushes = slices.DeleteFunc(c.flushes, func(o *flush) bool { return o == f })
		return
	}
	w := f.writes
	for _, s := range w.tree {
		s.bundle.drop(c)
	}
	for _, b := range w.members {
		b.drop(c)
	}
	if f.sum != nil {
		f.sum.drop(c)
	}
	for _, l := range w.leases {
		wire.Free(l.grant)
	}
	clear(w.leases)
	c.spare.writeSets.put(w)
	for i, o := range c.flushes {
		if o == f {
			c.flushes = append(c.flushes[:i], c.flushes[i+1:]...)
			break
		}
	}
	for i := range f.pushes {
		if c.lanes[f.pushes[i].lane].Node != c.cfg.Self.Node { // that freed a push of its own
			wire.Free(f.pushes[i].push)
		}
	}
	wire.Free(f.results)
	clear(f.pushes)
	*f = flush{pushes: f.pushes[:0], parts: f.parts[:0], sent: f.sent[:0]}
	c.spare.flushes.put(f)
}
