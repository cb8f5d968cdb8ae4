package raw

import (
	"math/bits"
	"unsafe"

	"bellows"
	"bellows/link/padding"
	"bellows/link/wire/internal/memory"
	"bellows/vec"
)

// Values may take fewer bytes in a payload than in memory: rounded to 16 bits, or of rows without their padding.

// NarrowSize returns the length in bytes of n values of two bytes, filled up to a multiple of four.
func NarrowSize(n int) int { return (2*n + 3) &^ 3 }

// Round returns values in a format, in pooled memory that is the caller's.
func Round(f vec.Format, v []float32) ([]byte, error) {
	data := memory.Get(NarrowSize(len(v)))
	clear(data[2*len(v):])
	return data, f.Narrow(memory.Words[uint16](data)[:len(v)], v)
}

// Append appends values in a format, by way of the stack, since the text is not aligned.
func Append(text []byte, f vec.Format, v []float32) ([]byte, error) {
	var room [256]uint16
	for n := len(v); len(v) > 0; v = v[min(len(v), len(room)):] {
		some := v[:min(len(v), len(room))]
		if err := f.Narrow(room[:len(some)], some); err != nil {
			return text, err
		}
		if memory.Swapped {
			for i, x := range room[:len(some)] {
				room[i] = bits.ReverseBytes16(x)
			}
		}
		text = append(text, unsafe.Slice((*byte)(unsafe.Pointer(&room)), 2*len(some))...)
		if len(some) == len(v) && n%2 == 1 {
			text = append(text, 0, 0)
		}
	}
	return text, nil
}

// Pack returns rows without their padding, in pooled memory that is the caller's.
func Pack(c padding.Columns, rows []float32) []byte {
	data := memory.Get(memory.Size[float32]() * c.Sending(len(rows)))
	c.Pack(memory.Words[float32](data), rows)
	return data
}

// Unpack returns the whole rows of n values in a payload that have travelled without padding, in pooled memory that is the
// caller's. It takes at most most bytes.
func Unpack(r *Reader, c padding.Columns, n uint32, most int) []byte {
	all, whole := c.Whole(int(n))
	if !whole || memory.Size[float32]()*all > most {
		r.Fail(ErrShape)
	}
	from := Words[float32](r, n)
	if len(from) == 0 {
		return nil
	}
	rows := memory.Get(memory.Size[float32]() * all)
	c.Unpack(memory.Words[float32](rows), from)
	return rows
}

// Widened is what a message keeps of values that came in fewer bytes: their tables, if they were rounded, and the memory
// in which they are now.
type Widened struct {
	tables []bellows.TableID
	memory [][]byte
}

// Values takes n values of a table in place, or widens them. They must divide among the rows or keys where these are
// listed.
func (w *Widened) Values(r *Reader, t bellows.TableID, f vec.Format, n, ids uint32) []float32 {
	if f == vec.Float32 {
		return r.Values(n, ids)
	}
	r.Divided(n, ids)
	b := r.Take(2 * uint64(n))
	r.Reserved(uint64(NarrowSize(int(n)) - 2*int(n)))
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

// Rows takes n values of whole rows in place, or fills up the rows.
func (w *Widened) Rows(r *Reader, c padding.Columns, n uint32, most int) []float32 {
	if c.Padding == 0 {
		return Words[float32](r, n)
	}
	rows := Unpack(r, c, n, most)
	if rows == nil {
		return nil
	}
	w.memory = append(w.memory, rows)
	return memory.Words[float32](rows)
}

// Tables lists the tables with rounded values; one may be repeated.
func (w *Widened) Tables() []bellows.TableID { return w.tables }

// Free gives the memory back.
func (w *Widened) Free() Widened {
	for i, b := range w.memory {
		memory.Put(b)
		w.memory[i] = nil
	}
	return Widened{w.tables[:0], w.memory[:0]}
}
