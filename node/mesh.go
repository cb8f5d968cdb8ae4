package node

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"bellows"
	"bellows/transport"
	"bellows/vec"
	"bellows/wire"
)

// mesh is the connections of this node to the others, one or several to each: then the first is for control, and each lane
// has its own of the others or shares one (docs/5-wire.md says why no order is lost). Every peer has two goroutines: a reader, which runs
// the actors that its frames are for, and a writer. What is posted for a peer is encoded and written, many
// frames in one write, by one goroutine at a time: by whoever ships, as far as the system takes it without
// waiting, and else by the writer.
type mesh struct {
	bus   *bus
	guard admission
	pairs []pair // by node; without peers: this node, or not joined
	lost  func(bellows.NodeID, error)
	ends  sync.WaitGroup

	mu    sync.Mutex
	dirty []*peer // have something posted that nobody has shipped

	left, came traffic // frames of all peers
}

// pair is all connections to another node. The end of one is the end of all.
type pair struct {
	peers []*peer // by number
	lost  sync.Once
}

// peer is another node at the end of one connection.
type peer struct {
	node   bellows.NodeID
	conn   transport.Conn
	prompt transport.Prompt // conn, where it is one
	meter  transport.Meter  // likewise
	heard  atomic.Uint64    // frames that have come
	left   *traffic         // the mesh's

	mu      sync.Mutex
	urgent  []wire.Envelope // what the controller says and hears: it overtakes the rest
	queue   []wire.Envelope
	spare   []wire.Envelope
	dirty   bool          // in mesh.dirty
	writing bool          // somebody has what follows
	shut    bool          // no more is sent
	wake    chan struct{} // the writer is to go on with it
	once    sync.Once
	unsent  func(wire.Envelope, error) // told of what cannot travel

	parts wire.Joiner // of its reader

	// Of whoever writes.
	batch  wire.Batch
	aside  wire.Batch      // what is urgent while batch is written
	rest   [][]byte        // of batch: what has not left of the turn
	first  []wire.Envelope // taken from urgent
	taken  bool            // queued is
	queued []wire.Envelope // taken from the queue
	next   int             // the first of queued that is not in batch
}

// newMesh takes the connections to every other node, those of one node in the order of their numbers.
func newMesh(conns []transport.Conn) *mesh {
	m := &mesh{}
	for _, conn := range conns {
		if conn == nil {
			continue
		}
		p := &peer{node: conn.Peer().Node, conn: conn, left: &m.left, wake: make(chan struct{}, 1)}
		p.prompt, _ = conn.(transport.Prompt)
		p.meter, _ = conn.(transport.Meter)
		for len(m.pairs) <= int(p.node) {
			m.pairs = append(m.pairs, pair{})
		}
		m.pairs[p.node].peers = append(m.pairs[p.node].peers, p)
	}
	return m
}

