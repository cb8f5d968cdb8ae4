package client

import (
	"bellows"
	"bellows/core/planted"
	"bellows/link/wire"
)

// What lanes say of a flush they say of pairs (wire.Held). A word about a pair at another generation than that at which it was sent
// last is of an owner of the past, or of one that this client has not heard of yet: it changes nothing. So is one about a flush that is visible everywhere, or
// of the process before this one. What no lane can say is that it has something of a flush that was not sent, or that was sent to another lane.

// spokenOf is the flush that a lane speaks of, and the parts that it means, in c.named. Nil: it is past, or was a breach, which the sentence
// describes. newer says that an owner that is not known yet may say it.
func (c *Client) spokenOf(id bellows.FlushID, pairs []wire.Pair, lane wire.Address, newer bool, fx *Effects, sentence string) *flush {
	f := c.find(id)
	own := c.cfg.Incarnation
	switch {
	case f == nil && id.Client == c.cfg.Self.Node && (id.Incarnation < own || id.Incarnation == own && id.Seq <= c.seq):
		return nil
	case f == nil, len(pairs) == 0 && !c.allOf(f, lane), len(pairs) > 0 && !c.some(f, pairs, lane, newer):
		c.breach(lane, fx, "%v %s", id, sentence)
		return nil
	}
	return f
}

// allOf names the parts of the first push of a flush to a lane, but for those that were sent again, and reports whether it was sent anything.
func (c *Client) allOf(f *flush, lane wire.Address) (sent bool) {
	c.named = c.named[:0]
	for i := range f.pushes {
		p := &f.pushes[i]
		if c.lanes[p.lane] != lane {
			continue
		}
		sent = true
		for k := p.first; k != none && !p.again; k = f.parts[k].next {
			c.named = append(c.named, k)
		}
	}
	return sent
}

// some names the parts of a flush that pairs mean, and reports whether the lane can mean them.
func (c *Client) some(f *flush, pairs []wire.Pair, lane wire.Address, newer bool) bool {
	c.named = c.named[:0]
	for i := range f.parts {
		c.partAt[c.cfg.Route.Number(f.parts[i].pair.Ref)] = i + 1
	}
	can := true
	for _, p := range pairs {
		at := c.partAt[c.cfg.Route.Number(p.Ref)] - 1
		if at < 0 {
			can = false
			break
		}
		was := &f.parts[at]
		switch sent := was.pair.Generation; {
		case p.Generation < sent, p.Generation > sent && !newer:
		case p.Generation == sent && c.lanes[f.pushes[was.push].lane] != lane:
			can = false
		default:
			c.named = append(c.named, at)
		}
	}
	for i := range f.parts {
		c.partAt[c.cfg.Route.Number(f.parts[i].pair.Ref)] = 0
	}
	return can
}

func (c *Client) find(id bellows.FlushID) *flush {
	for _, f := range c.flushes {
		if f.id == id {
			return f
		}
	}
	return nil
}

// below reports whether some part of a push is not known to be so far.
func (p *lanePush) below(f *flush, s partState) bool {
	if len(f.parts) == 0 { // of nothing, which is over when it is recorded
		return true
	}
	for k := p.first; k != none; k = f.parts[k].next {
		if f.parts[k].state < s {
			return true
		}
	}
	return false
}

// has reports whether some part of a push is so far.
func (p *lanePush) has(f *flush, s partState) bool {
	for k := p.first; k != none; k = f.parts[k].next {
		if f.parts[k].state == s {
			return true
		}
	}
	return false
}

// takeFull notes that a lane has no room for parts of a flush.
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

// takeRoom sends what a lane had no room for, and the rest of its push, which the lane knows.
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
		f.pushes[p.push].due = f.pushes[p.push].due || p.state < partHeld
	}
	for i := range f.pushes {
		if f.pushes[i].due {
			c.sendAgain(f, &f.pushes[i], fx)
		}
	}
	c.startQueued(fx)
}

// sendAgain sends a push for which there was no room, so that the lane has not kept it.
func (c *Client) sendAgain(f *flush, p *lanePush, fx *Effects) {
	p.due = false
	p.resent++
	for k := p.first; k != none; k = f.parts[k].next {
		if part := &f.parts[k]; part.state == partFull {
			part.state = partSent
			c.full--
		}
	}
	if f.gather.done == nil {
		c.expectRelay(p)
	}
	if f.until > 0 { // it was taken back: that it is done is the client's to say, and the lane names what it speaks of, which may have come in another push
		p.push.Done, p.push.Again = nil, true
	}
	fx.Send(c.cfg.Self, c.lanes[p.lane], p.push)
}

// takeHeld counts the parts that a lane holds; when all are held, the controller is told. A word that came before does no harm.
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
			f.held++
		}
	}
	if f.held == len(f.parts) {
		c.votesIn(f)
	}
	if (f.held == len(f.parts) || planted.On("done-after-first")) && f.gather.done != nil {
		fx.Send(c.cfg.Self, c.cfg.Controller, c.done(f))
	}
}

// takeCommitted learns a flush's number, and counts the parts that are visible. When all are, its memory is free again.
func (c *Client) takeCommitted(m *wire.Commitment, lane wire.Address, fx *Effects) {
	const sentence = "is committed, of which it held nothing more"
	f := c.spokenOf(m.Flush, m.Pairs, lane, true, fx, sentence)
	if f == nil {
		return
	}
	if d := f.gather.done; d != nil { // another controller asked the lanes, whose answers are still on their way to this client
		f.gather.done = nil
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
			f.held++
		}
		if p.state == partFull {
			c.full--
		}
		if p.state = partRecorded; !m.Waiting {
			p.state = partVisible
			f.visible++
		}
	}
	c.votesIn(f)
	for _, b := range f.gather.members {
		b.commit = m.Commit
	}
	for _, l := range f.gather.leases {
		if planted.On("lease-end-unseen") {
			break
		}
		l.task.pins[l.number].sees(wire.Need{Commit: m.Commit, Clock: bellows.NoClock})
	}
	if f.visible == len(f.parts) {
		c.close(f)
	}
}
