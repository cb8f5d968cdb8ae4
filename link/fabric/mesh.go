package fabric

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"

	"bellows"
	"bellows/core/join"
	"bellows/core/liveness"
	"bellows/core/tally"
	"bellows/link/session"
	"bellows/link/transport"
	"bellows/link/wire"
	"bellows/vec"
)

// Mesh holds the connections of this node to the others, one or several to each. If several, the first is for control,
// and each lane has its own of the others or shares one (docs/5-wire.md says why no order is lost). Each connection is
// a peer with two goroutines: a writer, and a reader, which also runs the actors that its frames are for and reconnects
// after a break. Messages posted for a peer wait there until a goroutine ships them. Shipping encodes and writes many
// frames in one write: the shipper writes as far as the system accepts without waiting, and the writer does the rest.
// So no computing goroutine waits for a socket, and no reader for a writer: two nodes with full sockets cannot block
// each other.
//
// Each connection has a session (package session) that survives it: after a break no posted message is lost or arrives
// twice. The other node is lost only if reconnecting takes too long or this side refuses it.
//
// States: made, with connections that are not read yet; started; closing, from Close on, when posting ends and posted
// messages are still written; closed, when both goroutines of every peer have ended. A mesh that was not started is
// ended by HangUp.
//
// Invariants:
//   - A message posted for an actor elsewhere arrives there once, after everything that the same actor posted for it
//     before (TestExchangeKeepsOrderAndLosesNothing; over connections that break, TestBrokenConnectionsAreRemade of package node).
//   - A peer with messages to send is in dirty, or a goroutine has its writing, or it is down: post and ship leave it in
//     one of these, so that no message waits for the next (TestPeerIsShippedOnceForManyPosts).
//   - The loss of a node is reported once, when all its connections are closed (TestLossClosesAllConnectionsOfANode), and
//     not for a node that this side has dropped.
//   - A received frame is checked before anything acts on it; an invalid one ends the job, by name
//     (TestABreachEndsTheJobByName of package node).
//
// A node may join while the mesh is started (lobby.go): its peers exist before this side's first message to it leaves.
// A node that is lost or was dropped is forgotten: messages posted for it are dropped, and its number is not reused
// (TestMeshForgetsLostNodes).
//
// Locks: mu guards the list of dirty peers, the open connections of each pair, and changes of the list of pairs. Others
// read that list without it, since posting must not wait for a joining node. It is held for a few instructions; a
// peer's lock may be taken inside. The fields of one peer have that peer's lock.
//
// Rejected:
//   - Writing by the writer alone: each answer woke a goroutine on another thread, and a round trip of 1 KiB cost half as
//     much again in processor time. Also writing by readers that wait: two with full sockets would wait for each other
//     for ever.
//   - A wake of the writer that waits for more to write, by a timer or a yield: it trades latency for fewer writes, and
//     the scheduler decides how much.
//   - A connection for control in every pair: two readers for each, and no faster. Instead, the controller's messages
//     overtake the rest within the one connection.
type Mesh struct {
	bus     *Bus
	era     bellows.Era // of the job, as the bus has it: of all that leaves and is taken
	checker Admission
	links   *Links // nil: a connection that ends is not made again
	times   liveness.Times
	process uint64                  // this one's number in sessions
	pairs   atomic.Pointer[[]*pair] // by node; nil: this node, or one that never came. Replaced as a whole, under mu
	lost    func(Loss)
	parted  func(bellows.NodeID) bool // nil: no node is
	met     func()
	follows func()         // told of another process in the place of node 0
	stale   func(string)   // called for a node of another era; nil: not called
	ends    sync.WaitGroup // of readers and writers

	accepting sync.WaitGroup
	refuse    context.CancelFunc // ends the taking of calls; nil: none are taken
	lobby     lobby              // of the goroutine that takes them

	mu     sync.Mutex
	dirty  line[peer] // have posted messages that are not shipped yet
	unmet  int        // initial connections from which no frame has come
	closed bool       // no node joins any more

	formats               []vec.Format // as Options have it
	partMost, messageMost int

	left, came traffic // frames of all peers
}

// pair is all connections to another node. They live and die together, but for one that ends in peace: session.Pair
// decides. One that is lost, or was dropped, keeps its place and nothing else: its number is never another node's.
type pair struct {
	peers []*peer      // by number; none: the node is gone
	open  session.Pair // guarded by the mesh's lock
	heard uint64       // what had come of a node that is gone
	out   []*outflow   // of the peers, which they outlive
}

