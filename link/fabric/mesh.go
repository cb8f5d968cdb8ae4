package fabric

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"bellows"
	"bellows/core/liveness"
	"bellows/core/tally"
	"bellows/link/session"
	"bellows/link/transport"
	"bellows/link/wire"
	"bellows/vec"
)

// Mesh is the connections of this node to the others, one or several to each: then the first is for control, and each lane
// has its own of the others or shares one (docs/5-wire.md says why no order is lost). Every peer has two goroutines: a reader, which runs
// the actors that its frames are for, and a writer. What is posted for a peer is encoded and written, many
// frames in one write, by one goroutine at a time: by whoever ships, as far as the system takes it without
// waiting, and else by the writer.
//
// Behind each connection is a session (package session): a connection that breaks is made again, and nothing is lost or comes twice. Only
// when that takes too long is the other node lost.
type Mesh struct {
	bus     *Bus
	checker Admission
	links   *Links // nil: a connection that ends is not made again
	times   liveness.Times
	process uint64 // this one's number in sessions
	pairs   []pair // by node; without peers: this node, or not joined
	lost    func(bellows.NodeID, error)
	ends    sync.WaitGroup

	accepting sync.WaitGroup
	refuse    context.CancelFunc // ends the taking of calls

	mu    sync.Mutex // of dirty, and of what is open of pairs
	dirty []*peer    // have something posted that nobody has shipped

	left, came traffic // frames of all peers
}

// pair is all connections to another node.
type pair struct {
	peers []*peer      // by number
	open  session.Pair // behind the mesh's lock
}

// peer is another node at the end of one connection after another, which have the same number.
//
// It is up while conn is there, and down while the reader makes another. shut: this side says no more than what was posted before; parted: it
// has said so; bye: the other side has. The lock guards what follows it; batch and what is below belong to whoever has set writing.
// Invariant: whoever sets writing uses the connection that was there then and no other, since the reader waits for the end of writing before it
// puts another in its place (TestACutIsMended).
type peer struct {
	node   bellows.NodeID
	number uint8
	heard  atomic.Uint64 // frames that have come
	left   *traffic      // the mesh's

	mu      sync.Mutex
	end     session.End
	conn    transport.Conn            // nil: down
	prompt  transport.NonBlockingConn // conn, where it is one
	meter   transport.Meter           // likewise
	hello   *wire.Resume              // what the connection begins with, until it is taken
	dirty   bool                      // in mesh.dirty
	writing bool                      // somebody has what follows
	shut    bool
	parted  bool
	bye     bool
	over    bool            // no connection follows this one
	failed  error           // why writing has ended; nil: it has not
	late    *time.Timer     // ends a peer to which not all can be said
	until   context.Context // ends when no connection is made anew any more
	giveUp  context.CancelCauseFunc
	fresh   chan transport.Conn // has room for one: the other node has called again
	calm    sync.Cond
	wake    chan struct{}              // the writer is to go on with it
	unsent  func(wire.Envelope, error) // told of what cannot travel

	// Of the reader.
	parts    wire.Joiner
	received session.Counts // messages, and their bytes, that end has not been told of
	bytes    int
	back     []wire.Envelope // what was acknowledged
	marks    wire.Outbox     // of these, what goes to actors

	// Of whoever writes.
	batch  wire.Batch
	aside  wire.Batch      // what is urgent while batch is written
	rest   [][]byte        // of batch: what has not left of the turn
	first  []wire.Envelope // scratch: what is urgent
	queued []wire.Envelope // taken, the ordinary ones
	next   int             // the first of queued that is not in batch
}

// NewMesh takes the connections to every other node, those of one node in the order of their numbers.
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

// connect begins a connection. Nobody writes.
func (p *peer) connect(conn transport.Conn, process uint64) {
	p.conn, p.failed = conn, nil
	p.prompt, _ = conn.(transport.NonBlockingConn)
	p.meter, _ = conn.(transport.Meter)
	p.end.Connected()
	p.hello = p.end.Hello(process)
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

// peer is where a message for another node leaves: what two actors say to each other takes one connection.
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

	// Lost is told, once for each node, that it cannot be reached any more, before Close: with a *Breach where this side ended a connection
	// because of what the node sent.
	Lost func(bellows.NodeID, error)

	PartMost, MessageMost int // of tests: bytes of a part of a message, and of a message; 0: as wire has it
}

// Start begins to send and receive.
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

// HeardOf is how much has come of a node: bytes, where its connections count them, and frames.
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

// Heard is heardOf by node.
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

