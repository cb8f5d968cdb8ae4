package sim

import (
	"bellows/sim/internal/hostile"
	"bellows/sim/internal/past"
	"bellows/sim/internal/schedule"
	"fmt"
)

// party is what a node has in the job.
type party int

// The parties that whole nodes belong to.
const (
	leading  party = iota // it is node 0
	working               // it has a client and no lanes
	serving               // it has lanes and no client
	complete              // it has both
	parties
)

var partyNames = [parties]string{"node 0", "client", "lanes", "client and lanes"}

func (n *node) party() party {
	switch {
	case n.id == 0:
		return leading
	case n.worker == nil:
		return serving
	case len(n.lanes) == 0:
		return working
	}
	return complete
}

// faults is what has gone wrong so far, and what will.
type faults struct {
	plans    []schedule.Plan
	covered  [schedule.FaultKinds][schedule.Phases]bool
	struck   [schedule.FaultKinds][parties]bool // of the faults that strike whole nodes
	families [schedule.Families]bool
	ends     []string // a fragment for each reason for which the job may end
	memory   past.Memory
	past     past.Memory     // of the life before
	hostile  *hostile.Memory // of what invaders say; nil: there will be none
}

// consider fires the plans whose time has come.
func (w *world) consider() {
	for i := 0; i < len(w.faults.plans); i++ {
		p := &w.faults.plans[i]
		if !w.in(p.Node, p.Phase) || p.Fault == schedule.Kill && w.nodes[p.Node].worker.victim() == nil || p.Fault == schedule.Failover && !w.deposable() {
			continue
		}
		if p.Skip--; p.Skip >= 0 {
			continue
		}
		fire := *p
		w.faults.plans = append(w.faults.plans[:i], w.faults.plans[i+1:]...)
		w.fire(fire)
		return
	}
}

// strike counts a fault in the phases of the nodes that it concerns.
func (w *world) strike(f schedule.Fault, nodes ...*node) {
	w.trace(2, uint64(f), uint64(nodes[0].id))
	w.faults.families[f.Family()] = true
	for _, n := range nodes {
		if n.done() {
			continue
		}
		for p := range schedule.Phases {
			if w.in(n.id, p) {
				w.faults.covered[f][p] = true
			}
		}
	}
}

// fire lets a planned fault strike: the node whose work is in the phase, or another one with which it works.
func (w *world) fire(p schedule.Plan) {
	n := w.nodes[p.Node]
	if n.done() {
		return
	}
	w.note("%v strikes, node %d in %v", p.Fault, p.Node, p.Phase)
	w.strike(p.Fault, n)
	w.moved()
	switch p.Fault {
	case schedule.Cut:
		w.cut(n, 100+w.Rng.Int64N(500))
	case schedule.Reset, schedule.Sever:
		w.reset(p.Fault, n)
	case schedule.Replay:
		w.replay()
	case schedule.Kill:
		n.worker.kill(n.worker.victim())
	case schedule.Pause, schedule.Crash, schedule.Stop:
		w.halt(p.Fault, w.victim(n))
	case schedule.Hush:
		w.hush(n)
	case schedule.HalfOpen:
		w.halfOpen(n)
	case schedule.Garble:
		w.garble(n)
	case schedule.Forge:
		w.forge()
	case schedule.Invade:
		w.invade()
	case schedule.Failover:
		w.depose()
	case schedule.Interrupt:
		w.mayEnd("interrupted")
		w.interrupted = true
		w.lead.Interrupt(&w.fx)
		w.obey()
	}
}

// victim is the node itself or any other that has a part in the job. Those that have only lanes, which are few, are
// struck as often as others.
func (w *world) victim(n *node) *node {
	if w.Rng.IntN(2) == 0 {
		return n
	}
	var others []*node
	for _, o := range w.nodes {
		if !o.done() && o.hosts() {
			others = append(others, o)
			if o.party() == serving {
				others = append(others, o, o, o)
			}
		}
	}
	return others[w.Rng.IntN(len(others))]
}

// mayEnd allows the job to end for a reason that contains the sentence.
func (w *world) mayEnd(format string, args ...any) {
	w.faults.ends = append(w.faults.ends, fmt.Sprintf(format, args...))
}

// mayLose allows the job to end because a node is lost; without node 0, all others may give up.
func (w *world) mayLose(n *node) {
	n.gone = true
	for _, how := range []string{"node %d has been silent", "node %d has not been ready after", "node %d is gone", "node %d died", "lost its connection to node %d:"} {
		w.mayEnd(how, n.id)
	}
	for _, o := range w.nodes {
		o.severed = o.severed || n.id == 0 || o == n
	}
}

// mayPart allows two nodes to lose each other. Node 0 hears of it or is one of them.
func (w *world) mayPart(a, b *node) {
	a.gone, b.gone = true, true
	w.mayEnd("node %d lost its connection to node %d:", a.id, b.id)
	w.mayEnd("node %d lost its connection to node %d:", b.id, a.id)
	for _, pair := range [2][2]*node{{a, b}, {b, a}} {
		w.mayEnd("node %d hears no more of node %d:", pair[0].id, pair[1].id)
		w.mayEnd("node %d is not heard any more:", pair[0].id)
		if leader, other := pair[0], pair[1]; leader.id == 0 {
			other.severed = true
			w.mayEnd("node %d has been silent", other.id)
			w.mayEnd("node %d is gone", other.id)
		}
	}
}
