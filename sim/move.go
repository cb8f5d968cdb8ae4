package sim

import (
	"slices"

	"bellows"
	"bellows/core/coord"
	"bellows/link/wire"
	"bellows/sim/internal/schedule"
)

// shift lets partitions move, from now on, as the schedule has it.
func (w *world) shift() {
	for _, e := range w.Shifts {
		w.After(e.Millis, w.nodes[0], func() { w.ask(e) })
	}
}

// ask asks the controller for a move, as an operator would.
func (w *world) ask(e schedule.Shift) {
	if w.job.Outcome != nil {
		w.refused("the job is over", e.Ref, w.LaneAt[0])
	}
	if w.job.Ending || w.job.Outcome != nil {
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
	if err := w.movePartition(e.Ref, to, e.Urgent); err != nil {
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
	if !w.job.Ending && w.lead.Begun() {
		w.Note("%v is to stay", ref)
		w.cancelMove(ref)
		w.obey()
	}
}

// meddle injects an event into a move, in a separate step.
func (w *world) meddle(ref bellows.PartitionRef, phase string) {
	meddling, some := w.Meddles()
	if !some {
		return
	}
	w.After(w.Chances.Int64N(4), w.nodes[0], func() {
		if w.job.Ending || !w.lead.Begun() {
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

// shiftKept moves partitions after the driver has kept the tables, as the schedule says.
func (w *world) shiftKept() {
	for _, e := range w.MovesKept() {
		w.After(e.Millis, w.nodes[0], func() { w.ask(e) })
	}
}

// askAgain repeats at a new controller the requests that the previous one received.
func (w *world) askAgain() {
	w.coverage.HitIf("move-followed", w.moves.UnderWay())
	for _, m := range w.lead.Moving() {
		if w.Another(2) == 0 {
			to := slices.Index(w.route.Lanes(), m.To)
			w.After(1+w.Chances.Int64N(20), w.nodes[0], func() { w.ask(schedule.Shift{Ref: m.Ref, To: to, Urgent: m.Urgent}) })
		}
	}
}
