package fabric

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"

	"bellows"
	"bellows/core/liveness"
	"bellows/core/tally"
	"bellows/link/session"
	"bellows/link/transport"
	"bellows/link/wire"
	"bellows/vec"
)

// Mesh is the connections of this node to the others, one or several to each: then the first is for control, and each lane
// has its own of the others or shares one (docs/5-wire.md says why no order is lost). Each connection is a peer, with two
// goroutines: a reader, which also runs the actors that its frames are for and makes the connection again when it breaks,
// and a writer. What is posted for a peer waits there until somebody ships: then it is encoded and written, many frames in
// one write, by whoever ships as far as the system takes it without waiting, and else by the writer. So nobody who
// computes waits for a socket, and no reader for a writer: two nodes with full sockets cannot block each other.
//
// Behind each connection is a session (package session), which survives it: nothing that was posted is lost by a break, or
// comes twice. Only when it takes too long to connect again, or this side will not, is the other node lost.
//
// States: made, with connections over which nothing is read yet; started; closing, from Close on, when nothing more can
// be posted and what was is still written; closed, when both goroutines of every peer have ended. One that is not
// started is ended by HangUp.
//
// Invariants:
//   - What is posted for an actor elsewhere arrives there once, behind what the same actor posted for it before
//     (TestAnExchangeKeepsOrderAndLosesNothing; over connections that break, TestACutIsMended of package node).
//   - A peer with something to say is in dirty, or somebody has its writing, or it is down: post and ship leave it in
//     one of these, so that no message waits for the next (TestAPeerIsShippedOnceHoweverMuchIsPosted).
//   - Lost is told once of a node, when all its connections are closed (TestTheOthersOfAPairAreClosedFirst), and not of one
//     that this side has taken leave of.
//   - A frame that has come is judged before anything acts on it; one that fails ends the job, by name
//     (TestABreachEndsTheJobByName of package node).
//
// Locks: mu guards the list of dirty peers and what is open of each pair, and is held for a few instructions, with no
// lock inside. What belongs to one peer is behind its own.
//
// Turned down:
//   - Writing by the writer alone: each answer woke a goroutine on another thread, and a round trip of 1 KiB cost half as
//     much again in processor time. And by readers that wait: two with full sockets would wait for each other for ever.
//   - A wake of the writer that waits for more to write, by a timer or a yield: it trades latency for fewer writes, and
//     the scheduler decides how much.
//   - A connection for control in every pair: two readers for each, and no faster. What the controller says overtakes the
//     rest within the one instead.
type Mesh struct {
	bus     *Bus
	checker Admission
	links   *Links // nil: a connection that ends is not made again
	times   liveness.Times
	process uint64 // this one's number in sessions
	pairs   []pair // by node; without peers: this node, or not joined
	lost    func(Loss)
	ends    sync.WaitGroup // of readers and writers

	accepting sync.WaitGroup
	refuse    context.CancelFunc // ends the taking of calls; nil: none are taken

	mu    sync.Mutex
	dirty []*peer // have something posted that nobody has shipped

	left, came traffic // frames of all peers
}

// pair is all connections to another node. They live and die together, but for one that ends in peace: session.Pair
// decides.
type pair struct {
	peers []*peer      // by number
	open  session.Pair // behind the mesh's lock
}

// NewMesh takes the connections to every other node, those of one node in the order of their numbers. The number of this
// process is drawn, so that one that comes back in the place of a node is not taken for that whose session it would be; it
// is never 0, which is nobody's.
func NewMesh(conns []transport.Conn) *Mesh {
	m := &Mesh{process: rand.Uint64() | 1}
	for _, conn := range conns {
		if conn == nil {
			continue
		}
		p := &peer{node: conn.Peer().Node, left: &m.left, wake: make(chan struct{}, 1)}
		p.calm.L = &p.mu
		p.fresh = make(chan transport.Conn, 1)
		p.until, p.giveUp = context.WithCancelCause(context.Background())
		p.batch.Lend()
		p.aside.Lend()
		for len(m.pairs) <= int(p.node) {
			m.pairs = append(m.pairs, pair{})
		}
		p.number = uint8(len(m.pairs[p.node].peers))
		p.connect(conn, m.process)
		m.pairs[p.node].peers = append(m.pairs[p.node].peers, p)
	}
	for n := range m.pairs {
		m.pairs[n].open = session.NewPair(len(m.pairs[n].peers))
	}
	return m
}

