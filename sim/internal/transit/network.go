// Package transit models the connections between the nodes of the simulation, and the messages on their way.
//
// Make a Network for an attempt of a job and connect its nodes. A message sent over a Pair then arrives at the other
// node after a while (Node.Deliver), once and in order, until both nodes have learned that they have lost each other
// (Node.Disconnected). Connections break, fall silent and are made again, as the schedule draws and as a Pair is asked
// to. Production code, package session, decides which of these events end something. The package checks that a message
// arrives as the codec leaves it, and that damage is refused.
//
// The package refuses to know what messages mean, and how a job ends whose nodes have lost each other.
package transit

import (
	"bellows"
	"bellows/core/join"
	"bellows/core/liveness"
	"bellows/link/session"
	"bellows/link/wire"
	"bellows/sim/internal/coverage"
	"bellows/sim/internal/schedule"
	"bellows/sim/internal/virtual"
)

// Node is a node of the job, as its connections know it.
type Node interface {
	// ID is the node's number.
	ID() bellows.NodeID

	// Stopped reports whether it does not run now, or never again; Ended whether its process has ended, as its host can
	// tell; Vanished whether its host has, which no other node learns.
	Stopped() bool
	Ended() bool
	Vanished() bool

	// Judge returns the verdict of the node's checker on a frame of a peer.
	Judge(peer bellows.NodeID, h wire.Header, e wire.Envelope) error

	// Deliver takes a message of a peer that has arrived: as it was sent, and as it was received, a copy, which had the digest.
	Deliver(peer bellows.NodeID, sent, received wire.Envelope, digest uint64)

	// Return takes back a mark that has left.
	Return(wire.Envelope)

	// Disconnected takes note that the node has lost a peer, and why.
	Disconnected(peer bellows.NodeID, reason string)

	// Met takes note that the other end of a connection has spoken, for the first time or again.
	Met()

	// Followed takes note that another process is in the place of a peer, over the first connection.
	Followed(peer bellows.NodeID)

	// Doors returns the node's acceptor of nodes that join.
	Doors() *join.Newcomers

	// Arrived reports that the node is joined to all others, or why it is not.
	Arrived(error)
}

// Network is all connections of one attempt of a job.
type Network[N Node] struct {
	*schedule.Schedule
	*virtual.Queue[N]
	Times    liveness.Times
	Coverage *coverage.Coverage
	Violated func(format string, args ...any)
	Note     func(format string, args ...any)
	Fault    func(f schedule.Fault, nodes ...N) // a connection between these has misbehaved at random
	Joined   func(at, back *Pair[N])            // two nodes are joined from now on; the first has called the other
	Moved    func()                             // something has come about that others may have waited for

	sent map[wire.Message]uint64 // digests of messages under way between nodes; for look-ups only
}

// Connect joins every two nodes, and returns what each has of that: its end of all connections with each other node, nil at its own place.
func (w *Network[N]) Connect(nodes []N) [][]*Pair[N] {
	w.sent = map[wire.Message]uint64{}
	all := make([][]*Pair[N], len(nodes))
	for i := range nodes {
		all[i] = make([]*Pair[N], len(nodes))
	}
	for i, a := range nodes {
		for k, b := range nodes[:i] {
			all[i][k], all[k][i] = w.pair(a, b)
		}
	}
	for i := range all {
		for _, p := range all[i] {
			if p != nil {
				p.begin()
			}
		}
	}
	return all
}

// pair returns both ends of all connections between two nodes.
func (w *Network[N]) pair(a, b N) (at, back *Pair[N]) {
	at, back = w.end(a, b), w.end(b, a)
	for i, l := range at.links {
		l.back, back.links[i].back = back.links[i], l
	}
	return at, back
}

func (w *Network[N]) end(from, to N) *Pair[N] {
	p := &Pair[N]{w: w, from: from, to: to, process: uint64(from.ID()) + 1, profile: w.Links[from.ID()][to.ID()], open: session.NewPair(w.Connections)}
	for number := range w.Connections {
		l := &link[N]{Pair: p, number: number}
		w.prepare(l)
		p.links = append(p.links, l)
	}
	return p
}

// prepare makes an end's session ready, which is a new one.
func (w *Network[N]) prepare(l *link[N]) {
	l.end.Shorten(w.shortMost(l.from.ID(), l.to.ID()))
	l.end.SetRanks(w.Ranks)
	if l.to.ID() == 0 {
		l.end.Renews()
	}
}

// shortMost returns how many bytes a short message has, here and there another number, since the tables of schedules are small. Where messages pass through the codec none may be that could
// travel in parts.
func (w *Network[N]) shortMost(from, to bellows.NodeID) int {
	if w.Codec {
		return 1
	}
	return 1 + int(7*from+13*to)%5*80
}

// begin gives this end its connections.
func (p *Pair[N]) begin() {
	for _, l := range p.links {
		l.begin()
	}
}
