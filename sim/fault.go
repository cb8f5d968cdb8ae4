package sim

import (
	"fmt"

	"bellows"
	"bellows/sim/internal/parcel"
	"bellows/wire"
)

// fault is a kind of thing that goes wrong.
type fault int

// The faults. The last five end the job; the others must not show.
const (
	drop      fault = iota // a packet is lost
	duplicate              // a packet arrives twice
	late                   // a packet takes much longer than others
	reorder                // a packet arrives before one that was sent earlier
	cut                    // a link loses everything for a while, in one direction
	pause                  // a node stops for less than a lease and goes on as if nothing had happened
	replay                 // a lane gets a push again, or one of an older generation, from a node of the past
	kill                   // a task ends in an error
	crash                  // a node stops for good
	hush                   // a node is not heard for more than a lease, and comes back
	forge                  // the controller gets a Done again, or one of an older generation
	interrupt              // the user wants out
	faultKinds
)

var faultNames = [faultKinds]string{"drop", "duplicate", "late", "reorder", "cut", "pause", "replay", "kill", "crash", "hush",
	"forge", "interrupt"}

func (f fault) String() string { return faultNames[f] }

// plan is a fault to come: when a node has been in a phase for some events.
type plan struct {
	fault fault
	node  bellows.NodeID
	phase phase
	skip  int
}

// faults is what has gone wrong so far, and what will.
type faults struct {
	plans   []plan
	covered [faultKinds][phases]bool
	ends    []string // a fragment for each reason for which the job may end
	push    wire.Envelope
	done    wire.Envelope
}

// drawPlans plans up to three faults that must not show, and in three schedules of five one that ends the job,
// with perhaps another while it ends.
func (s *schedule) drawPlans() {
	for range s.rng.IntN(4) {
		s.plan(cut+fault(s.rng.IntN(3)), phase(s.rng.IntN(int(phases))))
	}
	if s.rng.IntN(5) < 2 {
		return
	}
	s.plan(s.fatal(), phase(s.rng.IntN(int(theEnd))))
	switch s.rng.IntN(4) {
	case 0:
		s.plan(kill, theEnd)
	case 1:
		s.plan(s.fatal(), theEnd)
	}
}

// fatal draws a fault that ends the job; a kill twice as often, since it waits for a task to strike.
func (s *schedule) fatal() fault { return kill + fault(max(0, s.rng.IntN(6)-1)) }

func (s *schedule) plan(f fault, p phase) {
	node := bellows.NodeID(0)
	for node == 0 || !s.hasClient(node) {
		node = bellows.NodeID(s.rng.IntN(s.nodeCount))
	}
	most := 10 // doublings
	switch {
	case p == theEnd:
		most = 5
	case f >= kill:
		most = 8
	}
	s.plans = append(s.plans, plan{f, node, p, s.rng.IntN(1 << s.rng.IntN(most+1))})
}

func (s *schedule) hasClient(n bellows.NodeID) bool {
	for _, c := range s.clientAt {
		if c.Node == n {
			return true
		}
	}
	return false
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
		if n.crashed {
			continue
		}
		for p := range phases {
			if w.in(n.id, p) {
				w.faults.covered[f][p] = true
			}
		}
	}
}

func (w *world) fire(p plan) {
	n := w.nodes[p.node]
	if n.crashed {
		return
	}
	w.strike(p.fault, n)
	w.note("%v strikes node %d in %v", p.fault, p.node, p.phase)
	switch p.fault {
	case cut:
		w.cut(n, 100+w.rng.Int64N(500))
	case pause:
		if w.rng.IntN(2) == 0 {
			n = w.nodes[w.rng.IntN(len(w.nodes))]
		}
		n.pausedUntil = max(n.pausedUntil, w.now+20+w.rng.Int64N(500))
	case replay:
		w.replay()
	case kill:
		n.worker.kill(n.worker.victim())
	case crash:
		n.crashed, n.gone = true, true
		w.mayEnd("node %d has been silent", n.id)
		if w.now%2 == 1 {
			w.mourn(n)
		}
	case hush:
		w.hush(n)
	case forge:
		w.forge()
	case interrupt:
		w.mayEnd("interrupted")
		w.controller.Interrupt(&w.fx)
		w.obey()
	}
}

