package fabric

import (
	"fmt"
	"time"

	"bellows"
	"bellows/link/session"
	"bellows/link/transport"
	"bellows/link/wire"
)

// post queues a message for another node, until it is shipped. One for a node that is not there any more is dropped: the
// controller learns of the node otherwise. A mark comes back at once where all before it has been acknowledged.
//
// It may run under its caller's locks, as Enqueue does, and so only queues.
func (m *Mesh) post(e wire.Envelope) {
	p := m.peer(e)
	if p == nil {
		release(e)
		return
	}
	p.mu.Lock()
	if p.shut || p.over {
		p.mu.Unlock()
		release(e)
		return
	}
	if p.end.Post(e) {
		p.mu.Unlock()
		m.bus.Enqueue(&wire.Outbox{Envelopes: []wire.Envelope{{From: e.To, To: e.From, Era: e.Era, Message: e.Message}}})
		return
	}
	first := !p.dirty
	p.dirty = true
	p.mu.Unlock()
	if first {
		m.mu.Lock()
		m.dirty.join(p)
		m.mu.Unlock()
	}
}

// release frees a message that is not sent any more. A push belongs to its client until its lane sends Committed.
func release(e wire.Envelope) {
	if _, kept := e.Message.(*wire.Push); !kept {
		wire.Free(e.Message)
	}
}

// ship sends what is posted to all peers, in the order in which they were first posted for: later messages of a
// controller depend on its earlier ones to lanes, so if the process dies in between, the earlier ones have left. It
// does not wait: what the system does not accept at once is left to the writer. A peer leaves the list before it is
// examined, so that messages posted from then on list it again.
func (m *Mesh) ship() {
	for {
		m.mu.Lock()
		p := m.dirty.next()
		m.mu.Unlock()
		if p == nil {
			return
		}
		p.ship()
	}
}

// ship sends what is queued for one peer, unless another goroutine already does so, which will then see it. After
// shipRounds rounds, each with newly posted messages, the rest is left to the writer, since a shipper has other work.
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
	p.wake <- struct{}{} // there is one writing, so there is room
}

// Bounds of what is sent on the way, by a goroutine that has other work: the bytes of one write, and how often it looks for
// what others have queued meanwhile.
const (
	tryMost    = 128 << 10
	shipRounds = 4
)

// try encodes what is queued and writes it if that can be done at once. false: the writer must continue, first with the
// rest of the batch, which may begin in the middle of a frame, then with the queue. If there is more than one write may
// take, nothing is tried: the writer makes longer writes.
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

// takeMost is how many ordinary messages are taken from the session at a time, under the lock.
const takeMost = 256

