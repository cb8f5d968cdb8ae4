package sim

import (
	"slices"

	"bellows"
	"bellows/link/wire"
	"bellows/sim/internal/hostile"
	"bellows/sim/internal/msgcopy"
	"bellows/sim/internal/schedule"
)

// peer returns another node that a node works with: mostly one that has a lane for it.
func (w *world) peer(n *node) *node {
	other := w.lanes[w.Rng.IntN(len(w.lanes))].node
	if other == n || w.Rng.IntN(4) == 0 {
		other = w.nodes[(int(n.Number)+1+w.Rng.IntN(len(w.nodes)-1))%len(w.nodes)]
	}
	// a node that is joining has faults that are planned for it
	for n.pairs.Find(other.Number) == nil || other.Joiner != nil && !other.hosts() {
		other = w.nodes[(int(other.Number)+1)%len(w.nodes)]
	}
	return other
}

// direction returns all connections between a node and another, one way: mostly what it says.
func (w *world) direction(n *node) *pair {
	other := w.peer(n)
	if w.Rng.IntN(4) == 0 {
		n, other = other, n
	}
	return n.pairs[other.Number]
}

// cut silences one direction for a while, of one connection or of all.
func (w *world) cut(n *node, millis int64) {
	w.direction(n).Silence(w.Now + millis)
}

// halfOpen silences one direction from now on: the sender learns nothing.
func (w *world) halfOpen(n *node) {
	p := w.direction(n)
	p.Silence(int64(schedule.Never))
	w.faults.ends.Expect("has said nothing for") // where there are other connections, and a node stops before it finds out
	w.mayPart(p.Local(), p.Peer())
}

// muteToLeader keeps node 0 from hearing a node for longer than a lease.
func (w *world) muteToLeader(n *node) {
	for n.Number == 0 || !n.hosts() {
		n = w.nodes[1+w.Rng.IntN(len(w.nodes)-1)]
	}
	n.pairs[0].MuteUntil = w.Now + schedule.LeaseMillis + 2*beatEvery + w.Rng.Int64N(800)
	w.mayLose(n)
	w.judge(n, n.pairs[0].MuteUntil)
}

// reset breaks one connection between two nodes, or all, with all that is under way; for good, if it is severed.
func (w *world) reset(f schedule.Fault, n *node) {
	p := n.pairs[w.peer(n).Number]
	if f == "sever" {
		w.mayPart(p.Local(), p.Peer())
	}
	p.Reset(f == "sever")
}

// garble damages the next frame of a stream, or has its sender say what cannot be: the receiver refuses it and ends the connection.
func (w *world) garble(n *node) {
	p := w.direction(n)
	p.Garble()
	w.mayPart(p.Local(), p.Peer())
}

// halt stops a node: for a while that must not matter, for too long, or for good.
func (w *world) halt(f schedule.Fault, n *node) {
	w.coverage.HitAt(string(f), n.party())
	w.Note("%v of node %d", f, n.Number)
	switch {
	case f == "pause" && n.Number == 0:
		w.sleep(n, 20+w.Rng.Int64N(times.Leader-800)) // the others wait for node 0 longer than it for them
	case f == "pause":
		if !n.pairs.Find(0).Stands() { // it has been silent already, as long as it could not connect to a new process of node 0
			w.mayLose(n)
		}
		w.sleep(n, 20+w.Rng.Int64N(schedule.LeaseMillis-600))
	case f == "stop" && n.Number == 0:
		w.mayLose(n)
		w.sleep(n, times.Leader+2*beatEvery+w.Rng.Int64N(4000))
	case f == "stop":
		w.mayLose(n)
		w.sleep(n, schedule.LeaseMillis+2*beatEvery+w.Rng.Int64N(3000))
		w.judge(n, n.PausedUntil)
	default:
		w.crash(n)
	}
}

// sleep stops a node for a while. Stops that follow each other are no longer than one.
func (w *world) sleep(n *node, millis int64) {
	if n.PausedUntil == 0 || n.Gone {
		n.quietSince, n.PausedUntil = w.Now, max(n.PausedUntil, w.Now+millis)
	}
}

// starts keeps node 0 silent while another process takes its place: no longer than the others wait for it, counted
// together with a stop that has just ended and that no node has noticed.
func (w *world) starts(n *node, millis int64) {
	if w.Now > n.PausedUntil+5*beatEvery {
		n.quietSince = w.Now
	}
	n.PausedUntil = max(w.Now, min(w.Now+millis, n.quietSince+times.Leader-800))
}

// crash ends a node. If only its process dies, the system closes its connections, and the process that started it
// learns of it.
func (w *world) crash(n *node) {
	w.mayLose(n)
	n.HostGone = w.Rng.IntN(2) == 0
	if !n.HostGone {
		for p := range n.pairs.Each() {
			p.Die()
		}
	}
	n.Crashed = true
	w.judge(n, int64(schedule.Never))
	if !n.HostGone && n.Number != 0 && w.Rng.IntN(2) == 0 {
		w.reportDeath(n)
	}
}