// mourn tells the controller of a crash before the silence does, as a connection does that breaks.
func (w *world) mourn(n *node) {
	reason := fmt.Sprintf("node %d died", n.id)
	w.mayEnd("%s", reason)
	w.after(1+w.now%300, w.nodes[0], func() {
		w.happened[deathTold] = true
		w.controller.Lost(n.id, reason, &w.fx)
		w.obey()
	})
}

// mayEnd allows the job to end for a reason that contains the sentence.
func (w *world) mayEnd(format string, args ...any) {
	w.faults.ends = append(w.faults.ends, fmt.Sprintf(format, args...))
}

// cut silences one direction between a node and another, mostly what it says to a lane.
func (w *world) cut(n *node, millis int64) {
	other := w.lanes[w.rng.IntN(len(w.lanes))].node
	if other == n || w.rng.IntN(4) == 0 {
		other = w.nodes[(int(n.id)+1+w.rng.IntN(len(w.nodes)-1))%len(w.nodes)]
	}
	if w.rng.IntN(4) == 0 {
		n, other = other, n
	}
	l := n.links[other.id]
	l.cutUntil = max(l.cutUntil, w.now+millis)
}

// hush makes a node unheard for longer than its lease: it stops, or only its words are lost.
func (w *world) hush(n *node) {
	until := w.now + leaseMillis + 2*beatEvery + w.rng.Int64N(800)
	n.gone = true
	w.mayEnd("node %d has been silent", n.id)
	if w.rng.IntN(2) == 0 {
		n.pausedUntil = until
		return
	}
	n.links[0].cutUntil = until
}

// stranger is a node that is not, or no longer, of the job.
const stranger = 99

// remember keeps a copy of some push and some done for nodes of the past to send again.
func (w *world) remember(e wire.Envelope) {
	keep := &w.faults.push
	if _, ok := e.Message.(*wire.Done); ok {
		if e.To != controllerAddress {
			return // its way goes on
		}
		keep = &w.faults.done
	}
	if keep.Message == nil || w.rng.IntN(3) == 0 {
		*keep = e
		keep.Message = parcel.Clone(e.Message)
	}
}

// replay gives a lane a push for the second time, or one that names an older generation.
func (w *world) replay() {
	e := w.faults.push
	if e.Message == nil {
		return
	}
	m := parcel.Clone(e.Message).(*wire.Push)
	e.Message = m
	if w.rng.IntN(2) == 0 {
		e.From.Node = stranger
		m.Flush.Client = stranger
		for i := range m.Chunks {
			m.Chunks[i].Generation--
		}
		for i := range m.Leases {
			m.Leases[i].Generation--
		}
	}
	w.forged(e)
}

// forge gives the controller a done for the second time, or one that names an older generation.
func (w *world) forge() {
	e := w.faults.done
	if e.Message == nil {
		return
	}
	m := parcel.Clone(e.Message).(*wire.Done)
	e.Message = m
	if !w.ledger.done[m.Flush] || w.rng.IntN(2) == 0 {
		if len(m.Pairs) == 0 {
			return
		}
		for i := range m.Pairs {
			m.Pairs[i].Generation--
		}
	}
	w.mayEnd("refused")
	w.forged(e)
}

func (w *world) forged(e wire.Envelope) {
	w.actors[e.To].put(letter{envelope: e, digest: parcel.Digest(e.Message), forged: true})
}

// answerForged checks what a node of the past is told.
func (w *world) answerForged(e wire.Envelope) {
	_, ok := e.Message.(*wire.Refused)
	w.happened[strangerRefused] = true
	if !ok {
		w.violated("P5: a push of an older generation is answered by %s", describe(e.Message))
	}
}
