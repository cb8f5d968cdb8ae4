package wire

import (
	"bellows"
	"bellows/link/padding"
	"bellows/link/wire/internal/memory"
	"bellows/link/wire/internal/raw"
	"bellows/vec"
)

// Values of pushed deltas and of pulled rows may travel in a format of 16 bits. Messages hold float32 all the same: a
// sender rounds while it encodes, a receiver widens while it decodes. Counts, leases and slabs are not rounded.
//
// So the codec alone knows of formats, and lanes, client caches and the audit all use one type. A value is rounded
// once, by its sender: widening is exact, so that every receiver gets the same value, however often a push is sent
// again. A value without a number in the format fails the message where it is encoded
// (TestValuesBeyondAFormatAreRefused), and never becomes another one on the way.

// Narrow sets in which format deltas and rows of each table, by number, travel in the frames that are added from now on;
// tables beyond the list travel as they are. The list is the caller's and stays as it is.
func (b *Batch) Narrow(formats []vec.Format) { b.formats = formats }

// format returns how values of a table travel.
func (b *Batch) format(t bellows.TableID) vec.Format {
	if int(t) < len(b.formats) {
		return b.formats[t]
	}
	return vec.Float32
}

// values adds deltas or rows in their table's format. Long ones are rounded into memory of their own, short ones into the
// batch's.
func (b *Batch) values(ref bellows.PartitionRef, v []float32) {
	f := b.format(ref.Table)
	if f == vec.Float32 {
		array(b, v)
		return
	}
	var err error
	if raw.NarrowSize(len(v)) >= borrowMin && !memory.Swapped {
		var data []byte
		data, err = raw.Round(f, v)
		b.borrow(data)
	} else {
		b.scratch, err = raw.Append(b.scratch, f, v)
	}
	if err != nil {
		b.fail(&bellows.Error{Kind: bellows.Config, Op: "encode message", Subject: "of values of " + ref.String(), Err: err,
			Hint: "use a wider format: bf16 has the range of fp32"})
	}
}

// rows adds the values of a lease without padding. Those that are too long are refused by Add.
func (b *Batch) rows(c padding.Columns, v []float32) {
	switch {
	case !c.Check(v):
		b.fail(bellows.Errorf(bellows.Bug, "encode message", "", "the padding of leased rows is not zero, or %d values are no rows", len(v)))
	case c.Padding == 0 || len(v) == 0 || len(v) > messageMax/4:
		array(b, v)
	default:
		data := raw.Pack(c, v)
		if memory.Swapped {
			memory.Turn[float32](data)
		}
		b.borrow(data)
	}
}

// borrow adds memory that Reset gives back.
func (b *Batch) borrow(data []byte) {
	b.pieces.Add(len(b.scratch), data)
	b.owned = append(b.owned, data)
}

// Narrowed returns the tables whose values came in a narrower format, by part; a table may be repeated.
func (m *Rows) Narrowed() []bellows.TableID { return m.widened.Tables() }

// Narrowed returns the tables whose values came in a narrower format, by chunk; a table may be repeated.
func (m *Push) Narrowed() []bellows.TableID { return m.widened.Tables() }
