package parquet

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"unsafe"

	"github.com/parquet-go/parquet-go/deprecated"
	"github.com/parquet-go/parquet-go/format"
)

var errIndex = errors.New("it is damaged: an index is not of its dictionary")

// Values are values as they are in the file, in the slice of their type.
type Values struct {
	F32   []float32
	F64   []float64
	I32   []int32
	I64   []int64
	I96   []deprecated.Int96
	Bools []byte
	Bytes [][]byte
}

// A Column reads one column of one row group after the other.
type Column struct {
	Values Values // of the rows that were read last, without those that are missing
	Null   []bool // which of these rows have no value; nil if the schema has none missing

	pages      pages
	leaf       *Leaf
	most       int // rows at a time
	dictionary Values
	doubles    []float64 // room for values that cannot stay in their page
	held       []byte    // what the byte arrays of the dictionary are slices of
	arena      []byte    // what byte arrays are slices of, but those of the dictionary
}

// NewColumn returns a reader of a leaf, which reads so many rows at a time at most.
func (p *File) NewColumn(leaf, most int) *Column {
	l := &p.Leaves[leaf]
	c := &Column{leaf: l, most: most, pages: pages{leaf: l, memory: p.Memory, file: p}}
	if c.pages.take = c.takeDictionary; l.present > 0 {
		c.Null = make([]bool, most)
	}
	return c
}

// Leaf returns what the schema says of the column.
func (c *Column) Leaf() *Leaf { return c.leaf }

// Begin starts with a row group. Its memory is that of the row group before.
func (c *Column) Begin(chunk *format.ColumnChunk, rows int64) error {
	return c.pages.begin(c.pages.file, chunk, rows)
}

// Read reads the values of the next n rows, and returns their number. It overwrites the values of the last call.
func (c *Column) Read(n int) (read int, err error) {
	c.makeRoom()
	p := &c.pages
	for row := 0; row < n; {
		for p.row == p.rows {
			if err := p.next(); err != nil {
				return 0, err
			}
		}
		m := min(n-row, p.rows-p.row)
		present := m
		if p.levels != nil {
			levels := p.levels[p.row:][:m]
			present = bytes.Count(levels, []byte{c.leaf.present})
			for i, level := range levels {
				c.Null[row+i] = level != c.leaf.present
			}
		} else if c.Null != nil {
			clear(c.Null[row:][:m])
		}
		if m == n && present == n && c.stay(n) {
			p.row += n
			return n, nil
		}
		if err := c.append(read, present); err != nil {
			return 0, err
		}
		p.row += m
		row, read = row+m, read+present
	}
	return read, nil
}

// littleEndian reports whether this machine's numbers lie in memory as those of the format do.
var littleEndian = binary.NativeEndian.Uint16([]byte{1, 0}) == 1

// stay makes the values of n rows those of the page, without a copy, and reports whether it could. The page stays as it is until the next Read.
func (c *Column) stay(n int) bool {
	p := &c.pages
	if c.leaf.Kind != format.Double || p.indexed || !littleEndian {
		return false
	}
	flat := p.flat[8*p.value:][:8*n]
	at := unsafe.Pointer(unsafe.SliceData(flat))
	if uintptr(at)%8 != 0 {
		return false
	}
	c.Values.F64 = unsafe.Slice((*float64)(at), n)
	p.value += n
	return true
}

// makeRoom makes room for values.
func (c *Column) makeRoom() {
	v := &c.Values
	switch c.arena = c.arena[:0]; c.leaf.Kind {
	case format.Float:
		v.F32 = room(v.F32, c.most)
	case format.Double:
		c.doubles = room(c.doubles, c.most)
		v.F64 = c.doubles
	case format.Int64:
		v.I64 = room(v.I64, c.most)
	case format.Int32:
		v.I32 = room(v.I32, c.most)
	case format.Int96:
		v.I96 = room(v.I96, c.most)
	case format.Boolean:
		v.Bools = room(v.Bools, c.most)
	default:
		v.Bytes = room(v.Bytes, c.most)
	}
}

// append takes the next n values of the page, behind those that were read before.
func (c *Column) append(read, n int) (err error) {
	p, v, d := &c.pages, &c.Values, &c.dictionary
	if p.indexed {
		index := p.index[p.value:][:n]
		p.value += n
		switch c.leaf.Kind {
		case format.Float:
			return fromDictionary(v.F32[read:][:n], d.F32, index)
		case format.Double:
			return fromDictionary(v.F64[read:][:n], d.F64, index)
		case format.Int64:
			return fromDictionary(v.I64[read:][:n], d.I64, index)
		case format.Int32:
			return fromDictionary(v.I32[read:][:n], d.I32, index)
		case format.Int96:
			return fromDictionary(v.I96[read:][:n], d.I96, index)
		case format.Boolean:
			return fromDictionary(v.Bools[read:][:n], d.Bools, index)
		}
		return fromDictionary(v.Bytes[read:][:n], d.Bytes, index)
	}
	if c.leaf.Kind == format.ByteArray {
		return c.arrays(v.Bytes[read:][:n])
	}
	width := c.leaf.width
	flat := p.flat[p.value*width:][:n*width]
	p.value += n
	if c.leaf.Kind == format.FixedLenByteArray {
		from := len(c.arena)
		c.keep(flat)
		cutFixed(v.Bytes[read:][:n], c.arena[from:], width)
		return nil
	}
	return v.decode(c.leaf.Kind, flat, read, n)
}

