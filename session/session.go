// Package session makes an unreliable link reliable: both ends of a numbered, acknowledged, ordered
// stream of envelopes between two nodes.
//
// The caller sends every envelope through Send, every arriving packet through Receive, and calls
// Tick regularly; packets to transmit come back from all three. While both ends live, each envelope
// is delivered exactly once and in order, whatever the link drops, repeats, delays or reorders. The
// package does not decide that the other end is gone: that is package lease's judgement.
package session

import (
	"bellows/planted"
	"bellows/wire"
)

// Packet is what travels on the link. Sequence numbers start at 1; a packet without an envelope
// (Sequence 0) only acknowledges.
type Packet struct {
	Sequence uint64
	Ack      uint64 // every envelope up to this has arrived in order
	Envelope wire.Envelope
}

// resendTicks is how many ticks an unacknowledged envelope waits before it is sent again.
const resendTicks = 4

// End is one end of a link. The zero End is ready.
type End struct {
	sent     uint64 // last sequence number given out
	acked    uint64 // the other end has everything up to this
	unacked  []wire.Envelope
	waited   int // ticks since the first unacked envelope was sent or acknowledged progress was made
	received uint64
	early    map[uint64]wire.Envelope // arrived before one that precedes them
	owesAck  bool
}

// Send numbers an envelope and returns the packet to transmit.
func (e *End) Send(env wire.Envelope) Packet {
	e.sent++
	e.unacked = append(e.unacked, env)
	e.owesAck = false
	return Packet{e.sent, e.received, env}
}

// Receive takes a packet and appends the envelopes that it makes deliverable, in order.
func (e *End) Receive(p Packet, to []wire.Envelope) []wire.Envelope {
	if p.Ack > e.acked {
		e.unacked = e.unacked[p.Ack-e.acked:]
		e.acked, e.waited = p.Ack, 0
	}
	if p.Sequence == 0 {
		return to
	}
	e.owesAck = true
	if p.Sequence <= e.received {
		if planted.On("duplicate-delivered") {
			to = append(to, p.Envelope)
		}
		return to
	}
	if planted.On("gap-skipped") {
		e.received = p.Sequence
		return append(to, p.Envelope)
	}
	if e.early == nil {
		e.early = map[uint64]wire.Envelope{}
	}
	e.early[p.Sequence] = p.Envelope
	for {
		env, ok := e.early[e.received+1]
		if !ok {
			return to
		}
		delete(e.early, e.received+1)
		e.received++
		to = append(to, env)
	}
}

// Tick appends the packets that are due: envelopes unacknowledged for too long, and an
// acknowledgement where one is owed and nothing carried it.
func (e *End) Tick(to []Packet) []Packet {
	if len(e.unacked) > 0 {
		if e.waited++; e.waited >= resendTicks && !planted.On("no-resend") {
			e.waited, e.owesAck = 0, false
			for i, env := range e.unacked {
				to = append(to, Packet{e.acked + 1 + uint64(i), e.received, env})
			}
		}
	}
	if e.owesAck {
		e.owesAck = false
		to = append(to, Packet{Ack: e.received})
		if planted.On("ack-early") && len(e.early) > 0 {
			to[len(to)-1].Ack++
		}
	}
	return to
}

// Idle reports whether nothing waits for an acknowledgement.
func (e *End) Idle() bool { return len(e.unacked) == 0 && !e.owesAck }
