package frames

import (
	"errors"
	"time"

	"bellows/data/internal/parquet"

	"github.com/apache/arrow-go/v18/arrow/float16"
	"github.com/parquet-go/parquet-go/format"
)

// A columnReader reads one column of one row group, RowsMost values at a time.
type columnReader struct {
	*parquet.Column
	out   Vector
	begun bool // out holds the first rows, which next returns again
	text  []byte
	ends  []int
}

// next reads n values.
func (c *columnReader) next(n int) (v Vector, err error) {
	if c.begun {
		c.begun = false
		return c.out, nil
	}
	defer recoverError(&err)
	read, err := c.Read(n)
	if err != nil {
		return v, err
	}
	if c.out.Null = nil; read < n {
		c.out.Null = c.Column.Null[:n]
	}
	c.convert(read)
	switch {
	case c.out.F32 != nil:
		c.out.F32, err = spaced(c.out.F32, c.out.Null, n, read)
	case c.out.F64 != nil:
		c.out.F64, err = spaced(c.out.F64, c.out.Null, n, read)
	case c.out.I64 != nil:
		c.out.I64, err = spaced(c.out.I64, c.out.Null, n, read)
	case c.out.U64 != nil:
		c.out.U64, err = spaced(c.out.U64, c.out.Null, n, read)
	case c.out.Wide != nil:
		c.out.Wide, err = spaced(c.out.Wide, c.out.Null, n, read)
	default:
		c.out.Text, err = spaced(c.out.Text, c.out.Null, n, read)
	}
	return c.out, err
}

// spaced moves adjacent values to their rows, so that missing ones have places.
func spaced[T any](values []T, null []bool, n, read int) ([]T, error) {
	values = values[:n]
	if null == nil {
		return values, nil
	}
	var zero T
	from := read
	for i := n - 1; i >= 0; i-- {
		if null[i] {
			values[i] = zero
			continue
		}
		if from--; from < 0 {
			return nil, errors.New("it is damaged: it has fewer values than it says")
		}
		values[i] = values[from]
	}
	if from != 0 {
		return nil, errors.New("it is damaged: it has more values than it says")
	}
	return values, nil
}

// room returns a slice of RowsMost values.
func room[T any](s []T) []T {
	if s == nil {
		s = make([]T, RowsMost)
	}
	return s[:RowsMost]
}

// convert makes a Vector's slice of the first n values, by the type in the schema.
func (c *columnReader) convert(n int) {
	v, leaf := &c.Values, c.Leaf()
	c.out.Scale = leaf.Scale
	switch leaf.Means {
	case parquet.Day:
		c.times(n, true, func(i int) time.Time { return time.Unix(int64(v.I32[i])*24*3600, 0) })
		return
	case parquet.Instant:
		c.times(n, false, func(i int) time.Time {
			switch x := v.I64[i]; leaf.Unit {
			case 1e3:
				return time.UnixMilli(x)
			case 1e6:
				return time.UnixMicro(x)
			default:
				return time.Unix(0, x)
			}
		})
		return
	case parquet.Half:
		c.out.F64 = room(c.out.F64)
		for i, x := range v.Bytes[:n] {
			c.out.F64[i] = float64(float16.FromLEBytes(x).Float32())
		}
		return
	}
	switch leaf.Kind {
	case format.Float:
		c.out.F32 = v.F32
	case format.Double:
		c.out.F64 = v.F64
	case format.Int64:
		if leaf.Means == parquet.Unsigned {
			c.out.U64 = converted(c.out.U64, v.I64[:n])
			return
		}
		c.out.I64 = v.I64
	case format.Int32:
		c.out.I64 = room(c.out.I64)
		if leaf.Means == parquet.Unsigned {
			for i, x := range v.I32[:n] {
				c.out.I64[i] = int64(uint32(x))
			}
			return
		}
		c.out.I64 = converted(c.out.I64, v.I32[:n])
	case format.Boolean:
		c.out.Truths = true
		c.out.I64 = converted(c.out.I64, v.Bools[:n])
	case format.Int96:
		c.times(n, false, func(i int) time.Time {
			const epoch, daySeconds = 2440588, 24 * 3600 // the Julian day of 1970-01-01
			x := v.I96[i]
			return time.Unix((int64(x[2])-epoch)*daySeconds, int64(uint64(x[1])<<32|uint64(x[0])))
		})
	case format.ByteArray, format.FixedLenByteArray:
		if leaf.Means == parquet.Decimals {
			c.out.Wide = room(c.out.Wide)
			copy(c.out.Wide, v.Bytes[:n])
			return
		}
		c.out.Text = room(c.out.Text)
		copy(c.out.Text, v.Bytes[:n])
	}
}

// converted converts numbers to another type.
func converted[T, F int64 | uint64 | int32 | byte](to []T, from []F) []T {
	to = room(to)
	for i, x := range from {
		to[i] = T(x)
	}
	return to
}

// times formats instants or days as text.
func (c *columnReader) times(n int, day bool, of func(i int) time.Time) {
	c.text, c.ends, c.out.Text = c.text[:0], c.ends[:0], room(c.out.Text)
	for i := range n {
		c.text = appendTime(c.text, of(i), day)
		c.ends = append(c.ends, len(c.text))
	}
	cut(c.out.Text, c.text, c.ends)
}

// cut divides a text into slices by their ends.
func cut(to [][]byte, text []byte, ends []int) {
	from := 0
	for i, end := range ends {
		to[i], from = text[from:end:end], end
	}
}
