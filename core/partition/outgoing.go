package partition

import (
	"fmt"

	"bellows/core/planted"
	"bellows/link/wire"
)

// Outgoing is the copy of the partition to the lane that is to own it. It ends: when all rows are there it takes its
// turn among the leases, and with the record of the move nothing follows.
type Outgoing struct {
	Copy
	prepared bool // the controller knows that the partition may go
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
			fx.apply(b.open[i].Flush, 0) // its new owner writes it
		}
		b.open = nil
	}
	p.Leases.stopped, o.prepared = false, false
	return nil
}

// Free frees the memory of a partition that has gone, when all of its copy has arrived.
func (p *Partition) Free() {
	p.State, p.Out, p.backlog = State{}, Outgoing{Copy: Copy{log: &p.Log}}, backlog{}
	p.cut.state, p.Log.store, p.Ledger.store, p.Subscribers.store = nil, nil, nil, nil
}
