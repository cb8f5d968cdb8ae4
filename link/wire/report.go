package wire

import (
	"math"
	"time"

	"bellows/core/tally"
	"bellows/link/wire/internal/fields"

	"google.golang.org/protobuf/encoding/protowire"
)

// Report is what a node has counted so far, for whoever watches the job. Each replaces those of the node
// that were made before it.
type Report struct {
	Process uint32 // the system's number of the node's process
	Millis  int64  // when it was made, by the node's own clock
	Tally   tally.Tally
}

const kindReport uint8 = 78

func (*Report) kind() uint8 { return kindReport }

func (m *Report) encode(b *Batch) {
	b.pb().Varint(1, uint64(m.Process))
	b.pb().Varint(2, uint64(m.Millis))
	b.pb().Numbers(3, len(m.Tally.Spent), func(i int) int64 { return int64(m.Tally.Spent[i]) })
	b.flows(4, &m.Tally.Sent)
	b.flows(5, &m.Tally.Received)
	b.pb().Numbers(6, len(m.Tally.Staleness), func(i int) int64 { return m.Tally.Staleness[i] })
}

// flows adds frames and bytes of one class after the other.
func (b *Batch) flows(number protowire.Number, t *tally.Traffic) {
	b.pb().Numbers(number, 2*len(t), func(i int) int64 {
		if i%2 == 0 {
			return t[i/2].Frames
		}
		return t[i/2].Bytes
	})
}

func (m *Report) decode(payload []byte) error {
	f := fields.Of(payload)
	var spent, sent, received, staleness int
	for f.Next() {
		switch f.Key {
		case 1<<3 | varint:
			m.Process = uint32(f.UpTo(math.MaxUint32))
		case 2<<3 | varint:
			m.Millis = int64(f.Num)
		case 3<<3 | sized, 3<<3 | varint:
			numbers(&f, len(m.Tally.Spent), &spent, func(i int, x int64) { m.Tally.Spent[i] = time.Duration(x) })
		case 4<<3 | sized, 4<<3 | varint:
			flows(&f, &m.Tally.Sent, &sent)
		case 5<<3 | sized, 5<<3 | varint:
			flows(&f, &m.Tally.Received, &received)
		case 6<<3 | sized, 6<<3 | varint:
			numbers(&f, len(m.Tally.Staleness), &staleness, func(i int, x int64) { m.Tally.Staleness[i] = x })
		}
	}
	return f.Err
}

// flows is Batch.flows's way back.
func flows(f *fields.Fields, t *tally.Traffic, n *int) {
	numbers(f, 2*len(t), n, func(i int, x int64) {
		if i%2 == 0 {
			t[i/2].Frames = x
		} else {
			t[i/2].Bytes = x
		}
	})
}

// numbers sets the elements of a repeated integer field, of which n have been set and most there are.
func numbers(f *fields.Fields, most int, n *int, set func(i int, x int64)) {
	f.Varints(func(x uint64) {
		if *n == most {
			f.Fail(errNumber)
			return
		}
		set(*n, int64(x))
		*n++
	})
}
