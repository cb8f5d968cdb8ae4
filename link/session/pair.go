package session

import (
	"bellows/core/planted"
	"bellows/link/wire"
)

// ConnectionOf is which of the connections of a pair of nodes an envelope takes, by number. What one actor says to another always takes the same,
// since some of it must not overtake the rest: with several, the first is for whatever the controller says or hears, and for all that is
// between other roles than a client and a lane; lanes share the others, by the number of the lane.
func ConnectionOf(e wire.Envelope, connections int) int {
	lane := e.To
	if e.From.Role == wire.Lane {
		lane = e.From
	}
	if connections == 1 || lane.Role != wire.Lane || e.From.Role == wire.Controller || e.To.Role == wire.Controller {
		return 0
	}
	if _, rows := e.Message.(*wire.Rows); rows && planted.On("rows-apart") {
		return 0
	}
	return 1 + int(lane.Index)%(connections-1)
}

// Pair is what the ends of the connections with another node mean, to this one. A connection that ends for good without a word is the end of
// all: what it has lost nobody says again. One that ends in peace, behind all that the other node had to say there, ends alone, since
// the last words of another may still be under way, those of the controller among them. The other node is lost once (TestAPairIsLostOnce).
type Pair struct {
	open int // connections that have not ended
	lost bool
}

// NewPair is a pair of nodes with so many connections.
func NewPair(connections int) Pair { return Pair{open: connections} }

// Ended notes that a connection has ended for good; in peace, if the other node has said that it says no more. It reports whether the other node is
// lost with it, now.
func (p *Pair) Ended(peace bool) (lost bool) {
	p.open--
	if p.lost || peace && p.open > 0 && !planted.On("first-bye-ends-all") {
		return false
	}
	p.lost = true
	return true
}
