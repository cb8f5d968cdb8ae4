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

// peer is another node at the end of a connection, and of the connections that replace it under the same number.
//
// States of the connection:
//
//	up      conn is there; once the other end's first frame has arrived (end.Synced), messages may be written
//	down    conn is nil: the reader reconnects, or is about to end the peer
//	over    no connection follows; reader and writer end
//
// It leaves up when a read or a write fails, or when this side closes conn. That always happens in restore, called by
// the reader, which sees the end of its stream. The states of the goodbye are independent:
//
//	shut    this side sends nothing more than was posted before
//	parted  it has sent all of that, and bye
//	bye     the other side has sent bye, and this one reads no more
//
// The writing is a token. A shipper or the writer takes it by setting writing, and has it, with the batch and the
// fields below, until it resets writing. A shipper that cannot continue passes it to the writer by wake, which is
// therefore never full.
//
// Invariants:
//   - One goroutine has the writing, and gives it back once. Two would mix their frames
//     (TestExchangeKeepsOrderAndLosesNothing: giving back what it does not have is a panic).
//   - Before it gives the writing back, a goroutine checks under the lock whether there is more to write. A message posted
//     meanwhile finds the writing taken, and is seen by its holder, or finds it free
//     (TestPeerIsShippedOnceForManyPosts). If the connection is gone, the next one begins with a ship.
//   - The holder of the writing uses the connection that was there when it took it, and no other: the reader waits for
//     the writing before it replaces the connection (TestBrokenConnectionsAreRemade of package node).
//   - Bye is the last frame that leaves, after all that was posted (TestRestIsSentOverTheNextConnection). The writer
//     sends it and is woken for it once (TestOnlyTheWriterEndsAPeer).
//   - A peer that is over stays so: the writing belongs to its writer for good, and a connection that arrives too late is
//     closed (TestLateConnectionIsClosed).
//
// Locks: mu guards what follows it, up to the reader's fields. It is held while the session is called, and never while
// anything is encoded, written or enqueued.
//
// Rejected: a lock held for the length of a write. A poster, which may be a lane, would wait for the socket.
type peer struct {
	node   bellows.NodeID
	number uint8                      // of so many
	of     uint8                      //
	joined bool                       // while the mesh was started
	era    bellows.Era                // of the job; set before the mesh starts it
	heard  atomic.Uint64              // frames that have come
	left   *traffic                   // the mesh's
	out    *outflow                   // the pair's
	unsent func(wire.Envelope, error) // told of what cannot travel
	wake   chan struct{}              // the writer must continue the writing
	fresh  chan transport.Conn        // has room for one: the other node has called again
	until  context.Context            // ends when no connection is made anew any more
	giveUp context.CancelCauseFunc    // ends until

	mu      sync.Mutex
	end     session.End
	conn    transport.Conn            // nil: down
	prompt  transport.NonBlockingConn // conn, where it is one
	meter   transport.Meter           // of conn, if it counts
	hello   *wire.Resume              // what the connection begins with, until it is taken
	dirty   bool                      // in mesh.dirty
	writing bool
	shut    bool
	parted  bool
	bye     bool
	over    bool
	spoke   bool        // the other end has, once
	failed  error       // why no more can be written to conn; nil: it can
	late    *time.Timer // ends a peer to which not all can be said
	calm    sync.Cond   // the writing was given back, or the peer is over

	// Of the reader.
	parts     wire.Joiner
	staleSaid bool           // that frames of another era come over this connection
	received  session.Counts // messages, and their bytes, not yet passed to end
	bytes     int
	back      []wire.Envelope // what was acknowledged
	marks     wire.Outbox     // of these, what goes to actors

	// Owned by the holder of the writing.
	batch  wire.Batch      // what is being written
	aside  wire.Batch      // what overtakes while batch is written
	cuts   session.Cuts    // how long parts are
	adapts bool            // they are by cuts
	rest   [][]byte        // of batch: what has not left of the turn
	first  []wire.Envelope // scratch: what is urgent
	queued []wire.Envelope // taken, the ordinary ones
	next   int             // the first of queued that is not in batch
}