// all are the peers of all nodes.
func (m *mesh) all() func(yield func(*peer) bool) {
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
func (m *mesh) peer(e wire.Envelope) *peer {
	peers := m.pairs[e.To.Node].peers
	lane := e.To
	if e.From.Role == wire.Lane {
		lane = e.From
	}
	if len(peers) == 1 || lane.Role != wire.Lane || ofController(e) {
		return peers[0]
	}
	return peers[1+int(lane.Index)%(len(peers)-1)]
}

func ofController(e wire.Envelope) bool {
	return e.From.Role == wire.Controller || e.To.Role == wire.Controller
}

// start begins to send and receive; formats is how the values of each table leave. lost is told, once for each node,
// that a connection to it has ended before close: with a *breach where this side ended it because of what the node sent.
func (m *mesh) start(b *bus, g admission, formats []vec.Format, lost func(bellows.NodeID, error)) {
	m.bus, m.guard, m.lost = b, g, lost
	for p := range m.all() {
		p.unsent = m.unsent
		p.batch.Narrow(formats)
	}
	for p := range m.all() {
		m.ends.Go(func() { m.write(p) })
		m.ends.Go(func() { m.read(p) })
	}
}

// shorten bounds what is sent, before start.
func (m *mesh) shorten(part, message int) {
	for p := range m.all() {
		p.batch.Shorten(part, message)
	}
}

// heardOf is how much has come of a node: bytes, where its connections count them, and frames.
func (m *mesh) heardOf(n bellows.NodeID) (much uint64) {
	for _, p := range m.pairs[n].peers {
		much += p.heard.Load()
		if p.meter != nil {
			much += p.meter.Arrived()
		}
	}
	return much
}

// heard is heardOf by node.
func (m *mesh) heard() []uint64 {
	list := make([]uint64, len(m.pairs))
	for n := range list {
		list[n] = m.heardOf(bellows.NodeID(n))
	}
	return list
}

// hangUp ends the connections of a mesh that was not started.
func (m *mesh) hangUp() (err error) {
	for p := range m.all() {
		err = errors.Join(err, p.conn.Close())
	}
	return err
}

// post queues a message for another node, until it is shipped. One for a node that is not there any more is
// dropped: the controller learns of the node otherwise.
func (m *mesh) post(e wire.Envelope) {
	p := m.peer(e)
	p.mu.Lock()
	if p.shut {
		p.mu.Unlock()
		if _, kept := e.Message.(*wire.Push); !kept { // which its client keeps, to send it again
			wire.Free(e.Message)
		}
		return
	}
	if ofController(e) {
		p.urgent = append(p.urgent, e)
	} else {
		p.queue = append(p.queue, e)
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

// ship sends what is posted to all peers. It does not wait: what a system does not take at once is the writer's.
func (m *mesh) ship() {
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
	if p.writing || p.empty() {
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

// Bounds of what is sent on the way, by a goroutine that has other work: the bytes of one write, and how often
// it looks for what others have queued meanwhile.
const (
	tryMost    = 128 << 10
	shipRounds = 4
)

// try encodes what is queued and writes it if that can be done at once. false: the writer must go on.
func (p *peer) try() bool {
	p.take()
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

// take moves the queue to whoever writes.
func (p *peer) take() {
	p.mu.Lock()
	p.taken, p.queued, p.next = true, p.queue, 0
	p.queue, p.spare = p.spare[:0], nil
	p.mu.Unlock()
}

// fill encodes what is urgent, and then what was taken, until the batch has so many bytes.
func (p *peer) fill(most int) {
	p.fillUrgent(&p.batch)
	for p.next < len(p.queued) && p.batch.Len() < most {
		p.encode(&p.batch, p.queued[p.next])
		p.next++
	}
	p.rest = p.batch.Next()
}

// fillUrgent encodes what is urgent.
func (p *peer) fillUrgent(b *wire.Batch) {
	p.mu.Lock()
	p.first, p.urgent = p.urgent, p.first
	p.mu.Unlock()
	for _, e := range p.first {
		p.encode(b, e)
	}
	clear(p.first)
	p.first = p.first[:0]
}

func (p *peer) encode(b *wire.Batch, e wire.Envelope) {
	if err := b.Add(e); err != nil {
		p.unsent(e, err)
	}
}

// empty reports whether nothing waits to be taken. Its caller holds the lock.
func (p *peer) empty() bool { return len(p.urgent)+len(p.queue) == 0 }

// sent empties a batch that has left.
func (p *peer) sent() {
	p.rest = nil
	p.left.add(p.batch.Traffic())
	p.batch.Reset()
}

// overtake sends what is urgent between two parts of a message.
func (p *peer) overtake() error {
	p.fillUrgent(&p.aside)
	if p.aside.Len() == 0 {
		return nil
	}
	err := p.conn.WriteFrames(p.aside.Buffers())
	p.left.add(p.aside.Traffic())
	p.aside.Reset()
	return err
}

// more reports whether there is more to write. If not, the next who ships may, or the writer has been told to
// end.
func (p *peer) more() bool {
	clear(p.queued)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.taken, p.spare, p.queued = false, p.queued[:0], nil
	p.writing = !p.empty() || p.shut
	return p.writing
}

// batchMost is how many bytes the writer puts into one write.
const batchMost = 1 << 20

// write sends what others could not, each time that it is woken, until the peer is shut.
func (m *mesh) write(p *peer) {
	for range p.wake {
		for again := true; again; again = p.more() {
			if err := p.send(); err != nil {
				m.drop(p, err)
				return
			}
			if p.ended() {
				m.drop(p, nil)
				return
			}
		}
	}
}

// send writes what is in the batch, and what is queued.
func (p *peer) send() error {
	if !p.taken {
		p.take()
		p.fill(batchMost)
	}
	for {
		if err := p.writeBatch(); err != nil {
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
func (p *peer) writeBatch() error {
	for len(p.rest) > 0 {
		if err := p.conn.WriteFrames(p.rest); err != nil {
			return err
		}
		if p.rest = p.batch.Next(); len(p.rest) > 0 {
			if err := p.overtake(); err != nil {
				return err
			}
		}
	}
	return nil
}

// ended reports whether nothing is left to send and nothing more will come.
func (p *peer) ended() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.shut && p.empty()
}

// shutdown lets no more be posted, and lets the writer end when what is queued has left.
func (p *peer) shutdown() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.shut = true
	if !p.writing {
		p.writing = true
		p.wake <- struct{}{}
	}
}

// unsent tells the controller of a message that cannot travel: the job cannot go on without it. Its caller writes to a
// peer, and holds no lock: what is sent on the way to that peer waits in its queue.
func (m *mesh) unsent(e wire.Envelope, err error) {
	self := clientAddress(m.bus.self)
	m.bus.send(self, controllerAddress, &wire.Failed{Kind: bellows.KindOf(err), Reason: fmt.Sprintf("%v to %v: %v", e.From, e.To, err)})
}

// What a reader takes before actors run, where more has come: bytes, or frames, so that whoever sent many small ones hears of
// the first while the last are still under way.
const (
	readMost       = 128 << 10
	readFramesMost = 64
)

// read takes what the peer sends until the connection ends. Actors run, and their answers leave, when it would wait for
// more: so they are stepped once with many messages where many have come.
func (m *mesh) read(p *peer) {
	var in wire.Outbox
	bytes, frames := 0, 0 // since it last drained
	drain := func() {
		m.bus.Drain()
		bytes, frames = 0, 0
	}
	if p.prompt != nil {
		p.prompt.BeforeWait(drain)
	}
	for {
		h, payload, err := p.conn.ReadFrame()
		p.heard.Add(1)
		if err == nil {
			err = m.take(p, h, payload, &in)
		}
		if err != nil {
			drain()
			p.parts = wire.Joiner{} // nobody waits for the rest
			m.drop(p, err)
			return
		}
		bytes += wire.HeaderSize + int(h.Length)
		if frames++; bytes > readMost || frames == readFramesMost || p.prompt == nil {
			drain()
		}
	}
}

// admission judges frames before anything acts on them: a guard.Guard.
type admission interface {
	Header(peer bellows.NodeID, h wire.Header) error
	Message(h wire.Header, e wire.Envelope) error
}

// breach is why this side ends a connection: what came over it cannot be.
type breach struct{ error }

func (b *breach) Unwrap() error { return b.error }

// take enqueues the message of a frame that fits the job, or of several, with the last of them.
func (m *mesh) take(p *peer, h wire.Header, payload []byte, in *wire.Outbox) error {
	m.came.count(h)
	if err := m.guard.Header(p.node, h); err != nil {
		return &breach{err}
	}
	e, err := p.parts.Decode(h, payload)
	if err == nil && e.Message == nil {
		return nil
	}
	if err == nil {
		err = m.guard.Message(h, e)
	}
	if err != nil {
		return &breach{err}
	}
	in.Envelopes = append(in.Envelopes[:0], e)
	m.bus.Enqueue(in)
	return nil
}

// drop ends a connection, and where this side did not end it, all others to that node; that is said once.
func (m *mesh) drop(p *peer, err error) {
	p.once.Do(func() {
		ours, cerr := p.close()
		if ours {
			return
		}
		pair := &m.pairs[p.node]
		pair.lost.Do(func() {
			for _, o := range pair.peers {
				if o != p {
					_, oerr := o.close()
					cerr = errors.Join(cerr, oerr)
				}
			}
			if cerr != nil {
				err = fmt.Errorf("%w; %w", err, cerr)
			}
			m.lost(p.node, err)
		})
	})
}

// close ends a connection, and reports whether this side had said before that it would.
func (p *peer) close() (ours bool, err error) {
	p.mu.Lock()
	ours = p.shut
	p.mu.Unlock()
	p.shutdown()
	return ours, p.conn.Close()
}

// close sends what is queued and ends all connections.
func (m *mesh) close() {
	for p := range m.all() {
		p.shutdown()
	}
	m.ends.Wait()
}
