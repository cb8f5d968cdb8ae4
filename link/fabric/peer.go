package fabric

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"bellows"
	"bellows/link/session"
	"bellows/link/transport"
	"bellows/link/wire"
)

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

// connect begins a connection. Nobody writes.
func (p *peer) connect(conn transport.Conn, process uint64) {
	p.conn, p.failed = conn, nil
	p.prompt, _ = conn.(transport.NonBlockingConn)
	p.meter, _ = conn.(transport.Meter)
	p.end.Connected()
	p.hello = p.end.Hello(process)
}

// ready reports whether there is a connection and something to write to it. Its caller holds the lock.
func (p *peer) ready() bool {
	return p.conn != nil && p.failed == nil && (p.hello != nil || p.end.Waiting() || p.end.Due() || p.next < len(p.queued))
}

// mayPart reports whether this side has nothing more to say but that. Its caller holds the lock.
func (p *peer) mayPart() bool {
	return p.shut && !p.parted && p.conn != nil && p.failed == nil && !p.end.Unsaid() && p.end.Synced()
}

// restore makes a connection anew that has ended, and reports whether there is one. If not, all to that node end, and that is said once.
func (m *Mesh) restore(p *peer, conn transport.Conn, why error) bool {
	closed := conn.Close()
	var b *Breach
	p.mu.Lock()
	p.conn, p.meter = nil, nil // whoever writes may still look at prompt: it belongs to writing
	p.end.Connected()
	if p.failed != nil {
		why = p.failed
	}
	last := p.shut && p.late == nil || p.parted || p.bye || p.over || errors.As(why, &b) || m.links == nil
	if p.bye {
		why = errBye
	}
	p.mu.Unlock()
	if !last {
		fresh, err := m.remake(p)
		switch {
		case err != nil:
			why = fmt.Errorf("%w; %w", why, err)
		case m.resume(p, fresh):
			return true
		}
	}
	m.end(p, errors.Join(why, closed))
	return false
}

// resume goes on over a new connection when nobody writes to the old one any more. Not over one that has come too late.
func (m *Mesh) resume(p *peer, conn transport.Conn) bool {
	p.mu.Lock()
	for p.writing && !p.over {
		p.calm.Wait()
	}
	if p.over {
		p.mu.Unlock()
		conn.Close()
		return false
	}
	p.batch.Reset()
	p.aside.Reset()
	clear(p.queued)
	p.rest, p.queued, p.next = nil, p.queued[:0], 0
	p.connect(conn, m.process)
	p.mu.Unlock()
	p.ship()
	return true
}

// farewellWait is how long a connection that is being made again may keep the end of a mesh.
const farewellWait = time.Second

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

// endDown ends a peer that has no connection over which the rest could be said.
func (p *peer) endDown() {
	p.mu.Lock()
	down := p.conn == nil || !p.end.Synced()
	p.mu.Unlock()
	if down {
		p.hangUp()
	}
}

// end ends a peer for good, and where this side has not said before that it would, all others of that node with the first that did not end in
// peace.
func (m *Mesh) end(p *peer, err error) {
	p.mu.Lock()
	ours, peace := p.shut, errors.Is(err, errBye)
	p.over = true
	select {
	case conn := <-p.fresh:
		conn.Close() // nobody will look for it
	default:
	}
	if p.late != nil {
		p.late.Stop()
	}
	if !p.writing {
		p.writing = true
		p.wake <- struct{}{}
	}
	p.mu.Unlock()
	p.giveUp(nil)
	if ours {
		return
	}
	pair := &m.pairs[p.node]
	m.mu.Lock()
	lost := pair.open.Ended(peace)
	m.mu.Unlock()
	if !lost {
		return
	}
	for _, o := range pair.peers {
		o.hangUp()
	}
	m.lost(p.node, err)
}

// hangUp ends a peer without a word.
func (p *peer) hangUp() {
	p.mu.Lock()
	p.shut, p.over = true, true
	p.calm.Broadcast()
	conn := p.conn
	p.mu.Unlock()
	p.giveUp(nil)
	if conn != nil {
		conn.Close()
	}
}
