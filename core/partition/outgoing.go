package partition

import (
	"fmt"

	"bellows"
	"bellows/core/handoff"
	"bellows/core/planted"
	"bellows/link/wire"
)

// Outgoing copies the partition to the lane that is to own it (package handoff): a reader of the
// log. It has two positions: that of its rows, which is the source's, and that of the recorded chunks
// that wait for their clock, which it sends as late as it can.
//
// It reads changes when they are made. A chunk's memory is its client's until then, and the pieces
// into which it is copied are all that the copy keeps: what may be on its way is limited
// (handoff.Limits.Behind), and above that the move is given up.
type Outgoing struct {
	source   *handoff.Source // nil: the partition is not copied
	prepared bool            // the controller knows that the partition may go
	passed   uint64          // chunks of open clocks up to this one were sent, by their order
	pieces   []*wire.Piece   // to be sent

	log     *Log
	state   *State
	leases  *Leases
	backlog *backlog
}

// Before sends what a change is made of.
func (o *Outgoing) Before(c *Change) {
	switch c.Kind {
	case LeaseBegin:
		o.source.Torn()
	case Delta:
		if !planted.On("handoff-chunk-lost") {
			o.chunk(c.Chunk, c.Clock, false)
		}
	case Clocks:
		if !planted.On("handoff-clocks-lost") {
			o.waiting(c.Clock)
			o.piece(o.source.Clocks(c.Clock))
		}
	}
}

// After sends that the driver has kept an image, so that the receiver keeps one.
func (o *Outgoing) After(c *Change) {
	if c.Kind == Kept {
		o.piece(o.source.Keep(o.state.store))
	}
}

// piece puts a piece, if it is one, among those to be sent.
func (o *Outgoing) piece(m *wire.Piece) {
	if m != nil {
		o.pieces = append(o.pieces, m)
	}
}

func (o *Outgoing) chunk(c *wire.Chunk, clock bellows.Clock, waits bool) {
	for m := range o.source.Chunk(o.state.store, c, clock, waits) {
		o.piece(m)
	}
}

// waiting sends the chunks of open clocks up to c that were not sent. That is as late as may be,
// when they become part of the state or when all rows are copied, since the rows that are copied
// meanwhile need none of them.
func (o *Outgoing) waiting(c bellows.Clock) {
	for i := range o.backlog.open {
		e := &o.backlog.open[i]
		if e.order <= o.passed || e.Clock > c || c == lastClock && planted.On("handoff-later-forgotten") {
			continue
		}
		o.chunk(e.Chunk, e.Clock, true)
	}
	if c == lastClock { // else the rest of them are about to leave the backlog
		o.passed = o.backlog.arrived
	}
}

// drain moves the pieces to the effects.
func (o *Outgoing) drain(fx *Effects) {
	if len(o.pieces) == 0 {
		return
	}
	for _, m := range o.pieces {
		fx.send(o.source.To, m)
	}
	clear(o.pieces)
	o.pieces = o.pieces[:0]
}

// rows sends as many rows as may be on their way.
func (o *Outgoing) rows(fx *Effects) {
	t, im := o.state.store, &o.state.image
	for m := o.source.Next(t, im); m != nil; m = o.source.Next(t, im) {
		o.piece(m)
	}
	if o.source.Copied(t) {
		o.waiting(lastClock)
	}
	o.drain(fx)
}

// Source returns the copy, or nil.
func (o *Outgoing) Source() *handoff.Source { return o.source }

// Offer offers a copy of the partition to the lane that is to own it.
func (o *Outgoing) Offer(s *handoff.Source, route bellows.RouteVersion, fx *Effects) {
	o.source = s
	fx.send(s.To, s.Offer(route))
}

// Begin begins the copy after its offer was taken.
func (o *Outgoing) Begin() {
	o.source.Begin(o.state.kept)
	if o.leases.Exclusive() {
		o.source.Torn()
	}
	o.passed = 0
	o.log.Attach(o)
}

// Void gives up a copy that has no record. The partition is served as before.
func (o *Outgoing) Void(fx *Effects) {
	o.stop()
	fx.send(o.source.To, o.source.Void())
	o.source, o.prepared = nil, false
	if !planted.On("handoff-hold-kept") {
		o.leases.resume()
	}
}

// stop detaches the copy from the log.
func (o *Outgoing) stop() { o.log.Detach(o) }

// CopyStep says what a copy needs next.
type CopyStep uint8

// The steps of a copy.
const (
	CopyWaits   CopyStep = iota // nothing: its offer was not taken, or it waits for its record
	CopyRuns                    // Announce
	CopyStops                   // its turn among the leases (Partition.Grants), then Stop and Announce
	CopyOverrun                 // more has changed meanwhile than may be on its way: Void
)

// Stream sends what may be sent of a copy that has no record.
func (o *Outgoing) Stream(fx *Effects) CopyStep {
	s := o.source
	switch {
	case !s.Begun():
		return CopyWaits
	case o.prepared:
		o.waiting(lastClock)
		o.drain(fx)
		return CopyWaits
	case s.Lagging():
		return CopyOverrun
	case o.leases.stopped:
		s.Again()
	}
	o.rows(fx)
	if !o.leases.stopped && (s.IsTorn() || s.Ready(o.state.store)) {
		o.leases.stopTurn()
		return CopyStops
	}
	return CopyRuns
}

// Stop sends the rest, if no lease is out and none is granted any more.
func (o *Outgoing) Stop(fx *Effects) {
	if o.leases.stopped {
		o.source.Again()
		o.rows(fx)
	}
}

// Announce returns the message for the controller that the copy may have its record, or now and then how
// far it is; nil: nothing is new.
func (o *Outgoing) Announce() *wire.Prepared {
	whole := (o.leases.stopped || planted.On("handoff-not-held")) && o.source.Ready(o.state.store)
	o.prepared = o.prepared || whole
	return o.source.ReportProgress(o.state.store, &o.state.image, whole)
}

// Hurries reports whether nothing of the copy is to be held back.
func (o *Outgoing) Hurries() bool {
	s := o.source
	return o.leases.stopped || s.Urgent || s.IsTorn() || s.Copied(o.state.store)
}

// HandOver sends the last piece of a partition that record at.Applied has given to another lane. Its
// counts stay here, and so does its memory until all of it has arrived (Free).
func (p *Partition) HandOver(to wire.Address, at Frontier, fx *Effects) error {
	o, b := &p.Out, &p.backlog
	ready := o.prepared && !p.Leases.Active() && len(b.deferred) == 0
	if o.source.To != to || !ready && !planted.On("handoff-not-held") {
		return fmt.Errorf("a move of %v, which was not prepared", p.Ref)
	}
	shown := p.Leases.ended
	// Lanes that began at other times have other numbers for one clock.
	if b.barrier && !planted.On("handoff-version-lost") {
		shown = p.Visible(at).Commit
	}
	o.waiting(lastClock)
	o.piece(o.source.Last(at.Applied, p.applied, shown, p.State.store.Sum()))
	o.drain(fx)
	if !planted.On("handoff-later-counted") {
		for i := range b.open {
			fx.apply(b.open[i].Flush)
		}
		b.open = nil
	}
	p.Leases.stopped, o.prepared = false, false
	return nil
}

// Free frees the memory of a partition that has gone, when all of its copy has arrived.
func (p *Partition) Free() {
	p.State, p.Out, p.backlog = State{}, Outgoing{log: &p.Log}, backlog{}
	p.cut.state, p.Log.store, p.Ledger.store, p.Subscribers.store = nil, nil, nil, nil
}
