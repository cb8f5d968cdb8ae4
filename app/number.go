package app

import (
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
// shortest text that reads back as the value; with one, the sum to the digit that is the value's ninth.
func AppendNumber(line []byte, origin, value float64) []byte {
	sum, bits := value, 32
	if origin != 0 {
		sum, bits = origin+value, 64
		digits := 9
		if value != 0 && sum != 0 {
			digits += int(math.Floor(math.Log10(math.Abs(sum)))) - int(math.Floor(math.Log10(math.Abs(value))))
		} else if value == 0 {
			digits = 17
		}
		if digits = max(1, digits); digits < 17 {
			var text [32]byte
			sum, _ = strconv.ParseFloat(string(strconv.AppendFloat(text[:0], sum, 'e', digits-1, 64)), 64) // that never fails
		}
	}
	format := byte('g')
	if size := math.Abs(sum); size == 0 || size >= plainLeast && size < plainMost {
		format = 'f'
	}
	return strconv.AppendFloat(line, sum, format, -1, bits)
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
