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
	// Links has the nodes to which it has sent something, in ascending order.
	Links []tally.Link
	Spare int64 // bytes of memory that the process may still use; 0: unknown
}

// linksMax bounds the links of a report: a job has no more nodes. A link takes up to linkSize bytes. reportMax is the
// longest payload of a report.
const linksMax, linkSize, reportMax = 1 << 14, 28, smallMax + linksMax*linkSize

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
	fields.ShortList(c, 9, &m.Links, linksMax, func(l *tally.Link) error {
		fields.Num(c, 1, &l.To)
		fields.Num(c, 2, &l.Bytes)
		fields.Num(c, 3, (*int64)(&l.Busy))
		return nil
	})
	fields.Num(c, 10, &m.Spare)
	fields.Num(c, 11, (*int64)(&t.Work.Delayed))
	return nil
}

// flows encodes or decodes frames and bytes of each class in order.
func flows(c *fields.Codec, number protowire.Number, t *tally.Traffic) {
	c.Array(number, 2*len(t), func(i int) *int64 { return [...]*int64{&t[i/2].Frames, &t[i/2].Bytes}[i%2] })
}