// all are the peers of all nodes.
func (m *Mesh) all() func(yield func(*peer) bool) {
	return func(yield func(*peer) bool) {
		for i := range m.pairs {
			for _, p := range m.pairs[i].peers {
				if !yield(p) {
					return
				}
			}
		}
	}
}

// peer is where a message for another node leaves. What two actors say to each other takes one connection, always the
// same: that is all that keeps their order.
func (m *Mesh) peer(e wire.Envelope) *peer {
	peers := m.pairs[e.To.Node].peers
	return peers[session.ConnectionOf(e, len(peers))]
}

// Options are what a mesh is started with.
type Options struct {
	Checker Admission
	Formats []vec.Format // how the values of each table leave; nil: as they are
	Links   *Links       // how connections that break are made again; nil: what breaks is lost
	Times   liveness.Times

	Lost func(Loss) // told once of each node, before Close, by a reader that then ends

	PartMost, MessageMost int // of tests: bytes of a part of a message, and of a message; 0: as wire has it
}

// Loss is a node that cannot be reached any more.
type Loss struct {
	Node   bellows.NodeID
	Reason string
	Breach bool // this side ended the connections, since what came cannot be
}

// Start begins to send and receive: every connection begins with the word of its session, which is there since it was
// made. Calls are taken from here on, since one that comes is for a peer that is known.
func (m *Mesh) Start(b *Bus, opt Options) {
	m.bus, m.checker, m.links, m.times, m.lost = b, opt.Checker, opt.Links, opt.Times, opt.Lost
	for p := range m.all() {
		p.unsent = m.unsent
		p.batch.Narrow(opt.Formats)
		p.aside.Narrow(opt.Formats)
		p.batch.Shorten(opt.PartMost, opt.MessageMost)
	}
	if m.links != nil {
		var ctx context.Context
		ctx, m.refuse = context.WithCancel(context.Background())
		m.accepting.Go(func() { m.accept(ctx) })
	}
	for p := range m.all() {
		m.ends.Go(func() { m.write(p) })
		m.ends.Go(func() { m.read(p) })
		p.ship()
	}
}

// HeardOf is how much has come of a node: bytes, where its connections count them, and frames. It only grows while the
// node speaks; whoever watches over the node asks whether it has, and not what it said.
func (m *Mesh) HeardOf(n bellows.NodeID) (much uint64) {
	for _, p := range m.pairs[n].peers {
		much += p.heard.Load()
		p.mu.Lock()
		if p.meter != nil {
			much += p.meter.Arrived()
		}
		p.mu.Unlock()
	}
	return much
}

// Heard is HeardOf by node.
func (m *Mesh) Heard() []uint64 {
	list := make([]uint64, len(m.pairs))
	for n := range list {
		list[n] = m.HeardOf(bellows.NodeID(n))
	}
	return list
}

// Tick tells all sessions that time has passed.
func (m *Mesh) Tick() {
	for p := range m.all() {
		p.mu.Lock()
		p.end.Tick()
		p.mu.Unlock()
		p.ship()
	}
}

// Traffic sets what has been sent and received.
func (m *Mesh) Traffic(sent, received *tally.Traffic) {
	m.left.load(sent)
	m.came.load(received)
}

// HangUp ends the connections of a mesh that was not started.
func (m *Mesh) HangUp() (err error) {
	for p := range m.all() {
		err = errors.Join(err, p.conn.Close())
	}
	return err
}

// Close sends what is queued and ends all connections.
func (m *Mesh) Close() {
	for p := range m.all() {
		m.shutdown(p)
	}
	m.ends.Wait()
	if m.refuse != nil {
		m.refuse()
	}
	m.accepting.Wait()
}
