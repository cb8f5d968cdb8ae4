package sim

import (
	"slices"

	"bellows"
	"bellows/core/coord"
	"bellows/core/handoff"
	"bellows/link/wire"
	"bellows/sim/internal/account"
	"bellows/sim/internal/model"
	"bellows/sim/internal/schedule"
)

// moves is what the world knows of partitions that go to other lanes, from messages alone: who owns what behind which record, how far each move is, and where the state is that was
// on its way. At any step something may befall a move: it is given up, asked for anew, the controller is lost, or the job ends.
type moves struct {
	account.History
	phases map[bellows.PartitionRef]*moveState // for look-ups only, but for those that are counted
	flips  int
	kept   bellows.CommitNumber // the last record that keeps the tables
}

// moveState is a move that has not come to its end.
type moveState struct {
	phase  string // one of schedule.Phases
	leased bool   // somebody got a lease since it began
}

// shift lets partitions move, from now on, as the schedule has it.
func (w *world) shift() {
	for _, e := range w.Shifts {
		w.After(e.Millis, w.nodes[0], func() { w.ask(e) })
	}
}

// ask asks the controller for a move, as an operator would.
func (w *world) ask(e schedule.Shift) {
	if w.outcome != nil {
		w.refused("the job is over", e.Ref, w.LaneAt[0])
	}
	if w.ending || w.outcome != nil {
		return
	}
	if !w.lead.Begun() {
		w.refused("the job has not begun", e.Ref, w.LaneAt[0])
		w.After(10, w.nodes[0], func() { w.ask(e) })
		return
	}
	lanes := w.stay(w.route.Lanes())
	if len(lanes) == 0 {
		return
	}
	to := lanes[e.To%len(lanes)]
	if w.lead.Gone(w.route.Owner(e.Ref).Lane.Node) {
		return
	}
	w.refused("it takes no part", e.Ref, wire.LaneAt(nobodyAt, 0))
	w.refused("there is no such partition", bellows.PartitionRef{Table: e.Ref.Table, Partition: 1 << 20}, to)
	w.Note("%v is to go to %v", e.Ref, to)
	if err := w.lead.MovePartition(e.Ref, to, e.Urgent, &w.fx); err != nil {
		w.Violated("the controller does not move %v to %v: %v", e.Ref, to, err)
	}
	w.moved()
	w.obey()
	if e.Cancel > 0 {
		w.After(e.Cancel, w.nodes[0], func() { w.unask(e.Ref) })
	}
}

// refused sees that the controller does not take a move that cannot be.
func (w *world) refused(why string, ref bellows.PartitionRef, to wire.Address) {
	var nobody coord.Effects
	if w.lead.MovePartition(ref, to, false, &nobody) == nil || len(nobody.Envelopes) > 0 {
		w.Violated("the controller moves %v to %v, and %s", ref, to, why)
	}
}

// unask gives a move up.
func (w *world) unask(ref bellows.PartitionRef) {
	if !w.ending && w.lead.Begun() {
		w.Note("%v is to stay", ref)
		w.lead.CancelMove(ref, &w.fx)
		w.obey()
	}
}

// meddle has something befall a move, in a step of its own.
func (w *world) meddle(ref bellows.PartitionRef, phase string) {
	meddling, some := w.Meddles()
	if !some {
		return
	}
	w.After(w.Chances.Int64N(4), w.nodes[0], func() {
		if w.ending || !w.lead.Begun() {
			return
		}
		w.coverage.HitAt("meddled with", phase)
		w.Note("move of %v, which is %v, is %v", ref, phase, meddling)
		switch meddling {
		case "cancelled":
			w.unask(ref)
		case "superseded":
			w.ask(schedule.Shift{Ref: ref, To: w.Another(len(w.route.Lanes()))})
		case "controller followed":
			if w.Failovers > 0 && w.mayLoseController() {
				w.loseController()
			}
		case "interrupted":
			if w.Another(4) == 0 {
				w.interrupt()
			}
		}
	})
}

