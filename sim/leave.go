package sim

import (
	"slices"

	"bellows/link/wire"
	"bellows/sim/internal/coverage"
	"bellows/sim/internal/schedule"
)

// remove has the controller remove an actor, as an operator would: a client's splits go to others first. What is not possible yet is asked for again.
func (w *world) remove(e schedule.Entry) error {
	r := w.lead.Route()
	moves, last := e.Empties(r, w.removed)
	if e.Made(r) || last {
		return nil // it never took part, or is the last who can run tasks
	}
	w.removed = append(w.removed, e.Actor) // nothing is given to it any more
	w.coverage.HitIf(coverage.LaneRemoved, e.Actor.Role == wire.Lane)
	if e.Actor.Role == wire.Lane {
		return w.lead.RemoveLane(e.Actor, &w.fx)
	}
	for s, to := range moves {
		if err := w.lead.MoveSplit(s, to, &w.fx); err != nil {
			return err
		}
	}
	if w.lead.RemoveClient(e.Actor.Node, &w.fx) == nil {
		w.coverage.Hit(coverage.ClientRemoved)
		return nil
	}
	e.Broken, e.Deaf = false, 0 // a split has not rested yet, or is on its way there
	w.After(10, w.nodes[0], func() { w.take(e) })
	return nil
}

// depart lets nodes go of which the job has nothing any more.
func (w *world) depart() {
	for _, id := range w.fx.Left {
		if r := w.lead.Route(); slices.ContainsFunc(slices.Concat(r.Lanes(), r.Clients()), func(a wire.Address) bool { return a.Node == id }) {
			w.violated("P9: node %d is let go and takes part", id)
		}
		w.coverage.Hit(coverage.NodeLeft)
		w.nodes[id].departed = true
		for _, l := range w.nodes[0].pairs[id].links {
			w.After(w.Chances.Int64N(40), w.nodes[0], l.close)
		}
	}
}
