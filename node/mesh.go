package node

import (
	"fmt"
	"sync"
	"sync/atomic"

	"bellows"
	"bellows/transport"
	"bellows/wire"
)

// mesh is the connections of this node to the others. Every peer has two goroutines: a writer, which
// sends what is queued for it, many frames in one write, and a reader, which runs the actors that its
// frames are for.
type mesh struct {
	bus   *bus
	peers []*peer // by node; nil: this node, or not joined
	lost  func(bellows.NodeID, error)
	ends  sync.WaitGroup

	mu      sync.Mutex
	pending []*peer // have messages that nobody has told the writer of
}

// peer is another node.
type peer struct {
	node  bellows.NodeID
	conn  transport.Conn
	heard atomic.Uint64 // frames that have come

	mu      sync.Mutex
	queue   []wire.Envelope
	pending bool // in mesh.pending
	spare   []wire.Envelope
	shut    bool          // no more is sent
	wake    chan struct{} // there is something to send, or it is shut
	once    sync.Once
}

// newMesh takes a connection to every other node.
func newMesh(conns []transport.Conn) *mesh {
	m := &mesh{peers: make([]*peer, len(conns))}
	for n, conn := range conns {
		if conn != nil {
			m.peers[n] = &peer{node: bellows.NodeID(n), conn: conn, wake: make(chan struct{}, 1)}
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

// post queues a message for another node. One for a node that is not there any more is dropped: the
// controller learns of the node otherwise.
func (m *mesh) post(e wire.Envelope) {
	p := m.peers[e.To.Node]
	p.mu.Lock()
	if p.shut {
		p.mu.Unlock()
		wire.Free(e.Message)
		return
	}
	p.queue = append(p.queue, e)
	first := !p.pending
	p.pending = true
	p.mu.Unlock()
	if first {
		m.mu.Lock()
		m.pending = append(m.pending, p)
		m.mu.Unlock()
	}
}

// flush lets what is queued leave.
func (m *mesh) flush() {
	m.mu.Lock()
	for _, p := range m.pending {
		p.mu.Lock()
		p.pending = false
		p.mu.Unlock()
		p.poke()
	}
	m.pending = m.pending[:0]
	m.mu.Unlock()
}

func (p *peer) poke() {
	select {
	case p.wake <- struct{}{}:
	default:
	}
}

// batchMost is how many bytes go into one write.
const batchMost = 1 << 20

// write sends what is queued until the peer is shut and its queue is empty.
func (m *mesh) write(p *peer) {
	var batch wire.Batch
	for range p.wake {
		for {
			p.mu.Lock()
			queue := p.queue
			p.queue, p.spare = p.spare[:0], nil
			shut := p.shut
			p.mu.Unlock()
			if len(queue) == 0 {
				if shut {
					m.drop(p, nil)
					return
				}
				p.spare = queue
				break
			}
			if err := p.send(queue, &batch); err != nil {
				m.drop(p, err)
				return
			}
			clear(queue)
			p.mu.Lock()
			p.spare = queue[:0]
			p.mu.Unlock()
		}
	}
}

func (p *peer) send(queue []wire.Envelope, batch *wire.Batch) error {
	for i, e := range queue {
		if err := batch.Add(e); err != nil {
			return err
		}
		if batch.Len() >= batchMost || i == len(queue)-1 {
			if err := p.conn.WriteFrames(batch.Buffers()); err != nil {
				return err
			}
			batch.Reset()
		}
	}
	return nil
}

// read takes what the peer sends until the connection ends.
func (m *mesh) read(p *peer) {
	var in wire.Outbox
	for {
		h, payload, err := p.conn.ReadFrame()
		p.heard.Add(1)
		if err == nil {
			err = m.take(p, h, payload, &in)
		}
		if err != nil {
			m.drop(p, err)
			return
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
	m.bus.Drain()
	return nil
}

// drop ends a peer whose connection has ended, and says so once, unless this side ended it.
func (m *mesh) drop(p *peer, err error) {
	p.once.Do(func() {
		p.mu.Lock()
		ours := p.shut
		p.shut = true
		p.mu.Unlock()
		p.poke()
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
		if p == nil {
			continue
		}
		p.mu.Lock()
		p.shut = true
		p.mu.Unlock()
		p.poke()
	}
	m.ends.Wait()
}
