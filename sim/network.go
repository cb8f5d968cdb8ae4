package sim

import (
	"bellows"
	"bellows/link/wire"
	"bellows/sim/internal/fresh"
	"bellows/sim/internal/transit"
)

// pair is one node's end of all its connections with another.
type pair = transit.Pair[*node]

// connect joins every two nodes.
func (w *world) connect() {
	w.net = &transit.Network[*node]{Schedule: w.Schedule, Queue: &w.Queue, Times: times, Coverage: w.coverage, Violated: w.Violated, Note: w.Note, Fault: w.countFault, Joined: w.joins, Moved: w.moved}
	for i, pairs := range w.net.Connect(w.nodes) {
		w.nodes[i].pairs = pairs
	}
}

// The following methods are the connections' view of a node (transit.Node).

func (n *node) Stopped() bool  { return n.stopped() }
func (n *node) Ended() bool    { return n.Crashed && !n.HostGone || n.Left }
func (n *node) Vanished() bool { return n.HostGone }

func (n *node) Judge(peer bellows.NodeID, h wire.Header, e wire.Envelope) error {
	return n.w.judges(n, peer, h, e)
}

// Deliver gives a message that has arrived to its actor, as it was received.
func (n *node) Deliver(peer bellows.NodeID, sent, received wire.Envelope, digest uint64) {
	n.heard[peer]++
	if peer == 0 {
		n.heardMillis = n.local()
		for _, at := range n.lanes {
			at.Deaf = false
		}
	}
	h := wire.Header{Kind: sent.Kind(), From: sent.From, To: sent.To}
	err := fresh.Check(n.checker, peer, h, sent)
	if err != nil && n.w.failover.Forked {
		n.w.Note("node %d refuses what node %d says of another route: %v", n.Number, peer, err)
		n.w.mayPart(n, n.w.nodes[peer])
		n.pairs.Find(peer).Refuse(sent)
		return
	}
	if err != nil {
		n.w.Violated("the checker refuses what a node sends: %v", err)
	}
	n.w.Must(n.w.failover.Fresh.Judge(peer, h, sent))
	if a := n.w.actor(sent.To); a != nil && received.Message != nil {
		a.Put(letter{Envelope: received, Digest: digest})
	}
}

// Return gives a mark back to its sender.
func (n *node) Return(e wire.Envelope) {
	n.w.actor(e.From).Put(letter{Envelope: wire.Envelope{From: e.To, To: e.From, Message: e.Message}})
}
