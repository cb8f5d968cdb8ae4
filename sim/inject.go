package sim

import (
	"fmt"
	"slices"

	"bellows"
	"bellows/link/wire"
	"bellows/sim/internal/account"
	"bellows/sim/internal/hostile"
	"bellows/sim/internal/msgcopy"
	"bellows/sim/internal/schedule"
)

// peer is another node that a node works with: mostly one that has a lane for it.
func (w *world) peer(n *node) *node {
	other := w.lanes[w.Rng.IntN(len(w.lanes))].node
	if other == n || w.Rng.IntN(4) == 0 {
		other = w.nodes[(int(n.id)+1+w.Rng.IntN(len(w.nodes)-1))%len(w.nodes)]
	}
	for n.pairs.To(other.id) == nil || other.guest != nil && !other.hosts() { // a guest that is on its way has its own fate
		other = w.nodes[(int(other.id)+1)%len(w.nodes)]
	}
	return other
}

// direction is all connections between a node and another, one way: mostly what it says.
func (w *world) direction(n *node) *pair {
	other := w.peer(n)
	if w.Rng.IntN(4) == 0 {
		n, other = other, n
	}
	return n.pairs[other.id]
}

// cut silences one direction for a while, of one connection or of all.
func (w *world) cut(n *node, millis int64) {
	w.direction(n).Silence(w.Now + millis)
}

// halfOpen silences one direction from now on: whoever speaks into it learns nothing.
func (w *world) halfOpen(n *node) {
	p := w.direction(n)
	p.Silence(int64(schedule.Never))
	w.faults.ends.May("has said nothing for") // where there are other connections, and a node stops before it finds out
	w.mayPart(p.From(), p.To())
}

// muteToLeader keeps node 0 from hearing a node for longer than a lease.
func (w *world) muteToLeader(n *node) {
	for n.id == 0 || !n.hosts() {
		n = w.nodes[1+w.Rng.IntN(len(w.nodes)-1)]
	}
	n.pairs[0].MuteUntil = w.Now + schedule.LeaseMillis + 2*beatEvery + w.Rng.Int64N(800)
	w.mayLose(n)
	w.judge(n, n.pairs[0].MuteUntil)
}

// reset breaks one connection between two nodes, or all, with all that is under way; for good, if it is severed.
func (w *world) reset(f schedule.Fault, n *node) {
	p := n.pairs[w.peer(n).id]
	if f == "sever" {
		w.mayPart(p.From(), p.To())
	}
	p.Reset(f == "sever")
}

// garble damages the next frame of a stream, or has its sender say what cannot be: the receiver refuses it and ends the connection.
func (w *world) garble(n *node) {
	p := w.direction(n)
	p.Garble()
	w.mayPart(p.From(), p.To())
}

// halt stops a node: for a while that nobody may mind, for too long, or for good.
func (w *world) halt(f schedule.Fault, n *node) {
	w.coverage.HitAt(string(f), n.party())
	w.Note("%v of node %d", f, n.id)
	switch {
	case f == "pause" && n.id == 0:
		w.sleep(n, 20+w.Rng.Int64N(times.Leader-800)) // the others wait for node 0 longer than it for them
	case f == "pause":
		if !n.pairs.To(0).Stands() { // it has been silent already, as long as it could not connect to a new process of node 0
			w.mayLose(n)
		}
		w.sleep(n, 20+w.Rng.Int64N(schedule.LeaseMillis-600))
	case f == "stop" && n.id == 0:
		w.mayLose(n)
		w.sleep(n, times.Leader+2*beatEvery+w.Rng.Int64N(4000))
	case f == "stop":
		w.mayLose(n)
		w.sleep(n, schedule.LeaseMillis+2*beatEvery+w.Rng.Int64N(3000))
		w.judge(n, n.pausedUntil)
	default:
		w.crash(n)
	}
}

// sleep stops a node for a while. Stops that follow each other are no longer than one.
func (w *world) sleep(n *node, millis int64) {
	if n.pausedUntil == 0 || n.gone {
		n.quietSince, n.pausedUntil = w.Now, max(n.pausedUntil, w.Now+millis)
	}
}

