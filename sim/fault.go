package sim

import (
	"fmt"

	"bellows/sim/internal/blame"
	"bellows/sim/internal/hostile"
	"bellows/sim/internal/schedule"
)

// party returns what a node has in the job.
func (n *node) party() string {
	switch {
	case n.Number == 0:
		return "node 0"
	case n.worker == nil:
		return "lanes"
	case len(n.lanes) == 0:
		return "client"
	}
	return "client and lanes"
}

// faults holds the faults so far and to come. A fault is planned for a stage of the protocol, not for a time: each plan
// waits until its node is in the stage, and then for so many events more, so that rare stages are hit as often as
// common ones. For each injected fault, ends holds the sentences with which a sound job may answer it. A job that ends
// with another sentence has broken P9, even if a fault was injected.
type faults struct {
	plans   []schedule.Plan
	ends    blame.Reasons // for which the job may end
	memory  hostile.Past
	past    hostile.Past // of the life before
	forger  *hostile.Forger
	hostile *hostile.Memory // of what invaders send; nil: there will be none
}

// consider injects the planned faults that are due.
func (w *world) consider() {
	for i := 0; i < len(w.faults.plans); i++ {
		p := &w.faults.plans[i]
		if !w.inStage(p.Node, p.Stage) || p.Fault == "kill" && w.nodes[p.Node].worker.victim() == nil || p.Fault == "failover" && !w.mayLoseController() {
			continue
		}
		if p.Skip--; p.Skip >= 0 {
			continue
		}
		now := *p
		w.faults.plans = append(w.faults.plans[:i], w.faults.plans[i+1:]...)
		w.inject(now)
		return
	}
}

// countFault takes note of a fault in the stages of the nodes that it concerns.
func (w *world) countFault(f schedule.Fault, nodes ...*node) {
	w.Event(2, uint64(f.Number()), uint64(nodes[0].Number))
	w.coverage.HitAt("fault", f.Family())
	for _, n := range nodes {
		if n.Done() {
			continue
		}
		for p := range schedule.Stages {
			if w.inStage(n.Number, p) {
				w.coverage.HitAt(string(f), p.String())
			}
		}
	}
}

// inject carries out a planned fault, on the node with the work that is in the stage, or on another node that it works
// with.
func (w *world) inject(p schedule.Plan) {
	n := w.nodes[p.Node]
	if n.Done() {
		return
	}
	w.Note("%v is injected at node %d in %v", p.Fault, p.Node, p.Stage)
	w.countFault(p.Fault, n)
	w.moved()
	switch p.Fault {
	case "cut":
		w.cut(n, 100+w.Rng.Int64N(500))
	case "reset", "sever":
		w.reset(p.Fault, n)
	case "replay":
		w.faults.forger.Replay()
	case "kill":
		n.worker.kill(n.worker.victim())
	case "pause", "crash", "stop":
		w.halt(p.Fault, w.victim(n))
	case "mute":
		w.muteToLeader(n)
	case "half-open":
		w.halfOpen(n)
	case "garble":
		w.garble(n)
	case "forge":
		w.forge()
	case "invade":
		w.invade()
	case "failover":
		w.loseController()
	case "interrupt":
		w.interrupt()
	default:
		panic(fmt.Sprintf("sim: nothing injects the fault %q", p.Fault))
	}
}

// interrupt stops the job as a user would.
func (w *world) interrupt() {
	w.faults.ends.Expect("interrupted")
	w.job.Interrupted = true
	w.lead.Interrupt(&w.fx)
	w.obey()
}

// victim returns the node itself or any other that has a part in the job. Those that have only lanes, which are few, are hit as often as others.
func (w *world) victim(n *node) *node {
	if w.Rng.IntN(2) == 0 {
		return n
	}
	var others []*node
	for _, o := range w.nodes {
		if !o.Done() && o.hosts() {
			others = append(others, o)
			if o.party() == "lanes" {
				others = append(others, o, o, o)
			}
		}
	}
	return others[w.Rng.IntN(len(others))]
}

// mayLose allows the job to end because a node is lost; without node 0, all others may give up.
func (w *world) mayLose(n *node) {
	w.faults.ends.Lose(n.Number)
	if n.Joiner != nil && !n.Joiner.TakesPart { // it may yet
		return
	}
	n.Gone = true
	for _, o := range w.nodes {
		o.Severed = o.Severed || n.Number == 0 || o == n
	}
}

// mayPart allows two nodes to lose each other.
func (w *world) mayPart(a, b *node) {
	a.Gone, b.Gone = true, true
	w.faults.ends.Part(a.Number, b.Number)
	a.Severed, b.Severed = a.Severed || b.Number == 0, b.Severed || a.Number == 0
}
