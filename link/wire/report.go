package wire

import (
	"bellows/core/tally"
	"bellows/link/wire/internal/fields"

	"google.golang.org/protobuf/encoding/protowire"
)

// Report holds a node's counters so far, for observers of the job. Each replaces the node's earlier ones.
type Report struct {
	Process uint32 // the system's number of the node's process
	Millis  int64  // when it was made, by the node's own clock
	Tally   tally.Tally
	Leaves  uint32 // milliseconds until the process ends, after a notice; 0: no notice
}

const kindReport uint8 = 78

func (*Report) kind() uint8 { return kindReport }

func (m *Report) fields(c *fields.Codec) error {
	t := &m.Tally
	fields.Num(c, 1, &m.Process)
	fields.Num(c, 2, &m.Millis)
	c.Array(3, len(t.Spent), func(i int) *int64 { return (*int64)(&t.Spent[i]) })
	flows(c, 4, &t.Sent)
	flows(c, 5, &t.Received)
	c.Array(6, len(t.Staleness), func(i int) *int64 { return &t.Staleness[i] })
	fields.Num(c, 7, &m.Leaves)
	work := [...]*int64{&t.Work.Items, &t.Work.Rows, (*int64)(&t.Work.Serving), (*int64)(&t.Work.Processor)}
	c.Array(8, len(work), func(i int) *int64 { return work[i] })
	return nil
}

// flows encodes or decodes frames and bytes of each class in order.
func flows(c *fields.Codec, number protowire.Number, t *tally.Traffic) {
	c.Array(number, 2*len(t), func(i int) *int64 {
		if i%2 == 0 {
			return &t[i/2].Frames
		}
		return &t[i/2].Bytes
	})
}
