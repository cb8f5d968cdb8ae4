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
// A node may join while the mesh is started (lobby.go): its peers are there before this side's first word to it leaves. One
// that is lost, or was dropped, is forgotten: what is posted for it is dropped, and its number is not taken again
// (TestWhoIsGoneIsForgotten).
//
// Locks: mu guards the list of dirty peers, what is open of each pair, and changes of the list of pairs, which others read
// without it: who posts must not wait for who joins. It is held for a few instructions; a peer's lock may be taken inside.
// What belongs to one peer is behind its own.
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
	era     bellows.Era // of the job, as the bus has it: of all that leaves and is taken
	checker Admission
	links   *Links // nil: a connection that ends is not made again
	times   liveness.Times
	process uint64                  // this one's number in sessions
	pairs   atomic.Pointer[[]*pair] // by node; nil: this node, or one that never came. Replaced as a whole, under mu
	lost    func(Loss)
	parted  func(bellows.NodeID) bool // nil: nobody is
	met     func()
	follows func()         // told of another process in the place of node 0
	stale   func(string)   // told of a node that speaks of another era; nil: nobody is
	ends    sync.WaitGroup // of readers and writers

	accepting sync.WaitGroup
	refuse    context.CancelFunc // ends the taking of calls; nil: none are taken
	lobby     lobby              // of the goroutine that takes them

	mu     sync.Mutex
	dirty  line[peer] // have something posted that nobody has shipped
	unmet  int        // connections that the mesh was made with whose other ends have not spoken
	closed bool       // nobody joins any more

	formats               []vec.Format // as Options have it
	partMost, messageMost int

	left, came traffic // frames of all peers
}

// pair is all connections to another node. They live and die together, but for one that ends in peace: session.Pair
// decides. One that is lost, or was dropped, keeps its place and nothing else: its number is never another node's.
type pair struct {
	peers []*peer      // by number; none: the node is gone
	open  session.Pair // behind the mesh's lock
	heard uint64       // what had come of a node that is gone
}

// NewMesh takes the connections to every other node, those of one node in the order of their numbers. The number of this
// process is drawn, so that one that comes back in the place of a node is not taken for that whose session it would be; it
// is never 0, which is nobody's.
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

// newPair is the peers of a node at the end of some connections.
func (m *Mesh) newPair(conns []transport.Conn) *pair {
	a := &pair{open: session.NewPair(len(conns))}
	for i, conn := range conns {
		p := &peer{node: conn.Peer().Node, number: uint8(i), of: uint8(len(conns)), left: &m.left, wake: make(chan struct{}, 1)}
		p.calm.L = &p.mu
		p.fresh = make(chan transport.Conn, 1)
		p.until, p.giveUp = context.WithCancelCause(context.Background())
		p.batch.Lend()
		p.aside.Lend()
		p.connect(conn, m.process)
		a.peers = append(a.peers, p)
	}
	return a
}

// pair is the connections to a node; nil: it never came.
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

// all are the peers of all nodes that are there.
func (m *Mesh) all() func(yield func(*peer) bool) {
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

// peer is where a message for another node leaves; nil: that node is gone. What two actors say to each other takes one
// connection, always the same: that is all that keeps their order.
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
	// Parted reports whether nothing is left to say to a node when the mesh is closed: the job has lost it, and ends or goes on without it. nil: it is so of nobody.
	Parted func(bellows.NodeID) bool
	// Met is told once, by a reader, when the other ends of all connections that the mesh was made with have spoken: each
	// of these nodes has this one among its own by then. nil: not told.
	Met func()
	// Followed is told, by a reader, that another process is in the place of node 0, where one may be (Times.Successor): nothing that was
	// said to the one before comes to it. nil: not told.
	Followed func()
	// Stale is told, by a reader, once of each connection over which frames of another era of the job have come, in a sentence: nothing is taken of them. nil: not told.
	Stale func(sentence string)

	PartMost, MessageMost int // of tests: bytes of a part of a message, and of a message; 0: as session.Cuts and wire have it
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
	m.bus, m.checker, m.links, m.times, m.lost, m.met = b, opt.Checker, opt.Links, opt.Times, opt.Lost, opt.Met
	m.follows, m.parted, m.stale = opt.Followed, opt.Parted, opt.Stale
	m.formats, m.partMost, m.messageMost = opt.Formats, opt.PartMost, opt.MessageMost
	first := *m.pairs.Load() // others begin when they are added
	for p := range m.all() {
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

// ship sends the first words of a pair.
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

// HeardOf is how much has come of a node: bytes, where its connections count them, and frames. It only grows while the
// node speaks; whoever watches over the node asks whether it has, and not what it said.
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

// Heard is HeardOf by node.
func (m *Mesh) Heard() []uint64 {
	list := make([]uint64, len(*m.pairs.Load()))
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

// Drop takes leave of a node, behind what was said to it, and forgets it: nobody is told of a loss. Turned down: to hang up,
// upon which it would call again and again. Who is not there any more, or never was, is dropped already.
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
	m.put(n, &pair{heard: m.HeardOf(n)})
	return *a
}

// Close sends what is queued and ends all connections. Nobody joins any more.
func (m *Mesh) Close() {
	m.mu.Lock()
	m.closed = true
	m.mu.Unlock()
	for p := range m.all() {
		m.shutdown(p)
	}
	m.ends.Wait()
	if m.refuse != nil {
		m.refuse()
	}
	m.accepting.Wait()
}
