package wire

import (
	"sync"

	"bellows/link/wire/internal/fields"
)

// Messages between two nodes about a connection, below all actors: no role sends or receives them. Messages have no
// numbers on the wire. Both ends count complete messages, stream by stream, and Ack and Resume carry counts. So a
// number cannot be wrong for a message, only for a connection, which then ends.

// Ack says how many messages have come whole over a session: those that the controller says or hears, and the others.
type Ack struct{ Received [2]uint64 }

// Resume begins every connection of a session: it says what has come over the connections before.
type Resume struct {
	Process  uint64 // of the sender: no other process of the job has the number
	Of       uint64 // the process at the other end from which that has come; 0: none has spoken yet
	Received [2]uint64
}

// Bye ends a session in peace: nothing more will be said, and the end of the connection is no loss.
type Bye struct{}

// Mark is a place in what is sent to another node. It never travels: it comes back to its sender when all that was sent before it to the
// same receiver has come there.
type Mark struct {
	Local
	Weight int    // the sender's
	Life   uint32 // the sender's
}

const kindAck uint8 = 84

func (*Ack) kind() uint8 { return kindAck }

func (m *Ack) fields(c *fields.Codec) error {
	fields.Num(c, 1, &m.Received[0])
	fields.Num(c, 2, &m.Received[1])
	return nil
}

func (m *Ack) recycle() *sync.Pool {
	*m = Ack{}
	return &pools[kindAck]
}

const kindResume uint8 = 85

func (*Resume) kind() uint8 { return kindResume }

func (m *Resume) fields(c *fields.Codec) error {
	fields.Num(c, 1, &m.Process)
	fields.Num(c, 2, &m.Received[0])
	fields.Num(c, 3, &m.Received[1])
	fields.Num(c, 4, &m.Of)
	return nil
}

const kindBye uint8 = 83

func (*Bye) kind() uint8                { return kindBye }
func (*Bye) fields(*fields.Codec) error { return nil }

// BelowActors reports whether the frame is of a session and not for an actor.
func (h Header) BelowActors() bool { return known(h.Kind) && kinds[h.Kind].ways == 0 }