// decode takes n values of a fixed width.
func (v *Values) decode(kind format.Type, flat []byte, at, n int) (err error) {
	switch kind {
	case format.Float:
		_, err = plainValues.DecodeFloat(v.F32[at:at:at+n], flat)
	case format.Double:
		_, err = plainValues.DecodeDouble(v.F64[at:at:at+n], flat)
	case format.Int64:
		_, err = plainValues.DecodeInt64(v.I64[at:at:at+n], flat)
	case format.Int32:
		_, err = plainValues.DecodeInt32(v.I32[at:at:at+n], flat)
	case format.Int96:
		_, err = plainValues.DecodeInt96(v.I96[at:at:at+n], flat)
	default:
		copy(v.Bools[at:][:n], flat)
	}
	return err
}

// fromDictionary takes values of a dictionary by their indexes.
func fromDictionary[T any](to, from []T, index []int32) error {
	for i, x := range index {
		if uint(x) >= uint(len(from)) {
			return errIndex
		}
		to[i] = from[x]
	}
	return nil
}

// cutFixed cuts values of a width.
func cutFixed(to [][]byte, flat []byte, width int) {
	for i := range to {
		to[i] = flat[i*width : (i+1)*width : (i+1)*width]
	}
}

// keep appends bytes to the arena of the values. Slices of the arena that were made earlier stay valid.
func (c *Column) keep(b []byte) {
	if need := len(c.arena) + len(b); need > cap(c.arena) {
		size := max(need, 2*cap(c.arena), aheadBytes)
		c.pages.memory.Take(size - cap(c.arena))
		grown := make([]byte, len(c.arena), size)
		copy(grown, c.arena)
		c.arena = grown
	}
	c.arena = append(c.arena, b...)
}

// arrays takes the next byte arrays of the page.
func (c *Column) arrays(to [][]byte) error {
	p := &c.pages
	for i := range to {
		b, next, err := byteArray(p.flat, p.value)
		if err != nil {
			return err
		}
		from := len(c.arena)
		c.keep(b)
		to[i] = c.arena[from:len(c.arena):len(c.arena)]
		p.value = next
	}
	return nil
}

// byteArray returns the byte array at a place, and the place that follows.
func byteArray(flat []byte, at int) (b []byte, next int, err error) {
	if len(flat)-at < 4 {
		return nil, 0, io.ErrUnexpectedEOF
	}
	n := binary.LittleEndian.Uint32(flat[at:])
	if at += 4; int64(n) > int64(len(flat)-at) {
		return nil, 0, io.ErrUnexpectedEOF
	}
	return flat[at:][:n:n], at + int(n), nil
}

// takeDictionary takes n values that indexes stand for.
func (c *Column) takeDictionary(flat []byte, n int) error {
	d, m, kind := &c.dictionary, c.pages.memory, c.leaf.Kind
	if kind == format.ByteArray || kind == format.FixedLenByteArray {
		c.held = grow(m, c.held, len(flat), 1)
		copy(c.held, flat)
		d.Bytes = grow(m, d.Bytes, n, 24)
		if kind == format.FixedLenByteArray {
			cutFixed(d.Bytes, c.held, c.leaf.width)
			return nil
		}
		at, err := 0, error(nil)
		for i := range d.Bytes {
			if d.Bytes[i], at, err = byteArray(c.held, at); err != nil {
				return err
			}
		}
		return nil
	}
	switch kind {
	case format.Float:
		d.F32 = grow(m, d.F32, n, 4)
	case format.Double:
		d.F64 = grow(m, d.F64, n, 8)
	case format.Int64:
		d.I64 = grow(m, d.I64, n, 8)
	case format.Int32:
		d.I32 = grow(m, d.I32, n, 4)
	case format.Int96:
		d.I96 = grow(m, d.I96, n, 12)
	default:
		return errors.New("a dictionary of booleans is not supported")
	}
	return d.decode(kind, flat[:n*c.leaf.width], 0, n)
}

// room returns a slice of n values.
func room[T any](s []T, n int) []T {
	if s == nil {
		s = make([]T, n)
	}
	return s[:n]
}
