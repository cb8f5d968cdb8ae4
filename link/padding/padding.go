// Package padding says which values of a table's rows travel between nodes: all but those that fill up cache lines.
package padding

import "math"

// Columns says which values of each row travel: the first Sent. Padding zeros follow them in memory. The zero Columns
// says that all travel.
//
// A receiver takes memory for whole rows before it knows that they fit the table. So padding is bounded: by
// paddingMost values, and by paddingShare times what is sent. Rows with more travel whole.
type Columns struct {
	Sent    uint16
	Padding uint8
}

// Limits of Columns. Their code is of 16 bits: Sent in the lower 12, Padding in the upper 4.
const (
	sentBits     = 12
	sentMost     = 1<<sentBits - 1
	paddingMost  = 1<<(16-sentBits) - 1
	paddingShare = 7
)

// Find returns the columns of rows of a width with padding at their ends. It returns the zero Columns for
// padding beyond the limits.
func Find(width, padding int) Columns {
	sent := width - padding
	if padding < 1 || padding > paddingMost || sent > sentMost || padding > paddingShare*sent {
		return Columns{}
	}
	return Columns{uint16(sent), uint8(padding)}
}

// Code returns the columns as a number.
func (c Columns) Code() uint16 { return uint16(c.Padding)<<sentBits | c.Sent }

// Decode returns the columns that have a code. ok is false for a number that Code does not return.
func Decode(x uint16) (c Columns, ok bool) {
	c = Columns{x & sentMost, uint8(x >> sentBits)}
	if c == (Columns{}) || c == Find(c.width(), int(c.Padding)) {
		return c, true
	}
	return Columns{}, false
}

// width returns the number of values of a whole row.
func (c Columns) width() int { return int(c.Sent) + int(c.Padding) }

// Sending returns how many of n values travel.
func (c Columns) Sending(n int) int {
	if c.Padding == 0 {
		return n
	}
	return n / c.width() * int(c.Sent)
}

// Whole returns how many values rows have in memory if n of them travel. ok is false if n values do not fill rows.
func (c Columns) Whole(n int) (all int, ok bool) {
	if c.Padding == 0 {
		return n, true
	}
	return n / int(c.Sent) * c.width(), n%int(c.Sent) == 0
}

// Check reports whether values are whole rows with zeros as padding.
func (c Columns) Check(v []float32) bool {
	if c.Padding == 0 {
		return true
	}
	for ; len(v) >= c.width(); v = v[c.width():] {
		bits := uint32(0)
		for _, x := range v[c.Sent:c.width()] {
			bits |= math.Float32bits(x)
		}
		if bits != 0 {
			return false
		}
	}
	return len(v) == 0
}

// Pack copies what travels of whole rows.
func (c Columns) Pack(to, rows []float32) {
	for ; len(rows) > 0; rows = rows[c.width():] {
		to = to[copy(to, rows[:c.Sent]):]
	}
}

// Unpack makes whole rows of what has travelled.
func (c Columns) Unpack(rows, from []float32) {
	for ; len(from) > 0; from, rows = from[c.Sent:], rows[c.width():] {
		clear(rows[copy(rows, from[:c.Sent]):c.width()])
	}
}
