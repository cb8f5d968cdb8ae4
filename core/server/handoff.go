package server

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"bellows"
	"bellows/core/handoff"
	"bellows/core/planted"
	"bellows/core/store"
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

// offer is a copy that another lane would send.
type offer struct {
	from  wire.Address
	piece *wire.Piece
}

// holdMark stands in the queue of a partition's leases for the end of its stay here.
var holdMark = &wire.Acquire{Mode: wire.Exclusive, Need: wire.Need{Clock: bellows.NoClock}}

// mark is a record that concerns an awaited partition.
type mark struct {
	entry
	barrier bool // of a change of the consistency
}

// barrierMark is an entry of marks: the table's consistency changes.
const barrierMark = -3

// takeHandoff begins a copy, or gives one up.
func (l *Lane) takeHandoff(m *wire.Handoff, out *wire.Outbox) {
	if m.Number == 0 {
		for _, p := range slices.Clone(l.outs) {
			if !p.gone {
				l.void(p, out)
			}
		}
		for _, p := range l.owned {
			p.due = nil
		}
		return
	}
	p, err := l.find(m.Pair)
	if err != nil {
		l.tellPrepared(&wire.Prepared{Term: m.Term, Number: m.Number, Pair: m.Pair, Reason: "it is another lane's"}, out)
		return
	}
	if m.Cancel {
		if p.due != nil && p.due.Number == m.Number {
			p.due = nil
		}
		if p.out != nil && p.out.Number == m.Number {
			l.void(p, out)
		}
		return
	}
	if p.out != nil {
		l.void(p, out)
	}
	switch {
	case p.awaited:
		p.due = m
		return
	case !slices.Contains(l.cfg.Route.Lanes(), m.To()) || m.To() == l.cfg.Self:
		l.tellPrepared(&wire.Prepared{Term: m.Term, Number: m.Number, Pair: m.Pair, Reason: fmt.Sprintf("%v cannot take it", m.To())}, out)
		return
	}
	l.copies++
	p.out = handoff.NewSource(m, l.copies, handoff.Limits{Slab: min(cmp.Or(l.cfg.Limits.Slab, handoffSlab), handoffSlab), Window: l.cfg.Limits.Window, Behind: l.cfg.Limits.Behind})
	l.outs = append(l.outs, p)
	l.say(p, p.out.Offer(l.cfg.Route.Version()), out)
}

// say sends a piece of a copy, if it is one.
func (l *Lane) say(p *partition, m *wire.Piece, out *wire.Outbox) {
	if m != nil {
		out.Send(l.cfg.Self, p.out.To, m)
	}
}

func (l *Lane) tellPrepared(m *wire.Prepared, out *wire.Outbox) {
	out.Send(l.cfg.Self, l.cfg.Controller, m)
}

// void gives a copy up that has no record, and serves as before.
func (l *Lane) void(p *partition, out *wire.Outbox) {
	l.say(p, p.out.Void(), out)
	l.outs = slices.DeleteFunc(l.outs, func(o *partition) bool { return o == p })
	p.out, p.prepared = nil, false
	if planted.On("handoff-hold-kept") {
		return
	}
	p.held = false
	p.queue = slices.DeleteFunc(p.queue, func(r request) bool { return r.acquire == holdMark })
}

// giveUp is void by the lane's own decision, of which the controller is told.
func (l *Lane) giveUp(p *partition, reason string, out *wire.Outbox) {
	s := p.out
	l.void(p, out)
	l.tellPrepared(&wire.Prepared{Term: s.Term, Number: s.Number, Pair: p.pair(), Reason: reason}, out)
}

