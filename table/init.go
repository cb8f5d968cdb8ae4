package table

import (
	"unsafe"

	"bellows"
	"bellows/random"
)

// InitKind is the distribution of initial values.
type InitKind uint8

const (
	Zero    InitKind = iota // all values 0
	Uniform                 // uniform on [Low, High)
	Normal                  // normal with mean Low and standard deviation High
	Fixed                   // all values Low
)

// Init is the initial value of every row: a function of (Seed, row), or of (Seed, key), alone, so that any node can
// compute any row at any time.
type Init struct {
	Kind      InitKind
	Seed      uint64
	Low, High float32
}

// Fill writes the initial values of a row. len(values) is the table's width.
func (in Init) Fill(row bellows.RowID, values []float32) { in.fill(uint64(row), values) }

// FillKey writes the initial values of the row of a key.
func (in Init) FillKey(key bellows.Key, values []float32) { in.fill(uint64(key), values) }

func (in Init) fill(row uint64, values []float32) {
	switch in.Kind {
	case Zero:
		clear(values)
	case Fixed:
		for i := range values {
			values[i] = in.Low
		}
	case Uniform:
		s := random.Start(in.Seed, row)
		// The conversions forbid fusing, so that every machine rounds alike.
		for i := range values {
			values[i] = in.Low + float32((in.High-in.Low)*float32(uniform(&s)))
		}
	case Normal:
		s := random.Start(in.Seed, row)
		for i := range values {
			values[i] = in.Low + float32(in.High*float32(normal(&s)))
		}
	}
}

// uniform returns a number uniform on [0, 1) in steps of 2^-24, so that float32 keeps it below 1.
func uniform(s *random.Stream) float64 { return float64(s.Next()>>40) / (1 << 24) }

// normal returns a number that is close to a standard normal: the sum of twelve uniforms less six (Irwin-Hall). Every
// step is exact, so the value is the same on every machine. The tails end at six deviations.
func normal(s *random.Stream) float64 {
	sum := -6.0
	for range 12 {
		sum += uniform(s)
	}
	return sum
}

// Counts returns a table's values as 32-bit counts. Values of an Int32 table are sent and stored as float32 words whose
// bits are the count; this is the one place where they are reinterpreted.
func Counts(words []float32) []int32 {
	if len(words) == 0 {
		return nil
	}
	return unsafe.Slice((*int32)(unsafe.Pointer(&words[0])), len(words))
}
