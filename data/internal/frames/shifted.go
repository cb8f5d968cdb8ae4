package frames

import (
	"math"

	"bellows/data/internal/differences"
	"bellows/data/internal/lines"
)

// spread works like Spread for numbers less an origin. It subtracts in 64 bits and rounds the difference.
func (v *Vector) spread(to []float32, step int, origin float64) (missing, bad int) {
	if origin == 0 {
		return v.Spread(to, step)
	}
	bad = -1
	switch whole := math.Abs(origin) < 1<<63 && origin == math.Trunc(origin); {
	case v.F32 != nil:
		less := make([]float64, len(v.F32))
		for i, x := range v.F32 {
			less[i] = float64(x)
		}
		missing, bad = spreadWide(less, to, step, origin)
	case v.F64 != nil:
		missing, bad = spreadWide(v.F64, to, step, origin)
	case v.Scale == 0 && v.I64 != nil && whole:
		negative, from := origin < 0, uint64(math.Abs(origin))
		for i, x := range v.I64 {
			if (x < 0) == negative {
				to[i*step] = differences.Difference(magnitude(x), from, negative)
			} else {
				to[i*step] = float32(float64(x) - origin)
			}
		}
	default:
		bad = v.spreadText(to, step, origin)
	}
	for i, null := range v.Null {
		if null && to[i*step] == to[i*step] {
			to[i*step] = float32(math.NaN())
			missing++
		}
	}
	return missing, bad
}

// spreadText works like spread for numbers that may have more digits than a 64-bit float: it parses each as
// written. It counts no missing values.
func (v *Vector) spreadText(to []float32, step int, origin float64) (bad int) {
	bad = -1
	var text []byte
	for i := range v.Rows() {
		if v.Missing(i) {
			to[i*step] = 0
			continue
		}
		text = v.Append(text[:0], i)
		x, err := lines.Shifted(text, origin)
		if to[i*step] = x; err != nil && bad < 0 {
			bad = i
		}
	}
	return bad
}

// spreadWide works like spread for 64-bit floats.
func spreadWide(values []float64, to []float32, step int, origin float64) (missing, bad int) {
	bad = -1
	for i, x := range values {
		to[i*step] = float32(x - origin)
		if y := float32(x); y-y != 0 { // a value that does not fit is refused as without an origin
			missing, bad = odd(float64(y), i, missing, bad)
		}
	}
	return missing, bad
}

// magnitude returns the absolute value of a whole number.
func magnitude(x int64) uint64 {
	if x < 0 {
		return -uint64(x)
	}
	return uint64(x)
}