// post queues a message for another node, until it is shipped. One for a node that is not there any more is
// dropped: the controller learns of the node otherwise.
func (m *Mesh) post(e wire.Envelope) {
	p := m.peer(e)
	p.mu.Lock()
	if p.shut || p.over {
		p.mu.Unlock()
		release(e)
		return
	}
	if p.end.Post(e) {
		p.mu.Unlock()
		m.bus.Enqueue(&wire.Outbox{Envelopes: []wire.Envelope{{From: e.To, To: e.From, Message: e.Message}}})
		return
	}
	first := !p.dirty
	p.dirty = true
	p.mu.Unlock()
	if first {
		m.mu.Lock()
		m.dirty = append(m.dirty, p)
		m.mu.Unlock()
	}
}

// release frees a message that nobody sends any more. A push is its client's, which keeps it until its lane says Committed.
func release(e wire.Envelope) {
	if _, kept := e.Message.(*wire.Push); !kept {
		wire.Free(e.Message)
	}
}

// ship sends what is posted to all peers. It does not wait: what a system does not take at once is the writer's.
func (m *Mesh) ship() {
	for {
		m.mu.Lock()
		n := len(m.dirty)
		if n == 0 {
			m.mu.Unlock()
			return
		}
		p := m.dirty[n-1]
		m.dirty = m.dirty[:n-1]
		m.mu.Unlock()
		p.ship()
	}
}

// ship sends what is queued for one peer, unless somebody does so already.
func (p *peer) ship() {
	p.mu.Lock()
	p.dirty = false
	if p.writing || !p.ready() && !p.mayPart() {
		p.mu.Unlock()
		return
	}
	p.writing = true
	p.mu.Unlock()
	for range shipRounds {
		if p.prompt == nil || !p.try() {
			break
		}
		if !p.more() {
			return
		}
	}
	p.wake <- struct{}{} // nobody else writes, so that there is room
}

// ready reports whether there is a connection and something to write to it. Its caller holds the lock.
func (p *peer) ready() bool {
	return p.conn != nil && p.failed == nil && (p.hello != nil || p.end.Waiting() || p.end.Due() || p.next < len(p.queued))
}

// mayPart reports whether this side has nothing more to say but that. Its caller holds the lock.
func (p *peer) mayPart() bool {
	return p.shut && !p.parted && p.conn != nil && p.failed == nil && !p.end.Unsaid() && p.end.Synced()
}

// Bounds of what is sent on the way, by a goroutine that has other work: the bytes of one write, and how often
// it looks for what others have queued meanwhile.
const (
	tryMost    = 128 << 10
	shipRounds = 4
)

// try encodes what is queued and writes it if that can be done at once. false: the writer must go on.
func (p *peer) try() bool {
	if p.fill(tryMost); p.next < len(p.queued) || p.batch.Len() > tryMost {
		return false
	}
	for len(p.rest) > 0 {
		if p.rest = p.prompt.TryFrames(p.rest); len(p.rest) > 0 {
			return false
		}
		p.rest = p.batch.Next()
	}
	p.sent()
	return true
}

// takeMost is how many ordinary messages are taken at a time.
const takeMost = 256

// fill encodes what is urgent, and then the rest, until the batch has so many bytes.
func (p *peer) fill(most int) {
	p.fillUrgent(&p.batch)
	for p.batch.Len() < most {
		if p.next == len(p.queued) && !p.take() {
			break
		}
		p.encode(&p.batch, p.queued[p.next])
		p.next++
	}
	p.rest = p.batch.Next()
}

// take takes more ordinary messages, and reports whether there were any.
func (p *peer) take() bool {
	clear(p.queued)
	p.mu.Lock()
	p.queued, p.next = p.end.Take(session.Ordinary, takeMost, p.queued[:0]), 0
	p.mu.Unlock()
	return len(p.queued) > 0
}

// fillUrgent encodes what is urgent, behind what the session has to say for itself.
func (p *peer) fillUrgent(b *wire.Batch) {
	p.mu.Lock()
	hello := p.hello
	p.hello = nil
	ack := p.end.Ack()
	p.first = p.end.Take(session.Urgent, takeMost, p.first[:0])
	p.mu.Unlock()
	if hello != nil {
		p.encode(b, wire.Envelope{Message: hello})
	}
	if ack != nil {
		p.encode(b, wire.Envelope{Message: ack})
		wire.Free(ack)
	}
	for _, e := range p.first {
		p.encode(b, e)
	}
	clear(p.first)
}

func (p *peer) encode(b *wire.Batch, e wire.Envelope) {
	if err := b.Add(e); err != nil {
		p.unsent(e, err)
	}
}