// judge plans a check of node 0, because an unnoticed fault is as bad as a broken invariant: if another node has been
// silent for a lease, at least until some time, and was heard before, the job must be about to end (P8).
func (w *world) judge(n *node, until int64) {
	if n.Number != 0 && w.job.Begun && w.Now >= beatEvery && (n.Joiner == nil || n.hosts()) {
		w.judgeAt(w.Now+silenceMax, n, until)
	}
}

// judgeAt checks a node that has been silent until then. A new controller grants another lease when it follows.
func (w *world) judgeAt(by int64, n *node, until int64) {
	if until < by {
		return
	}
	w.After(by-w.Now, w.nodes[0], func() {
		since := w.followedAt
		// no check while a lane that can be heard owes an answer, which has another deadline (seed 26441)
		if w.lead.Recovering() {
			since = w.Now
		}
		if since > by-silenceMax {
			w.judgeAt(since+silenceMax, n, until)
			return
		}
		awake := w.nodes[0].PausedUntil < by-silenceMax
		if awake && !n.Departed && !n.Buried && w.job.Outcome == nil && (!w.job.Ending || w.lead.Collecting() && w.lead.State.Owes(n.Number)) {
			w.Violated("P8: node %d has been silent for %d ms, and nothing has followed", n.Number, silenceMax)
		}
	})
}

// silenceMax is when the silence of a node must have had its consequence: after a lease by the slowest clock, two ticks, and what was under way when it fell silent.
const silenceMax = (schedule.LeaseMillis+2*beatEvery)*(1000+2*schedule.DriftMax)/1000 + 2*schedule.LateMax

// forger makes what sends messages in the name of others.
func (w *world) forger() *hostile.Forger {
	return &hostile.Forger{Coverage: w.coverage, Past: &w.faults.memory, Earlier: &w.faults.past, Rng: w.Rng, Chances: w.Chances, Era: w.era(),
		Route: w.common.Route, Items: w.Job.Items, Clients: w.ClientAt, Ends: &w.faults.ends, Send: w.forged,
		Push: func(e wire.Envelope, again func() bool) {
			a := w.actor(e.To)
			w.After(0, a.Node, func() {
				if again() {
					a.Step([]wire.Envelope{e})
				}
			})
		},
		Job: hostile.View{Heard: w.heard, Counts: w.oracle.Counts, Expects: w.ledger.Expected,
			There: func(a wire.Address) bool { return w.actor(a) != nil },
			Done:  func(id bellows.FlushID) bool { return w.ledger.Done[id] }}}
}

// heard returns the clients and lanes that have heard the controller, and wait for more.
func (w *world) heard() (to []wire.Address) {
	for _, k := range w.workers {
		if k.node.Begun && k.client.Ended() == nil && !k.node.Done() {
			to = append(to, wire.ClientAt(k.node.Number))
		}
	}
	for _, l := range w.lanes {
		if l.Applied() > 0 && !l.Told && !l.node.Done() {
			to = append(to, l.Address)
		}
	}
	return to
}

// forge gives the controller a forged done, or a piece of the state in the name of a lane that it waits for.
func (w *world) forge() {
	if !w.lead.Collecting() {
		w.faults.forger.ForgeDone()
		return
	}
	open := w.lead.State.Open()
	l := w.known.Lookup(open[w.Rng.IntN(len(open))])
	l.Lied = true
	w.mayLose(w.nodes[l.Address.Node])
	w.faults.forger.ForgeState(l.Address, slices.Collect(w.images.Owned(l)), w.Job.Word(0))
}

// forged leaves a forged message with its receiver.
func (w *world) forged(e wire.Envelope) {
	if h := (wire.Header{Era: e.Era}); e.Era != w.era() && h.IsOfEra(w.era()) { // a node asks before its actors do
		w.Violated("P11: node %d takes a frame of era %d in era %d", e.To.Node, e.Era, w.era())
	}
	w.actor(e.To).Put(letter{Envelope: e, Digest: msgcopy.Digest(e.Message), Forged: true})
}

// answerForged checks the answer to a node of the past.
func (w *world) answerForged(e wire.Envelope) {
	w.coverage.Hit("stranger-refused")
	switch e.Message.(type) {
	case *wire.Refused, *wire.Stale:
	default:
		w.Violated("P5: a push of another generation is answered by %s", msgcopy.Describe(e.Message))
	}
}

// loses reports whether a message that an actor posts is lost.
func (w *world) loses(e wire.Envelope) bool {
	lost, first := w.Loss.Loses(e)
	if first {
		w.Note("%T from %v to %v is lost", e.Message, e.From, e.To)
		w.coverage.Hit("message-lost")
		for _, found := range schedule.LossFound {
			w.faults.ends.Expect("%s", found)
		}
	}
	return lost
}
