package handoff

import (
	"fmt"

	"bellows/core/planted"
	"bellows/core/rowstore"
	"bellows/link/wire"
)

// Target is the end of a copy that is to own the partition.
//
// Invariant: it takes each piece once, in the order of their numbers.
type Target struct {
	From   wire.Address
	Pair   wire.Pair
	copy   uint64
	number uint64 // of the last piece taken
	told   uint64 // up to which its sender knows
	last   *wire.Piece

	change *wire.Piece // a change that waits for its clock and has not come completely; nil: none
	rows   int         // of it that have come
}

// NewTarget returns the receiving end of a copy that was offered.
func NewTarget(from wire.Address, offer *wire.Piece) *Target {
	return &Target{From: from, Pair: offer.Pair, copy: offer.Copy}
}

// Matches reports whether a piece from a lane belongs to this copy.
func (t *Target) Matches(from wire.Address, m *wire.Piece) bool {
	return t.From == from && t.copy == m.Copy
}

// Take takes the next piece. It writes rows to the partition, and rows of an image to the image; the caller carries out
// what other pieces ask for.
func (t *Target) Take(m *wire.Piece, p *rowstore.Store, image *rowstore.Image) error {
	if m.Pair != t.Pair { // its rows were checked as another partition's
		return fmt.Errorf("piece %d of a copy of %v is of %v, generation %d", m.Number, t.Pair.Ref, m.Pair.Ref, m.Pair.Generation)
	}
	if m.Number != t.number+1 {
		return fmt.Errorf("piece %d of a copy of %v behind piece %d", m.Number, t.Pair.Ref, t.number)
	}
	if t.last != nil {
		return fmt.Errorf("piece %d of a copy of %v behind the last", m.Number, t.Pair.Ref)
	}
	if t.change != nil && m.Kind != Chunk {
		return fmt.Errorf("piece %d of a copy of %v before the rest of a change", m.Number, t.Pair.Ref)
	}
	t.number = m.Number
	switch m.Kind {
	case Rows:
		return p.Put(int(m.First), m.Keys, m.Values)
	case Image:
		return p.PutImage(image, int(m.First), int(m.Count), m.Keys, m.Values)
	case Last:
		t.last = m
	}
	return nil
}

// Gather puts together the pieces of a change that waits for its clock, since sums count it as one; nil: more pieces
// follow. It returns a whole change as it is, and frees the pieces that it has put together
// (TestALargeChangeTravelsInPieces).
func (t *Target) Gather(m *wire.Piece) (*wire.Piece, error) {
	if m.Count == 0 && t.change == nil || planted.On("handoff-parts-apart") {
		return m, nil
	}
	n := max(len(m.Rows), len(m.Keys))
	if n == 0 || int(m.First) != t.rows || int(m.First)+n > int(m.Count) || len(m.Values)%n > 0 ||
		t.change != nil && (m.Count != t.change.Count || m.Subtree != t.change.Subtree || m.Clock != t.change.Clock) {
		return nil, fmt.Errorf("piece %d of a copy of %v has %d rows from %d on of %d of a change; %d have come", m.Number, t.Pair.Ref, n, m.First, m.Count, t.rows)
	}
	width := len(m.Values) / n
	if t.change == nil {
		c := wire.New[wire.Piece]()
		c.Copy, c.Number, c.Pair, c.Kind, c.Waits, c.Clock, c.Subtree, c.Count = m.Copy, m.Number, m.Pair, m.Kind, m.Waits, m.Clock, m.Subtree, m.Count
		if m.Keys != nil {
			c.Hold(int(m.Count), -1, int(m.Count)*width)
		} else {
			c.Hold(-1, int(m.Count), int(m.Count)*width)
		}
		t.change = c
	}
	c, at := t.change, t.rows
	if (m.Keys == nil) != (c.Keys == nil) || len(c.Values) != int(c.Count)*width {
		return nil, fmt.Errorf("piece %d of a copy of %v has rows of another form than those before it of a change", m.Number, t.Pair.Ref)
	}
	copy(c.Values[at*width:], m.Values)
	if c.Keys != nil {
		copy(c.Keys[at:], m.Keys)
	} else {
		copy(c.Rows[at:], m.Rows)
	}
	wire.Free(m)
	if t.rows += n; t.rows < int(c.Count) {
		return nil, nil
	}
	t.change, t.rows = nil, 0
	return c, nil
}

// Last returns the last piece; nil: it has not come.
func (t *Target) Last() *wire.Piece { return t.last }

// Ack returns the message to the sender that all has been taken up to now; nil: the sender knows.
func (t *Target) Ack() *wire.Taken {
	if t.told == t.number {
		return nil
	}
	t.told = t.number
	return &wire.Taken{Copy: t.copy, Number: t.number, Pair: t.Pair}
}

// Welcome returns the message to the sender that its offer is taken.
func (t *Target) Welcome() *wire.Taken { return &wire.Taken{Copy: t.copy, Pair: t.Pair} }
