package app

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"
)

// plainMost is the size from which numbers are written with an exponent.
const plainMost = 1e16

// AppendNumber appends a predicted number: the value, which a model has as a 32-bit float, beyond the origin that it is counted from. Without an origin it has
// so many digits, or all that read back as the value if it has more of them before the point. With one it is the sum, with as many decimals as the shortest texts of both have.
func AppendNumber(line []byte, origin, value float64, digits int) []byte {
	if origin != 0 {
		sum := origin + value
		places := min(max(decimals(origin, 64), decimals(value, 32)), max(0, 15-int(math.Log10(max(1, math.Abs(sum))))))
		line = strconv.AppendFloat(line, sum, 'f', places, 64)
		if places > 0 {
			line = bytes.TrimRight(bytes.TrimRight(line, "0"), ".")
		}
		return line
	}
	if size := math.Abs(value); size >= math.Pow10(digits) && size < plainMost {
		return strconv.AppendFloat(line, value, 'f', -1, 32)
	}
	return strconv.AppendFloat(line, value, 'g', digits, 32)
}

// decimals returns how many decimals the shortest text of a number has that reads back as it in so many bits.
func decimals(x float64, bits int) int {
	var buf [32]byte
	mantissa, exponent, _ := bytes.Cut(strconv.AppendFloat(buf[:0], x, 'e', -1, bits), []byte("e"))
	n, _ := strconv.Atoi(string(exponent)) // that never fails
	if _, broken, found := bytes.Cut(mantissa, []byte(".")); found {
		n -= len(broken)
	}
	return max(0, -n)
}

// Number returns a predicted number as answers have it: the value, beyond the origin that it is counted from.
func Number(origin float64, value float32) any {
	if origin == 0 {
		return value
	}
	return json.Number(AppendNumber(nil, origin, float64(value), 7))
}

// namedMost is how many names a message lists.
const namedMost = 5

// FirstNames lists names, the first few of many.
func FirstNames(names []string) string {
	if len(names) > namedMost {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:namedMost], ", "), len(names)-namedMost)
	}
	return strings.Join(names, ", ")
}
