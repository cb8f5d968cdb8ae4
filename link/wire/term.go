package wire

import (
	"math"

	"bellows"
	"bellows/link/wire/internal/fields"
)

// Term is that of the controller that says a message; 0: its kind has none.
func (e Envelope) Term() bellows.Term {
	switch m := e.Message.(type) {
	case *Records:
		return m.Term
	case *Dispatch:
		return m.Term
	case *Staleness:
		return m.Term
	case *End:
		return m.Term
	case *Collect:
		return m.Term
	case *Fence:
		return m.Term
	case *Route:
		return m.Term
	case *Stale:
		return m.Term
	case *Query:
		return m.Term
	}
	return 0
}

func termOf(f *fields.Fields) bellows.Term { return bellows.Term(f.UpTo(math.MaxUint32)) }

const kindFence uint8 = 86

func (*Fence) kind() uint8 { return kindFence }

func (m *Fence) encode(b *Batch) {
	b.pb().Varint(1, uint64(m.Node))
	b.pb().Varint(2, uint64(m.Term))
	b.pb().Varint(3, uint64(m.Incarnation))
}

func (m *Fence) decode(payload []byte) error {
	f := fields.Of(payload)
	for f.Next() {
		switch f.Key {
		case 1<<3 | varint:
			m.Node = bellows.NodeID(f.UpTo(math.MaxUint16))
		case 2<<3 | varint:
			m.Term = termOf(&f)
		case 3<<3 | varint:
			m.Incarnation = uint32(f.UpTo(math.MaxUint32))
		}
	}
	return f.Err
}
