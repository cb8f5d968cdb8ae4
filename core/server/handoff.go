package server

import (
	"cmp"
	"fmt"
	"slices"

	"bellows"
	"bellows/core/handoff"
	"bellows/core/partition"
	"bellows/core/planted"
	"bellows/link/wire"
)

// A partition goes to another lane as a stream (package handoff). This lane is either end, for any number of partitions.
//
// As the owner it copies, in the background, from when the controller asks for it (takeHandoff). When nearly all is there it waits for its turn among those who
// want leases, as who wants an exclusive one does, so that nobody keeps it out for ever (holdMark); grants none from then on, and tells the controller. Only the
// record of the move decides: up to that the lane serves as ever, and may be told to give up. At the record nothing is leased or deferred. The lane sends the
// last piece, and knows the partition no more (hand): its recorded chunks of clocks to come have gone over, and parts that are only held here their clients send
// again. So no part is ever at two lanes (docs/decisions/0035).
//
// As the lane that is to own it, it fills a partition that nobody can ask for (a shadow) by the same code that fills its own. The partition is its own from
// the record on (gain), and served from when the last piece is here, too (adopt), whichever comes first.
//
// A controller that follows another has every copy given up that has no record (wire.Handoff with number 0), behind the records that the lane lacked.

// moves are the partitions that go to other lanes, and come from them.
type moves struct {
	out    []*partition.Partition // copied from here; in the order in which that was asked for
	begun  uint64                 // copies from here that have begun
	offers []offer
	in     []*partition.Partition // copied to here, and not served yet
}

// offer is a copy that another lane would send.
type offer struct {
	from  wire.Address
	piece *wire.Piece
}

// takeHandoff begins a copy, or gives one up.
func (l *Lane) takeHandoff(m *wire.Handoff, out *wire.Outbox) {
	if m.Number == 0 {
		for _, p := range slices.Clone(l.moves.out) {
			if !p.Gone() {
				l.void(p, out)
			}
		}
		for _, p := range l.shard.Owned() {
			p.In.Due = nil
		}
		return
	}
	p, err := l.shard.Find(m.Pair)
	if err != nil {
		l.tellPrepared(&wire.Prepared{Term: m.Term, Number: m.Number, Pair: m.Pair, Reason: "it is another lane's"}, out)
		return
	}
	if m.Cancel {
		if due := p.In.Due; due != nil && due.Number == m.Number {
			p.In.Due = nil
		}
		if s := p.Out.Source(); s != nil && s.Number == m.Number {
			l.void(p, out)
		}
		return
	}
	if p.Out.Source() != nil {
		l.void(p, out)
	}
	switch {
	case p.Awaited():
		p.In.Due = m
		return
	case !slices.Contains(l.shard.Route().Lanes(), m.NextOwner()) || m.NextOwner() == l.cfg.Self:
		l.tellPrepared(&wire.Prepared{Term: m.Term, Number: m.Number, Pair: m.Pair, Reason: fmt.Sprintf("%v cannot take it", m.NextOwner())}, out)
		return
	}
	l.moves.begun++
	limits := handoff.Limits{Slab: min(cmp.Or(l.cfg.Limits.Slab, handoffSlab), handoffSlab), Window: l.cfg.Limits.Window,
		Behind: l.cfg.Limits.Behind}
	p.Out.Offer(handoff.NewSource(m, l.moves.begun, limits), l.shard.Route().Version(), &l.fx)
	l.moves.out = append(l.moves.out, p)
	l.carry(l.cfg.Self, nil, out)
}

func (l *Lane) tellPrepared(m *wire.Prepared, out *wire.Outbox) {
	out.Send(l.cfg.Self, l.cfg.Controller, m)
}

// void gives up a copy that has no record, and serves as before.
func (l *Lane) void(p *partition.Partition, out *wire.Outbox) {
	l.moves.out = slices.DeleteFunc(l.moves.out, func(o *partition.Partition) bool { return o == p })
	p.Out.Void(&l.fx)
	l.carry(l.cfg.Self, nil, out)
}

// giveUp gives up a copy because the lane decides so, and reports it to the controller.
func (l *Lane) giveUp(p *partition.Partition, reason string, out *wire.Outbox) {
	s := p.Out.Source()
	l.void(p, out)
	l.tellPrepared(&wire.Prepared{Term: s.Term, Number: s.Number, Pair: p.Pair(), Reason: reason}, out)
}

