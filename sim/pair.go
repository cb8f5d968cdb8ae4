package sim

import (
	"iter"

	"bellows/link/session"
	"bellows/link/wire"
	"bellows/sim/internal/coverage"
	"bellows/sim/internal/schedule"
)

// pair is one node's end of all its connections with another. Which of them a message takes, and what their ends mean, is decided by the code that
// production has (session.ConnectionOf, session.Pair). It is lost once: to the first connection that ends otherwise than in peace, or to the last that
// ends in peace; from then on told and reason are what a controller that follows is told again.
type pair struct {
	w         *world
	from, to  *node
	profile   schedule.LinkProfile // of all together
	links     []*link              // by number
	open      session.Pair
	muteUntil int64  // what is sent before is lost, over whichever
	told      bool   // the node knows that the other is lost
	reason    string // what it was told
	refused   bool   // this end has ended a connection for what came: it says no more
}

// connect joins every two nodes.
func (w *world) connect() {
	for _, a := range w.nodes {
		a.pairs = make([]*pair, len(w.nodes))
		for _, b := range w.nodes {
			if a == b {
				continue
			}
			p := &pair{w: w, from: a, to: b, profile: w.Links[a.id][b.id], open: session.NewPair(w.Connections)}
			for i := range w.Connections {
				p.links = append(p.links, &link{pair: p, number: i})
			}
			a.pairs[b.id] = p
		}
	}
	for _, a := range w.nodes {
		for l := range a.links() {
			l.back = l.to.pairs[a.id].links[l.number]
			l.begin()
		}
	}
}

// links are a node's ends of all its connections.
func (n *node) links() iter.Seq[*link] {
	return func(yield func(*link) bool) {
		for _, p := range n.pairs {
			for i := 0; p != nil && i < len(p.links); i++ {
				if !yield(p.links[i]) {
					return
				}
			}
		}
	}
}

// send posts a message.
func (p *pair) send(e wire.Envelope) {
	number := session.ConnectionOf(e, len(p.links))
	p.w.coverage.HitIf(coverage.SeveralConnections, number > 0)
	p.links[number].send(e)
}

// targets are the connections of a pair that a fault concerns: one, or all.
func (p *pair) targets() []*link {
	if len(p.links) > 1 && p.w.Rng.IntN(2) == 0 {
		return p.one()
	}
	return p.links
}

// one is any of a pair's connections.
func (p *pair) one() []*link {
	if len(p.links) == 1 {
		return p.links
	}
	i := p.w.Rng.IntN(len(p.links))
	return p.links[i : i+1]
}

// lost ends all connections of a pair, and tells the node why.
func (p *pair) lost(reason string) {
	for _, l := range p.links {
		l.die()
	}
	if !p.told {
		p.told, p.reason = true, reason
		p.from.disconnected(p.to, reason)
	}
}