// fill encodes what is urgent, and then the rest, until the batch has so many bytes. That is looked at before a message
// and not in it: a long one makes the batch as long as it takes, and leaves in parts (wire.Batch). One in parts is the last of its batch, as of what was taken: what passes it is known by that.
func (p *peer) fill(most int) {
	if p.adapts {
		p.batch.Cut(p.cuts.Parts())
	}
	p.fillUrgent(&p.batch)
	for p.batch.Len() < most {
		if p.next == len(p.queued) && !p.take() {
			break
		}
		p.encode(&p.batch, p.queued[p.next])
		if p.next++; p.batch.InParts() {
			break
		}
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

// fillUrgent encodes the session's own frames, then urgent messages: the session's first frame must be the first of the
// connection, and the other end waits for acknowledgements.
func (p *peer) fillUrgent(b *wire.Batch) {
	p.mu.Lock()
	hello := p.hello
	p.hello = nil
	ack := p.end.Ack()
	p.first = p.end.Take(session.Urgent, takeMost, p.first[:0])
	p.mu.Unlock()
	if hello != nil {
		p.encode(b, wire.Envelope{Era: p.era, Message: hello})
	}
	if ack != nil {
		p.encode(b, wire.Envelope{Era: p.era, Message: ack})
		wire.Free(ack)
	}
	for _, e := range p.first {
		p.encode(b, e)
	}
	clear(p.first)
}

// encode adds a message to a batch. One that has no form on the wire, as a value that does not fit its narrow format, is
// left out: the job ends for it, by name.
func (p *peer) encode(b *wire.Batch, e wire.Envelope) {
	if err := b.Add(e); err != nil {
		p.unsent(e, err)
	}
}

// sent empties a batch that has left.
func (p *peer) sent() {
	p.rest = nil
	p.out.wrote(p.left.add(p.batch.Traffic()))
	p.batch.Reset()
}

// overtake sends, between two parts of a message, what is urgent and short messages of other actors: a record, a
// heartbeat or an answer does not wait for the state of a partition (TestShortMessagesOvertakeALongOne). It has a batch
// of its own, since the other is half written.
func (p *peer) overtake(conn transport.Conn) error {
	p.fillUrgent(&p.aside)
	p.mu.Lock()
	p.first = p.end.Between(p.first[:0])
	p.mu.Unlock()
	for _, e := range p.first {
		p.encode(&p.aside, e)
	}
	clear(p.first)
	if p.aside.Len() == 0 {
		return nil
	}
	err := conn.WriteFrames(p.aside.Buffers())
	p.out.wrote(p.left.add(p.aside.Traffic()))
	p.aside.Reset()
	return err
}

// more reports whether the holder of the writing has more to do. If not, it has given the writing back, and another
// shipper may have it before more returns. The end of the peer is more to do: the writing passes to the writer, which
// ends with it.
func (p *peer) more() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.writing = p.ready() || p.over || p.mayPart()
	if !p.writing {
		p.calm.Broadcast()
	}
	return p.writing
}

// batchMost is how many bytes the writer puts into one write. Urgent messages wait for no more than that. With a
// quarter of it, pushes of 64 KiB cost a tenth more.
const batchMost = 1 << 20

// write sends what others could not, each time that it is woken, until the peer is over.
func (m *Mesh) write(p *peer) {
	for range p.wake {
		for {
			if !p.turn() {
				if p.rested() {
					return
				}
				break
			}
			if !p.more() { // another goroutine may have the writing by now
				break
			}
		}
	}
}

// turn writes what there is to write, and reports whether there may be more to write to this connection.
func (p *peer) turn() bool {
	p.mu.Lock()
	conn, finish := p.conn, p.shut
	down := conn == nil || p.failed != nil || p.over
	p.mu.Unlock()
	if down {
		return false
	}
	if err := p.send(conn); err != nil {
		p.fails(conn, err)
		return false
	}
	return !finish || !p.sayBye(conn)
}

// rested gives the writing back, and reports whether it will not be taken again.
func (p *peer) rested() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.writing {
		panic("fabric: the writing is given back twice; another goroutine may have it")
	}
	p.writing = p.over
	p.calm.Broadcast()
	return p.over
}

// sayBye sends the goodbye if everything has left, and ends the connection; the reader then ends the peer. It fails as
// any write does. The other side then receives no goodbye: it finds the connection broken.
func (p *peer) sayBye(conn transport.Conn) bool {
	p.mu.Lock()
	left := !p.ready() && p.mayPart()
	p.parted = p.parted || left
	p.mu.Unlock()
	if !left {
		return false
	}
	p.encode(&p.batch, wire.Envelope{Era: p.era, Message: &wire.Bye{}})
	p.rest = p.batch.Next()
	if p.writeBatch(conn) == nil {
		p.sent()
	}
	conn.Close()
	return true
}

// send writes what is in the batch, where a shipper has left some of it, and then what is queued.
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
		n := 0
		for _, b := range p.rest {
			n += len(b)
		}
		began := time.Now()
		if err := conn.WriteFrames(p.rest); err != nil {
			return err
		}
		took := time.Since(began).Nanoseconds()
		p.cuts.Wrote(n, took)
		p.out.waited(took)
		if p.rest = p.batch.Next(); len(p.rest) > 0 {
			if err := p.overtake(conn); err != nil {
				return err
			}
		}
	}
	return nil
}

// fails ends a connection after a failed write: its reader notices and decides what follows.
func (p *peer) fails(conn transport.Conn, err error) {
	p.mu.Lock()
	p.failed = err
	p.mu.Unlock()
	conn.Close() // which fails for what has failed
}

// unsent reports to the controller a message that cannot be sent: the job cannot continue without it. Its caller writes
// to a peer and holds no lock; messages for that peer wait in its queue meanwhile.
func (m *Mesh) unsent(e wire.Envelope, err error) {
	self := wire.ClientAt(m.bus.self)
	m.bus.Send(self, wire.ControllerAt(), &wire.Failed{Kind: bellows.KindOf(err), Reason: fmt.Sprintf("%v to %v: %v", e.From, e.To, err)})
}
