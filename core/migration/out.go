package migration

import (
	"cmp"
	"fmt"
	"slices"

	"bellows/core/handoff"
	"bellows/core/lanestate"
	"bellows/core/partition"
	"bellows/link/wire"
)

// slab is how many values go into one piece by default.
const slab = 64 << 10

// Limits are how a partition is copied. Those of a window and of changes on their way are set.
type Limits = handoff.Limits

// Migrations are the partitions that go to other lanes, and come from them.
//
// Invariants:
//
//   - A partition is copied to one lane at a time (TestBeginGivesUpTheCopyBefore).
//   - A copy that is given up takes no memory (TestAbandonedCopyTakesNoMemory of package server).
type Migrations struct {
	self, controller wire.Address
	limits           handoff.Limits

	out    []*partition.Partition // copied from here; in the order in which that was asked for
	begun  uint64                 // copies from here that have begun
	offers []offer
	in     []*partition.Partition // copied to here, and not served yet
}

// New returns the migrations of a lane that has none.
func New(self, controller wire.Address, limits handoff.Limits) *Migrations {
	limits.Slab = min(cmp.Or(limits.Slab, slab), slab)
	return &Migrations{self: self, controller: controller, limits: limits}
}

// TakeHandoff begins a copy, or gives one up.
func (v *Migrations) TakeHandoff(m *wire.Handoff, at *lanestate.State, fx *partition.Effects, out *wire.Outbox) {
	if m.Number == 0 {
		v.giveUpAll(at, fx, out)
		return
	}
	p, err := at.Find(m.Pair)
	if err != nil {
		v.refuse(m, "it is another lane's", out)
		return
	}
	if m.Cancel {
		if due := p.In.Due; due != nil && due.Number == m.Number {
			p.In.Due = nil
		}
		if s := p.Out.Source(); s != nil && s.Number == m.Number {
			v.void(p, fx, out)
		}
		return
	}
	if p.Out.Source() != nil {
		v.void(p, fx, out)
	}
	switch {
	case p.Awaited():
		p.In.Due = m
		return
	case !slices.Contains(at.Route().Lanes(), m.NextOwner()) || m.NextOwner() == v.self:
		v.refuse(m, fmt.Sprintf("%v cannot take it", m.NextOwner()), out)
		return
	}
	v.begun++
	p.Out.Offer(handoff.NewSource(m, v.begun, v.limits), at.Route().Version(), fx)
	v.out = append(v.out, p)
	fx.SendAll(v.self, out)
}

// refuse tells the controller that a partition does not move.
func (v *Migrations) refuse(m *wire.Handoff, reason string, out *wire.Outbox) {
	out.Send(v.self, v.controller, &wire.Prepared{Term: m.Term, Number: m.Number, Pair: m.Pair, Reason: reason})
}

// giveUpAll gives up the copies that have no record.
func (v *Migrations) giveUpAll(at *lanestate.State, fx *partition.Effects, out *wire.Outbox) {
	for _, p := range slices.Clone(v.out) {
		if !p.Gone() {
			v.void(p, fx, out)
		}
	}
	for _, p := range at.Owned() {
		p.In.Due = nil
	}
}

// void gives up a copy that has no record, and serves as before.
func (v *Migrations) void(p *partition.Partition, fx *partition.Effects, out *wire.Outbox) {
	v.drop(p)
	p.Out.Void(fx)
	fx.SendAll(v.self, out)
}

// drop forgets a copy from here.
func (v *Migrations) drop(p *partition.Partition) {
	v.out = slices.DeleteFunc(v.out, func(o *partition.Partition) bool { return o == p })
}

// giveUp gives up a copy because the lane decides so, and reports it to the controller.
func (v *Migrations) giveUp(p *partition.Partition, reason string, fx *partition.Effects, out *wire.Outbox) {
	s := p.Out.Source()
	v.void(p, fx, out)
	out.Send(v.self, v.controller, &wire.Prepared{Term: s.Term, Number: s.Number, Pair: p.Pair(), Reason: reason})
}

