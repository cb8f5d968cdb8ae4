// Package session makes messages between two nodes survive a broken connection: it queues, cuts into parts by measured
// speed, acknowledges and resends them. Both ends of two numbered streams are step functions. In production each
// connection of a pair of nodes has an End, and the simulation plays the same code.
//
// A connection keeps order and loses nothing until it ends, and then loses what was under way. So nothing is numbered
// on the wire. Each side counts the complete messages of a stream, acknowledges them now and then (wire.Ack), and
// begins every connection with its counts (wire.Resume); the other side continues after them. Messages from and to the
// controller are a stream of their own, which overtakes the other, also between the parts of a long message. Within the
// other stream, messages between two actors keep their order, and no others.
//
// The caller's duties, in order:
//
//  1. Post every message for the other node, under a lock of its own.
//  2. When a connection is there, call Connected and write what Hello gives. Write nothing else before the other side's
//     Resume has been passed to Resume.
//  3. Take what may be written, in pieces of any size, first of the urgent stream; call Between for what may leave between
//     the parts of the last message taken. Messages stay the session's until they are acknowledged: the caller neither
//     frees nor changes them, but may free what Acknowledge and Resume give back.
//  4. Count every complete message with Received, call Tick a few times a second, write an Ack when Due reports true, and
//     pass every Ack that arrives to Acknowledge.
//
// The package does not dial, does not judge when a node is lost (package core/heartbeat does), and repeats nothing on a
// connection that stands.
package session

import (
	"fmt"

	"bellows/core/planted"
	"bellows/link/traffic"
	"bellows/link/wire"
)

// The streams.
const (
	Urgent   = iota // what the controller says and hears, but for the state of partitions
	Ordinary        // all else
	Streams
)

// StreamOf returns the stream in which an envelope travels: the urgent one has what is control, the ordinary one all
// other classes.
func StreamOf(e wire.Envelope) int {
	if ClassOf(&e) == traffic.Control {
		return Urgent
	}
	return Ordinary
}

// ClassOf returns the class of an envelope. All that the controller sends or receives is control, but for the state of
// partitions: a sign
// of life must not wait for that. Of other actors, what would be control is ordered like flushes: the end of the job,
// or a stale
// route, must not pass what its sender has pushed or answered before.
func ClassOf(e *wire.Envelope) traffic.Class {
	c := e.Traffic()
	switch controller := e.From.Role == wire.Controller || e.To.Role == wire.Controller; {
	case controller && c != traffic.Migration:
		return traffic.Control
	case !controller && c == traffic.Control:
		return traffic.Flushes
	}
	return c
}

// Counts are messages of each stream.
type Counts = [Streams]uint64

// End is one end of a session. The zero End is ready, and has no connection.
//
// A stream is one list: acknowledged messages leave it at its head, posted ones join it at its end, and next is the
// first that this connection has not been given. When a connection breaks, next moves back to the head, and no further:
// the other end then says what it has. Invariants: received never decreases; an acknowledged message is never sent
// again (TestExactlyOnceInOrder).
//
// Rejected: a number in every frame, since a stream that loses nothing while it lasts can be counted at both ends; one
// stream, in which a heartbeat would wait for the state of partitions, so that a node that sends its model would look
// dead; and requests to resend for each kind of message, in as many places, each with its own faults.
type End struct {
	streams  [Streams]stream
	received Counts // messages that have come whole
	told     Counts // of these, as the other end was last told
	own      uint64 // this process
	peer     uint64 // the process at the other end; 0: none has come yet
	renews   bool   // another may come in its place
	renewals int    // how often one has
	synced   bool   // this connection's Resume has come
	late     int    // bytes that have come since the other end was last told

	ranks     *traffic.Ranks // of the classes; nil: traffic.Default
	shortMost int
	waiting   []pairOf // scratch: pairs of actors with a message that was passed over
}

