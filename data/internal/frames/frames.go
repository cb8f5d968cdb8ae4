// Package frames reads columnar files with typed columns as rows of a table: Parquet (by data/internal/parquet), and
// Arrow's IPC files and streams.
//
// The caller's duties, in order:
//
//  1. Pass a file's first bytes to FormOf.
//  2. Call OpenParquet for a file with a size, or OpenArrow for a stream; inspect Columns.
//  3. Take one Chunk after another from Next, with one goroutine; read each with any goroutine, and only the needed
//     columns. What Read yields is overwritten by its next step.
//
// A panic of the libraries below, which damaged files cause, is an error here. Memory is bounded before a file is
// trusted: pages, messages and their decompressed content have limits, and so has all memory in use at a time, by the
// file's size.
//
// The package refuses lists and objects as values, and encryption. It does not guess the meaning of a column without an
// annotation: bytes are text.
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

// The forms of files.
const (
	Neither = iota
	Parquet
	Arrow
)

// FormOf returns the form of a file, by its first bytes.
func FormOf(head []byte) int {
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

// RowsMost is the number of rows that Read yields at a time.
const RowsMost = 16 << 10

// A Column is a column of the schema. In Parquet a part of an object is a column as well; dots join its names.
type Column struct {
	Name string
	Odd  string // why it cannot be read, such as "holds lists"; "" if it can
}

// A File is an open file.
type File interface {
	Columns() []Column
	// Next returns the next part of the file, in order, or io.EOF after the last.
	Next() (Chunk, error)
}

// A Chunk is a part of a file: a row group, a record batch.
type Chunk interface {
	Rows() int
	// Read yields the values of columns, RowsMost rows at a time except for the last step, and ends with the first
	// error.
	Read(columns []int) iter.Seq2[[]Vector, error]
	// Close releases its memory.
	Close()
}

// A Vector holds the values of one column, in one of the slices, one per row.
type Vector struct {
	F32  []float32
	F64  []float64
	I64  []int64
	U64  []uint64
	Wide [][]byte // whole numbers, as big-endian two's complement
	Text [][]byte

	Scale  int    // of decimals: the values of I64 and Wide are divided by 10^Scale
	Truths bool   // values of I64 are truth values: 1 is true, 0 is false
	Null   []bool // nil: none is missing
}

// Rows returns the number of values.
func (v *Vector) Rows() int {
	return max(len(v.F32), len(v.F64), len(v.I64), len(v.U64), len(v.Wide), len(v.Text))
}

// Missing reports whether a row has no value. NaN is a missing value.
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

// float returns a number as a 64-bit float. It does not apply to text.
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

// Append appends a value as in a CSV file, without quotes. A missing value is empty.
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

// Spread writes numbers to every step-th place of to, NaN for missing ones, and returns how many are missing. bad is
// the first row whose number is not finite as a 32-bit float, or -1. It does not apply to text.
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

// odd counts a number that is not finite. NaN is missing, others are bad.
func odd(x float64, row, missing, bad int) (int, int) {
	switch {
	case x != x:
		return missing + 1, bad
	case bad < 0:
		return missing, row
	}
	return missing, bad
}

// ErrLimit is returned if a file needs more memory than it may.
var ErrLimit = parquet.ErrLimit

// An allocator allocates memory within a limit, which all memory in use at a time shares.
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

// recoverError converts a panic of a library to an error.
func recoverError(err *error) {
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

// truncated converts io.EOF to the error of a truncated file.
func truncated(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

// timeForm is the format of instants. It is one that dates in text may have.
const timeForm = "2006-01-02T15:04:05.999999999Z07:00"

// appendTime appends an instant, or a day.
func appendTime(to []byte, t time.Time, day bool) []byte {
	if day {
		return t.UTC().AppendFormat(to, "2006-01-02")
	}
	return t.UTC().AppendFormat(to, timeForm)
}
