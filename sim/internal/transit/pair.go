package transit

import (
	"iter"
	"slices"

	"bellows"
	"bellows/link/session"
	"bellows/link/wire"
	"bellows/sim/internal/schedule"
)

// A Pair is one node's end of all its connections with another node. Production code (session.ConnectionOf,
// session.Pair) decides which connection a message takes, and what the end of a connection means. A peer is lost once:
// at the first connection that ends without a goodbye, or at the last that ends with one. told and reason keep this for
// a controller that follows.
type Pair[N Node] struct {
	MuteUntil int64 // what is sent before is lost, over every connection

	w        *Network[N]
	from, to N
	profile  schedule.LinkProfile // of all together
	links    []*link[N]           // by number
	open     session.Pair
	told     bool   // the node knows that the other is lost
	reason   string // of the loss, as the node knows it
	refused  bool   // this end has ended a connection for what came: it says no more
	process  uint64 // of this end: no other has the number
}

// Local returns the node whose end this is.
func (p *Pair[N]) Local() N { return p.from }

// Peer returns the other node.
func (p *Pair[N]) Peer() N { return p.to }

// Lost reports whether the node knows that the other is lost, and with which reason.
func (p *Pair[N]) Lost() (reason string, told bool) { return p.reason, p.told }

// Refused reports whether this end has ended a connection for what came.
func (p *Pair[N]) Refused() bool { return p.refused }

// Refuse ends the connections because of an invalid message that came over one of them.
func (p *Pair[N]) Refuse(e wire.Envelope) {
	l := p.links[session.ConnectionOf(e, len(p.links))]
	l.refused = true
	l.ends("a frame was refused", false)
}

// Met reports whether the other end's first frame has come over every connection, at some time.
func (p *Pair[N]) Met() bool {
	return !slices.ContainsFunc(p.links, func(l *link[N]) bool { return !l.heard })
}

// Answered reports whether the other end's first frame has come over the first connection, at some time.
func (p *Pair[N]) Answered() bool { return p.links[0].heard }

// Resumed reports whether it has come over each current connection: if not, all that was posted since waits for it.
func (p *Pair[N]) Resumed() bool {
	return !slices.ContainsFunc(p.links, func(l *link[N]) bool { return !l.resumed })
}

// Send posts a message, which has the digest.
func (p *Pair[N]) Send(e wire.Envelope, digest uint64) {
	p.w.sent[e.Message] = digest
	number := session.ConnectionOf(e, len(p.links))
	p.w.Coverage.HitIf("several-connections", number > 0)
	p.links[number].send(e)
}

// Tick passes time to the sessions.
func (p *Pair[N]) Tick() {
	for _, l := range p.links {
		l.end.Tick()
		l.pump()
	}
}

// Unused ends both ends of a pair that was never used and never will be.
func (p *Pair[N]) Unused() {
	for _, l := range p.links {
		l.dead, l.back.dead = true, true
	}
}

// Close ends this end with a goodbye, after all that was posted.
func (p *Pair[N]) Close() {
	for _, l := range p.links {
		l.close()
	}
}

// Drain closes the connections whose session is finished, and all if it is not to wait for the others. It reports
// whether some are still open.
func (p *Pair[N]) Drain(wait bool) (open bool) {
	for _, l := range p.links {
		switch {
		case l.dead:
		case l.end.Unsaid() && wait:
			open = true
		default:
			l.close()
		}
	}
	return open
}

// Die ends this end without a goodbye, like a process that ends. The system notifies the other end.
func (p *Pair[N]) Die() {
	for _, l := range p.links {
		l.die()
	}
}

// Stands reports whether all connections are up, as far as this end knows.
func (p *Pair[N]) Stands() bool {
	return !slices.ContainsFunc(p.links, func(l *link[N]) bool { return !l.up })
}

// Reborn replaces the process at this end: all connections break, and the sessions at this end are forgotten. Frames
// that had been written usually arrive, because the system has them; all others on their way are lost.
func (p *Pair[N]) Reborn() {
	p.process += reborn
	for _, l := range p.links {
		if l.dead {
			continue
		}
		for whole := p.w.Rng.IntN(4) > 0; whole && len(l.pipe) > 0; {
			l.arrive()
		}
		l.breaks("connection reset by peer")
		l.end = session.End{}
		p.w.prepare(l)
	}
}

// reborn is the distance between the numbers of two consecutive processes of a node.
const reborn = 1 << 16

// Silence drops what is sent before some time, over one connection or all.
func (p *Pair[N]) Silence(until int64) {
	for _, l := range p.targets() {
		l.muteUntil = max(l.muteUntil, until)
	}
}

// Reset breaks one connection, or all, with everything on its way; sever: for good.
func (p *Pair[N]) Reset(sever bool) {
	for _, l := range p.targets() {
		if sever {
			l.parted, l.back.parted = true, true
		}
		l.breaks("connection reset by peer")
	}
}

// Garble damages the next frame of a connection.
func (p *Pair[N]) Garble() { p.one()[0].garble = true }

// targets returns the connections that a fault concerns: one, or all.
func (p *Pair[N]) targets() []*link[N] {
	if len(p.links) > 1 && p.w.Rng.IntN(2) == 0 {
		return p.one()
	}
	return p.links
}

// one returns any of the connections.
func (p *Pair[N]) one() []*link[N] {
	if len(p.links) == 1 {
		return p.links
	}
	i := p.w.Rng.IntN(len(p.links))
	return p.links[i : i+1]
}

// lost ends all connections, and reports the reason to the node.
func (p *Pair[N]) lost(reason string) {
	p.Die()
	if !p.told {
		p.told, p.reason = true, reason
		p.from.Disconnected(p.to.ID(), reason)
	}
}

// Pairs holds a node's ends of its connections with the others, by their numbers.
type Pairs[N Node] []*Pair[N]

// Find returns the node's end of its connections with a peer, or nil if it has none.
func (p Pairs[N]) Find(peer bellows.NodeID) *Pair[N] {
	if int(peer) >= len(p) {
		return nil
	}
	return p[peer]
}

// Each returns the ends that exist.
func (p Pairs[N]) Each() iter.Seq[*Pair[N]] {
	return func(yield func(*Pair[N]) bool) {
		for _, one := range p {
			if one != nil && !yield(one) {
				return
			}
		}
	}
}
