// Package link carries frames between the machines of the laboratory, in virtual time, by bandwidth and latency.
//
// A machine has an uplink and a downlink, each with a rate of its own, so that it sends and receives at the same time. All
// connections of a machine share them. Two nodes have one connection in each direction. The code of
// production decides which message leaves next: link/session orders the messages by the classes of link/traffic, lets short messages pass
// long ones and others leave between the parts of a long message. Connections take turns on the uplink, by packets.
//
// A packet begins to arrive one latency after it begins to leave, and takes the downlink for its bytes, after those that came
// before. A connection has at most Window bytes under way: so a slow downlink stops its senders, and messages wait at the sender,
// where they are ordered. A Budget bounds the bytes that a node, or one machine to another, sends in a second.
//
// Make a Net, Send frames, and give Happen every Event when it is due. The package refuses to know what a frame means, and
// nothing on it is ever lost.
package link

import (
	"math"
	"slices"

	"bellows"
	"bellows/link/wire"
)

// Frame is what a connection carries.
type Frame interface {
	comparable
	// Envelope returns the message, which decides when the frame leaves. Data of no message leaves in the order of Send, on a
	// connection of its own.
	Envelope() (e wire.Envelope, some bool)
	// Parts returns the bytes of the parts that the frame travels in.
	Parts() []int
}

// PacketMost is the largest number of bytes that a connection has in one turn of its uplink, unless Config says another.
const PacketMost = 64 << 10

// Port is the link of a machine, in bytes a second; 0: unlimited.
type Port struct{ Up, Down float64 }

// Config describes the links of a site.
type Config struct {
	Ports   []Port // by machine
	Latency int64  // from one machine to another, in nanoseconds
	Window  int    // bytes of a connection that may be under way; 0: DefaultWindow
	Packet  int    // the largest number of bytes of a connection in one turn of its uplink; 0: PacketMost
	Pairs   []Pair // budgets between two machines
}

// Pair is the budget of what one machine sends to another.
type Pair struct {
	From, To int
	Budget
}

// DefaultWindow is about what a system keeps of a connection in its sockets.
const DefaultWindow = 1 << 20

// Event is something that is due in a Net.
type Event[F Frame] struct {
	what what
	port *port[F]
	p    packet[F]
	n    int
}

type what uint8

const (
	free    what = iota // the uplink is through with a packet, or a budget has room again
	atDown              // a packet begins to arrive
	arrived             // a packet is there
	credit              // the sender knows that n bytes of a connection are there
)

// packet is a piece of a frame's part.
type packet[F Frame] struct {
	c     *Conn[F]
	f     F
	bytes int
	ends  int64 // when its last byte begins to arrive
	last  bool  // the frame is whole with it
}

// port is a machine's link and the connections that wait for it.
type port[F Frame] struct {
	Port
	busy     bool
	wake     int64 // when a budget is looked at again; 0: nothing waits for one
	turns    []*Conn[F]
	downFree int64
}

// Net is the links of all machines.
type Net[F Frame] struct {
	cfg      Config
	now      func() int64
	schedule func(delay int64, e Event[F])
	arrives  func(F)
	ports    []*port[F]
	nodes    []*Budget
	machines []int // by node
	conns    map[ends]*Conn[F]
	flows    map[[2]bellows.NodeID]*Flow // from, to
}

// ends are the two nodes of a connection.
type ends struct {
	from, to bellows.NodeID
	data     bool
}

// New makes the links of a site. schedule asks for an event, and arrives takes a frame that is there.
func New[F Frame](cfg Config, now func() int64, schedule func(delay int64, e Event[F]), arrives func(F)) *Net[F] {
	if cfg.Window == 0 {
		cfg.Window = DefaultWindow
	}
	if cfg.Packet == 0 {
		cfg.Packet = PacketMost
	}
	cfg.Pairs = slices.Clone(cfg.Pairs)
	n := &Net[F]{cfg: cfg, now: now, schedule: schedule, arrives: arrives, conns: map[ends]*Conn[F]{},
		flows: map[[2]bellows.NodeID]*Flow{}}
	for _, p := range cfg.Ports {
		n.ports = append(n.ports, &port[F]{Port: p})
	}
	return n
}

// AddNode adds the next node, on a machine.
func (n *Net[F]) AddNode(machine int, budget Budget) {
	n.machines = append(n.machines, machine)
	n.nodes = append(n.nodes, &budget)
}

// Conn returns the connection from one node to another, on other machines. Data that is no message has one of its own.
func (n *Net[F]) Conn(from, to bellows.NodeID, data bool) *Conn[F] {
	k := ends{from, to, data}
	c := n.conns[k]
	if c == nil {
		c = &Conn[F]{up: n.ports[n.machines[from]], down: n.ports[n.machines[to]], budgets: []*Budget{n.nodes[from]}}
		for i := range n.cfg.Pairs {
			if p := &n.cfg.Pairs[i]; p.From == n.machines[from] && p.To == n.machines[to] {
				c.budgets = append(c.budgets, &p.Budget)
			}
		}
		c.budgets = slices.DeleteFunc(c.budgets, func(b *Budget) bool { return b.Rate == 0 })
		c.flow = n.Flow(from, to)
		n.conns[k] = c
	}
	return c
}