// starts keeps node 0 silent while another process takes its place: no longer than the others wait for it, with a stop before that has ended just now, and of which nobody has heard.
func (w *world) starts(n *node, millis int64) {
	if w.Now > n.pausedUntil+5*beatEvery {
		n.quietSince = w.Now
	}
	n.pausedUntil = max(w.Now, min(w.Now+millis, n.quietSince+times.Leader-800))
}

// crash ends a node. If only its process dies, the system closes its connections, and whoever started it hears of it.
func (w *world) crash(n *node) {
	w.mayLose(n)
	n.vanished = w.Rng.IntN(2) == 0
	if !n.vanished {
		for p := range n.pairs.All() {
			p.Die()
		}
	}
	n.crashed = true
	w.judge(n, int64(schedule.Never))
	if !n.vanished && n.id != 0 && w.Rng.IntN(2) == 0 {
		w.reportDeath(n)
	}
}

// judge lets node 0 be watched, since a fault that nobody notices is as bad as one that breaks something: when another node has been silent for a lease, until some time at least, and was alive
// to it before, the job must be on its way to an end (P8).
func (w *world) judge(n *node, until int64) {
	if n.id != 0 && w.begun && w.Now >= beatEvery && (n.guest == nil || n.hosts()) {
		w.judgeAt(w.Now+silenceMax, n, until)
	}
}

// judgeAt looks at a node that has been silent then. Who has followed another controller since has granted it another lease.
func (w *world) judgeAt(by int64, n *node, until int64) {
	if until < by {
		return
	}
	w.After(by-w.Now, w.nodes[0], func() {
		since := w.followedAt
		if w.lead.Recovering() { // nobody is judged while a lane that can be heard owes its word, which has a deadline of its own (seed 26441)
			since = w.Now
		}
		if since > by-silenceMax {
			w.judgeAt(since+silenceMax, n, until)
			return
		}
		awake := w.nodes[0].pausedUntil < by-silenceMax
		if awake && !n.departed && !n.buried && w.outcome == nil && (!w.ending || w.lead.Collecting() && w.lead.State.Owes(n.id)) {
			w.Violated("P8: node %d has been silent for %d ms, and nothing has followed", n.id, silenceMax)
		}
	})
}

// silenceMax is when the silence of a node must have had its consequence: after a lease by the slowest clock, two ticks, and what was under way when it fell silent.
const silenceMax = (schedule.LeaseMillis+2*beatEvery)*(1000+2*schedule.DriftMax)/1000 + 2*schedule.LateMax

// term is that of the controller; the one before it is a controller that another has followed. A life begins with the second, so that there is one of the past
// in whose name something can be said, though it was never played.
const term = 2

// sendOldTerm gives a client or a lane, which has heard the controller, a word of the one before it: that the job is over, or a task, or that a node is gone. It reports whether there is any.
func (w *world) sendOldTerm() bool {
	var to []wire.Address
	for _, k := range w.workers {
		if k.begun && k.client.Ended() == nil && !k.node.done() {
			to = append(to, wire.ClientAt(k.node.id))
		}
	}
	for _, l := range w.lanes {
		if l.Applied() > 0 && !l.told && !l.node.done() {
			to = append(to, l.address)
		}
	}
	if len(to) == 0 {
		return false
	}
	w.coverage.Hit("earlier-term")
	at, gone := to[w.Rng.IntN(len(to))], func() bellows.NodeID { return w.ClientAt[w.Rng.IntN(len(w.ClientAt))].Node }
	e := wire.Envelope{From: wire.ControllerAt(), To: at, Era: w.era(), Message: hostile.OldTerm(w.Rng, at, term-1, gone, w.common.Route, w.Job.Items)}
	w.forged(e)
	return true
}

// replay gives a lane a push for the second time, or one that names another generation; or a client a lane's word that it holds a part.
func (w *world) replay() {
	if w.life > 0 && w.Rng.IntN(2) == 0 {
		w.replayPastLife()
		return
	}
	if e, ok := w.faults.memory.Vote(); ok && w.Rng.IntN(3) == 0 {
		w.forged(e)
		return
	}
	if w.Rng.IntN(3) == 0 && w.sendOldTerm() {
		return
	}
	e, ok := w.faults.memory.Push()
	if !ok {
		return
	}
	if w.Rng.IntN(2) == 0 {
		hostile.OfStranger(&e, w.otherGeneration(), w.Rng)
		w.forged(e)
		return
	}
	// In a step of its own, so that what the ledger says still holds. A lane that has asked for the part again would take the
	// copy in its place, and the client's memory, free with the commit, would still be on its way.
	a := w.actor(e.To)
	w.After(0, a.node, func() {
		if w.ledger.Expects(account.PartAt{Lane: e.To, Flush: e.Message.(*wire.Push).Flush}) {
			return
		}
		w.coverage.Hit("push-again")
		a.step([]wire.Envelope{e})
	})
}

