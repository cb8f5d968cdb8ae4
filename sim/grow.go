package sim

import (
	"bellows"
	"bellows/sim/internal/occasion"
	"bellows/sim/internal/schedule"
	"bellows/wire"
)

// expect tells nodes that they are to get a client.
func (w *world) expect() {
	for _, e := range w.Growth {
		if e.Slots > 0 {
			w.nodes[e.Actor.Node].expects = true
		}
	}
}

// grow lets come about, from now on, what the schedule has of lanes and clients that begin and splits that move.
func (w *world) grow() {
	for _, e := range w.Growth {
		w.After(e.Millis, w.nodes[0], func() { w.take(e) })
	}
}

// take has the controller take an entry. An actor is there before it is told to begin: its node has made it and is joined to all others.
func (w *world) take(e schedule.Entry) {
	n := w.nodes[e.Actor.Node]
	if w.ending || n.done() || w.lead.Gone(n.id) {
		return
	}
	var err error
	switch {
	case e.Gives:
		if w.actor(e.Actor) == nil {
			return // it could not begin
		}
		w.note("split %d goes to node %d", e.Split, n.id)
		w.happened[occasion.SplitMoved] = w.happened[occasion.SplitMoved] || w.route.Node(e.Split) != n.id
		err = w.lead.MoveSplit(e.Split, n.id, &w.fx)
	case e.Actor.Role == wire.Lane:
		w.note("%v takes part", e.Actor)
		w.happened[occasion.LaneAdded] = true
		w.addLane(e.Actor)
		n.guard.Host(e.Actor)
		if n.id == 0 {
			w.lead.Host(e.Actor, &w.fx)
		} else {
			n.shell.Host(e.Actor, &n.fx)
			n.obey()
		}
		err = w.lead.AddLane(e.Actor, &w.fx)
	default:
		w.note("%v takes part", e.Actor)
		w.happened[occasion.ClientAdded] = true
		w.addWorker(e.Actor, e.Slots)
		n.guard.Host(e.Actor)
		err = w.lead.AddClient(n.id, &w.fx)
	}
	if err != nil {
		w.violated("the controller does not take %+v: %v", e, err)
	}
	w.checkUnfit()
	w.moved()
	w.obey()
}

// checkUnfit sees that the controller does not take who takes part already, and that no route follows by a change that does not fit.
func (w *world) checkUnfit() {
	if w.lead.AddLane(w.LaneAt[0], &w.fx) == nil || w.lead.AddClient(w.ClientAt[0].Node, &w.fx) == nil {
		w.violated("the controller takes who takes part already")
	}
	r, nobody := w.route, bellows.NodeID(w.NodeCount)
	for _, c := range []bellows.Control{r.MoveSplit(bellows.SplitID(w.Job.Splits), w.ClientAt[0].Node), r.MoveSplit(0, nobody),
		r.MovePartition(bellows.PartitionRef{}, wire.LaneAt(nobody, 0))} {
		if next, err := r.Next(c); err == nil {
			w.violated("P5: route %d follows by %+v", next.Version(), c)
		}
	}
}