type stream struct {
	list  []wire.Envelope
	head  int    // of list: the first that is not acknowledged
	next  int    // of list: the first that this connection has not been given
	acked uint64 // messages before head, since the beginning

	last   pairOf // of the last long message
	passed int    // bytes that have passed the next long one
	ranked int    // messages from next on with another rank than flushes
}

// Post adds a message for the other node. A *wire.Mark comes back from Acknowledge or Resume when all before it has
// been acknowledged, or
// at once: back.
func (e *End) Post(m wire.Envelope) (back bool) {
	s := &e.streams[StreamOf(m)]
	if _, mark := m.Message.(*wire.Mark); mark && s.head == len(s.list) {
		return true
	}
	if s.head > 64 && s.head > len(s.list)/2 { // make room where memory is there already
		n := copy(s.list, s.list[s.head:])
		clear(s.list[n:])
		s.list, s.next, s.head = s.list[:n], s.next-s.head, 0
	}
	s.list = append(s.list, m)
	s.ranked += e.ranked(&m)
	return false
}

// Take appends the messages of a stream that may be written now, at most so many, and none after a long one: others may
// leave between its parts (Between).
func (e *End) Take(stream, most int, to []wire.Envelope) []wire.Envelope {
	s := &e.streams[stream]
	if !e.synced {
		return to
	}
	for s.next < len(s.list) && most > 0 {
		if _, mark := s.list[s.next].Message.(*wire.Mark); mark {
			s.next++
			continue
		}
		at := s.next
		if stream == Ordinary {
			at = e.choose(s)
		}
		m, long := e.give(s, at)
		if to = append(to, m); long {
			break
		}
		most--
	}
	return to
}

// Waiting reports whether there is something that may be written.
func (e *End) Waiting() bool {
	for i := range e.streams {
		if s := &e.streams[i]; e.synced && s.next < len(s.list) {
			return true
		}
	}
	return false
}

// Synced reports whether this connection's Resume has come.
func (e *End) Synced() bool { return e.synced }

// Unsaid reports whether something was posted that no connection that stands has been given.
func (e *End) Unsaid() bool {
	for i := range e.streams {
		if s := &e.streams[i]; s.next < len(s.list) || !e.synced && s.head < len(s.list) {
			return true
		}
	}
	return false
}

// Received counts messages that have come whole, and their bytes.
func (e *End) Received(n Counts, bytes int) {
	for i := range n {
		e.received[i] += n[i]
	}
	e.late += bytes
}

// How many messages or bytes may arrive before they are acknowledged; until then the other end keeps them. Fewer than
// worthMessages and worthBytes are not worth a frame, even next to others that leave anyway; at dueMessages or dueBytes
// an acknowledgement leaves alone.
const (
	worthMessages = 16
	worthBytes    = 64 << 10
	dueMessages   = 256
	dueBytes      = 1 << 20
)

// untold returns how many received messages are not acknowledged.
func (e *End) unacknowledged() (n uint64) {
	for i := range e.received {
		n += e.received[i] - e.told[i]
	}
	return n
}

// Due reports whether an acknowledgement should be sent, even if nothing else is to be written.
func (e *End) Due() bool {
	late := e.unacknowledged()
	return e.synced && (late >= dueMessages || late > 0 && e.late >= dueBytes)
}

// Tick makes an acknowledgement Due for messages that arrived since the last one. It is called a few times a second, so
// that the other end does not keep messages for long.
func (e *End) Tick() {
	if e.received != e.told {
		e.late = dueBytes
	}
}

// Ack returns the word for the other end, nil if it knows already, or nearly all; the caller frees it. It is as good as
// sent: a connection that
// breaks before is followed by a Resume.
func (e *End) Ack() *wire.Ack {
	late := e.unacknowledged()
	if !e.synced || late == 0 || late < worthMessages && e.late < worthBytes {
		return nil
	}
	e.told, e.late = e.received, 0
	a := wire.New[wire.Ack]()
	a.Received = e.received
	return a
}

