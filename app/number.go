package app

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"
)

// The sizes of numbers that are written without an exponent.
const (
	plainLeast = 1e-5
	plainMost  = 1e16
)

// AppendNumber appends a predicted number: the value, which a model has as a 32-bit float, beyond the origin that it is counted from. Without an origin it is the
// shortest text that reads back as the value. With one it is the sum, with as many decimals as the shortest texts of both have.
func AppendNumber(line []byte, origin, value float64) []byte {
	if origin != 0 {
		sum := origin + value
		places := min(max(decimals(origin, 64), decimals(value, 32)), max(0, 15-int(math.Log10(max(1, math.Abs(sum))))))
		line = strconv.AppendFloat(line, sum, 'f', places, 64)
		if places > 0 {
			line = bytes.TrimRight(bytes.TrimRight(line, "0"), ".")
		}
		return line
	}
	format := byte('g')
	if size := math.Abs(value); size == 0 || size >= plainLeast && size < plainMost {
		format = 'f'
	}
	return strconv.AppendFloat(line, value, format, -1, 32)
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
	return json.Number(AppendNumber(nil, origin, float64(value)))
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
