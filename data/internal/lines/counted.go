package lines

import (
	"strconv"
	"strings"
)

// Counted returns a count with its noun.
func Counted(n int, noun string) string {
	switch {
	case n == 1:
	case strings.HasSuffix(noun, "s"):
		noun += "es"
	default:
		noun += "s"
	}
	return Grouped(n) + " " + noun
}

// Grouped returns n with a space before every third digit.
func Grouped(n int) string {
	s := strconv.Itoa(n)
	for at := len(s) - 3; at > 0; at -= 3 {
		s = s[:at] + " " + s[at:]
	}
	return s
}