// sent empties a batch that has left.
func (p *peer) sent() {
	p.rest = nil
	p.left.add(p.batch.Traffic())
	p.batch.Reset()
}

// overtake sends what is urgent between two parts of a message.
func (p *peer) overtake(conn transport.Conn) error {
	p.fillUrgent(&p.aside)
	if p.aside.Len() == 0 {
		return nil
	}
	err := conn.WriteFrames(p.aside.Buffers())
	p.left.add(p.aside.Traffic())
	p.aside.Reset()
	return err
}

// more reports whether there is more to write. If not, the next who ships may, or the writer has been told to
// end.
func (p *peer) more() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.writing = p.ready() || p.over || p.mayPart()
	if !p.writing {
		p.calm.Broadcast()
	}
	return p.writing
}

// batchMost is how many bytes the writer puts into one write.
const batchMost = 1 << 20

// write sends what others could not, each time that it is woken, until the peer is over.
func (m *Mesh) write(p *peer) {
	for range p.wake {
		for again := true; again; again = p.more() {
			conn, finish := p.turn()
			if conn == nil {
				break
			}
			err := p.send(conn)
			if err == nil && finish {
				if p.sayBye(conn) {
					break
				}
				continue
			}
			if err != nil {
				p.fails(conn, err)
				break
			}
		}
		if p.rested() {
			return
		}
	}
}

// turn is the connection to write to, and whether all that is posted is all that there will be.
func (p *peer) turn() (conn transport.Conn, finish bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.failed != nil {
		return nil, false
	}
	return p.conn, p.shut
}

// rested says that nobody writes, and reports whether nobody will.
func (p *peer) rested() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.writing = p.over
	p.calm.Broadcast()
	return p.over
}

// sayBye says that nothing more comes, if all has left, and ends the connection; the reader then ends the peer.
func (p *peer) sayBye(conn transport.Conn) bool {
	p.mu.Lock()
	left := !p.ready() && p.mayPart()
	p.parted = p.parted || left
	p.mu.Unlock()
	if !left {
		return false
	}
	p.encode(&p.batch, wire.Envelope{Message: &wire.Bye{}})
	p.rest = p.batch.Next()
	if p.writeBatch(conn) == nil {
		p.sent()
	}
	conn.Close()
	return true
}

// send writes what is in the batch, and what is queued.
func (p *peer) send(conn transport.Conn) error {
	if len(p.rest) == 0 {
		p.fill(batchMost)
	}
	for {
		if err := p.writeBatch(conn); err != nil {
			return err
		}
		p.sent()
		if p.next == len(p.queued) {
			return nil
		}
		p.fill(batchMost)
	}
}

// writeBatch writes what is in the batch, a part of a long message at a time.
func (p *peer) writeBatch(conn transport.Conn) error {
	for len(p.rest) > 0 {
		if err := conn.WriteFrames(p.rest); err != nil {
			return err
		}
		if p.rest = p.batch.Next(); len(p.rest) > 0 {
			if err := p.overtake(conn); err != nil {
				return err
			}
		}
	}
	return nil
}

// fails ends a connection to which a write has failed: its reader, who sees that, decides what follows.
func (p *peer) fails(conn transport.Conn, err error) {
	p.mu.Lock()
	p.failed = err
	p.mu.Unlock()
	conn.Close() // which fails for what has failed
}

// farewellWait is how long a connection that is being made again may keep the end of a mesh.
const farewellWait = time.Second

// endDown ends a peer that has no connection over which the rest could be said.
func (p *peer) endDown() {
	p.mu.Lock()
	down := p.conn == nil || !p.end.Synced()
	p.mu.Unlock()
	if down {
		p.hangUp()
	}
}

// shutdown lets no more be posted, and lets the writer end when what is queued has left.
func (m *Mesh) shutdown(p *peer) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.shut = true
	if p.conn == nil && m.links == nil || p.over {
		p.giveUp(nil)
	} else if !p.end.Synced() || p.end.Unsaid() { // while a connection is made again: not for long
		p.late = time.AfterFunc(farewellWait, p.endDown)
	}
	if !p.writing && !p.over {
		p.writing = true
		p.wake <- struct{}{}
	}
}

// unsent tells the controller of a message that cannot travel: the job cannot go on without it. Its caller writes to a
// peer, and holds no lock: what is sent on the way to that peer waits in its queue.
func (m *Mesh) unsent(e wire.Envelope, err error) {
	self := wire.ClientAt(m.bus.self)
	m.bus.Send(self, wire.ControllerAt(), &wire.Failed{Kind: bellows.KindOf(err), Reason: fmt.Sprintf("%v to %v: %v", e.From, e.To, err)})
}