// seesMove takes note of a message about a move that an actor posts.
func (w *world) seesMove(e wire.Envelope) {
	step := func(ref bellows.PartitionRef, phase string) {
		s := w.moves.phases[ref]
		if s == nil {
			s = &moveState{}
			w.moves.phases[ref] = s
		}
		if s.phase != phase || phase == "copied" {
			s.phase = phase
			w.meddle(ref, phase)
		}
	}
	switch m := e.Message.(type) {
	case *wire.Piece:
		w.moved()
		switch m.Kind {
		case handoff.Offer:
			delete(w.moves.phases, m.Pair.Ref)
			step(m.Pair.Ref, "offered")
		case handoff.Rows:
			w.coverage.Hit("rows-copied")
			step(m.Pair.Ref, "copied")
		case handoff.Image:
			w.coverage.Hit("image-copied")
		case handoff.Chunk, handoff.Clocks, handoff.Keep:
			w.coverage.Hit("change-passed-on")
		case handoff.Void:
			delete(w.moves.phases, m.Pair.Ref)
		}
	case *wire.Prepared:
		if m.Whole {
			s := w.moves.phases[m.Pair.Ref]
			w.coverage.HitIf("moved-behind-a-lease", s != nil && s.leased)
			step(m.Pair.Ref, "ready")
		}
	case *wire.Granted:
		if s := w.moves.phases[m.Pair.Ref]; s != nil {
			s.leased = true
		}
	case *wire.Push:
		w.coverage.HitIf("parts-sent-again", m.Again)
	case *wire.End:
		w.coverage.HitIf("move-ended", len(w.moves.phases) > 0)
	case *wire.Records:
		for i := range m.List {
			r := &m.List[i]
			if r.Control.Kind == bellows.KeepTables && r.Number > w.moves.kept {
				w.moves.kept = r.Number
				for _, e := range w.MovesKept() {
					w.After(e.Millis, w.nodes[0], func() { w.ask(e) })
				}
			}
			last, before := w.moves.Last()
			if !r.Control.Kind.ChangesRoute() || r.Number <= last {
				continue
			}
			next, err := before.Next(r.Control)
			if err != nil {
				w.Violated("P5: record %d changes the route: %v", r.Number, err)
				return
			}
			w.moves.Made(r.Number, next)
			w.enters(r.Control)
			if r.Control.Kind == bellows.MovePartition {
				ref := bellows.PartitionRef{Table: r.Control.Table, Partition: r.Control.Partition}
				w.moves.flips++
				w.coverage.Hit("partition-moved")
				w.coverage.HitIf("keys-moved", ref.Table == model.Words)
				w.coverage.HitIf("moved-once-more", r.Control.Generation > 2)
				step(ref, "recorded")
			}
		}
	}
}

// deliversMove takes note of what comes while partitions move.
func (w *world) deliversMove(e wire.Envelope) {
	for _, s := range w.moves.phases { // in any order
		w.coverage.HitMessage(e.Kind(), s.phase)
	}
}

// learnsMove takes note of what a lane is about to learn of partitions that come to it.
func (w *world) learnsMove(l *lane, e wire.Envelope) {
	switch m := e.Message.(type) {
	case *wire.Piece:
		if m.Kind != handoff.Last || l.closed {
			return
		}
		w.moves.Came(m.Pair.Ref, m.Commit, slices.Contains(l.lost, e.From.Node))
		w.coverage.HitIf("adopted-at-the-last-piece", l.Applied() >= m.Commit)
		w.coverage.HitIf("adopted-at-the-record", l.Applied() < m.Commit)
		delete(w.moves.phases, m.Pair.Ref)
	}
}

// askAgain asks another controller for what the one before was asked for.
func (w *world) askAgain() {
	w.coverage.HitIf("move-followed", len(w.moves.phases) > 0)
	for _, m := range w.lead.Moving() {
		if w.Another(2) == 0 {
			to := slices.Index(w.route.Lanes(), m.To)
			w.After(1+w.Chances.Int64N(20), w.nodes[0], func() { w.ask(schedule.Shift{Ref: m.Ref, To: to, Urgent: m.Urgent}) })
		}
	}
}
