package sim

import (
	"slices"

	"bellows"
	"bellows/core/client"
	"bellows/core/server"
	"bellows/link/wire"
	"bellows/sim/internal/fresh"
	"bellows/sim/internal/msgcopy"
	"bellows/sim/internal/schedule"
)

// An invader sends so many messages; clocks advance after every few.
const (
	invasion     = 300
	invasionTick = 50
)

// willInvade reports whether a node is to be taken over.
func (w *world) willInvade() bool {
	return slices.ContainsFunc(w.Schedule.Plans, func(p schedule.Plan) bool { return p.Fault == "invade" })
}

// victims is where the actors of a job that has been invaded put what they want. Nobody carries it out.
type victims struct {
	out wire.Outbox
	fx  client.Effects
}

// A job that has been invaded proves nothing else, so that the schedule ends there; but it ends anywhere, so that messages meet actors in every state that sound
// schedules bring about. That is what a fuzz target of one actor does not have.

// invade makes nodes send invalid messages, in any state of the job. A message that the checker of the receiver passes
// goes to the actor, which may take it, refuse it or report a protocol violation, and must not panic (P10). Other
// damage is not checked: the schedule ends there.
func (w *world) invade() {
	w.invaded = true
	if w.Only == "" {
		w.Only = "P10" // drivers continue to check what they receive
	}
	var to victims
	for i := range invasion {
		if h, e, ok := w.faults.hostile.Draw(w.Rng); ok {
			w.Event(4, uint64(h.Kind)<<32|uint64(h.To.Node), msgcopy.Digest(e.Message))
			w.assail(h, e, &to)
		}
		if i%invasionTick == 0 {
			w.timePasses(int64(i)*beatEvery, &to)
		}
	}
}

// assail gives a frame to its receiver.
func (w *world) assail(h wire.Header, e wire.Envelope, to *victims) {
	if int(h.To.Node) >= len(w.nodes) || w.nodes[h.To.Node].Done() || w.judges(w.nodes[h.To.Node], h.From.Node, h, e) != nil {
		return
	}
	batch := []wire.Envelope{e}
	n := w.nodes[h.To.Node]
	switch h.To.Role {
	case wire.Controller:
		w.lead.Step(batch, &w.fx)
		w.fx.Reset()
		return
	case wire.Client:
		n.worker.client.Deliver(e, &to.fx)
		w.notes(to.fx.Outbox.Envelopes)
		to.fx.Reset()
		return
	}
	l := n.lanes[slices.IndexFunc(n.lanes, func(l *lane) bool { return l.Address == h.To })]
	l.Step(batch, &to.out)
	w.notes(to.out.Envelopes)
	to.out = wire.Outbox{}
}

// judges returns the verdict of a node's checker on a frame. A refusal is a protocol violation of the sender.
func (w *world) judges(n *node, peer bellows.NodeID, h wire.Header, e wire.Envelope) error {
	err := fresh.Check(n.checker, peer, h, e)
	if err != nil {
		w.coverage.Hit("refused-by-a-checker")
		if bellows.KindOf(err) != bellows.Lost {
			w.Violated("P10: a breach of node %d is no reason to end its connection: %v", peer, err)
		}
	}
	return err
}

// notes takes note of breaches that actors name.
func (w *world) notes(out []wire.Envelope) {
	for _, e := range out {
		if m, ok := e.Message.(*wire.Complaint); ok && m.Breach {
			w.coverage.Hit("called-a-breach")
		}
	}
}

// timePasses tells all actors of a later time.
func (w *world) timePasses(millis int64, to *victims) {
	for _, n := range w.nodes {
		if n.Done() {
			continue
		}
		now := n.local() + millis
		if n.Number == 0 {
			w.lead.Controller.Tick(now, n.heard, &w.fx)
			w.fx.Reset()
		}
		if n.worker != nil {
			n.worker.client.Tick(now, &to.fx)
			to.fx.Reset()
		}
		for _, l := range n.lanes {
			l.Step([]wire.Envelope{{From: l.Address, To: l.Address, Message: &server.Tick{NowMillis: now, Heard: n.heard[0]}}}, &to.out)
		}
		to.out = wire.Outbox{}
	}
}