// find returns the copy that a receiver reports on; nil: it was given up.
func (v *moves) find(from wire.Address, m *wire.Taken) *partition.Partition {
	i := slices.IndexFunc(v.out, func(p *partition.Partition) bool {
		return p.Out.Source().Copy() == m.Copy && p.Out.Source().To == from
	})
	if i < 0 {
		return nil
	}
	return v.out[i]
}

// takeTaken takes the report of how far a copy has come.
func (l *Lane) takeTaken(from wire.Address, m *wire.Taken, out *wire.Outbox) {
	p := l.moves.find(from, m)
	if p == nil {
		return
	}
	switch s := p.Out.Source(); {
	case m.Refused && !p.Gone():
		l.giveUp(p, fmt.Sprintf("%v did not take it", from), out)
	case !s.Begun() && m.Number == 0:
		p.Out.Begin()
	case m.Refused || !s.Taken(m.Number):
		l.breach(from, out, "it has taken piece %d of a copy of %v, which it was not sent", m.Number, p.Ref)
	case p.Gone() && s.Arrived():
		l.moves.out = slices.DeleteFunc(l.moves.out, func(o *partition.Partition) bool { return o == p })
		p.Free()
		l.closeWhenAll(out)
	}
}

// CopyState is what a word about a copy means to whoever delivers it.
type CopyState uint8

// The states of a copy.
const (
	CopyHurries  CopyState = iota // nothing is to be held back of it: it has a deadline, somebody waits behind it, all of it has left, or there is no such copy
	CopyBegins                    // its first window leaves now
	CopyUnderWay                  // of a window some is not taken yet, and a later word will say all that this one does
	CopyRests                     // all of a window has been taken: the next may leave when the job's work has had its time
)