// takeTaken takes the word how far a copy has come. One of a copy that was given up is nothing.
func (l *Lane) takeTaken(from wire.Address, m *wire.Taken, out *wire.Outbox) {
	i := slices.IndexFunc(l.outs, func(p *partition) bool { return p.out.Copy() == m.Copy && p.out.To == from })
	if i < 0 {
		return
	}
	p := l.outs[i]
	switch s := p.out; {
	case m.Refused && !p.gone:
		l.giveUp(p, fmt.Sprintf("%v did not take it", from), out)
	case !s.Begun() && m.Number == 0:
		s.Begin(p.kept)
		if p.leases.Exclusive() {
			s.Torn()
		}
		for i := range p.later {
			p.later[i].passed = false
		}
	case m.Refused || !s.Taken(m.Number):
		l.breach(from, out, "it has taken piece %d of a copy of %v, which it was not sent", m.Number, p.ref)
	case p.gone && s.Arrived():
		l.outs = slices.Delete(l.outs, i, i+1)
		p.out, p.store, p.image, p.buffers = nil, nil, store.Image{}, nil
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

// CopyOf is the state of the copy that a word is about, as it will be with the word.
func (l *Lane) CopyOf(from wire.Address, m *wire.Taken) CopyState {
	i := slices.IndexFunc(l.outs, func(p *partition) bool { return p.out.Copy() == m.Copy && p.out.To == from })
	if i < 0 || m.Refused {
		return CopyHurries
	}
	switch p := l.outs[i]; {
	case p.gone || p.held || p.out.Urgent || p.out.IsTorn() || p.out.Copied(p.store):
		return CopyHurries
	case !p.out.Begun():
		return CopyBegins
	case p.out.Open(m.Number):
		return CopyUnderWay
	}
	return CopyRests
}

// stream goes on with the copies that have no record: sends what may be sent, asks for its turn where that is all, and says so to the controller when nothing is out.
func (l *Lane) stream(out *wire.Outbox) {
	for _, p := range slices.Clone(l.outs) {
		s := p.out
		switch {
		case p.gone || !s.Begun() || l.ending.Closing():
			continue
		case p.prepared:
			p.passWaiting(math.MaxInt32, l, out)
			continue
		case s.Behind():
			l.giveUp(p, "more has changed meanwhile than may be on its way", out)
			continue
		case p.held:
			s.Again()
		}
		for m := s.Next(p.store, &p.image); m != nil; m = s.Next(p.store, &p.image) {
			l.say(p, m, out)
		}
		if s.Copied(p.store) {
			p.passWaiting(math.MaxInt32, l, out)
		}
		if !p.held && (s.IsTorn() || s.Ready(p.store)) {
			if !slices.ContainsFunc(p.queue, func(r request) bool { return r.acquire == holdMark }) {
				p.queue = append(p.queue, request{l.cfg.Self, holdMark})
			}
			if !l.silence.Cut {
				p.grantQueued(l, out)
			}
			if p.held {
				s.Again()
				for m := s.Next(p.store, &p.image); m != nil; m = s.Next(p.store, &p.image) {
					l.say(p, m, out)
				}
				if s.Copied(p.store) {
					p.passWaiting(math.MaxInt32, l, out)
				}
			}
		}
		l.tellProgress(p, out)
	}
}

// tellProgress says that a copy may have its record, or now and then how far it is.
func (l *Lane) tellProgress(p *partition, out *wire.Outbox) {
	whole := (p.held || planted.On("handoff-not-held")) && p.out.Ready(p.store)
	p.prepared = p.prepared || whole
	if m := p.out.Tell(p.store, &p.image, whole); m != nil {
		l.tellPrepared(m, out)
	}
}

// hand sends the last piece of a partition that a record has given away. Its counts stay here; its memory does until all of it has arrived.
func (l *Lane) hand(from wire.Address, p *partition, to wire.Address, out *wire.Outbox) {
	if s := p.out; s.To != to || !planted.On("handoff-not-held") && (!p.prepared || p.leases.Out() || len(p.deferred) > 0) {
		l.breach(from, out, "a move of %v, which was not prepared", p.ref)
		return
	}
	shown := p.ended
	if p.barrier && !planted.On("handoff-version-lost") { // lanes that have begun at other times say other numbers of one clock
		shown = p.visible(l).Commit
	}
	p.passWaiting(math.MaxInt32, l, out)
	l.say(p, p.out.Last(l.applied, p.applied, shown, p.store.Sum()), out)
	for _, e := range p.later {
		if planted.On("handoff-later-counted") {
			break
		}
		l.finish(e.flush)
	}
	if !planted.On("handoff-later-counted") {
		p.later = nil
	}
	l.countPartition(p)
	p.held, p.prepared = false, false
	l.owned = slices.DeleteFunc(l.owned, func(o *partition) bool { return o == p })
}

// takePiece takes a piece of a copy that is sent here. One of a copy that was given up, or that nobody here has taken, is nothing.
func (l *Lane) takePiece(from wire.Address, m *wire.Piece, out *wire.Outbox) {
	switch {
	case l.ending.Closed():
		wire.Free(m)
		return
	case m.Kind == handoff.Offer:
		l.offers = slices.DeleteFunc(l.offers, func(o offer) bool { return o.from == from && o.piece.Pair.Ref == m.Pair.Ref })
		l.offers = append(l.offers, offer{from, m})
		return
	case m.Kind == handoff.Void:
		l.offers = slices.DeleteFunc(l.offers, func(o offer) bool { return o.from == from && o.piece.Copy == m.Copy })
	}
	i := slices.IndexFunc(l.shadows, func(p *partition) bool { return p.in.Is(from, m) })
	if i < 0 {
		wire.Free(m)
		return
	}
	p := l.shadows[i]
	if m.Kind == handoff.Void && !planted.On("handoff-void-ignored") {
		if p.awaited {
			l.breach(from, out, "it gives up a copy of %v, which a record has given away", p.ref)
			return
		}
		l.shadows = slices.Delete(l.shadows, i, i+1)
		wire.Free(m)
		return
	}
	if err := p.in.Take(m, p.store, &p.image); err != nil {
		l.breach(from, out, "%v", err)
		return
	}
	switch m.Kind {
	case handoff.Image:
		p.kept = true
	case handoff.Chunk:
		l.takeMoved(p, m, out)
		return
	case handoff.Clocks:
		p.applyClocks(m.Clock, l, out)
	case handoff.Keep:
		p.save()
	case handoff.Ended:
		p.forsaken = fmt.Sprintf("the job ended at %v before that lane knew of its move", from)
		l.closeWhenAll(out)
	case handoff.Last:
		if p.awaited {
			l.adopt(p, out)
		}
		return
	}
	wire.Free(m)
}

// takeMoved takes a chunk that the owner of a copy has taken. Nobody here is told what becomes of it.
func (l *Lane) takeMoved(p *partition, m *wire.Piece, out *wire.Outbox) {
	m, err := p.in.Gather(m)
	if err != nil {
		l.breach(p.in.From, out, "%v", err)
	}
	if m == nil {
		return
	}
	f := l.newFlush()
	push := wire.New[wire.Push]()
	push.Clock = m.Clock
	push.Chunks = append(push.Chunks, wire.Chunk{Pair: m.Pair, Subtree: m.Subtree, Rows: m.Rows, Keys: m.Keys, Values: m.Values})
	*f = flush{push: push, moved: m, open: 1}
	c := &push.Chunks[0]
	if c.Keys != nil {
		rows, err := p.store.Reserve(c.Keys, l.rowsFor(len(c.Keys)))
		if err != nil {
			l.breach(p.in.From, out, "%v", err)
			return
		}
		f.rows, c.Rows = rows, rows
	}
	e := entry{flush: f, clock: m.Clock}
	if m.Waits {
		p.later = append(p.later, e)
		return
	}
	p.give(c, m.Clock)
	l.finish(f)
}

// takeOffers says which copies are taken: those of who owns the partition. A lane that is behind the route by which it was offered says so later.
func (l *Lane) takeOffers(out *wire.Outbox) {
	if len(l.offers) == 0 || !l.begun || l.broken || l.ending.Closed() {
		return
	}
	rest := l.offers[:0]
	for _, o := range l.offers {
		m := o.piece
		if m.Route > l.cfg.Route.Version() && !l.ending.Closing() {
			rest = append(rest, o)
			continue
		}
		owner := l.cfg.Route.Owner(m.Pair.Ref)
		if l.ending.Closing() || owner.Lane != o.from || owner.Generation != m.Pair.Generation {
			out.Send(l.cfg.Self, o.from, &wire.Taken{Copy: m.Copy, Pair: m.Pair, Refused: true})
			continue
		}
		p, err := l.make(m.Pair.Ref, true)
		if err != nil {
			l.breach(o.from, out, "%v", err)
			return
		}
		p.in = handoff.NewTarget(o.from, m)
		l.shadows = slices.DeleteFunc(l.shadows, func(s *partition) bool { return s.ref == p.ref && !s.awaited })
		l.shadows = append(l.shadows, p)
		out.Send(l.cfg.Self, o.from, p.in.Welcome())
	}
	clear(l.offers[len(rest):])
	l.offers = rest
}

// tellTaken tells the owners of copies how far these have come here.
func (l *Lane) tellTaken(out *wire.Outbox) {
	for _, p := range l.shadows {
		if m := p.in.Tell(); m != nil {
			out.Send(l.cfg.Self, p.in.From, m)
		}
	}
	l.shadows = slices.DeleteFunc(l.shadows, func(p *partition) bool { return p.adopted })
}

// shadow is the copy that was sent here of a partition; nil: none was.
func (l *Lane) shadow(ref bellows.PartitionRef) *partition {
	if i := slices.IndexFunc(l.shadows, func(p *partition) bool { return p.ref == ref && !p.adopted }); i >= 0 {
		return l.shadows[i]
	}
	return nil
}

// adopt serves a partition from now on whose record and whose last piece are here. What the records behind it have asked for is done now.
func (l *Lane) adopt(p *partition, out *wire.Outbox) {
	last := p.in.Last()
	switch number := p.gained; {
	case last.Commit != number:
		l.breach(p.in.From, out, "the last piece of %v as of record %d, which was moved by record %d", p.ref, last.Commit, number)
		return
	case p.store.Sum() != last.Sum:
		l.breach(p.in.From, out, "a copy of %v whose bits add up to %016x here, and to %016x there", p.ref, uint64(p.store.Sum()), uint64(last.Sum))
		return
	}
	p.applied = max(p.applied, last.Newest)
	if !planted.On("handoff-ended-forgotten") {
		p.ended = last.Ended
	}
	p.taken, p.yielded, p.dropped, p.joined = 0, 0, 0, 0
	if !planted.On("handoff-counted-twice") {
		p.before = p.store.Written()
	}
	wire.Free(last)
	p.adopted = true
	l.settle(p, out)
	if p.due != nil {
		m := p.due
		p.due = nil
		l.takeHandoff(m, out)
	}
	l.closeWhenAll(out)
}

// settle ends the wait for a partition's state.
func (l *Lane) settle(p *partition, out *wire.Outbox) {
	if p.awaited {
		p.awaited = false
		l.awaited--
	}
	for _, m := range p.marks {
		switch {
		case planted.On("handoff-marks-lost"):
		case m.chunk == keepMark:
			p.save()
		case m.chunk == cutMark:
			p.cutNow(l)
		case m.chunk == barrierMark:
			p.barrier = m.barrier
			p.applyClocks(m.clock, l, out)
		default:
			p.reach(m.clock, l, out)
		}
	}
	p.marks = nil
}

// forsake waits no more for the state of partitions that a node which is gone was to send. A lane of
// this process lives as long as this one, also where the process is told that it is gone itself.
func (l *Lane) forsake(n bellows.NodeID) {
	for _, p := range l.shadows {
		if p.forsaken == "" && p.in.From.Node == n && n != l.cfg.Self.Node {
			p.forsaken = fmt.Sprintf("node %d is gone, which was to send it", n)
		}
	}
}

// endCopies tells whom this lane copies to that nothing more comes. A job can end by a controller that
// does not know the newest records, so that one of them has reached the lane to which it gives a
// partition, and never comes here (TestACopyEndsWithTheJob).
func (l *Lane) endCopies(out *wire.Outbox) {
	for _, p := range l.outs {
		if !p.gone {
			l.say(p, p.out.Ended(), out)
		}
	}
}

// expects reports whether the state of a partition is still to come.
func (l *Lane) expects() bool {
	return l.awaited > 0 && !planted.On("handoff-end-unawaited") && slices.ContainsFunc(l.owned, func(p *partition) bool { return p.awaited && p.forsaken == "" })
}

// Handing reports whether something of a partition that was this lane's is on its way still, or is about to be.
func (l *Lane) Handing() bool { return len(l.outs) > 0 }
