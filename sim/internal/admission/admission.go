// Package admission checks how nodes join a simulated job (E2): one at a time, with one outcome for each, and no trace
// of a node that stays out.
//
// Call a Watch at the steps of an admission that node 0 takes. The
// package refuses to start nodes.
package admission

import (
	"slices"

	"bellows"
	"bellows/core/join"
	"bellows/core/route"
	"bellows/core/shell"
	"bellows/link/wire"
	"bellows/sim/internal/coverage"
	"bellows/sim/internal/lifecycle"
	"bellows/sim/internal/nodestate"
	"bellows/sim/internal/trace"
)

// Watch checks all admissions of a life of a job.
type Watch struct {
	*trace.Trace
	*coverage.Coverage
	Nodes *nodestate.Watch
	Life  *lifecycle.Watch
	Lead  func() *shell.Lead
}

// TakesPart reports whether a node has an actor in a route.
func TakesPart(r *route.Route, n bellows.NodeID) bool {
	return slices.ContainsFunc(slices.Concat(r.Lanes(), r.Clients()), func(a wire.Address) bool { return a.Node == n })
}

// OnTheWay returns the nodes that join and have no outcome yet.
func (w *Watch) OnTheWay() (list []*nodestate.Node) {
	for _, n := range w.Nodes.All {
		if n.OnTheWay() {
			list = append(list, n)
		}
	}
	return list
}

// Called checks that no other node is calling, and that the node calls exactly the nodes that take part.
func (w *Watch) Called(c shell.Call) bool {
	for _, o := range w.OnTheWay() {
		if o.Joiner.Called {
			w.Violated("E2: it is the turn of node %d, and node %d is calling", c.Node, o.Number)
			return false
		}
	}
	w.Note("it is the turn of node %d", c.Node)
	for _, o := range w.Nodes.All[:c.Node] {
		if here := o.Number == 0 || TakesPart(w.Lead().Route(), o.Number); here == slices.Contains(c.Gone, o.Number) {
			w.Violated("E2: node %d is not to call %v; node %d takes part: %v", c.Node, c.Gone, o.Number, here)
		}
	}
	j := w.Nodes.All[c.Node].Joiner
	j.Called, j.Gone = true, c.Gone
	return true
}

// Settled notes the outcomes of nodes. Each node has one.
func (w *Watch) Settled(list []join.Outcome) bool {
	for _, o := range list {
		j := w.Nodes.All[o.Node].Joiner
		if j == nil || j.Outcome != nil || o.Newcomer != j.Who {
			w.Violated("E2: of %+v it was told before what becomes of it, or it was never invited", o)
			return false
		}
		j.Outcome = &o
	}
	return true
}

// Waiting sees that one of the nodes that join is calling, if there are any.
func (w *Watch) Waiting() {
	if list := w.OnTheWay(); len(list) > 0 && w.Lead().Begun() && !w.Life.IsOver() && !slices.ContainsFunc(list, func(n *nodestate.Node) bool { return n.Joiner.Called }) {
		w.Violated("E2: it is the turn of none of %d nodes that are on their way", len(list))
	}
}

// Refused notes that a node does not take part.
func (w *Watch) Refused(n *nodestate.Node, why error) {
	w.Note("node %d is turned away: %v", n.Number, why)
	w.Hit("guest-refused")
	w.HitIf("guest-unwanted", n.Joiner.Fate == "unwanted")
	w.HitIf("guest-of-another-job", n.Ready && n.Joiner.Fate == "stranger")
	w.HitIf("guest-died", n.Crashed)
	w.HitIf("guest-at-the-end", w.Life.Ending)
}

// Admitted checks a node that takes part from now on. lost is why node 0 has lost it, or "".
func (w *Watch) Admitted(n *nodestate.Node, lost string) {
	w.Note("node %d takes part", n.Number)
	w.Hit("guest-joined")
	switch {
	case !n.Ready:
		w.Violated("E2: node %d takes part before it has said that it is ready", n.Number)
	case n.Joiner.Fate == "stranger":
		w.Violated("E2: node %d has made another job, and takes part", n.Number)
	}
	if lost != "" {
		w.Violated("E2: node 0 has lost node %d (%s), which takes part from then on", n.Number, lost)
	}
	if a, missing := w.missing(n); missing && !w.Life.Ending {
		w.Violated("E2: node %d takes part, and %v does not", n.Number, a)
	}
}

// missing returns an actor of a node that joined which is not in the route, if there is one.
func (w *Watch) missing(n *nodestate.Node) (wire.Address, bool) {
	r := w.Lead().Route()
	for _, a := range shell.Brings(n.Joiner.Who) {
		if !slices.Contains(r.Lanes(), a) && !slices.Contains(r.Clients(), a) {
			return a, true
		}
	}
	return wire.Address{}, false
}

// Released checks that a node is let go that takes no part, and that no node calls it.
func (w *Watch) Released(n *nodestate.Node) {
	if TakesPart(w.Lead().Route(), n.Number) {
		w.Violated("P9: node %d is let go and takes part", n.Number)
	}
	for _, o := range w.OnTheWay() {
		if o.Joiner.Called && !slices.Contains(o.Joiner.Gone, n.Number) {
			w.Violated("E2: node %d is let go while it is the turn of node %d, which calls it", n.Number, o.Number)
		}
	}
	w.Hit("node-let-go")
	w.HitIf("guest-left", n.Joiner != nil)
}

// Lost sees that the job loses no node that takes no part in it.
func (w *Watch) Lost() {
	for _, n := range w.Nodes.All {
		if j := n.Joiner; j != nil && w.Lead().Gone(n.Number) && (j.Outcome == nil || j.Outcome.Err != nil) {
			w.Violated("E2: node %d takes no part in the job, which has lost it", n.Number)
		}
	}
}

// CheckOver sees at the end of the job that every node that was invited has an outcome.
func (w *Watch) CheckOver() {
	for _, n := range w.OnTheWay() {
		w.Violated("E2: the job is over, and nobody has said what becomes of node %d, which was invited", n.Number)
	}
}

// Followed notes a controller that follows another while nodes join.
func (w *Watch) Followed() {
	for _, n := range w.Nodes.All {
		if j := n.Joiner; j != nil {
			w.HitIf("guest-followed", j.Outcome == nil)
			w.HitIf("guest-unrecorded", j.Outcome != nil && j.Outcome.Err == nil && !j.TakesPart)
		}
	}
}

// Known sees that every node that was admitted takes part under a controller of a later term, when that knows what was recorded.
func (w *Watch) Known(term bellows.Term) {
	for _, n := range w.Nodes.All {
		j := n.Joiner
		if j == nil || j.Outcome == nil || j.Outcome.Err != nil || j.Sent || j.Removed || w.Lead().Gone(n.Number) || w.Life.Ending {
			continue
		}
		if a, missing := w.missing(n); missing {
			w.Violated("E2: %v was told that it takes part, and does not under the controller of term %d", a, term)
		}
	}
}
