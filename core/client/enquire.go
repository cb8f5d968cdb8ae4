package client

import (
	"fmt"
	"slices"

	"bellows"
	"bellows/core/pending"
	"bellows/core/planted"
	"bellows/link/wire"
)

// A wait at a lane ends, whatever becomes of the question. When it has lasted for half of the time after which it is named, the client asks the
// lane what it has of it, and again while it lasts (wire.Inquiry). Answers come in order, so there are three cases:
//
//   - The lane has it, and says what it is behind. That has an end: a task that computes, which may
//     take Times.Task; or a record, which the controller makes as soon as it can, and it gives a
//     job up in which none has been made for so long.
//   - The lane has nothing of it, and the client still waits: the question or its answer is lost.
//     The job ends at once (TestAQuestionThatIsLostEndsTheJob; planted: loss-overlooked).
//   - The lane says nothing at all for Times.Answer. The job ends then
//     (TestALaneThatSaysNothingEndsTheJob; planted: silence-accepted).
//
// So no wait needs a deadline that guesses how long others compute (TestAWaitForASlowTaskGoesOn).
// What waits for a route is not asked after: no lane has it (route.go).
//
// Turned down: a deadline for each question, which would have to be longer than all tasks that may
// come before it; and asking the question itself again, which a lane would answer twice.

// enquiry is what a client has asked a lane of its waits.
type enquiry struct {
	open         int   // questions under way
	askedMillis  int64 // when the last left
	silentMillis int64 // how long the lane has said nothing since then, without what the node slept
}

// enquire asks lanes about waits that last, a lane at most once in half of Times.Notice, and gives the job up when one has said nothing for too
// long. It is told how long the node was awake since the last call: while it slept, nobody could be heard.
func (c *Client) enquire(awakeMillis int64, fx *Effects) {
	for _, f := range c.fetches {
		f.wait.Begin(c.nowMillis)
	}
	for _, f := range c.flushes {
		for i := range f.pushes {
			f.pushes[i].wait.Begin(c.nowMillis)
		}
	}
	for lane := range c.enquiries {
		e := &c.enquiries[lane]
		if e.open == 0 {
			if e.askedMillis == 0 || c.nowMillis-e.askedMillis > c.cfg.Times.Notice/2 {
				c.inquire(lane, fx)
			}
			continue
		}
		if e.silentMillis += awakeMillis; e.silentMillis > c.cfg.Times.Answer && !planted.On("silence-accepted") {
			c.giveUp(fx, "%v has said nothing for %.1f s, though it was asked what it has of that for which tasks wait", c.lanes[lane], float64(e.silentMillis)/1000)
			return
		}
	}
}

// inquire asks a lane about all old waits there, in as many messages as they take.
func (c *Client) inquire(lane int, fx *Effects) {
	var list []pending.Wait
	old := func(w *pending.At) bool { return w.Lasted(c.nowMillis) > c.cfg.Times.Notice/2 }
	add := func(w pending.Wait) {
		if list = append(list, w); len(list) == pending.Most {
			c.sendInquiry(lane, list, fx)
			list = nil
		}
	}
	for _, f := range c.fetches {
		if p := &c.partitions[f.number]; f.lane == lane && len(f.waiters) > 0 && old(&f.wait) && !f.stale {
			w := pending.Wait{Number: f.request, Ref: p.ref, Generation: p.pair.Generation}
			if f.request == 0 {
				w.Of, w.Number = c.sureToCome(p, f)
			}
			add(w)
		}
	}
	for _, f := range c.flushes {
		for i := range f.pushes {
			if p := &f.pushes[i]; p.lane == lane && p.below(f, partVisible) && old(&p.wait) && !p.has(f, partStale) {
				var pair wire.Pair
				if k := p.last(f); k != none { // else it is of nothing
					pair = f.parts[k].pair
				}
				p.asked = p.resent
				add(pending.Wait{Of: pending.Flush, Number: f.id.Seq, Ref: pair.Ref, Generation: pair.Generation})
			}
		}
	}
	if len(list) > 0 {
		c.sendInquiry(lane, list, fx)
	}
}

// last is the part of a push that is least far: one may wait for room where another is held.
func (p *lanePush) last(f *flush) int {
	at := p.first
	for k := p.first; k != none; k = f.parts[k].next {
		if f.parts[k].state < f.parts[at].state {
			at = k
		}
	}
	return at
}

// sureToCome is what of the rows that come unasked a lane is sure to send, as a pending.Wait has
// it: those of a clock, of a commit, or (0) of one that is not known yet.
func (c *Client) sureToCome(p *partition, f *fetch) (pending.Of, uint64) {
	switch {
	case p.barrier:
		return pending.Clocks, uint64(f.need.Clock + 1)
	case c.relays[p.lane] > 0:
		return pending.Relay, 0
	}
	return pending.Relay, uint64(c.relayed[p.lane])
}

