package app

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"math/big"
	"strconv"
	"strings"
)

// Numbers from plainLeast on are written without an exponent, below plainMost.
const (
	plainLeast = 1e6
	plainMost  = 1e16
)

// AppendNumber appends a predicted number: the value, which a model has as a 32-bit float, beyond the origin that it is counted from. Without an origin it is
// the shortest text that reads back as the value. With one it is the sum, with as many decimals as the shortest texts of both have.
func AppendNumber(line []byte, origin, value float64) []byte {
	if origin == 0 {
		if size := math.Abs(value); size >= plainLeast && size < plainMost {
			return strconv.AppendFloat(line, value, 'f', -1, 32)
		}
		return strconv.AppendFloat(line, value, 'g', -1, 32)
	}
	sum, places := origin+value, max(decimals(origin, 64), decimals(value, 32))
	if digits := int(math.Log10(max(1, math.Abs(sum)))); digits < floatDigits {
		line = strconv.AppendFloat(line, sum, 'f', min(places, floatDigits-digits), 64)
	} else { // 64 bits round the sum
		exact := new(big.Float).SetPrec(sumBits).Add(big.NewFloat(origin), big.NewFloat(value))
		line = exact.Append(line, 'f', places)
	}
	if places > 0 && bytes.IndexByte(line, '.') >= 0 {
		line = bytes.TrimRight(bytes.TrimRight(line, "0"), ".")
	}
	return line
}

// A 64-bit float has floatDigits digits after its first; the sum of an origin and a value has at most sumBits bits.
const (
	floatDigits = 15
	sumBits     = 300
)

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