// CopyOf returns the state of the copy that a report is about, as it will be with the report.
func (l *Lane) CopyOf(from wire.Address, m *wire.Taken) CopyState {
	p := l.moves.find(from, m)
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

// stream sends more of the copies that have no record, and reports to the controller how far they are.
func (l *Lane) stream(out *wire.Outbox) {
	for _, p := range slices.Clone(l.moves.out) {
		if l.ending.Closing() || p.Gone() {
			continue
		}
		step := p.Out.Stream(&l.fx)
		l.carry(l.cfg.Self, nil, out)
		switch step {
		case partition.CopyWaits:
			continue
		case partition.CopyOverrun:
			l.giveUp(p, "more has changed meanwhile than may be on its way", out)
			continue
		case partition.CopyStops:
			if !l.silence.Cut {
				l.reads.Grant(p, l.shard.Frontier(), out)
			}
			p.Out.Stop(&l.fx)
			l.carry(l.cfg.Self, nil, out)
		}
		if m := p.Out.Announce(); m != nil {
			l.tellPrepared(m, out)
		}
	}
}

// handOver sends the last piece of a partition that a record has given to another lane.
func (l *Lane) handOver(from wire.Address, p *partition.Partition, to wire.Address, out *wire.Outbox) {
	err := p.HandOver(to, l.shard.Frontier(), &l.fx)
	l.carry(from, err, out)
	if err == nil {
		l.countPartition(p)
		l.shard.Remove(p)
	}
}

// takePiece takes a piece of a copy that is sent here. One of a copy that was given up, or that nobody here has taken, is nothing.
func (l *Lane) takePiece(from wire.Address, m *wire.Piece, out *wire.Outbox) {
	switch {
	case l.ending.Closed():
		wire.Free(m)
		return
	case m.Kind == handoff.Offer:
		l.moves.offers = slices.DeleteFunc(l.moves.offers, func(o offer) bool { return o.from == from && o.piece.Pair.Ref == m.Pair.Ref })
		l.moves.offers = append(l.moves.offers, offer{from, m})
		return
	case m.Kind == handoff.Void:
		l.moves.offers = slices.DeleteFunc(l.moves.offers, func(o offer) bool { return o.from == from && o.piece.Copy == m.Copy })
	}
	i := slices.IndexFunc(l.moves.in, func(p *partition.Partition) bool { return p.In.Target.Is(from, m) })
	if i < 0 {
		wire.Free(m)
		return
	}
	p := l.moves.in[i]
	if m.Kind == handoff.Void && !planted.On("handoff-void-ignored") {
		if p.Awaited() {
			l.breach(from, out, "it gives up a copy of %v, which a record has given away", p.Ref)
			return
		}
		l.moves.in = slices.Delete(l.moves.in, i, i+1)
		wire.Free(m)
		return
	}
	kind := m.Kind
	err := p.TakePiece(m, &l.fx)
	if l.carry(from, err, out); err != nil {
		return
	}
	switch kind {
	case handoff.Void:
		wire.Free(m)
	case handoff.Ended:
		p.In.Lost = fmt.Sprintf("the job ended at %v before that lane knew of its move", from)
		l.closeWhenAll(out)
		wire.Free(m)
	case handoff.Last:
		if p.Awaited() {
			l.adopt(p, out)
		}
	}
}

// takeOffers says which copies are taken: those of who owns the partition. A lane that is behind the route by which it was offered says so later.
func (l *Lane) takeOffers(out *wire.Outbox) {
	if len(l.moves.offers) == 0 || !l.begun || l.broken || l.ending.Closed() {
		return
	}
	rest := l.moves.offers[:0]
	for _, o := range l.moves.offers {
		m := o.piece
		if m.Route > l.shard.Route().Version() && !l.ending.Closing() {
			rest = append(rest, o)
			continue
		}
		owner := l.shard.Route().Owner(m.Pair.Ref)
		if l.ending.Closing() || owner.Lane != o.from || owner.Generation != m.Pair.Generation {
			out.Send(l.cfg.Self, o.from, &wire.Taken{Copy: m.Copy, Pair: m.Pair, Refused: true})
			continue
		}
		p, err := l.shard.Make(m.Pair.Ref, true)
		if err != nil {
			l.breach(o.from, out, "%v", err)
			return
		}
		p.In.Target = handoff.NewTarget(o.from, m)
		l.moves.in = slices.DeleteFunc(l.moves.in, func(s *partition.Partition) bool { return s.Ref == p.Ref && !s.Awaited() })
		l.moves.in = append(l.moves.in, p)
		out.Send(l.cfg.Self, o.from, p.In.Target.Welcome())
	}
	clear(l.moves.offers[len(rest):])
	l.moves.offers = rest
}

// tellTaken tells the owners of copies how far these have come here.
func (l *Lane) tellTaken(out *wire.Outbox) {
	for _, p := range l.moves.in {
		if m := p.In.Target.Tell(); m != nil {
			out.Send(l.cfg.Self, p.In.Target.From, m)
		}
	}
	l.moves.in = slices.DeleteFunc(l.moves.in, func(p *partition.Partition) bool { return p.In.Served() })
}

// shadow returns the copy of a partition that is sent here, or nil.
func (v *moves) shadow(ref bellows.PartitionRef) *partition.Partition {
	i := slices.IndexFunc(v.in, func(p *partition.Partition) bool { return p.Ref == ref && !p.In.Served() })
	if i < 0 {
		return nil
	}
	return v.in[i]
}

// adopt serves a partition from now on: its record and its last piece are here.
func (l *Lane) adopt(p *partition.Partition, out *wire.Outbox) {
	if err := p.Serve(); err != nil {
		l.breach(p.In.Target.From, out, "%v", err)
		return
	}
	l.settle(p, out)
	if m := p.In.Due; m != nil {
		p.In.Due = nil
		l.takeHandoff(m, out)
	}
	l.closeWhenAll(out)
}

// settle ends the wait for a partition's state.
func (l *Lane) settle(p *partition.Partition, out *wire.Outbox) {
	l.carry(l.cfg.Self, l.shard.Settle(p, &l.fx), out)
}

// forsake waits no more for the state of partitions that a lost node was to send. A lane of this
// process lives as long as this one, also if the controller takes the process for lost.
func (v *moves) forsake(lost, self bellows.NodeID) {
	for _, p := range v.in {
		if p.In.Lost == "" && p.In.Target.From.Node == lost && lost != self {
			p.In.Lost = fmt.Sprintf("node %d is gone, which was to send it", lost)
		}
	}
}

// endCopies tells the lanes to which this one copies that nothing more comes. A job can end by a
// controller that does not know the newest records, so that one of them has reached the lane to which
// it gives a partition, and never comes here (TestACopyEndsWithTheJob).
func (l *Lane) endCopies(out *wire.Outbox) {
	for _, p := range l.moves.out {
		if s := p.Out.Source(); !p.Gone() {
			out.Send(l.cfg.Self, s.To, s.Ended())
		}
	}
}

// Handing reports whether something of a partition that was this lane's is on its way still, or is about to be.
func (l *Lane) Handing() bool { return len(l.moves.out) > 0 }
