package sim

import (
	"fmt"

	"bellows"
)

// fault is a kind of thing that goes wrong.
type fault int

// The faults. Those from kill on end the job; the others must not show.
const (
	drop      fault = iota // a packet is lost
	duplicate              // a packet arrives twice
	late                   // a packet takes much longer than others
	reorder                // a packet arrives before one that was sent earlier
	cut                    // a link loses everything for a while, in one direction
	reset                  // all that is under way between two nodes is lost; their sessions go on
	pause                  // a node stops, for less than the others wait for it, and goes on as if nothing had happened
	replay                 // an actor gets a message again, or one of an older generation, from a node of the past
	kill                   // a task ends in an error
	crash                  // a node stops for good: its process dies, or its host vanishes
	stop                   // a node stops for longer than the others wait for it, and wakes
	hush                   // a node is not heard by node 0 for more than a lease, and comes back
	halfOpen               // a link loses everything from now on, in one direction
	sever                  // a stream ends, with all that is under way
	garble                 // a frame is damaged on its way
	forge                  // the controller gets a Done again, or one of an older generation
	interrupt              // the user wants out; the job goes on later, from its image
	faultKinds
)

var faultNames = [faultKinds]string{"drop", "duplicate", "late", "reorder", "cut", "reset", "pause", "replay", "kill", "crash", "stop",
	"hush", "half-open", "sever", "garble", "forge", "interrupt"}

func (f fault) String() string { return faultNames[f] }

// possible reports whether a fault can strike in a phase of a job at all.
func possible(f fault, p phase) bool {
	switch p {
	case joining: // nothing has run yet
		return f != kill && f != replay && f != forge
	case collecting: // nothing runs any more
		return f != kill && f != replay && f != forge && f != interrupt
	}
	return true
}

// plan is a fault to come: when a node has been in a phase for some events.
type plan struct {
	fault fault
	node  bellows.NodeID // whose work is in the phase
	phase phase
	skip  int
}

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
	plans   []plan
	covered [faultKinds][phases]bool
	struck  [faultKinds][parties]bool // of the faults that strike whole nodes
	ends    []string                  // a fragment for each reason for which the job may end
	memory  memory
}

// drawPlans plans up to three faults that must not show. A fifth of the schedules has no others: the job must finish.
// Else there is one that ends the job, with perhaps another at its beginning or its end; or one that strikes before it
// begins, or while its state is collected.
func (s *schedule) drawPlans() {
	harmless := []fault{cut, pause, replay, pause}
	if !s.streams {
		harmless = append(harmless, reset, reset)
	}
	for range s.rng.IntN(4) {
		s.plan(harmless[s.rng.IntN(len(harmless))], anyPhase)
	}
	switch n := s.rng.IntN(24); {
	case n < 5:
		return
	case n < 8:
		s.plan(s.fatal(), collecting)
		return
	case n < 9:
		s.plan(s.fatal(), joining)
		return
	}
	short := [...]phase{doneUnderWay, leaseHeld}
	if s.rng.IntN(4) == 0 {
		s.plan(s.fatal(), short[s.rng.IntN(len(short))])
	} else {
		s.plan(s.fatal(), phase(s.rng.IntN(int(theEnd))))
	}
	switch s.rng.IntN(8) {
	case 0, 1, 2:
		s.plan(s.fatal(), theEnd)
	case 3, 4:
		s.plan(kill, theEnd)
	case 5:
		s.plan(s.fatal(), joining)
	}
}

// fatal draws a fault that ends the job; a kill twice as often, since it waits for a task to strike.
func (s *schedule) fatal() fault {
	list := []fault{kill, kill, crash, stop, hush, halfOpen, forge, interrupt}
	if s.streams {
		list = append(list, sever, sever, sever, garble, garble, garble)
	}
	return list[s.rng.IntN(len(list))]
}

// anyPhase lets plan draw one.
const anyPhase = phase(-1)

func (s *schedule) plan(f fault, p phase) {
	if p == anyPhase {
		p = phase(s.rng.IntN(int(phases)))
	}
	if !possible(f, p) {
		return
	}
	node := s.clientAt[s.rng.IntN(len(s.clientAt))].Node
	most := 10 // doublings
	switch {
	case p == collecting || f == kill && p == theEnd:
		most = 3
	case p >= theEnd:
		most = 5
	case f >= kill:
		most = 8
	}
	s.plans = append(s.plans, plan{f, node, p, s.rng.IntN(1 << s.rng.IntN(most+1))})
}

// consider fires the plans whose time has come.
func (w *world) consider() {
	for i := 0; i < len(w.faults.plans); i++ {
		p := &w.faults.plans[i]
		if !w.in(p.node, p.phase) || p.fault == kill && w.nodes[p.node].worker.victim() == nil {
			continue
		}
		if p.skip--; p.skip >= 0 {
			continue
		}
		fire := *p
		w.faults.plans = append(w.faults.plans[:i], w.faults.plans[i+1:]...)
		w.fire(fire)
		return
	}
}

// strike counts a fault in the phases of the nodes that it concerns.
func (w *world) strike(f fault, nodes ...*node) {
	w.trace(2, uint64(f), uint64(nodes[0].id))
	for _, n := range nodes {
		if n.done() {
			continue
		}
		for p := range phases {
			if w.in(n.id, p) {
				w.faults.covered[f][p] = true
			}
		}
	}
}

// fire lets a planned fault strike: the node whose work is in the phase, or another one with which it works.
func (w *world) fire(p plan) {
	n := w.nodes[p.node]
	if n.done() {
		return
	}
	w.note("%v strikes, node %d in %v", p.fault, p.node, p.phase)
	w.strike(p.fault, n)
	w.moved()
	switch p.fault {
	case cut:
		w.cut(n, 100+w.rng.Int64N(500))
	case reset, sever:
		w.reset(p.fault, n)
	case replay:
		w.replay()
	case kill:
		n.worker.kill(n.worker.victim())
	case pause, crash, stop:
		w.halt(p.fault, w.victim(n))
	case hush:
		w.hush(n)
	case halfOpen:
		w.halfOpen(n)
	case garble:
		w.garble(n)
	case forge:
		w.forge()
	case interrupt:
		w.mayEnd("interrupted")
		w.controller.Interrupt(&w.fx)
		w.obey()
	}
}

// victim is the node itself or any other that has a part in the job. Those that have only lanes, which are few, are
// struck as often as others.
func (w *world) victim(n *node) *node {
	if w.rng.IntN(2) == 0 {
		return n
	}
	var others []*node
	for _, o := range w.nodes {
		if !o.done() && o.hosts() {
			others = append(others, o)
			if o.party() == serving {
				others = append(others, o, o)
			}
		}
	}
	return others[w.rng.IntN(len(others))]
}

// mayEnd allows the job to end for a reason that contains the sentence.
func (w *world) mayEnd(format string, args ...any) {
	w.faults.ends = append(w.faults.ends, fmt.Sprintf(format, args...))
}

// mayLose allows the job to end because a node is lost; without node 0, all others may give up.
func (w *world) mayLose(n *node) {
	n.gone = true
	for _, how := range []string{"node %d has been silent", "node %d is gone", "node %d died", "lost its connection to node %d:"} {
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
		if leader, other := pair[0], pair[1]; leader.id == 0 {
			other.severed = true
			w.mayEnd("node %d has been silent", other.id)
			w.mayEnd("node %d is gone", other.id)
		}
	}
}
