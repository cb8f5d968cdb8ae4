package flush

import (
	"fmt"
	"slices"

	"bellows/core/planted"
	"bellows/core/route"
	"bellows/link/wire"
)

// TakeFull notes that a lane has no room for parts of a flush, and has not kept them. Until it has, the caller begins
// no task (Full).
func (c *Coordinator) TakeFull(m *wire.Full, lane wire.Address, fx *Effects) error {
	const sentence = "found no room, which it did not ask for"
	f, err := c.spokenOf(m.Flush, m.Pairs, lane, false, sentence)
	if f == nil {
		return err
	}
	for _, k := range c.named {
		p := &f.parts[k]
		switch {
		case p.state >= partHeld:
			return fmt.Errorf("%v %s", m.Flush, sentence)
		case p.state == partSent:
			p.state = partFull
			c.full++
		}
		f.pushes[p.push].waited = true
		f.pushes[p.push].doubt(fx)
	}
	return nil
}

// Resend is the pushes of a flush that are sent again, since there is room. The zero Resend has none.
type Resend struct {
	flush  *flush
	next   int // push, and the first after the last of them
	pushes int
}

// Empty reports whether no flush is meant.
func (r *Resend) Empty() bool { return r.flush == nil }

// TakeRoom takes the message of a lane that it has room for what it had no room for. The caller then calls Resend
// until it reports false.
func (c *Coordinator) TakeRoom(m *wire.Room, lane wire.Address) (Resend, error) {
	const sentence = "found room, for which it did not wait"
	f, err := c.spokenOf(m.Flush, m.Pairs, lane, false, sentence)
	if f == nil || len(c.named) == 0 {
		return Resend{}, err
	}
	for _, k := range c.named {
		p := &f.parts[k]
		if !f.pushes[p.push].waited {
			return Resend{}, fmt.Errorf("%v %s", m.Flush, sentence)
		}
	}
	return Resend{flush: f, pushes: len(f.pushes)}, nil
}

// Resend sends again what a lane had no room for, with the rest of that push, which the lane knows and ignores. It
// reports whether it has made parts stale instead (sendAgain): the caller asks again what waits for them, calls
// PushAgain, and then Resend for the pushes that are left.
func (c *Coordinator) Resend(again *Resend, r *route.Route, fx *Effects) (stale bool) {
	f := again.flush
	for again.next < again.pushes {
		i := again.next
		again.next++
		waits := func(k int) bool { return f.parts[k].push == i && f.parts[k].state < partHeld }
		if slices.ContainsFunc(c.named, waits) && c.sendAgain(f, &f.pushes[i], r.Version(), fx) {
			return true
		}
	}
	return false
}

// TakeHeld counts a lane's votes. When all are in, Done goes to the controller (planted: done-after-first,
// held-by-lane). A vote that comes twice counts once.
func (c *Coordinator) TakeHeld(m *wire.Held, lane wire.Address, fx *Effects) error {
	f, err := c.spokenOf(m.Flush, m.Pairs, lane, false, "is held, but it was sent nothing of it")
	if f == nil {
		return err
	}
	if planted.On("held-by-lane") {
		c.nameAll(f, lane)
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
		fx.Send(c.self, c.controller, c.done(f, fx))
	}
	return nil
}

// votesIn notes that all parts of a flush are known to be held.
func (c *Coordinator) votesIn(f *flush) {
	if f.preparing {
		f.preparing = false
		c.preparing--
	}
}

// TakeCommitted learns a flush's number, and counts the parts that are visible. When all are, its memory is free
// again. A lane says the number as soon as it has the record, though parts may have to wait for a clock or a lease:
// rows that it shows from then on may hold the flush, and a split that did not know would lay its deltas over them
// once more.
func (c *Coordinator) TakeCommitted(m *wire.Commitment, lane wire.Address, fx *Effects) error {
	const sentence = "is committed, but it held nothing more of it"
	f, err := c.spokenOf(m.Flush, m.Pairs, lane, true, sentence)
	if f == nil {
		return err
	}
	if d := f.writes.done; d != nil {
		// A controller that recovered has numbered it from what lanes hold, before their votes came here.
		f.writes.done = nil
		wire.Free(d)
	}
	for _, k := range c.named {
		p := &f.parts[k]
		if p.state == partVisible {
			return fmt.Errorf("%v %s", m.Flush, sentence)
		}
		f.pushes[p.push].recorded(m.Commit, fx)
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
		b.Commit = m.Commit
	}
	for _, l := range f.writes.leases {
		l.Granted.Revision = m.Commit // which writes what it brings
		if planted.On("lease-end-unseen") {
			break
		}
		fx.Seen = append(fx.Seen, Seen{Reader: l.Reader, Number: l.Number, Commit: m.Commit})
	}
	if f.visible == len(f.parts) {
		c.close(f, fx)
	}
	return nil
}