// replayPastLife sends something of the life before: a push of its era, or of a process that is no more, whose number is that of a push to come; or the word that one is done, or held.
func (w *world) replayPastLife() {
	past := &w.faults.past
	if e, ok := past.Done(); ok && w.Rng.IntN(3) == 0 {
		w.forged(e)
	}
	if e, ok := past.Vote(); ok && w.Rng.IntN(3) == 0 && w.actor(e.To) != nil {
		w.forged(e)
	}
	if e, ok := past.PastLife(w.common.Route); ok && slices.Contains(w.ClientAt, e.From) {
		w.coverage.Hit("push-of-the-life-before")
		w.coverage.HitAt("fault", "messages")
		if w.Rng.IntN(2) == 0 {
			e.Era = w.era()
		}
		w.forged(e)
	}
}

// otherGeneration is how far a forged generation is from the one that there is: mostly older.
func (w *world) otherGeneration() bellows.Generation {
	if w.Rng.IntN(3) == 0 {
		w.coverage.Hit("newer-generation")
		return 1
	}
	older := bellows.Generation(0)
	return older - 1
}

// forgeState gives the controller a piece of the state that no sound lane sends, in the name of one that it waits for: that lane is lost to the job.
func (w *world) forgeState() {
	open := w.lead.State.Open()
	from := open[w.Rng.IntN(len(open))]
	l := w.lanes[slices.IndexFunc(w.lanes, func(l *lane) bool { return l.address == from })]
	l.lied = true
	owned := slices.Collect(w.owned(l))
	ref := owned[w.Rng.IntN(len(owned))]
	said := hostile.State(w.Rng, ref, w.Job.Word(0), w.common.Route.Cut(ref.Table).Most())
	w.faults.ends.May(hostile.NoState)
	w.faults.ends.May("%v sent ", from)
	w.faults.ends.May("%v ended before it had sent all of ", from)
	w.mayLose(w.nodes[from.Node])
	w.forged(wire.Envelope{From: from, To: wire.ControllerAt(), Message: said, Era: w.era()})
}

// forge gives the controller a done for the second time, or one that names another generation.
func (w *world) forge() {
	if w.lead.Collecting() {
		w.forgeState()
		return
	}
	e, ok := w.faults.memory.Done()
	if !ok {
		return
	}
	m := e.Message.(*wire.Done)
	switch {
	case w.oracle.Counts(m.Flush) && w.Chances.IntN(2) == 0: // its units again, in a flush that there is not
		m.Flush.Seq += 1 << 32
	case !w.ledger.Done[m.Flush] || w.Rng.IntN(2) == 0:
		if len(m.Pairs) == 0 {
			return
		}
		by := w.otherGeneration()
		for i := range m.Pairs {
			m.Pairs[i].Generation += by
		}
	}
	w.faults.ends.May("refused")
	w.forged(e)
}

func (w *world) forged(e wire.Envelope) {
	if h := (wire.Header{Era: e.Era}); e.Era != w.era() && h.In(w.era()) { // a node asks before its actors do
		w.Violated("P11: node %d takes a frame of era %d in era %d", e.To.Node, e.Era, w.era())
	}
	w.actor(e.To).put(letter{envelope: e, digest: msgcopy.Digest(e.Message), forged: true})
}

// answerForged checks what a node of the past is told.
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
			w.faults.ends.May("%s", found)
		}
	}
	return lost
}

// checkLoss takes note of jobs that have ended for a message that was lost, or for a node that was never ready.
func (w *world) checkLoss() {
	w.coverage.HitIf("never-ready", w.outcome != nil && w.ended(fmt.Sprintf("node %d has not been ready after", w.Unready)))
	w.coverage.HitIf("loss-found", w.outcome != nil && w.Loss.Ended(w.outcome.Reason))
}
