package sim

import (
	"slices"

	"bellows/link/wire"
	"bellows/sim/internal/account"
	"bellows/sim/internal/admission"
	"bellows/sim/internal/schedule"
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

// A change of the actors is requested of the controller, as an operator would. The controller may refuse it, may be
// lost before it has recorded anything, or may be followed by one that does not know the request. An accepted request
// is kept until the route shows it, and repeated if the route does not.

// take passes an entry to the controller. The actor exists before it is asked to begin: its node has made it and is
// joined to all others. A controller that knows no route yet is asked again.
func (w *world) take(e schedule.Entry) {
	n := w.nodes[e.Actor.Node]
	if w.job.Ending || n.Done() || w.lead.Gone(n.Number) || !e.Leaves && (n.Departed || slices.Contains(w.removed, e.Actor)) {
		return
	}
	if w.Surplus > 0 && !e.Leaves && w.lead.Begun() && !w.lead.Awaits(n.Number) && !admission.TakesPart(w.route, n.Number) {
		return // its client had no split and has been removed: a node that leaves gets nothing more
	}
	if !w.lead.Begun() || e.Gives && w.actor(e.Actor) != nil && !slices.Contains(w.route.Clients(), e.Actor) {
		w.After(10, w.nodes[0], func() { w.take(e) })
		return
	}
	if !slices.Contains(w.taken, e) {
		w.taken = append(w.taken, e)
	}
	if l := w.nodes[0].pairs[e.Behind]; e.Deaf > 0 {
		l.MuteUntil = max(l.MuteUntil, w.Now+e.Deaf)
	}
	w.failover.Break.Due = w.failover.Break.Due || e.Broken && w.mayLoseController()
	var err error
	switch {
	case e.Leaves:
		err = w.remove(e)
	case e.Gives:
		if w.actor(e.Actor) == nil {
			return // it could not begin
		}
		w.Note("split %d goes to node %d", e.Split, n.Number)
		w.coverage.HitIf("split-moved", w.route.Node(e.Split) != n.Number)
		err = w.moveSplit(e.Split, n.Number)
	case e.Actor.Role == wire.Lane:
		w.Note("%v takes part", e.Actor)
		w.coverage.Hit("lane-added")
		w.hostLane(n, e.Actor)
		err = w.lead.AddLane(e.Actor, &w.fx)
	default:
		w.Note("%v takes part", e.Actor)
		w.coverage.Hit("client-added")
		if w.actor(e.Actor) == nil {
			w.addWorker(e.Actor, e.Slots)
			n.checker.Host(e.Actor)
		}
		err = w.lead.AddClient(n.Number, &w.fx)
	}
	if err != nil {
		w.Violated("the controller does not take %+v: %v", e, err)
	}
	w.checkUnfit()
	w.moved()
	w.obey()
}

// hostLane makes a lane at a node, if it is not there, and lets what leads the node know.
func (w *world) hostLane(n *node, a wire.Address) {
	if w.actor(a) != nil {
		return
	}
	w.addLane(a)
	n.checker.Host(a)
	if n.Number == 0 {
		w.lead.Host(a, &w.fx)
	} else {
		n.shell.Host(a, &n.fx)
		n.obey()
	}
}

// regrow repeats the requests that the previous controller did not record: the operator sees that by the route.
func (w *world) regrow() {
	w.coverage.HitIf("changed-route-followed", w.route.Version() > 0)
	for _, a := range w.pending {
		w.After(1+w.Shaping.Int64N(20), w.nodes[0], func() { w.persons.Ask(a) })
	}
	list := w.taken
	w.taken, w.pending = nil, nil
	for _, n := range w.nodes {
		if n.Joiner != nil && n.Joiner.Sent {
			w.After(1+w.Visiting.Int64N(20), w.nodes[0], func() { w.dismissNode(n) })
		}
	}
	for _, e := range list {
		e.Broken, e.Deaf = false, 0
		if e.Made(w.route) {
			w.taken = append(w.taken, e)
			continue
		}
		w.coverage.Hit("change-unmade")
		w.After(1+w.Chances.Int64N(20), w.nodes[0], func() { w.take(e) })
	}
}

// dismiss tells clients that were added, and that the controller does not know, since it follows one that had recorded nothing of them, that the job is over. Those with which the job began it knows.
func (w *world) dismiss() {
	for _, k := range w.workers {
		if a := wire.ClientAt(k.node.Number); !k.node.Told && k.node.hosts() && !slices.Contains(w.common.Clients, a) {
			k.node.Told = true
			w.forged(wire.Envelope{From: wire.ControllerAt(), To: wire.ClientAt(k.node.Number), Message: &wire.End{Term: w.failover.Term, Reason: "it takes no part"}, Era: w.era()})
		}
	}
}

// checkUnfit checks that the controller refuses actors that take part already, and that no route follows by a change
// that does not fit.
func (w *world) checkUnfit() {
	if r := w.lead.Route(); w.lead.AddLane(r.Lanes()[0], &w.fx) == nil || w.lead.AddClient(r.Clients()[0].Node, &w.fx) == nil {
		w.Violated("the controller takes who takes part already")
	}
	w.Must(account.Unfit(w.lead.Route(), w.Job.Splits, nobodyAt))
}
