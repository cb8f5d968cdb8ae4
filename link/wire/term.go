package wire

import (
	"bellows"
	"bellows/link/wire/internal/fields"
)

// Term returns the term of the controller that sent a message; 0: its kind has none.
func (e Envelope) Term() bellows.Term {
	switch m := e.Message.(type) {
	case *Records:
		return m.Term
	case *Dispatch:
		return m.Term
	case *Recall:
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
	case *Handoff:
		return m.Term
	case *Cut:
		return m.Term
	}
	return 0
}

const kindFence uint8 = 86

func (*Fence) kind() uint8 { return kindFence }

func (m *Fence) fields(c *fields.Codec) error {
	fields.Num(c, 1, &m.Node)
	fields.Num(c, 2, &m.Term)
	fields.Num(c, 3, &m.Incarnation)
	return nil
}
