package session

import (
	"bellows/core/planted"
	"bellows/link/wire"
)

// end says which end of a message chooses its connection, by its index.
type end uint8

const (
	neither  end = iota // it takes the first connection
	sender              // a lane, which shares the others with other lanes
	receiver            // as of a sender
)

// ways says how a message finds its connection, by the roles of its sender and its receiver. Messages of the
// controller take the
// first one, and so do those between two clients, which have no index. A message between two lanes takes that of its
// sender.
var ways = [wire.Controller + 1][wire.Controller + 1]end{
	wire.Client: {wire.Lane: receiver},
	wire.Lane:   {wire.Client: sender, wire.Lane: sender},
}

// ConnectionOf returns the number of the connection, of those of a pair of nodes, that an envelope takes. All that one
// actor sends
// to another takes the same one, since some of it must not overtake the rest. With several connections the first is
// for control;
// lanes share the others, by the number of the lane.
func ConnectionOf(e wire.Envelope, connections int) int {
	by := ways[e.From.Role][e.To.Role]
	if connections == 1 || by == neither {
		return 0
	}
	if _, rows := e.Message.(*wire.Rows); rows && planted.On("rows-apart") {
		return 0
	}
	lane := e.To
	if by == sender {
		lane = e.From
	}
	return 1 + int(lane.Index)%(connections-1)
}

// Pair tracks the ends of all connections with another node. A connection that ends for good without a goodbye ends
// them all, since what it lost will not be sent again. A connection that ends in peace, after everything that the other
// node had to send there, ends alone, since last messages on another may still be under way, those of the controller
// among them. The other node is lost once (TestAPairIsLostOnce).
type Pair struct {
	open int // connections that have not ended
	lost bool
}

// NewPair returns a pair of nodes with so many connections.
func NewPair(connections int) Pair { return Pair{open: connections} }

// Ended notes that a connection has ended for good; in peace, if the other node has said that it says no more. It
// reports whether the other node is
// lost with it, now.
func (p *Pair) Ended(peace bool) (lost bool) {
	p.open--
	if p.lost || peace && p.open > 0 && !planted.On("first-bye-ends-all") {
		return false
	}
	p.lost = true
	return true
}
