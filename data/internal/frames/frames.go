// Package frames reads files that keep columns apart and say of each what it holds: Parquet, and Arrow's IPC files and
// streams.
//
// The caller's duties, in order:
//
//  1. Ask Is of a file's first bytes.
//  2. OpenParquet of a file with a size, or OpenArrow of a stream; look at Columns.
//  3. Take one Chunk after the other from Next, with one goroutine; read each with any goroutine, and only the columns that are needed. What
//     Read yields is overwritten by the next of it.
//
// A panic of the libraries below, which damaged files cause, is an error here. Memory is bounded before a file is
// believed: pages, messages and what they unpack to have
// limits, and all that is taken at a time has one, which follows the file's size.
//
// The package refuses lists and objects as values, and ciphers. It guesses nothing of what a column without an
// annotation may mean: bytes are text.
package frames

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"iter"
	"math"
	"strconv"
	"time"

	"bellows/data/internal/parquet"

	"github.com/apache/arrow-go/v18/arrow/memory"
)

// The first bytes of the formats.
var (
	parquetMagic = []byte("PAR1")
	arrowMagic   = []byte("ARROW1\x00\x00")
	streamMagic  = []byte{0xff, 0xff, 0xff, 0xff} // and the length of a message, which is a multiple of 8
)

// What a file is.
const (
	Neither = iota
	Parquet
	Arrow
)

// Is says what a file is by its first bytes.
func Is(head []byte) int {
	switch {
	case bytes.HasPrefix(head, parquetMagic):
		return Parquet
	case bytes.HasPrefix(head, arrowMagic):
		return Arrow
	case bytes.HasPrefix(head, streamMagic) && len(head) > 8 && head[4]&7 == 0 && head[7] == 0:
		return Arrow
	}
	return Neither
}

// RowsMost is how many rows Read yields at a time.
const RowsMost = 16 << 10

// Column is a column as the schema has it. A part of an object is one, too, with the names joined by dots.
type Column struct {
	Name string
	Odd  string // why it cannot be read, such as "holds lists"; "" where it can
}

// File is an open file.
type File interface {
	Columns() []Column
	// Next is the next part of the file, in order; io.EOF behind the last.
	Next() (Chunk, error)
}

// Chunk is a part of a file: a row group, a record batch.
type Chunk interface {
	Rows() int
	// Read yields the values of columns, RowsMost rows at a time but for the last, and ends with the first error.
	Read(columns []int) iter.Seq2[[]Vector, error]
	// Close gives its memory back.
	Close()
}

// Vector is the values of one column: those of one of the slices, one a row.
type Vector struct {
	F32  []float32
	F64  []float64
	I64  []int64
	U64  []uint64
	Wide [][]byte // whole numbers of big-endian two's complement
	Text [][]byte

	Scale  int    // of decimals: values of I64 and Wide are to be divided by 10^Scale
	Truths bool   // values of I64 are truth values: 1 is true, 0 is false
	Null   []bool // nil: none is missing
}

// Rows is how many values there are.
func (v *Vector) Rows() int {
	return max(len(v.F32), len(v.F64), len(v.I64), len(v.U64), len(v.Wide), len(v.Text))
}

// Missing reports whether a row has no value; NaN is none.
func (v *Vector) Missing(row int) bool {
	switch {
	case v.Null != nil && v.Null[row]:
		return true
	case v.F32 != nil:
		return v.F32[row] != v.F32[row]
	case v.F64 != nil:
		return v.F64[row] != v.F64[row]
	}
	return false
}

// float returns a number as a 64-bit float. It has nothing to do with text.
func (v *Vector) float(row int) float64 {
	switch {
	case v.F32 != nil:
		return float64(v.F32[row])
	case v.F64 != nil:
		return v.F64[row]
	case v.U64 != nil:
		return float64(v.U64[row])
	case v.Wide != nil:
		return decimal(v.Wide[row], v.Scale)
	}
	return float64(v.I64[row]) / math.Pow10(v.Scale)
}