// sendInquiry asks a lane of some waits. Its silence counts from here.
func (c *Client) sendInquiry(lane int, list []pending.Wait, fx *Effects) {
	e := &c.enquiries[lane]
	e.open++
	c.enquiring++
	e.askedMillis, e.silentMillis = c.nowMillis, 0
	fx.Send(c.cfg.Self, c.lanes[lane], &wire.Inquiry{Incarnation: c.cfg.Incarnation, List: list})
}

// hears notes that a lane has said something.
func (c *Client) hears(a wire.Address) {
	if lane := slices.Index(c.lanes, a); lane >= 0 {
		c.enquiries[lane].silentMillis = 0
	}
}

// takeStanding learns what a lane has of the waits that it was asked about. What has been answered
// meanwhile is not waited for any more, and is passed over.
func (c *Client) takeStanding(m *wire.Standing, from wire.Address, fx *Effects) {
	lane := slices.Index(c.lanes, from)
	if m.Incarnation != c.cfg.Incarnation { // for the process before this one
		return
	}
	if lane < 0 || c.enquiries[lane].open == 0 {
		c.breach(from, fx, "what it has of waits, which it was not asked")
		return
	}
	c.enquiries[lane].open--
	c.enquiring--
	for i := range m.List {
		if w := &m.List[i]; w.Of == pending.Flush {
			c.flushStands(lane, w, fx)
		} else {
			c.fetchStands(lane, w, fx)
		}
	}
}

// fetchStands takes a lane's word about rows or a lease.
func (c *Client) fetchStands(lane int, w *pending.Wait, fx *Effects) {
	for _, f := range c.fetches {
		p := &c.partitions[f.number]
		about := f.request == w.Number
		if w.Of != pending.Answer {
			of, number := c.sureToCome(p, f)
			about = f.request == 0 && p.ref == w.Ref && p.pair.Generation == w.Generation && w.Of == of && (w.Number == 0 || w.Number == number)
		}
		if f.lane != lane || !about || len(f.waiters) == 0 || f.stale {
			continue
		}
		if f.wait.Update(w); w.Behind == pending.Nothing {
			c.lost(fmt.Sprintf("%v waits for %s", f.waiters[0].Unit, f.waiters[0].describeWait()), fx)
			return
		}
	}
}

// flushStands takes a lane's word about its part of a flush, or about one of its pushes of it.
func (c *Client) flushStands(lane int, w *pending.Wait, fx *Effects) {
	f := c.find(bellows.FlushID{Client: c.cfg.Self.Node, Incarnation: c.cfg.Incarnation, Seq: w.Number})
	if f == nil {
		return
	}
	for i := range f.pushes {
		p := &f.pushes[i]
		state, brings := p.brings(f, wire.Pair{Ref: w.Ref, Generation: w.Generation})
		if p.lane != lane || p.asked < 0 || !brings || !p.below(f, partVisible) || c.outgrown(f, p) {
			continue // it was not asked about this one, which was perhaps sent again since
		}
		if p.wait.Update(w); p.contradicts(f, state, w) {
			c.lost(fmt.Sprintf("%v waits for %v to hold its part", f.id, c.lanes[lane]), fx)
			return
		}
	}
}

// brings reports whether a push brings a pair, and how far that part is. The push of a flush of
// nothing brings none, and is asked about by none.
func (p *lanePush) brings(f *flush, pair wire.Pair) (partState, bool) {
	for k := p.first; k != none; k = f.parts[k].next {
		if f.parts[k].pair == pair {
			return f.parts[k].state, true
		}
	}
	return partHeld, p.first == none && pair.Generation == 0
}

// contradicts reports whether what a lane says of a push, some part of which is not known to be visible, means that a message is lost: what it has
// said to come to this would have come before. The state is that of the part by which the lane was asked
// (TestAPushThatIsLostWhenSentAgainEndsTheJob).
func (p *lanePush) contradicts(f *flush, state partState, w *pending.Wait) bool {
	switch w.Behind {
	case pending.Nothing: // Committed is lost, or the push
		return true
	case pending.Room: // Full is lost; or Room, or what was sent again before the question
		return (state == partFull) == (w.Who == 1) || w.Who == 1 && p.asked > 0 && p.asked == p.resent
	case pending.Record: // Held, which comes where other lanes have parts of it, too
		return f.writes.done != nil && state < partHeld
	}
	return p.visibleOnCommit && !p.has(f, partRecorded) && !p.has(f, partVisible) // Committed, which has the number
}