// NewMesh takes the connections to every other node, those of one node in the order of their numbers. It draws a random
// number for this process, so that a process that replaces a node is not mistaken for the old one in a session. The
// number is never 0, which means no process.
func NewMesh(conns []transport.Conn) *Mesh {
	m := &Mesh{process: rand.Uint64() | 1}
	var of [][]transport.Conn // by node
	for _, conn := range conns {
		if conn == nil {
			continue
		}
		n := int(conn.Peer().Node)
		for len(of) <= n {
			of = append(of, nil)
		}
		of[n] = append(of[n], conn)
		m.unmet++
	}
	list := make([]*pair, len(of))
	for n := range of {
		if len(of[n]) > 0 {
			list[n] = m.newPair(of[n])
		}
	}
	m.pairs.Store(&list)
	return m
}

// newPair returns the peers of a node at the end of some connections.
func (m *Mesh) newPair(conns []transport.Conn) *pair {
	a := &pair{open: session.NewPair(len(conns))}
	for i, conn := range conns {
		p := &peer{node: conn.Peer().Node, number: uint8(i), of: uint8(len(conns)), left: &m.left, out: &outflow{}, wake: make(chan struct{}, 1)}
		p.calm.L = &p.mu
		p.fresh = make(chan transport.Conn, 1)
		p.until, p.giveUp = context.WithCancelCause(context.Background())
		p.batch.Lend()
		p.aside.Lend()
		p.connect(conn, m.process)
		a.peers, a.out = append(a.peers, p), append(a.out, p.out)
	}
	return a
}

// pair returns the connections to a node; nil: it never came.
func (m *Mesh) pair(n bellows.NodeID) *pair {
	if list := *m.pairs.Load(); int(n) < len(list) {
		return list[n]
	}
	return nil
}

// put sets the pair of a node. Its caller holds the lock: others read the list without.
func (m *Mesh) put(n bellows.NodeID, a *pair) {
	list := slices.Clone(*m.pairs.Load())
	for len(list) <= int(n) {
		list = append(list, nil)
	}
	list[n] = a
	m.pairs.Store(&list)
}

// peers returns all peers of all nodes in the mesh.
func (m *Mesh) peers() func(yield func(*peer) bool) {
	return func(yield func(*peer) bool) {
		for _, a := range *m.pairs.Load() {
			if a == nil {
				continue
			}
			for _, p := range a.peers {
				if !yield(p) {
					return
				}
			}
		}
	}
}

// peer returns the connection for a message to another node; nil: that node is gone. All messages between two actors
// take one connection, always the same: only that keeps their order.
func (m *Mesh) peer(e wire.Envelope) *peer {
	a := m.pair(e.To.Node)
	if a == nil || len(a.peers) == 0 {
		return nil
	}
	return a.peers[session.ConnectionOf(e, len(a.peers))]
}

// Options are what a mesh is started with.
type Options struct {
	Checker Admission
	Formats []vec.Format // how the values of each table leave; nil: as they are
	Links   *Links       // how connections that break are made again; nil: what breaks is lost
	Times   liveness.Times

	Lost func(Loss) // told once of each node, before Close, by a reader that then ends
	// Parted reports whether nothing is left to send to a node when the mesh is closed: the job has lost it, and ends
	// or continues without it. nil: no such node.
	Parted func(bellows.NodeID) bool
	// Met is called once, by a reader, when the other ends of all initial connections have sent a frame: by then each
	// of these nodes has added this one. nil: not called.
	Met func()
	// Followed is called, by a reader, when another process has replaced that of node 0, where that is possible
	// (Times.Successor): messages sent to the old process do not reach it. nil: not called.
	Followed func()
	// Stale is called, by a reader, once for each connection over which frames of another era of the job have arrived,
	// with a sentence. Such frames are ignored. nil: not called.
	Stale func(sentence string)

	PartMost, MessageMost int // of tests: bytes of a part of a message, and of a message; 0: as session.Cuts and wire have it
}

// Loss is a node that cannot be reached any more.
type Loss struct {
	Node   bellows.NodeID
	Reason string
	Breach bool // this side ended the connections, since what came cannot be
}

