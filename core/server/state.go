package server

import (
	"bellows"
	"bellows/core/checkpoint"
	"bellows/core/planted"
	"bellows/core/rowstore"
	"bellows/link/wire"
)

// TasksEnded tells a lane that no task of its node runs any more: none works in place on what it leased, and the state
// may be read.
type TasksEnded struct{ wire.Local }

// Load replaces the state of a partition before the job starts, and Resume the clocks; or it brings the state of one
// that the lane was given while the job runs, which is served then from the next step on.
func (l *Lane) Load(ref bellows.PartitionRef, im *rowstore.Image) error {
	p := l.state.Lookup(ref)
	err := p.Load(im)
	if p.Awaited() {
		var nobody wire.Outbox
		l.carry(l.cfg.Self, l.state.Settle(p, &l.fx), &nobody)
	}
	return err
}

// takeCollect notes that the controller wants the state of partitions, after the job's end. Clients that have not passed
// the end on by then are not waited for: the controller has given them up. A partition that is on its way here is
// waited for: its owner may not have heard of its record yet, and is declared gone if it does not.
func (l *Lane) takeCollect(from wire.Address, m *wire.Collect, out *wire.Outbox) {
	if l.ending.Closing() && !l.ending.Closed() {
		l.ending.EndAllClients()
		if !l.state.Expects() || planted.On("state-on-its-way-unawaited") {
			l.close(out)
		}
	}
	l.ending.Ask(from, m, l.state.Refs())
}

// CutNews returns what the lane's shell is to know of cuts since the last call: call it after each step.
func (l *Lane) CutNews() []checkpoint.News { return l.cuts.News() }

// CutPiece gives the next piece of a partition as it was at a cut, in memory that to has from the piece before. It fails
// when the cut is over. Call it where the lane is stepped.
func (l *Lane) CutPiece(commit bellows.CommitNumber, ref bellows.PartitionRef, to *checkpoint.Piece) error {
	return l.cuts.Piece(commit, ref, l.cfg.Limits.Slab, to)
}
