package node

import (
	"fmt"
	"sync"
	"sync/atomic"

	"bellows"
	"bellows/transport"
	"bellows/wire"
)

// mesh is the connections of this node to the others. Every peer has two goroutines: a reader, which runs
// the actors that its frames are for, and a writer. What is posted for a peer is encoded and written, many
// frames in one write, by one goroutine at a time: by whoever flushes, as far as the system takes it without
// waiting, and else by the writer.
type mesh struct {
	bus   *bus
	peers []*peer // by node; nil: this node, or not joined
	lost  func(bellows.NodeID, error)
	ends  sync.WaitGroup

	mu    sync.Mutex
	dirty []*peer // have something posted that nobody has flushed
}

// peer is another node.
type peer struct {
	node   bellows.NodeID
	conn   transport.Conn
	prompt transport.Prompt // conn, where it is one
	heard  atomic.Uint64    // frames that have come

	mu      sync.Mutex
	queue   []wire.Envelope
	spare   []wire.Envelope
	dirty   bool          // in mesh.dirty
	writing bool          // somebody has what follows
	shut    bool          // no more is sent
	wake    chan struct{} // the writer is to go on with it
	once    sync.Once

	// Of whoever writes.
	batch  wire.Batch
	rest   [][]byte        // of batch: what has not left
	queued []wire.Envelope // taken from the queue
	next   int             // the first of queued that is not in batch
}

// newMesh takes a connection to every other node.
func newMesh(conns []transport.Conn) *mesh {
	m := &mesh{peers: make([]*peer, len(conns))}
	for n, conn := range conns {
		if conn != nil {
			p := &peer{node: bellows.NodeID(n), conn: conn, wake: make(chan struct{}, 1)}
			p.prompt, _ = conn.(transport.Prompt)
			m.peers[n] = p
		}
	}
	return m
}

// start begins to send and receive. lost is told, once for each node, that its connection has ended before
// close.
func (m *mesh) start(b *bus, lost func(bellows.NodeID, error)) {
	m.bus, m.lost = b, lost
	for _, p := range m.peers {
		if p != nil {
			m.ends.Go(func() { m.write(p) })
			m.ends.Go(func() { m.read(p) })
		}
	}
}

// post queues a message for another node, until the next flush. One for a node that is not there any more is
// dropped: the controller learns of the node otherwise.
func (m *mesh) post(e wire.Envelope) {
	p := m.peers[e.To.Node]
	p.mu.Lock()
	if p.shut {
		p.mu.Unlock()
		wire.Free(e.Message)
		return
	}
	p.queue = append(p.queue, e)
	first := !p.dirty
	p.dirty = true
	p.mu.Unlock()
	if first {
		m.mu.Lock()
		m.dirty = append(m.dirty, p)
		m.mu.Unlock()
	}
}

// flush sends what is posted to all peers. It does not wait: what a system does not take at once is the writer's.
func (m *mesh) flush() {
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
		p.flush()
	}
}

// flush sends what is queued for one peer, unless somebody does so already.
func (p *peer) flush() {
	p.mu.Lock()
	p.dirty = false
	if p.writing || len(p.queue) == 0 {
		p.mu.Unlock()
		return
	}
	p.writing = true
	p.mu.Unlock()
	for range flushRounds {
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
	tryMost     = 128 << 10
	flushRounds = 4
)

// try encodes what is queued and writes it if that can be done at once. false: the writer must go on.
func (p *peer) try() bool {
	p.take()
	if p.fill(tryMost) != nil || p.next < len(p.queued) || p.batch.Len() > tryMost {
		return false
	}
	if p.rest = p.prompt.TryFrames(p.rest); len(p.rest) > 0 {
		return false
	}
	p.sent()
	return true
}

// take moves the queue to whoever writes.
func (p *peer) take() {
	p.mu.Lock()
	p.queued, p.next = p.queue, 0
	p.queue, p.spare = p.spare[:0], nil
	p.mu.Unlock()
}

// fill encodes what was taken, until the batch has so many bytes.
func (p *peer) fill(most int) error {
	for p.next < len(p.queued) && p.batch.Len() < most {
		if err := p.batch.Add(p.queued[p.next]); err != nil {
			return err
		}
		p.next++
	}
	p.rest = p.batch.Buffers()
	return nil
}

// sent empties a batch that has left.
func (p *peer) sent() {
	p.rest = nil
	p.batch.Reset()
}

// more reports whether there is more to write. If not, the next who flushes may, or the writer has been told to
// end.
func (p *peer) more() bool {
	clear(p.queued)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.spare, p.queued = p.queued[:0], nil
	p.writing = len(p.queue) > 0 || p.shut
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
	if p.queued == nil {
		p.take()
	}
	for {
		if len(p.rest) > 0 {
			if err := p.conn.WriteFrames(p.rest); err != nil {
				return err
			}
		}
		p.sent()
		if p.next == len(p.queued) {
			return nil
		}
		if err := p.fill(batchMost); err != nil {
			return err
		}
	}
}

// ended reports whether nothing is left to send and nothing more will come.
func (p *peer) ended() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.shut && len(p.queue) == 0
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

// readMost is how many bytes of frames a reader takes before it flushes the answers, where more have come.
const readMost = 256 << 10

// read takes what the peer sends until the connection ends. Answers leave when it would wait for more.
func (m *mesh) read(p *peer) {
	var in wire.Outbox
	open := 0 // bytes since the last flush
	if p.prompt != nil {
		p.prompt.BeforeWait(func() {
			m.flush()
			open = 0
		})
	}
	for {
		h, payload, err := p.conn.ReadFrame()
		p.heard.Add(1)
		if err == nil {
			err = m.take(p, h, payload, &in)
		}
		if err != nil {
			m.flush()
			m.drop(p, err)
			return
		}
		if open += wire.HeaderSize + int(h.Length); open > readMost || p.prompt == nil {
			m.flush()
			open = 0
		}
	}
}

// take delivers a frame. A peer may speak for its own actors and to ours, and for nobody else.
func (m *mesh) take(p *peer, h wire.Header, payload []byte, in *wire.Outbox) error {
	e, err := wire.Decode(h, payload)
	if err != nil {
		return err
	}
	if e.From.Node != p.node || !m.bus.has(e.To) {
		return fmt.Errorf("a frame from %v to %v came from node %d", e.From, e.To, p.node)
	}
	in.Envelopes = append(in.Envelopes[:0], e)
	m.bus.Enqueue(in)
	m.bus.deliver()
	return nil
}

// drop ends a peer whose connection has ended, and says so once, unless this side ended it.
func (m *mesh) drop(p *peer, err error) {
	p.once.Do(func() {
		p.mu.Lock()
		ours := p.shut
		p.mu.Unlock()
		p.shutdown()
		if cerr := p.conn.Close(); cerr != nil && !ours {
			err = fmt.Errorf("%w; %w", err, cerr)
		}
		if !ours {
			m.lost(p.node, err)
		}
	})
}

// close sends what is queued and ends all connections.
func (m *mesh) close() {
	for _, p := range m.peers {
		if p != nil {
			p.shutdown()
		}
	}
	m.ends.Wait()
}
