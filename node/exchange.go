package node

import (
	"fmt"

	"bellows"
	"bellows/link/transport"
	"bellows/link/wire"
)

// Actor is a state machine at an address: Step takes messages in the order in which they arrived and appends the
// answers to out. It is never stepped twice at a time.
type Actor struct {
	Address wire.Address
	Step    func(batch []wire.Envelope, out *wire.Outbox)
}

// Exchange carries messages between actors of this node and those of others as a job does, without a job: by the same
// queues, goroutines and connections. It is for those who measure what a message costs.
//
// Make it with NewExchange, Send from any goroutine, and Close it.
type Exchange struct {
	bus  *bus
	mesh *mesh
}

// NewExchange starts to carry messages. conns are by node, nil for the node itself; of each role, the actor with index 0
// comes first. lost is told, once for each node, that its connection has ended before Close.
func NewExchange(self bellows.NodeID, conns []transport.Conn, lost func(bellows.NodeID, error), actors ...Actor) *Exchange {
	m := newMesh(conns)
	b := newBus(self, m.post, m.ship)
	for _, a := range actors {
		b.add(a.Address, a.Step)
	}
	m.start(b, hosts{b}, nil, nil, lost)
	return &Exchange{b, m}
}

// hosts admits what is for an actor that is here, from whom it came from. Without a job there is no more to hold it against.
type hosts struct{ bus *bus }

func (o hosts) Header(peer bellows.NodeID, h wire.Header) error {
	a := h.To
	if h.From.Node != peer || a.Node != o.bus.self || int(a.Role) >= len(o.bus.actors) || int(a.Index) >= len(o.bus.actors[a.Role]) {
		return fmt.Errorf("%v came from node %d", h, peer)
	}
	return nil
}

func (o hosts) Message(wire.Header, wire.Envelope) error { return nil }

// Compute tells of goroutines that compute without a pause beside the exchange, as tasks do in a job's slots.
func (x *Exchange) Compute(goroutines int) { places(goroutines) }

// Send sends one message and runs actors of this node until none has mail.
func (x *Exchange) Send(from, to wire.Address, m wire.Message) { x.bus.send(from, to, m) }

// Close sends what is queued and ends the connections.
func (x *Exchange) Close() {
	x.mesh.close()
	x.bus.close()
}
