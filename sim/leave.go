package sim

import (
	"slices"

	"bellows"
	"bellows/link/wire"
	"bellows/sim/internal/coverage"
	"bellows/sim/internal/schedule"
)

// remove has the controller remove an actor, as an operator would: a client's splits go to others first, and a lane that holds a
// partition stays. What is not possible yet is asked for again.
func (w *world) remove(e schedule.Entry) error {
	r := w.lead.Route()
	if e.Made(r) {
		return nil // it never took part, or it is done
	}
	if !slices.Contains(w.removed, e.Actor) {
		w.removed = append(w.removed, e.Actor) // nothing is given to it any more
	}
	if e.Actor.Role == wire.Lane {
		w.note("%v is removed", e.Actor)
		w.coverage.Hit(coverage.LaneRemoved)
		return w.lead.RemoveLane(e.Actor, &w.fx)
	}
	others := slices.DeleteFunc(slices.Clone(r.Clients()), func(a wire.Address) bool { return slices.Contains(w.removed, a) })
	if len(others) == 0 {
		w.removed = slices.DeleteFunc(w.removed, func(a wire.Address) bool { return a == e.Actor })
		return nil // somebody must run the tasks
	}
	for s := range bellows.SplitID(r.Splits()) {
		if r.Node(s) == e.Actor.Node {
			if err := w.lead.MoveSplit(s, others[int(s)%len(others)].Node, &w.fx); err != nil {
				return err
			}
		}
	}
	err := w.lead.RemoveClient(e.Actor.Node, &w.fx)
	if err == nil {
		w.note("%v is removed", e.Actor)
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
		n := w.nodes[id]
		if slices.ContainsFunc(slices.Concat(w.lead.Route().Lanes(), w.lead.Route().Clients()), func(a wire.Address) bool { return a.Node == id }) {
			w.violated("P9: node %d is let go and takes part", id)
		}
		w.note("node %d may go", id)
		w.coverage.Hit(coverage.NodeLeft)
		n.departed = true
		w.After(w.Chances.Int64N(40), w.nodes[0], func() {
			if p := w.nodes[0].pairs[id]; p != nil {
				for _, l := range p.links {
					l.close()
				}
			}
		})
	}
}
