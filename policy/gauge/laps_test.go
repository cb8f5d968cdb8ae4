package gauge

import (
	"math"
	"testing"
)

// TestMedianOfUnlikeClocks: a clock that only computes scores is a part of each epoch, and not the usual one.
func TestMedianOfUnlikeClocks(t *testing.T) {
	t.Parallel()
	for _, short := range []float64{0.001, 0.5, 1} {
		var l laps
		for c := range 60 {
			seconds := 1.0
			if c%3 == 2 {
				seconds = short
			}
			if c == 31 || c == 47 {
				seconds = 5 // a straggler
			}
			l.add(c, 1, seconds)
		}
		want := (2 + short) / 3
		if v, n := l.median(3); n != 60 || math.Abs(v.Value-want) > 0.1*want {
			t.Errorf("with clocks of %v s: %+v by %d clocks, want %v s", short, v, n, want)
		}
	}
}