// Append appends a value as a CSV file would have it, without quotes; a missing one is empty.
func (v *Vector) Append(to []byte, row int) []byte {
	switch {
	case v.Missing(row):
		return to
	case v.F32 != nil:
		return appendFloat(to, float64(v.F32[row]), 32)
	case v.F64 != nil:
		return appendFloat(to, v.F64[row], 64)
	case v.Truths:
		return strconv.AppendBool(to, v.I64[row] != 0)
	case v.I64 != nil && v.Scale == 0:
		return strconv.AppendInt(to, v.I64[row], 10)
	case v.I64 != nil:
		return appendScaled(to, v.I64[row], v.Scale)
	case v.U64 != nil:
		return strconv.AppendUint(to, v.U64[row], 10)
	case v.Wide != nil:
		return appendDecimal(to, v.Wide[row], v.Scale)
	}
	return append(to, v.Text[row]...)
}

// Spread writes numbers to every step-th place of to, NaN for those that are missing, and says how many are; bad is
// the first row with a number
// that is not finite as a 32-bit float, or -1. It has nothing to do with text.
func (v *Vector) Spread(to []float32, step int) (missing, bad int) {
	bad = -1
	switch {
	case v.F32 != nil:
		for i, x := range v.F32 {
			to[i*step] = x
			if x-x != 0 {
				missing, bad = odd(float64(x), i, missing, bad)
			}
		}
	case v.F64 != nil:
		for i, x := range v.F64 {
			y := float32(x)
			if to[i*step] = y; y-y != 0 {
				missing, bad = odd(float64(y), i, missing, bad)
			}
		}
	case v.U64 != nil:
		for i, x := range v.U64 {
			to[i*step] = float32(x)
		}
	case v.Wide != nil:
		for i, x := range v.Wide {
			y := float32(decimal(x, v.Scale))
			if to[i*step] = y; y-y != 0 {
				missing, bad = odd(float64(y), i, missing, bad)
			}
		}
	case v.Scale != 0:
		divisor := math.Pow10(v.Scale)
		for i, x := range v.I64 {
			to[i*step] = float32(float64(x) / divisor)
		}
	default:
		for i, x := range v.I64 {
			to[i*step] = float32(x)
		}
	}
	for i, null := range v.Null {
		if null && to[i*step] == to[i*step] {
			to[i*step] = float32(math.NaN())
			missing++
		}
	}
	return missing, bad
}

// odd counts a number that is not finite: NaN is missing, others are bad.
func odd(x float64, row, missing, bad int) (int, int) {
	switch {
	case x != x:
		return missing + 1, bad
	case bad < 0:
		return missing, row
	}
	return missing, bad
}

// ErrLimit is that a file asks for more memory than it may.
var ErrLimit = parquet.ErrLimit

// allocator takes memory within a limit, which all that is taken at a time shares.
type allocator struct {
	memory.Allocator
	parquet.Budget
}

func newAllocator(most int64) *allocator {
	return &allocator{Allocator: memory.NewGoAllocator(), Budget: parquet.Budget{Most: most}}
}

// Allocate implements memory.Allocator.
func (a *allocator) Allocate(size int) []byte {
	if size < 0 {
		panic(ErrLimit)
	}
	a.Take(size)
	return a.Allocator.Allocate(size)
}

// Reallocate implements memory.Allocator.
func (a *allocator) Reallocate(size int, b []byte) []byte {
	if size < 0 {
		panic(ErrLimit)
	}
	a.Take(size - len(b))
	return a.Allocator.Reallocate(size, b)
}

// Free implements memory.Allocator.
func (a *allocator) Free(b []byte) {
	a.Take(-len(b))
	a.Allocator.Free(b)
}

// caught makes a panic of a library an error.
func caught(err *error) {
	switch p := recover().(type) {
	case nil:
	case error:
		*err = p
		if !errors.Is(p, ErrLimit) {
			*err = fmt.Errorf("it is damaged: %w", p)
		}
	default:
		*err = fmt.Errorf("it is damaged: %v", p)
	}
}

// early is io.EOF where more is wanted.
func early(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

// timeForm is how instants are written, so that they are read as dates in text are.
const timeForm = "2006-01-02T15:04:05.999999999Z07:00"

// appendTime appends an instant, or a day.
func appendTime(to []byte, t time.Time, day bool) []byte {
	if day {
		return t.UTC().AppendFormat(to, "2006-01-02")
	}
	return t.UTC().AppendFormat(to, timeForm)
}
