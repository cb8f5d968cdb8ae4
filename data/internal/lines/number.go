package lines

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math"
	"math/bits"
	"strconv"
)

// powers are the powers of ten that a float64 holds exactly.
var powers = [...]float64{
	1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11,
	1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22,
}

// digitsMax is the number of decimal digits that always fit in a uint64.
const digitsMax = 19

// ordinary parses the decimal that starts at text[i] and returns it, rounded exactly to float32, and the position after
// it. end is -1 if the number is not an ordinary one (no digits, too many, a far exponent, close to the middle between
// two float32); Number decides those. text must hold a byte after i that cannot continue a number, such as the final
// newline.
//
// An ordinary number is at most 19 digits m and a power of ten e within 22. float64(m) and its product or quotient with
// the exact power round once each, so the float64 y is within 2 units in its last place of the true value v. Rounding y
// to float32 gives the rounding of v unless a midpoint of two float32 lies between y and v. A midpoint has the lower 29
// bits 1<<28, so a distance of 4 units from that pattern is safe.
func ordinary(text []byte, i int) (value float32, end int) {
	negative := text[i] == '-'
	if negative || text[i] == '+' {
		i++
	}
	var m uint64
	first := i
	for {
		d := text[i] - '0'
		if d > 9 {
			break
		}
		m = m*10 + uint64(d)
		i++
	}
	digits, exponent := i-first, 0
	if text[i] == '.' {
		i++
		first = i
		for {
			d := text[i] - '0'
			if d > 9 {
				break
			}
			m = m*10 + uint64(d)
			i++
		}
		exponent = first - i
		digits += i - first
	}
	if uint(digits-1) >= digitsMax {
		return 0, -1
	}
	if text[i]|0x20 == 'e' {
		if exponent, i = addExponent(text, i+1, exponent); i < 0 {
			return 0, -1
		}
	}
	y := float64(m)
	switch {
	case exponent == 0:
	case exponent < 0 && exponent >= -22:
		y /= powers[-exponent]
	case exponent > 0 && exponent <= 18:
		y *= powers[exponent]
	default:
		return 0, -1
	}
	if low := math.Float64bits(y) & (1<<29 - 1); low-(1<<28-4) <= 8 {
		return 0, -1
	}
	if negative {
		y = -y
	}
	return float32(y), i
}

// whole parses the decimal digits from text[i] and returns the position after them. n is correct for at most 18 digits.
// Up to seven digits are taken in one word, without a branch on their number, which no CPU could predict: the digits
// are shifted up, zeros follow, and pairs, fours and eights are added up.
func whole(text []byte, i int) (n, end int) {
	if i+8 <= len(text) {
		if n, count := digits(binary.LittleEndian.Uint64(text[i:])); count < 8 {
			return n, i + count
		}
	}
	for end = i; text[end]-'0' <= 9; end++ {
		n = n*10 + int(text[end]-'0')
	}
	return n, end
}

// ones has a one in each byte of a word.
const ones = 0x0101010101010101

// digits returns the number that the first bytes of a word write in decimal, and the count of its digits. For eight
// digits n is undefined.
func digits(word uint64) (n, count int) {
	word ^= '0' * ones
	count = bits.TrailingZeros64((word+(0x80-10)*ones|word)&(0x80*ones)) >> 3
	word <<= 64 - 8*count
	word = word * (1 + 10<<8) >> 8 & 0x00ff00ff00ff00ff
	word = word * (1 + 100<<16) >> 16 & 0x0000ffff0000ffff
	return int(word * (1 + 10000<<32) >> 32), count
}

// addExponent parses the exponent after an e and adds it. end is -1 if it is not one to three digits.
func addExponent(text []byte, i, exponent int) (sum, end int) {
	negative := text[i] == '-'
	if negative || text[i] == '+' {
		i++
	}
	e, first := 0, i
	for ; text[i]-'0' <= 9; i++ {
		if i-first == 3 {
			return 0, -1
		}
		e = e*10 + int(text[i]-'0')
	}
	if i == first {
		return 0, -1
	}
	if negative {
		e = -e
	}
	return exponent + e, i
}

// The reasons why a field is not a number. ErrNotNumber is the one for a field without any number.
var (
	ErrNotNumber = errors.New("is not a number")
	errNotFinite = errors.New("is not finite")
	errTooLarge  = errors.New("does not fit a 32-bit float")
)

// Number parses a whole field with strconv, which is exact for any length. It refuses hexadecimal, underscores, NaN and
// infinities.
func Number(field []byte) (float32, error) {
	word := bytes.ToLower(bytes.TrimLeft(field, "+-"))
	switch string(word) {
	case "nan", "inf", "infinity", "-nan", "1.#inf", "1.#ind":
		return 0, errNotFinite
	}
	for _, c := range word {
		if (c < '0' || c > '9') && c != '.' && c != 'e' && c != '-' && c != '+' {
			return 0, ErrNotNumber
		}
	}
	v, err := strconv.ParseFloat(string(field), 32)
	switch {
	case errors.Is(err, strconv.ErrRange):
		return 0, errTooLarge
	case err != nil:
		return 0, ErrNotNumber
	}
	return float32(v), nil
}

// IsInfinite reports whether a whole field is a number that is not finite, or names NaN.
func IsInfinite(field []byte) bool {
	_, err := Number(field)
	return err == errNotFinite
}

// IsNumber reports whether a whole field is a finite number.
func IsNumber(field []byte) bool {
	_, err := Number(field)
	return err == nil
}