// Start begins to send and receive: every connection begins with its session's first frame, which exists since the
// session was made. From here on calls are accepted, since a caller's peer is known.
func (m *Mesh) Start(b *Bus, opt Options) {
	m.bus, m.checker, m.links, m.times, m.lost, m.met = b, opt.Checker, opt.Links, opt.Times, opt.Lost, opt.Met
	m.follows, m.parted, m.stale = opt.Followed, opt.Parted, opt.Stale
	m.formats, m.partMost, m.messageMost = opt.Formats, opt.PartMost, opt.MessageMost
	first := *m.pairs.Load() // others begin when they are added
	for p := range m.peers() {
		m.prepare(p)
	}
	if m.links != nil {
		m.lobby.newcomers = join.NewNewcomers(bellows.NodeID(max(len(first), int(b.self)+1)), max(1, m.links.Connections))
		var ctx context.Context
		ctx, m.refuse = context.WithCancel(context.Background())
		m.accepting.Go(func() { m.accept(ctx) })
	}
	for _, a := range first {
		if a != nil {
			m.begin(a)
			a.ship()
		}
	}
}

// prepare tells a peer how messages leave.
func (m *Mesh) prepare(p *peer) {
	p.unsent, p.era = m.unsent, m.era
	p.batch.Narrow(m.formats)
	p.aside.Narrow(m.formats)
	p.batch.Shorten(m.partMost, m.messageMost)
	p.mu.Lock()
	p.end.Shorten(m.partMost)
	if p.node == 0 && m.times.Successor > 0 {
		p.end.Renews()
	}
	p.mu.Unlock()
	p.adapts = m.partMost == 0
}

// begin starts the reading and the writing of a pair.
func (m *Mesh) begin(a *pair) {
	for _, p := range a.peers {
		m.ends.Go(func() { m.write(p) })
		m.ends.Go(func() { m.read(p) })
	}
}

// ship sends the first frames of a pair.
func (a *pair) ship() {
	for _, p := range a.peers {
		p.ship()
	}
}

// meet counts the other end of a connection that has spoken for the first time.
func (m *Mesh) meet(p *peer) {
	m.mu.Lock()
	met := !p.joined && m.unmet > 0
	if met {
		m.unmet--
	}
	met = met && m.unmet == 0
	m.mu.Unlock()
	if met && m.met != nil {
		m.met()
	}
}

// HeardOf returns how much a node has sent: bytes, if its connections count them, and frames. It only grows while the
// node sends; failure detection compares two values and does not look at the content.
func (m *Mesh) HeardOf(n bellows.NodeID) (much uint64) {
	a := m.pair(n)
	if a == nil {
		return 0
	}
	much = a.heard
	for _, p := range a.peers {
		much += p.heard.Load()
		p.mu.Lock()
		if p.meter != nil {
			much += p.meter.Arrived()
		}
		p.mu.Unlock()
	}
	return much
}

// Heard returns HeardOf of each node.
func (m *Mesh) Heard() []uint64 {
	list := make([]uint64, len(*m.pairs.Load()))
	for n := range list {
		list[n] = m.HeardOf(bellows.NodeID(n))
	}
	return list
}

// Tick tells all sessions that time has passed.
func (m *Mesh) Tick() {
	for p := range m.peers() {
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
	for p := range m.peers() {
		err = errors.Join(err, p.conn.Close())
	}
	return err
}

// Drop ends the connection to a node after everything that was posted for it, and forgets the node; no loss is
// reported. A node that is gone or was never there is dropped already. Rejected: closing the connection, because the
// node would call again and again.
func (m *Mesh) Drop(n bellows.NodeID) {
	m.mu.Lock()
	a := m.forget(n)
	m.mu.Unlock()
	for _, p := range a.peers {
		m.shutdown(p)
	}
}

// forget takes a node out of the mesh and returns what its connections were. Its caller holds the lock.
func (m *Mesh) forget(n bellows.NodeID) pair {
	a := m.pair(n)
	if a == nil || len(a.peers) == 0 {
		return pair{}
	}
	m.put(n, &pair{heard: m.HeardOf(n), out: a.out})
	return *a
}

// Close sends what is queued and ends all connections. Nobody joins any more.
func (m *Mesh) Close() {
	m.mu.Lock()
	m.closed = true
	m.mu.Unlock()
	for p := range m.peers() {
		m.shutdown(p)
	}
	m.ends.Wait()
	if m.refuse != nil {
		m.refuse()
	}
	m.accepting.Wait()
}
