package server

import (
	"bellows"
	"bellows/core/checkpoint"
	"bellows/link/wire"
)

// tellCut tells the controller how far a cut is here.
func (l *Lane) tellCut(out *wire.Outbox) {
	for _, m := range l.cuts.Say(l.shard.Cuttable) {
		out.Send(l.cfg.Self, l.cfg.Controller, m)
	}
}

// CutNews returns what the lane's shell is to know of cuts since the last call: call it after each step.
func (l *Lane) CutNews() []checkpoint.News { return l.cuts.News() }

// CutPiece gives the next piece of a partition as it was at a cut, in memory that to has from the piece
// before. It fails when the cut is over. Call it where the lane is stepped.
func (l *Lane) CutPiece(commit bellows.CommitNumber, ref bellows.PartitionRef, to *checkpoint.Piece) error {
	return l.cuts.Piece(commit, ref, l.cfg.Limits.Slab, to)
}
