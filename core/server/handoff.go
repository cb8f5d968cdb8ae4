package server

import (
	"bellows/core/migration"
	"bellows/core/partition"
	"bellows/link/wire"
)

// Moves of partitions, as package migration has them. The lane grants leases before a partition stops, and closes when
// nothing is on its way any more.

// takeTaken takes the report of how far a copy has come.
func (l *Lane) takeTaken(from wire.Address, m *wire.Taken, out *wire.Outbox) {
	arrived, err := l.moves.TakeTaken(from, m, &l.fx, out)
	if err != nil {
		l.fault.breach(from, out, "%v", err)
	}
	if arrived {
		l.closeWhenAll(out)
	}
}

// stream sends more of the copies that have no record.
func (l *Lane) stream(out *wire.Outbox) {
	if !l.moves.Handing() || l.ending.Closing() {
		return
	}
	for _, p := range l.moves.Outgoing() {
		if p.Gone() || !l.moves.Stream(p, &l.fx, out) {
			continue
		}
		if !l.silence.Cut {
			l.reads.Grant(p, l.state.Frontier(), out)
		}
		l.moves.Stop(p, &l.fx, out)
	}
}

// takePiece takes a piece of a copy that is sent here.
func (l *Lane) takePiece(from wire.Address, m *wire.Piece, out *wire.Outbox) {
	p, arrival, err := l.moves.TakePiece(from, m, &l.fx, out)
	l.carry(from, err, out)
	switch arrival {
	case migration.Ended:
		l.closeWhenAll(out)
	case migration.Complete:
		l.adopt(p, out)
	}
}

// takeOffers takes copies of partitions from the lanes that own them.
func (l *Lane) takeOffers(out *wire.Outbox) {
	if !l.begun || l.ending.Closed() {
		return
	}
	if from, err := l.moves.TakeOffers(l.state, l.ending.Closing(), out); err != nil {
		l.fault.breach(from, out, "%v", err)
	}
}

// adopt serves a partition from now on: its record and its last piece are here.
func (l *Lane) adopt(p *partition.Partition, out *wire.Outbox) {
	if err := p.Serve(); err != nil {
		l.fault.breach(p.In.Target.From, out, "%v", err)
		return
	}
	l.carry(l.cfg.Self, l.state.Settle(p, &l.fx), out)
	if m := p.In.Due; m != nil {
		p.In.Due = nil
		l.moves.TakeHandoff(m, l.state, &l.fx, out)
	}
	l.closeWhenAll(out)
}
