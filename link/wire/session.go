package wire

import (
	"sync"

	"bellows/link/wire/internal/fields"

	"google.golang.org/protobuf/encoding/protowire"
)

// What two nodes tell each other about a connection, below all actors: no role says it, and none hears it.

// Ack says how many messages have come whole over a session: those that the controller says or hears, and the others.
type Ack struct{ Received [2]uint64 }

// Resume begins every connection of a session: it says what has come over the connections before.
type Resume struct {
	Process  uint64 // of the sender: no other process of the job has the number
	Received [2]uint64
}

// Bye ends a session in peace: nothing more will be said, and the end of the connection is no loss.
type Bye struct{}

// Mark is a place in what is sent to another node. It never travels: it comes back to its sender when all that was sent before it to the
// same receiver has come there.
type Mark struct {
	Local
	Weight int    // the sender's
	Life   uint32 // the sender's, too
}

const kindAck uint8 = 84

func (*Ack) kind() uint8 { return kindAck }

func (m *Ack) encode(b *Batch) { b.received(1, m.Received) }

func (m *Ack) decode(payload []byte) error {
	f := fields.Of(payload)
	for f.Next() {
		takeReceived(&f, 1, &m.Received)
	}
	return f.Err
}

// received adds counts of messages, those of the first stream at that number.
func (b *Batch) received(at protowire.Number, n [2]uint64) {
	b.pb().Varint(at, n[0])
	b.pb().Varint(at+1, n[1])
}

func takeReceived(f *fields.Fields, at uint64, n *[2]uint64) {
	switch f.Key {
	case at<<3 | varint:
		n[0] = f.Num
	case (at+1)<<3 | varint:
		n[1] = f.Num
	}
}

func (m *Ack) recycle() *sync.Pool {
	*m = Ack{}
	return &pools[kindAck]
}

const kindResume uint8 = 85

func (*Resume) kind() uint8 { return kindResume }

func (m *Resume) encode(b *Batch) {
	b.pb().Varint(1, m.Process)
	b.received(2, m.Received)
}

func (m *Resume) decode(payload []byte) error {
	f := fields.Of(payload)
	for f.Next() {
		if f.Key == 1<<3|varint {
			m.Process = f.Num
		}
		takeReceived(&f, 2, &m.Received)
	}
	return f.Err
}

const kindBye uint8 = 83

func (*Bye) kind() uint8 { return kindBye }

func (*Bye) encode(*Batch) {}

func (m *Bye) decode(payload []byte) error {
	f := fields.Of(payload)
	for f.Next() {
	}
	return f.Err
}

// BelowActors reports whether the frame is of a session and not for an actor.
func (h Header) BelowActors() bool { return known(h.Kind) && kinds[h.Kind].ways == 0 }
