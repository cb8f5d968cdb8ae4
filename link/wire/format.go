package wire

import (
	"math/bits"
	"unsafe"

	"bellows"
	"bellows/link/wire/internal/memory"
	"bellows/vec"
)

// Values of pushed deltas and of pulled rows may travel in a format of 16 bits. Messages hold float32 all the same: a
// sender rounds while it encodes, a receiver widens while it decodes. Counts, leases and slabs are not rounded.
//
// So the codec alone knows of formats, and lanes, client caches and the audit all use one type. A value is rounded
// once, by its sender: widening is exact, so that every receiver gets the same value, however often a push is sent
// again. A value without a number in the format fails the message where it is encoded
// (TestValuesBeyondAFormatAreRefused), and never becomes another one on the way.

// narrowSize returns the length in bytes of n values of two bytes, filled up to a multiple of four.
func narrowSize(n int) int { return (2*n + 3) &^ 3 }

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

// values adds deltas or rows in their table's format. Long ones are rounded into memory of their own, which Reset gives
// back; short ones into the batch's.
func (b *Batch) values(ref bellows.PartitionRef, v []float32) {
	f := b.format(ref.Table)
	if f == vec.Float32 {
		array(b, v)
		return
	}
	var err error
	if size := narrowSize(len(v)); size >= borrowMin && !memory.Swapped {
		data := memory.Get(size)
		clear(data[2*len(v):])
		err = f.Narrow(memory.Words[uint16](data)[:len(v)], v)
		b.pieces.Add(len(b.scratch), data)
		b.owned = append(b.owned, data)
	} else {
		err = b.shortValues(f, v)
	}
	if err != nil {
		b.fail(&bellows.Error{Kind: bellows.Config, Op: "encode message", Subject: "of values of " + ref.String(), Err: err,
			Hint: "use a wider format: bf16 has the range of fp32"})
	}
}

// shortValues adds values by way of the stack, since the batch's memory is not aligned.
func (b *Batch) shortValues(f vec.Format, v []float32) error {
	var room [256]uint16
	for n := len(v); len(v) > 0; v = v[min(len(v), len(room)):] {
		some := v[:min(len(v), len(room))]
		if err := f.Narrow(room[:len(some)], some); err != nil {
			return err
		}
		if memory.Swapped {
			for i, x := range room[:len(some)] {
				room[i] = bits.ReverseBytes16(x)
			}
		}
		b.scratch = append(b.scratch, unsafe.Slice((*byte)(unsafe.Pointer(&room)), 2*len(some))...)
		if len(some) == len(v) && n%2 == 1 {
			b.zeros(2)
		}
	}
	return nil
}

// widened is what a message keeps of values that travelled in fewer bytes.
type widened struct {
	tables []bellows.TableID
	memory [][]byte
}

// values takes n values of a table in place, or widens them into memory that the message keeps. They must divide among
// the rows or keys where these are listed.
func (w *widened) values(r *reader, t bellows.TableID, f vec.Format, n, ids uint32) []float32 {
	if f == vec.Float32 {
		return r.Values(n, ids)
	}
	r.Divided(n, ids)
	b := r.Take(2 * uint64(n))
	r.Reserved(uint64(narrowSize(int(n)) - 2*int(n)))
	if len(w.tables) == 0 || w.tables[len(w.tables)-1] != t {
		w.tables = append(w.tables, t)
	}
	if len(b) == 0 || r.Err != nil {
		return nil
	}
	if memory.Swapped {
		for i := 0; i+1 < len(b); i += 2 {
			b[i], b[i+1] = b[i+1], b[i]
		}
	}
	wide := memory.Get(4 * int(n))
	w.memory = append(w.memory, wide)
	to := memory.Words[float32](wide)
	f.Widen(to, memory.Words[uint16](b))
	return to
}

// free gives the memory back.
func (w *widened) free() widened {
	for i, b := range w.memory {
		memory.Put(b)
		w.memory[i] = nil
	}
	return widened{w.tables[:0], w.memory[:0]}
}

// Narrowed returns the tables whose values came in a narrower format, by part; a table may be repeated.
func (m *Rows) Narrowed() []bellows.TableID { return m.widened.tables }

// Narrowed returns the tables whose values came in a narrower format, by chunk; a table may be repeated.
func (m *Push) Narrowed() []bellows.TableID { return m.widened.tables }
