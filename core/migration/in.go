package migration

import (
	"fmt"
	"slices"

	"bellows"
	"bellows/core/handoff"
	"bellows/core/lanestate"
	"bellows/core/partition"
	"bellows/core/planted"
	"bellows/link/wire"
)

// offer is a copy that another lane would send.
type offer struct {
	from  wire.Address
	piece *wire.Piece
}

// Arrival is what a piece means to the lane.
type Arrival uint8

const (
	// Nothing: the piece is part of a copy, or of none.
	Nothing Arrival = iota
	// Ended: the job of the sender ended before it knew of the move. The state does not come.
	Ended
	// Complete: the partition is the lane's, and all of it is here. The caller calls Serve.
	Complete
)

// TakePiece takes a piece of a copy that is sent here. It ignores pieces of a copy that was given up, or that was not
// taken. The partition is that of an Arrival other than Nothing. Flushes that are part of the state now are left in the
// effects. An error is a protocol violation by the sender.
func (v *Migrations) TakePiece(
	from wire.Address, m *wire.Piece, fx *partition.Effects, out *wire.Outbox,
) (*partition.Partition, Arrival, error) {
	switch m.Kind {
	case handoff.Offer:
		v.withdraw(func(o offer) bool { return o.from == from && o.piece.Pair.Ref == m.Pair.Ref })
		v.offers = append(v.offers, offer{from, m})
		return nil, Nothing, nil
	case handoff.Void:
		v.withdraw(func(o offer) bool { return o.from == from && o.piece.Copy == m.Copy })
	}
	i := slices.IndexFunc(v.in, func(p *partition.Partition) bool { return p.In.Target.Matches(from, m) })
	if i < 0 {
		wire.Free(m)
		return nil, Nothing, nil
	}
	p := v.in[i]
	if m.Kind == handoff.Void && !planted.On("handoff-void-ignored") {
		if p.Awaited() {
			return nil, Nothing, fmt.Errorf("it gives up a copy of %v, which a record has given away", p.Ref)
		}
		v.in = slices.Delete(v.in, i, i+1)
		wire.Free(m)
		return nil, Nothing, nil
	}
	kind := m.Kind
	err := p.TakePiece(m, fx)
	fx.SendAll(v.self, out)
	if err != nil {
		return nil, Nothing, err
	}
	switch kind {
	case handoff.Void:
		wire.Free(m)
	case handoff.Ended:
		p.In.Lost = fmt.Sprintf("the job ended at %v before that lane knew of its move", from)
		wire.Free(m)
		return p, Ended, nil
	case handoff.Last:
		if p.Awaited() {
			return p, Complete, nil
		}
	}
	return nil, Nothing, nil
}

// withdraw forgets offers.
func (v *Migrations) withdraw(which func(offer) bool) { v.offers = slices.DeleteFunc(v.offers, which) }

// TakeOffers reports to other lanes which of their copies are taken: those of partitions that they own. An offer by a
// route that the lane has not reached waits. closing: the lane takes no more copies. An error is a protocol violation
// by a lane.
func (v *Migrations) TakeOffers(at *lanestate.State, closing bool, out *wire.Outbox) (wire.Address, error) {
	if len(v.offers) == 0 {
		return wire.Address{}, nil
	}
	rest := v.offers[:0]
	for _, o := range v.offers {
		m := o.piece
		if m.Route > at.Route().Version() && !closing {
			rest = append(rest, o)
			continue
		}
		owner := at.Route().Owner(m.Pair.Ref)
		if closing || owner.Lane != o.from || owner.Generation != m.Pair.Generation {
			out.Send(v.self, o.from, &wire.Taken{Copy: m.Copy, Pair: m.Pair, Refused: true})
			continue
		}
		p, err := at.Make(m.Pair.Ref, true)
		if err != nil {
			return o.from, err
		}
		p.In.Target = handoff.NewTarget(o.from, m)
		v.in = slices.DeleteFunc(v.in, func(s *partition.Partition) bool { return s.Ref == p.Ref && !s.Awaited() })
		v.in = append(v.in, p)
		out.Send(v.self, o.from, p.In.Target.Welcome())
	}
	clear(v.offers[len(rest):])
	v.offers = rest
	return wire.Address{}, nil
}

// TellOwners tells the owners of copies how far these have come here.
func (v *Migrations) TellOwners(out *wire.Outbox) {
	for _, p := range v.in {
		if m := p.In.Target.Ack(); m != nil {
			out.Send(v.self, p.In.Target.From, m)
		}
	}
	v.in = slices.DeleteFunc(v.in, func(p *partition.Partition) bool { return p.In.Served() })
}

// Copy returns the copy of a partition that is sent here, or nil.
func (v *Migrations) Copy(ref bellows.PartitionRef) *partition.Partition {
	i := slices.IndexFunc(v.in, func(p *partition.Partition) bool { return p.Ref == ref && !p.In.Served() })
	if i < 0 {
		return nil
	}
	return v.in[i]
}

// Incoming returns how many partitions are copied here and not served yet.
func (v *Migrations) Incoming() int { return len(v.in) }

// Lose stops waiting for the state of partitions that a lost node was to send. A lane of this process is never lost to
// this one, even if the controller takes the process for lost.
func (v *Migrations) Lose(node bellows.NodeID) {
	for _, p := range v.in {
		if p.In.Lost == "" && p.In.Target.From.Node == node && node != v.self.Node {
			p.In.Lost = fmt.Sprintf("node %d is gone, which was to send it", node)
		}
	}
}