// Flow returns what one node has sent to another, over all its connections. Nodes of one machine have no link: the
// caller carries their frames, and tells the flow.
func (n *Net[F]) Flow(from, to bellows.NodeID) *Flow {
	k := [2]bellows.NodeID{from, to}
	if n.flows[k] == nil {
		n.flows[k] = &Flow{}
	}
	return n.flows[k]
}

// Send gives a frame to its connection.
func (n *Net[F]) Send(c *Conn[F], f F) {
	now, bytes := n.now(), 0
	for _, part := range f.Parts() {
		bytes += part
	}
	c.flow.Post(now, bytes)
	if c.up.Up == 0 && len(c.budgets) == 0 { // it waits for nothing here
		c.cuts.Wrote(bytes, 0)
		n.schedule(n.cfg.Latency, Event[F]{what: atDown, p: packet[F]{c: c, f: f, bytes: bytes, ends: now + n.cfg.Latency, last: true}})
		return
	}
	c.held += bytes
	c.post(f)
	if !c.waits {
		c.waits = true
		c.up.turns = append(c.up.turns, c)
	}
	n.next(c.up)
}

// Drop forgets what waits on the connections of a node, which is no more.
func (n *Net[F]) Drop(at bellows.NodeID) {
	for k, c := range n.conns {
		if k.from == at || k.to == at {
			c.drop(n.now())
		}
	}
}

// Happen carries out an event.
func (n *Net[F]) Happen(e Event[F]) {
	now := n.now()
	switch e.what {
	case free:
		if e.n > 0 { // a budget
			if e.port.wake == now {
				e.port.wake = 0
			}
		} else {
			e.port.busy = false
			e.p.c.measure(now)
		}
		n.next(e.port)
	case atDown:
		in := e.p.ends
		if d := e.p.c.down; d.Down > 0 {
			d.downFree = max(now, d.downFree) + through(e.p.bytes, d.Down)
			in = max(in, d.downFree)
		}
		if in == now {
			n.arrive(e.p)
			return
		}
		n.schedule(in-now, Event[F]{what: arrived, p: e.p})
	case arrived:
		n.arrive(e.p)
	case credit:
		c := e.p.c
		c.under -= e.n
		n.next(c.up)
	}
}

func (n *Net[F]) arrive(p packet[F]) {
	p.c.flow.Arrive(n.now(), p.bytes, n.cfg.Latency)
	if p.c.limited() {
		n.schedule(n.cfg.Latency, Event[F]{what: credit, p: packet[F]{c: p.c}, n: p.bytes})
	}
	if p.last {
		n.arrives(p.f)
	}
}

// next lets the next connection have its turn of an uplink, if one may.
func (n *Net[F]) next(p *port[F]) {
	now := n.now()
	for !p.busy && len(p.turns) > 0 {
		p.turns = slices.DeleteFunc(p.turns, (*Conn[F]).rests)
		soonest, at := int64(math.MaxInt64), -1
		for i, c := range p.turns {
			ready := c.ready(now, n.cfg.Window)
			if ready <= now {
				at = i
				break
			}
			soonest = min(soonest, ready)
		}
		if at < 0 {
			if soonest < math.MaxInt64 && (p.wake == 0 || soonest < p.wake) {
				p.wake = soonest
				n.schedule(soonest-now, Event[F]{what: free, port: p, n: 1})
			}
			return
		}
		c := p.turns[at]
		p.turns = append(p.turns[:at], p.turns[at+1:]...)
		n.leave(c, now)
		if c.waits = c.waiting(); c.waits {
			p.turns = append(p.turns, c)
		}
	}
}

// leave sends a connection's next packet.
func (n *Net[F]) leave(c *Conn[F], now int64) {
	p := c.take(now, n.cfg.Packet)
	c.held -= p.bytes
	took := int64(0)
	if c.up.Up > 0 {
		took = through(p.bytes, c.up.Up)
	}
	p.ends = now + took + n.cfg.Latency
	for _, b := range c.budgets {
		b.take(now, p.bytes)
	}
	if c.limited() {
		c.under += p.bytes
	}
	n.schedule(n.cfg.Latency, Event[F]{what: atDown, p: p})
	if took == 0 {
		c.measure(now)
		return
	}
	c.up.busy = true
	n.schedule(took, Event[F]{what: free, port: c.up, p: packet[F]{c: c}})
}

// through returns the nanoseconds that bytes take at a rate.
func through(bytes int, rate float64) int64 { return int64(math.Ceil(float64(bytes) * 1e9 / rate)) }