// Acknowledge takes an acknowledgement of the other end. It appends what has been acknowledged: marks, for their
// senders, and messages that the caller may free. An error is a protocol violation.
func (e *End) Acknowledge(m *wire.Ack, to []wire.Envelope) ([]wire.Envelope, error) {
	for i, n := range m.Received {
		var err error
		if to, err = e.streams[i].acknowledge(n, to); err != nil {
			return to, err
		}
	}
	return to, nil
}

func (s *stream) acknowledge(n uint64, to []wire.Envelope) ([]wire.Envelope, error) {
	for s.head < len(s.list) {
		_, mark := s.list[s.head].Message.(*wire.Mark)
		if !mark && (s.acked >= n || s.head == s.next) {
			break
		}
		if !mark {
			s.acked++
		}
		to = append(to, s.list[s.head])
		s.list[s.head] = wire.Envelope{}
		s.head++
		s.next = max(s.next, s.head)
	}
	if s.head == len(s.list) { // begin anew: its memory is warm
		s.list, s.head, s.next = s.list[:0], 0, 0
	}
	if s.acked < n {
		return to, fmt.Errorf("%d messages are acknowledged, but only %d were sent", n, s.acked)
	}
	return to, nil
}

// Connected begins a connection: nothing may be taken before the other end's Resume.
func (e *End) Connected() { e.synced = false }

// Renews lets another process come in the place of that at the other end, as one does in that of node 0. The session
// then begins anew:
// nothing that was said before comes to it, or from there.
func (e *End) Renews() { e.renews = true }

// Renewals returns how often another process has come.
func (e *End) Renewals() int { return e.renewals }

// Hello returns what a connection begins with, from a process of that number, which no other process has.
func (e *End) Hello(process uint64) *wire.Resume {
	e.own, e.told, e.late = process, e.received, 0
	return &wire.Resume{Process: process, Of: e.peer, Received: e.received}
}

// Resume takes the other end's first frame on a connection, and appends what that acknowledges, as Acknowledge does.
// The session continues after what the other end has. An error is a protocol violation, or a new process where none is
// allowed (Renews), which has received nothing. If one is allowed, all that was posted is given back. What the other
// end has received from an earlier process here does not count for this one.
func (e *End) Resume(m *wire.Resume, to []wire.Envelope) ([]wire.Envelope, error) {
	if e.peer == 0 {
		e.peer = m.Process
	}
	if m.Process != e.peer {
		if !e.renews {
			return to, fmt.Errorf("another process answers than before")
		}
		to = e.renew(m.Process, to)
	}
	has := m.Received
	if m.Of == 0 && has != (Counts{}) && e.own != 0 {
		return to, fmt.Errorf("%d messages have come from no process", has)
	}
	if m.Of != e.own && !planted.On("counts-of-another") {
		has = Counts{}
	}
	var err error
	if !planted.On("resent-from-start") {
		to, err = e.Acknowledge(&wire.Ack{Received: has}, to)
	}
	if err != nil {
		return to, err
	}
	for i := range e.streams {
		s := &e.streams[i]
		if s.next = s.head; planted.On("no-resend") {
			s.next = len(s.list)
		}
		s.ranked = 0
		for k := s.next; k < len(s.list); k++ {
			s.ranked += e.ranked(&s.list[k])
		}
	}
	e.synced = true
	return to, nil
}

// renew starts over with a new process, and appends everything that was for the old one.
func (e *End) renew(process uint64, to []wire.Envelope) []wire.Envelope {
	for i := range e.streams {
		s := &e.streams[i]
		if !planted.On("kept-for-another") {
			to = append(to, s.list[s.head:]...)
			clear(s.list)
			s.list = s.list[:0]
		}
		*s = stream{list: s.list}
	}
	e.peer, e.received, e.told, e.late = process, Counts{}, Counts{}, 0
	e.renewals++
	return to
}
