// Package decimal compares decimal numbers exactly, whatever their width.
//
// The caller's duties: Parse the text of a number, and use the Number as a map key, or Compare it with others. Two
// numbers are equal if and only if their values are: "1", "+1", "1.0" and "10e-1" are one.
//
// The package refuses hexadecimal, underscores, infinities and NaN. It does no arithmetic.
package decimal

import (
	"cmp"
	"strings"
)

// Number is a decimal number of any width. Its value is 0.digits × 10^exponent, with a minus where it is negative.
//
// Invariant: digits neither begin nor end with 0, and zero has none, no exponent and no sign, so that equal values are
// equal Numbers.
type Number struct {
	digits   string
	exponent int
	negative bool
}

// exponentDigits bounds the digits of an exponent, so that sums of exponents do not overflow.
const exponentDigits = 9

// Parse reads a number such as -12, +0.5, .5, 5. or 1e-3. ok is false if the text is not one.
func Parse(text string) (n Number, ok bool) {
	rest := text
	if rest != "" && (rest[0] == '-' || rest[0] == '+') {
		n.negative, rest = rest[0] == '-', rest[1:]
	}
	if at := strings.IndexAny(rest, "eE"); at >= 0 {
		if n.exponent, ok = parseExponent(rest[at+1:]); !ok {
			return Number{}, false
		}
		rest = rest[:at]
	}
	whole, part, _ := strings.Cut(rest, ".")
	if whole == "" && part == "" || !IsDigits(whole) || !IsDigits(part) {
		return Number{}, false
	}
	whole = strings.TrimLeft(whole, "0")
	n.exponent += len(whole)
	n.digits = whole + part
	if whole == "" {
		n.digits = strings.TrimLeft(part, "0")
		n.exponent -= len(part) - len(n.digits)
	}
	if n.digits = strings.TrimRight(n.digits, "0"); n.digits == "" {
		return Number{}, true
	}
	return n, true
}

// parseExponent reads what follows an e.
func parseExponent(text string) (exponent int, ok bool) {
	digits := text
	if digits != "" && (digits[0] == '-' || digits[0] == '+') {
		digits = digits[1:]
	}
	if digits == "" || len(digits) > exponentDigits || !IsDigits(digits) {
		return 0, false
	}
	for _, c := range digits {
		exponent = exponent*10 + int(c-'0')
	}
	if text[0] == '-' {
		exponent = -exponent
	}
	return exponent, true
}

// IsDigits reports whether a text holds nothing but decimal digits.
func IsDigits(text string) bool {
	for i := range len(text) {
		if text[i] < '0' || text[i] > '9' {
			return false
		}
	}
	return true
}

// Padded reports whether a number begins with a zero that its value does not need, as in 01234 or -007: such a text is
// a code rather than a number. Those in 0, 0.5 and 0e1 are needed.
func Padded(text string) bool {
	if text != "" && (text[0] == '-' || text[0] == '+') {
		text = text[1:]
	}
	return len(text) > 1 && text[0] == '0' && text[1] >= '0' && text[1] <= '9'
}

// Whole reports whether n is a whole number.
func (n Number) Whole() bool { return n.exponent >= len(n.digits) }

// Digits returns the number of significant digits, without zeros at either end.
func (n Number) Digits() int { return len(n.digits) }

// Compare returns -1, 0 or 1 as a is less than, equal to or greater than b.
func Compare(a, b Number) int {
	if s := cmp.Compare(a.sign(), b.sign()); s != 0 {
		return s
	}
	// digits are compared from the first on
	magnitude := cmp.Or(cmp.Compare(a.exponent, b.exponent), cmp.Compare(a.digits, b.digits))
	if a.negative {
		return -magnitude
	}
	return magnitude
}

// sign returns -1, 0 or 1.
func (n Number) sign() int {
	switch {
	case n.digits == "":
		return 0
	case n.negative:
		return -1
	}
	return 1
}
