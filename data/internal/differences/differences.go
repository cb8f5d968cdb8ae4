// Package differences subtracts decimal numbers as they are written, before they are rounded to floats. It serves
// numbers with more digits than a 64-bit float has: nanoseconds since 1970, hashes, decimals of twenty digits.
//
// The caller parses the field as a number first, and passes only fields that were accepted. Less and Since then return
// what the field has beyond an origin, as a 32-bit and as a 64-bit float.
//
// The package refuses to say what a number is: it parses no words, and checks no limits.
package differences

import (
	"bytes"
	"math"
	"math/big"
	"strconv"
)

// Whole is the size from which all 64-bit floats are whole numbers, so that they hold no decimals, and lose units soon
// after.
const Whole = 1 << 53

// precision is the bits in which differences of long decimals are taken: enough for 76 digits.
const precision = 320

// WholeNumber returns the sign and the magnitude of a field of a sign and digits alone, if the magnitude fits 64 bits.
func WholeNumber(field []byte) (negative bool, n uint64, ok bool) {
	if len(field) > 1 && (field[0] == '-' || field[0] == '+') {
		negative, field = field[0] == '-', field[1:]
	}
	if len(field) == 0 || len(field) > 20 {
		return false, 0, false
	}
	for _, c := range field {
		if c < '0' || c > '9' {
			return false, 0, false
		}
	}
	n, err := strconv.ParseUint(string(field), 10, 64)
	return negative, n, err == nil
}

// Difference returns a - b, or b - a of magnitudes of negative numbers, rounded once.
func Difference(a, b uint64, negative bool) float32 {
	if negative {
		a, b = b, a
	}
	if a >= b {
		return float32(a - b)
	}
	return -float32(b - a)
}

// Less returns a number less an origin: the exact difference, rounded once if the number is whole, and to about 90
// digits before if it is not.
func Less(field []byte, origin float64) (float32, bool) {
	x, _, err := big.ParseFloat(string(field), 10, precision, big.ToNearestEven)
	if err != nil {
		return 0, false
	}
	less, _ := x.Sub(x, big.NewFloat(origin)).Float32()
	return less, true
}

// Since returns a time less an origin, which is a whole number. The difference of the digits before the point is taken
// exactly; exact reports whether a 64-bit float holds it.
func Since(field []byte, origin float64) (since float64, exact bool) {
	whole, part, _ := bytes.Cut(field, []byte("."))
	negative, n, ok := WholeNumber(whole)
	rest, err := strconv.ParseFloat("0."+string(part)+"0", 64)
	if from := math.Abs(origin); !ok || err != nil || bytes.ContainsAny(part, "eE") || from >= 1<<64 || origin != 0 &&
		negative != (origin < 0) {
		x, _ := strconv.ParseFloat(string(field), 64)
		return x - origin + 0, math.Abs(x) < Whole // no -0
	}
	from := uint64(math.Abs(origin))
	size, below := n-from, n < from
	if below {
		size = from - n
	}
	since = float64(size)
	exact = size <= Whole || size < 1<<63 && uint64(since) == size
	if below {
		since = -since
	}
	if since += rest; negative {
		since = -since
	}
	return since + 0, exact
}