// find returns the copy that a receiver reports on; nil: it was given up.
func (v *Migrations) find(from wire.Address, m *wire.Taken) *partition.Partition {
	i := slices.IndexFunc(v.out, func(p *partition.Partition) bool {
		return p.Out.Source().Copy() == m.Copy && p.Out.Source().To == from
	})
	if i < 0 {
		return nil
	}
	return v.out[i]
}

// TakeTaken takes the report of how far a copy has come. It reports whether all of a partition that has gone has
// arrived. An error is a breach by the receiver.
func (v *Migrations) TakeTaken(
	from wire.Address, m *wire.Taken, fx *partition.Effects, out *wire.Outbox,
) (arrived bool, err error) {
	p := v.find(from, m)
	if p == nil {
		return false, nil
	}
	switch s := p.Out.Source(); {
	case m.Refused && !p.Gone():
		v.giveUp(p, fmt.Sprintf("%v did not take it", from), fx, out)
	case !s.Begun() && m.Number == 0:
		p.Out.Begin()
	case m.Refused || !s.Taken(m.Number):
		return false, fmt.Errorf("it has taken piece %d of a copy of %v, which it was not sent", m.Number, p.Ref)
	case p.Gone() && s.Arrived():
		v.drop(p)
		p.Free()
		return true, nil
	}
	return false, nil
}

// CopyState says how urgent a report about a copy is, to what delivers it.
type CopyState uint8

// The states of a copy.
const (
	// CopyHurries: nothing of the copy is to be held back. It has a deadline, or a lease waits for it, or all of it has
	// left, or it was given up.
	CopyHurries CopyState = iota
	// CopyBegins: its first window leaves now.
	CopyBegins
	// CopyUnderWay: some of a window is not taken yet, and a later report will say all that this one does.
	CopyUnderWay
	// CopyRests: all of a window was taken. The next may leave when the job's work has had its time.
	CopyRests
)

// StateOf returns the state of the copy that a report is about, as it will be with the report.
func (v *Migrations) StateOf(from wire.Address, m *wire.Taken) CopyState {
	p := v.find(from, m)
	switch {
	case p == nil || m.Refused || p.Gone() || p.Out.Hurries():
		return CopyHurries
	case !p.Out.Source().Begun():
		return CopyBegins
	case p.Out.Source().Open(m.Number):
		return CopyUnderWay
	}
	return CopyRests
}

// Outgoing returns the partitions that are copied from here, to be streamed one by one.
func (v *Migrations) Outgoing() []*partition.Partition { return slices.Clone(v.out) }

// Stream sends more of a copy that has no record, and reports to the controller how far it is. It reports whether the
// partition has its turn among the requests for leases: then the caller grants what may be granted, and calls Stop.
func (v *Migrations) Stream(p *partition.Partition, fx *partition.Effects, out *wire.Outbox) (turn bool) {
	step := p.Out.Stream(fx)
	fx.SendAll(v.self, out)
	switch step {
	case partition.CopyOverrun:
		v.giveUp(p, "more has changed meanwhile than may be on its way", fx, out)
	case partition.CopyRuns:
		v.announce(p, out)
	}
	return step == partition.CopyStops
}

// Stop sends the rest of a copy, if no lease is out and none is granted any more.
func (v *Migrations) Stop(p *partition.Partition, fx *partition.Effects, out *wire.Outbox) {
	p.Out.Stop(fx)
	fx.SendAll(v.self, out)
	v.announce(p, out)
}

// announce tells the controller how far a copy is.
func (v *Migrations) announce(p *partition.Partition, out *wire.Outbox) {
	if m := p.Out.Announce(); m != nil {
		out.Send(v.self, v.controller, m)
	}
}

// End tells the lanes to which this one copies that nothing more comes. A job can end by a controller that does not
// know the newest records, so that one of them has reached the lane to which it gives a partition, and never comes here
// (TestACopyEndsWithTheJob).
func (v *Migrations) End(out *wire.Outbox) {
	for _, p := range v.out {
		if s := p.Out.Source(); !p.Gone() {
			out.Send(v.self, s.To, s.Ended())
		}
	}
}

// Handing reports whether something of a partition that was this lane's is on its way still, or is about to be.
func (v *Migrations) Handing() bool { return len(v.out) > 0 }
