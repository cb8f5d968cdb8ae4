package flush

import (
	"fmt"
	"slices"

	"bellows"
	"bellows/core/planted"
	"bellows/core/route"
	"bellows/link/wire"
)

// Parts of a flush are sent again for two reasons:
//
//   - They are stale: by a route that a lane or the controller knows, another lane owns their partition. They wait
//     for that route, and are then sent to the present owner under the flush's own name (TakeStale, PushAgain).
//     Nothing is sent again by the route by which it was refused (TestStaleRequestsWaitForRoute). The new owner
//     says that it holds them even if they came to it with the partition (TestAStaleDoneIsDoneAgain).
//   - Their lane had no room, and has room now (sendAgain).
//
// Turned down: to send to the owner that a refusal names, by which a client would go by two routes at once
// (docs/decisions/0031).

// TakeStale notes parts of a flush that have another owner. A pair at another generation than that at which it was
// sent last is not meant. A flush that loses parts is not done any more, and what its record would have brought is
// not sure. Parts that the lane was not sent are an error.
func (c *Coordinator) TakeStale(m *wire.Stale, from wire.Address, fx *Effects) error {
	f := c.find(m.Flush)
	if f == nil {
		return nil
	}
	for _, pair := range m.Pairs {
		k := slices.IndexFunc(f.parts, func(p flushPart) bool { return p.pair == pair })
		if k < 0 {
			continue
		}
		p := &f.parts[k]
		switch at := c.lanes[f.pushes[p.push].lane]; {
		case from.Role == wire.Lane && from != at:
			return fmt.Errorf("%v is another's, but it was sent nothing of it", m.Flush)
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
		return nil
	}
	for i := range f.pushes {
		f.pushes[i].doubt(fx)
	}
	c.reopen(f)
	return nil
}

// reopen undoes that a flush is done: not all of it is held where it must be. Messages that were sent are their
// receivers' and stays as it is, so the new Done is made of a copy of the results.
func (c *Coordinator) reopen(f *flush) {
	f.reopened = true
	if f.writes.done == nil {
		f.writes.done = copyResults(f.results)
	}
	if !f.preparing {
		f.preparing = true
		c.preparing++
	}
}

// doneAgain returns once more what was said of a flush when all of it was held.
func (f *flush) doneAgain() *wire.Done {
	d := copyResults(f.results)
	d.Flush, d.Clock, d.Pairs = f.id, f.clock, f.pairs(d.Pairs)
	f.addSent(d)
	return d
}

// PushAgain sends the stale parts of every flush that waits for no later route than the present one.
func (c *Coordinator) PushAgain(r *route.Route, fx *Effects) {
	v := r.Version()
	for _, f := range c.flushes.open {
		if f.stale > 0 && f.staleUntil <= v {
			c.pushAgain(f, v, fx)
		}
	}
}

// pushAgain sends the stale parts of a flush to their present owners, in pushes after those that there are. Their
// deltas are taken from the write set: of a push within one node its lane may have taken out what it held.
func (c *Coordinator) pushAgain(f *flush, v bellows.RouteVersion, fx *Effects) {
	old := len(f.pushes)
	for i := range f.pushes {
		c.unlink(f, &f.pushes[i])
	}
	again := func(n int) *lanePush {
		k := c.at[n] - 1
		if k < 0 {
			return nil
		}
		p := &f.parts[k]
		switch {
		case p.state == partStale:
			p.pair, p.state = c.partitions[n].pair, partSent
			f.stale--
			was := f.pushes[p.push]
			p.push = c.pushAt(f, c.partitions[n].lane, old, v)
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
	for i := old; i < len(f.pushes); i++ {
		p := &f.pushes[i]
		p.push.Pairs = f.pairs(p.push.Pairs)
		if i == old && !planted.On("results-left-behind") {
			// For another controller: the lane that had it has perhaps nothing of the flush any more.
			p.push.Done = f.doneAgain()
		}
		fx.Send(c.self, c.lanes[p.lane], p.push)
	}
}

// unlink removes the stale parts from what a push has brought. Of those that are left perhaps none shows before its
// clock is complete (TestRestOfStalePushWaitsForClock; planted: stale-part-shows).
func (c *Coordinator) unlink(f *flush, p *lanePush) {
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
		n := c.division.Number(f.parts[k].pair.Ref)
		leased := slices.ContainsFunc(f.writes.leases, func(l Lease) bool { return l.Number == n })
		shows = shows || !leased && !c.partitions[n].barrier
	}
	p.visibleOnCommit = p.visibleOnCommit && (shows || planted.On("stale-part-shows"))
	if kept != none {
		f.parts[kept].next = none
	}
	p.first = first
}

// LaneLeaves moves an empty flush from a lane that leaves to another lane: the leaving one takes no more records. It
// may have sent this node the flush's number all the same.
func (c *Coordinator) LaneLeaves(leaver wire.Address, r *route.Route, fx *Effects) {
	for _, f := range c.flushes.open {
		last := len(f.pushes) - 1
		if len(f.parts) > 0 || c.lanes[f.pushes[last].lane] != leaver {
			continue
		}
		f.pushes[last].moved = true
		c.reopen(f)
		c.pushNothing(f, r)
		p := &f.pushes[last+1]
		p.again, p.parted, p.push.Again, p.asked = true, !planted.On("sent-again-freed"), true, -1
		p.push.Done = c.done(f, fx)
		fx.Send(c.self, c.lanes[p.lane], p.push)
	}
}

// Repeat repeats what a previous controller may have lost, since its process may be gone. Dones are sent again: the
// message may be lost, and lanes that had promised before all of it was held have not reported them
// (TestDonesAreSentToNewController; planted: done-unrepeated). Refused parts wait for no later route than until, since
// the previous controller has sent a later one to no other node.
func (c *Coordinator) Repeat(until bellows.RouteVersion, fx *Effects) {
	for _, f := range c.flushes.open {
		f.staleUntil = min(f.staleUntil, until)
		if f.allHeld() && f.writes.done == nil && !planted.On("done-unrepeated") {
			fx.Send(c.self, c.controller, f.doneAgain())
		}
	}
}

// sendAgain sends a push again that found no room. The message is the one that was sent before, which the lane has not
// kept, without the parts that were sent elsewhere since: two pushes with the same part would each be taken for all
// that waits (TestResentPushBringsPartOnce). It reports whether the parts were made stale instead, so that the caller
// must call PushAgain: other parts of the push have gone elsewhere, or will, and the message contains them as well.
func (c *Coordinator) sendAgain(f *flush, p *lanePush, v bellows.RouteVersion, fx *Effects) (stale bool) {
	if f.reopened || c.outgrown(f, p) {
		c.spoil(f, p, v, fx)
		return true
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
		p.expect(fx)
	}
	fx.Send(c.self, c.lanes[p.lane], p.push)
	return false
}

// spoil makes the parts of a push for which there was no room stale: they are to be sent in a push of their own.
func (c *Coordinator) spoil(f *flush, p *lanePush, v bellows.RouteVersion, fx *Effects) {
	for k := p.first; k != none; k = f.parts[k].next {
		if part := &f.parts[k]; part.state == partFull {
			part.state = partStale
			c.full--
			f.stale++
		}
	}
	f.staleUntil = max(f.staleUntil, v)
	p.doubt(fx)
	c.reopen(f)
}
