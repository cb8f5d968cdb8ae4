// Package moves follows by messages the partitions of a simulated job that move to other lanes: owner, progress, and
// where the state is. The owner of each partition is known after every record.
//
// The fields with functions are called at the moments that they name, so that something can happen to a move at each of its
// steps. The package refuses to ask for moves.
package moves

import (
	"slices"

	"bellows"
	"bellows/core/handoff"
	"bellows/core/route"
	"bellows/link/wire"
	"bellows/sim/internal/account"
	"bellows/sim/internal/coverage"
	"bellows/sim/internal/lanewatch"
	"bellows/sim/internal/model"
	"bellows/sim/internal/trace"
)

// Watch follows the moves of a life of a job.
type Watch struct {
	account.History
	*trace.Trace
	*coverage.Coverage
	Lanes  *lanewatch.Watch
	Step   func(ref bellows.PartitionRef, phase string) // a move has come to another step
	Record func(bellows.Control)                        // a record has changed the route
	Keep   func()                                       // the tables are kept by a record
	Moved  func()                                       // a piece of a partition is on its way

	phases map[bellows.PartitionRef]*move // for look-ups only, but for those that are counted
	flips  int
	kept   bellows.CommitNumber // the last record that keeps the tables
}

// move is one that has not ended.
type move struct {
	phase  string // one of schedule.Phases
	leased bool   // a lease was granted since it began
}

// Begin begins with the first route of a life.
func (w *Watch) Begin(r *route.Route) {
	w.History, w.phases = account.NewHistory(r), map[bellows.PartitionRef]*move{}
}

// HasMoved reports whether a partition has moved.
func (w *Watch) HasMoved() bool { return w.flips > 0 }

// UnderWay reports whether a move is under way.
func (w *Watch) UnderWay() bool { return len(w.phases) > 0 }

func (w *Watch) step(ref bellows.PartitionRef, phase string) {
	s := w.phases[ref]
	if s == nil {
		s = &move{}
		w.phases[ref] = s
	}
	if s.phase != phase || phase == "copied" {
		s.phase = phase
		w.Step(ref, phase)
	}
}

// Posted follows moves by the messages that actors post.
func (w *Watch) Posted(e wire.Envelope) {
	switch m := e.Message.(type) {
	case *wire.Piece:
		w.piece(m)
	case *wire.Prepared:
		if m.Whole {
			s := w.phases[m.Pair.Ref]
			w.HitIf("moved-behind-a-lease", s != nil && s.leased)
			w.step(m.Pair.Ref, "ready")
		}
	case *wire.Granted:
		if s := w.phases[m.Pair.Ref]; s != nil {
			s.leased = true
		}
	case *wire.Push:
		w.HitIf("parts-sent-again", m.Again)
	case *wire.End:
		w.HitIf("move-ended", len(w.phases) > 0)
	case *wire.Records:
		for i := range m.List {
			if !w.record(&m.List[i]) {
				return
			}
		}
	}
}

func (w *Watch) piece(m *wire.Piece) {
	w.Moved()
	switch m.Kind {
	case handoff.Offer:
		delete(w.phases, m.Pair.Ref)
		w.step(m.Pair.Ref, "offered")
	case handoff.Rows:
		w.Hit("rows-copied")
		w.step(m.Pair.Ref, "copied")
	case handoff.Image:
		w.Hit("image-copied")
	case handoff.Chunk, handoff.Clocks, handoff.Keep:
		w.Hit("change-passed-on")
	case handoff.Void:
		delete(w.phases, m.Pair.Ref)
	}
}

// record follows the route, and reports whether the record can be followed.
func (w *Watch) record(r *wire.Record) bool {
	if r.Control.Kind == bellows.KeepTables && r.Number > w.kept {
		w.kept = r.Number
		w.Keep()
	}
	last, before := w.Last()
	if !r.Control.Kind.ChangesRoute() || r.Number <= last {
		return true
	}
	next, err := before.Next(r.Control)
	if err != nil {
		w.Violated("P5: record %d changes the route: %v", r.Number, err)
		return false
	}
	w.Made(r.Number, next)
	w.Record(r.Control)
	if r.Control.Kind == bellows.MovePartition {
		ref := bellows.PartitionRef{Table: r.Control.Table, Partition: r.Control.Partition}
		w.flips++
		w.Hit("partition-moved")
		w.HitIf("keys-moved", ref.Table == model.Words)
		w.HitIf("moved-once-more", r.Control.Generation > 2)
		w.step(ref, "recorded")
	}
	return true
}

// Delivered counts what arrives while partitions move.
func (w *Watch) Delivered(e wire.Envelope) {
	for _, s := range w.phases { // in any order
		w.HitMessage(e.Kind(), s.phase)
	}
}

// Before notes the last piece of a partition when its lane is about to take it.
func (w *Watch) Before(e wire.Envelope) {
	m, ok := e.Message.(*wire.Piece)
	if !ok || m.Kind != handoff.Last {
		return
	}
	l := w.Lanes.Lookup(e.To)
	if l.Closed {
		return
	}
	w.Came(m.Pair.Ref, m.Commit, slices.Contains(l.Lost, e.From.Node))
	w.HitIf("adopted-at-the-last-piece", l.Applied() >= m.Commit)
	w.HitIf("adopted-at-the-record", l.Applied() < m.Commit)
	delete(w.phases, m.Pair.Ref)
}