// connect begins a connection, with what the session says first. Nobody has the writing.
func (p *peer) connect(conn transport.Conn, process uint64) {
	p.conn, p.failed = conn, nil
	p.prompt, _ = conn.(transport.NonBlockingConn)
	p.meter, _ = conn.(transport.Meter)
	p.out.begin(conn)
	p.end.Connected()
	p.hello = p.end.Hello(process)
}

// ready reports whether there is a connection and something to write to it, of the session's own words too. Its caller
// holds the lock.
func (p *peer) ready() bool {
	return p.conn != nil && p.failed == nil && (p.hello != nil || p.end.Waiting() || p.end.Due() || p.next < len(p.queued))
}

// mayPart reports whether only the goodbye is left to send: all that was posted was given to this connection, whose
// other end has sent its first frame. It does not wait for acknowledgements. Its caller holds the lock.
func (p *peer) mayPart() bool {
	return p.shut && !p.parted && p.conn != nil && p.failed == nil && !p.end.Unsaid() && p.end.Synced()
}

// restore makes a connection anew that has ended, and reports whether there is one. If not, all to that node end, and that
// is said once. No other follows where one of the two sides has taken leave, where the other side sent what cannot be,
// and where this node cannot connect again. While this side still has something to say at its own end (late), one does.
func (m *Mesh) restore(p *peer, conn transport.Conn, why error) bool {
	closed := conn.Close()
	var b *breach
	p.mu.Lock()
	p.out.end()
	p.conn, p.meter = nil, nil // prompt stays: it belongs to the holder of the writing
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

// resume continues over a new connection once no goroutine writes to the old one. Frames encoded for the old one are
// dropped: the session still has their messages and gives them again. It reports whether it did. A connection that
// arrives when the peer is over, because another of its pair ended, is closed, since nothing would end its reads.
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

// farewellWait bounds how long a connection that is being remade, or whose other end has not sent a frame yet, may
// delay the end of a mesh. The last message of node 0 to a node whose connection just broke is worth that much, and not
// a lease. Nothing more is sent to a node that was lost while the job ran (TestPartedNodeDelaysNoClose).
const farewellWait = time.Second

// shutdown lets no more be posted, and has the writer end the connection when what was posted has left.
func (m *Mesh) shutdown(p *peer) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.shut = true
	if p.conn == nil && m.links == nil || p.over {
		p.giveUp(nil)
	} else if !p.end.Synced() || p.end.Unsaid() { // while a connection is made again: not for long
		wait := farewellWait
		if m.parted != nil && m.parted(p.node) { // the job has lost it
			wait = 0
		}
		p.late = time.AfterFunc(wait, p.endDown)
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

// end ends a peer for good. Unless this side has announced its own end, the first connection of a node that breaks ends
// all others: what it lost will not be sent again, so the others have nothing more to wait for. They are closed before
// the loss is reported, since the caller may then forget the node.
func (m *Mesh) end(p *peer, err error) {
	p.mu.Lock()
	ours, peace := p.shut, errors.Is(err, errBye)
	p.over = true
	select {
	case conn := <-p.fresh:
		conn.Close() // no reader will take it
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
	m.mu.Lock()
	a := m.pair(p.node)
	lost := len(a.peers) > 0 && a.open.Ended(peace) // else it was dropped
	all := a.peers
	if lost {
		m.forget(p.node)
	}
	m.mu.Unlock()
	if !lost {
		return
	}
	for _, o := range all {
		o.hangUp()
	}
	var b *breach
	m.lost(Loss{p.node, err.Error(), errors.As(err, &b)})
}

// hangUp ends a peer without a word. Its reader sees the end of the connection, or finds in until that none is made anew.
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
