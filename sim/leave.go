package sim

import (
	"slices"

	"bellows/link/wire"
	"bellows/sim/internal/schedule"
)

// remove asks the controller to remove an actor, as an operator would: a client's splits move to others first. A step
// that is not possible yet is repeated.
func (w *world) remove(e schedule.Entry) error {
	r := w.lead.Route()
	moves, last := e.Empties(r, w.removed)
	if e.Made(r) || last {
		return nil // it never took part, or is the last that can run tasks
	}
	if !slices.Contains(w.removed, e.Actor) { // it is asked for again and again
		w.removed = append(w.removed, e.Actor) // nothing is given to it any more
	}
	if e.Actor.Role == wire.Lane {
		return w.removeLane(e)
	}
	for s, to := range moves {
		if err := w.moveSplit(s, to); err != nil {
			return err
		}
	}
	if w.lead.RemoveClient(e.Actor.Node, &w.fx) == nil {
		w.coverage.Hit("client-removed")
		return nil
	}
	e.Broken, e.Deaf = false, 0 // a split has not rested yet, or is on its way there
	w.After(10, w.nodes[0], func() { w.take(e) })
	return nil
}

// removeLane returns remove for a lane: what it owns goes to others first.
func (w *world) removeLane(e schedule.Entry) error {
	if w.lead.RemoveLane(e.Actor, &w.fx) == nil {
		w.coverage.Hit("lane-removed")
		return nil
	}
	for _, m := range w.lead.Moving() {
		if m.To == e.Actor {
			w.cancelMove(m.Ref)
		}
	}
	r := w.lead.Route()
	if to := w.stay(r.Lanes()); len(to) > 0 {
		for ref := range r.Each() {
			if r.Owner(ref).Lane != e.Actor {
				continue
			}
			if err := w.movePartition(ref, to[r.Number(ref)%len(to)], false); err != nil {
				return err
			}
		}
		e.Broken, e.Deaf = false, 0
		w.After(20, w.nodes[0], func() { w.take(e) })
	}
	return nil
}

// stay filters lanes: those that are not to leave, on nodes that are not lost.
func (w *world) stay(lanes []wire.Address) []wire.Address {
	return slices.DeleteFunc(slices.Clone(lanes), func(a wire.Address) bool { return slices.Contains(w.removed, a) || w.lead.Gone(a.Node) })
}

// depart lets nodes go that the job has removed.
func (w *world) depart() {
	for _, id := range w.fx.Left {
		w.admission.Released(&w.nodes[id].Node)
		w.nodes[id].Departed = true
		w.After(w.Chances.Int64N(40), w.nodes[0], w.nodes[0].pairs[id].Close)
	}
}

// buries lets node 0 close its connections to nodes that are lost while the job continues, and checks that the loss of a worker is reported.
func (w *world) buries() {
	for _, b := range w.fx.Buried {
		n := w.nodes[b.Node]
		if slices.ContainsFunc(w.route.Lanes(), func(a wire.Address) bool { return a.Node == n.Number }) || n.Number == 0 || !n.Gone && !w.faults.ends.Allow(b.Reason) {
			w.Violated("P9: node %d is lost (%s), has a part of the model or nothing was injected at it, and the job goes on", n.Number, b.Reason)
		}
		w.Note("the job goes on without node %d: %s", n.Number, b.Reason)
		w.mayLose(n) // if two have lost each other, it may be the one without an injected fault
		w.moved()
		w.coverage.Hit("worker-lost")
		w.coverage.HitIf("lost-with-units", b.Units > 0)
		w.After(w.Chances.Int64N(40), w.nodes[0], w.nodes[0].pairs[b.Node].Close)
	}
}
