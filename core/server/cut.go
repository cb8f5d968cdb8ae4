package server

import (
	"slices"

	"bellows"
	"bellows/core/checkpoint"
	"bellows/core/delta"
	"bellows/core/planted"
	"bellows/core/store"
	"bellows/link/wire"
)

// At the record of a cut each partition begins to be given away (package checkpoint) as it is there: behind what shared leases keep out, and the rest of
// its copy from another lane; under an exclusive lease as it was before that, with what the lease keeps out, in a copy of its own
// (docs/decisions/0063).

// cutAt begins to give the partition away, as soon as it is as it was at the record that was just taken.
func (p *partition) cutAt(l *Lane) {
	switch {
	case p.gone:
	case p.awaited:
		p.marks = append(p.marks, mark{entry: entry{chunk: cutMark}})
	case p.leases.Exclusive() && !planted.On("cut-leased"):
		p.cutLeased(l)
	case len(p.deferred) > 0 && !planted.On("cut-deferred-late"):
		p.deferred = append(p.deferred, entry{chunk: cutMark})
	default:
		p.cutNow(l)
	}
}

func (p *partition) cutNow(l *Lane) { l.cuts.Begin(p.ref, &p.cut, p.store, false, p.kept, &p.image) }

// cutLeased gives away what the partition would be if its exclusive lease had not begun.
func (p *partition) cutLeased(l *Lane) {
	was := p.cut.Before()
	if l.cuts.At() > 0 && (p.remote || was == nil && planted.On("cut-old-lease")) {
		was = p.store.Clone()
	}
	if was == nil {
		l.cuts.Fail("an exclusive lease on " + p.ref.String() + " was given before the lane was armed")
		return
	}
	for _, e := range p.deferred {
		switch {
		case planted.On("cut-without-deferred"):
		case e.chunk >= 0:
			c := &e.flush.push.Chunks[e.chunk]
			was.Apply(c.Rows, c.Values)
		case e.chunk == clockMark:
			p.sumInto(was, e.clock)
		}
	}
	l.cuts.Begin(p.ref, &p.cut, was, true, p.kept, &p.image)
}

// sumInto is applyClocks for a copy: what waits stays, and nothing is counted.
func (p *partition) sumInto(was *store.Partition, upTo bellows.Clock) {
	var clocks []bellows.Clock
	for _, e := range p.later {
		if e.clock <= upTo && !slices.Contains(clocks, e.clock) {
			clocks = append(clocks, e.clock)
		}
	}
	slices.Sort(clocks)
	for _, clock := range clocks {
		var list []wire.Chunk
		for _, e := range p.later {
			if e.clock == clock {
				list = append(list, e.flush.push.Chunks[e.chunk])
			}
		}
		if sum, twice := delta.Sum(list, p.buffer, p.giveBuffer, nil); twice == nil { // else applyClock says so
			was.Apply(sum.Chunk())
			p.giveBuffer(sum)
		}
	}
}

// sayCut tells the controller how far a cut is here.
func (l *Lane) sayCut(out *wire.Outbox) {
	for _, m := range l.cuts.Say(func() bool {
		return !slices.ContainsFunc(l.owned, func(p *partition) bool { return p.torn() && p.cut.Before() == nil })
	}) {
		out.Send(l.cfg.Self, l.cfg.Controller, m)
	}
}

// CutNews is what the lane's shell is to know of cuts, since the last call: call it behind each step.
func (l *Lane) CutNews() []checkpoint.News { return l.cuts.News() }

// CutPiece gives the next piece of a partition as it was at a cut, in memory that to has from the piece before. It fails when the cut is over. It is called where
// the lane is stepped.
func (l *Lane) CutPiece(commit bellows.CommitNumber, ref bellows.PartitionRef, to *checkpoint.Piece) error {
	return l.cuts.Piece(commit, ref, l.cfg.Limits.Slab, to)
}
