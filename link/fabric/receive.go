package fabric

import (
	"errors"
	"fmt"

	"bellows"
	"bellows/link/session"
	"bellows/link/transport"
	"bellows/link/wire"
)

// Bounds on what a reader takes before actors run, in bytes and in frames, so that a sender of many small messages gets
// its first answers while the last are still under way. Without a bound, a peer that never stops sending would never be
// answered.
const (
	readMost       = 512 << 10
	readFramesMost = 64
)

// errBye is the reason for the end of a connection after the peer's goodbye.
var errBye = errors.New("it has left the job")

// read takes what comes over one connection after another, until no more follows.
func (m *Mesh) read(p *peer) {
	for {
		p.mu.Lock()
		conn := p.conn
		p.mu.Unlock()
		if !m.restore(p, conn, m.receive(p, conn)) {
			return
		}
	}
}

// receive takes frames from the peer until the connection ends, and returns the reason. Actors run, and their answers
// leave, when it would wait for more, which the transport reports from within the read: so they are stepped once with
// many messages if many have arrived. Over a transport that cannot report it, they run after every frame.
//
// The first frame of a connection is the session's. A frame before it cannot be counted and is a protocol violation.
func (m *Mesh) receive(p *peer, conn transport.Conn) error {
	var in wire.Outbox
	bytes, frames := 0, 0 // since it last drained
	drain := func() {
		p.acknowledge()
		m.bus.Drain()
		bytes, frames = 0, 0
	}
	prompt, isPrompt := conn.(transport.NonBlockingConn)
	if isPrompt {
		prompt.BeforeWait(drain)
	}
	greeted := false
	for {
		h, payload, err := conn.ReadFrame()
		p.heard.Add(1)
		switch {
		case err != nil:
		case !h.IsOfEra(m.era):
			m.refuseStale(p, h)
		case h.BelowActors():
			greeted = true
			err = m.takeBelow(p, h, payload)
		case !greeted:
			err = &breach{fmt.Errorf("%v came before the connection's first word", h)}
		default:
			err = m.take(p, h, payload, &in)
		}
		if err != nil {
			drain()
			p.parts = wire.Joiner{} // an incomplete message is sent again or no longer needed
			return err
		}
		bytes += wire.HeaderSize + int(h.Length)
		if frames++; bytes > readMost || frames == readFramesMost || !isPrompt {
			drain()
		}
	}
}

// refuseStale drops a frame of another era, the session's own frames included: it was under way when a rollback began
// this era, or its sender does not know of the rollback. The handshake already refuses such a node
// (transport.StaleEra), but the mesh does not rely on that. Rejected: ending the job, as a protocol violation does, on
// account of a node that no longer belongs to it; and ending the connection, which a node that passes the handshake
// would remake without end.
func (m *Mesh) refuseStale(p *peer, h wire.Header) {
	if p.staleSaid || m.stale == nil {
		return
	}
	p.staleSaid = true
	m.stale(fmt.Sprintf("StaleEra: what comes from node %d is of era %d of the job, and node %d is in era %d: nothing of it is taken (first a %v)", p.node, h.Era, m.bus.self, m.era, h))
}

// acknowledge passes received counts to the session and sends an acknowledgement if one is due, since the other end
// keeps what is not acknowledged. It is called once for everything that was read, since it takes the lock that posting
// needs.
func (p *peer) acknowledge() {
	if p.received == (session.Counts{}) {
		return
	}
	p.mu.Lock()
	p.end.Received(p.received, p.bytes)
	due := p.end.Due()
	p.mu.Unlock()
	p.received, p.bytes = session.Counts{}, 0
	if due {
		p.ship()
	}
}

// takeBelow takes what the other end's session says. No actor hears of it, nor does the checker, since it is about
// nothing in the job.
func (m *Mesh) takeBelow(p *peer, h wire.Header, payload []byte) error {
	m.came.count(h)
	e, err := p.parts.Decode(h, payload)
	if err != nil {
		return &breach{err}
	}
	p.mu.Lock()
	p.back = p.back[:0]
	synced, renewals := p.end.Synced(), p.end.Renewals()
	switch w := e.Message.(type) {
	case *wire.Ack:
		p.back, err = p.end.Acknowledge(w, p.back)
	case *wire.Resume:
		p.back, err = p.end.Resume(w, p.back)
	case *wire.Bye:
		p.bye = true
	}
	fresh := !synced && p.end.Synced()
	first := fresh && !p.spoke
	p.spoke = p.spoke || fresh
	renewed := p.end.Renewals() > renewals && p.number == 0
	p.mu.Unlock()
	wire.Free(e.Message)
	if err != nil {
		return &breach{err}
	}
	m.giveBack(p)
	if fresh { // what waited for the other end's first word
		p.ship()
	}
	if first {
		m.meet(p)
	}
	if renewed && m.follows != nil {
		m.follows()
	}
	return nil
}

// giveBack frees what the other end has, and returns marks to their senders: all that was posted before one has come.
func (m *Mesh) giveBack(p *peer) {
	for _, e := range p.back {
		if _, mark := e.Message.(*wire.Mark); mark {
			p.marks.Envelopes = append(p.marks.Envelopes, wire.Envelope{From: e.To, To: e.From, Era: e.Era, Message: e.Message})
			continue
		}
		release(e)
	}
	clear(p.back)
	m.bus.Enqueue(&p.marks)
	clear(p.marks.Envelopes)
	p.marks.Envelopes = p.marks.Envelopes[:0]
}

// Admission judges frames before anything acts on them: a validate.Checker. The header is judged before the payload is
// looked at, which costs more, and the message before an actor has it.
type Admission interface {
	Header(peer bellows.NodeID, h wire.Header) error
	Message(h wire.Header, e wire.Envelope) error
}

// breach is a protocol violation, for which this side ends a connection. It is not remade, since its sender would
// repeat the violation.
type breach struct{ error }

// take enqueues the message of a frame that fits the job, or of several, with the last of them. It allocates nothing
// (TestTakingAFrameAllocatesNothing).
func (m *Mesh) take(p *peer, h wire.Header, payload []byte, in *wire.Outbox) error {
	m.came.count(h)
	if err := m.checker.Header(p.node, h); err != nil {
		return &breach{err}
	}
	e, err := p.parts.Decode(h, payload)
	p.bytes += int(h.Length)
	if err == nil && e.Message == nil {
		return nil
	}
	if err == nil {
		err = m.checker.Message(h, e)
	}
	if err != nil {
		return &breach{err}
	}
	p.received[session.StreamOf(e)]++
	in.Envelopes = append(in.Envelopes[:0], e)
	m.bus.Enqueue(in)
	return nil
}
