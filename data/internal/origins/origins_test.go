package origins

import (
	"math"
	"testing"
)

// TestChoose holds the rule against columns of each kind: what 32 bits hold stays as it is.
func TestChoose(t *testing.T) {
	t.Parallel()
	column := func(n int, of func(i int) float64) []float64 {
		values := make([]float64, n)
		for i := range values {
			values[i] = of(i)
		}
		return values
	}
	for _, c := range []struct {
		name   string
		values []float64
		far    bool
		coarse bool
	}{
		{"none", nil, false, false},
		{"small whole numbers", column(300, func(i int) float64 { return 2000 + float64(i%20) }), false, false},
		{"a million", column(300, func(i int) float64 { return 1e6 + float64(i%20) }), false, false},
		{"around 0", column(300, func(i int) float64 { return float64(i) - 150.5 }), false, false},
		{"a constant", column(300, func(int) float64 { return 0.1 }), false, false},
		{"a large constant", column(300, func(int) float64 { return 25e6 }), true, false},
		{"milliseconds", column(300, func(i int) float64 { return 1764297407000 + float64(i*197%60000) }), true, false},
		{"coordinates", column(300, func(i int) float64 { return 5412000.25 + float64(i%100)/10 }), true, false},
		{"negative", column(300, func(i int) float64 { return -1e8 - float64(i%7)/4 }), true, false},
		{"one value", []float64{1e9 + 0.5}, true, false},
		{"one far out", column(300, func(i int) float64 {
			return 1e9*math.Copysign(1, float64(i-1)+0.5) +
				float64(i%9)
		}), true, false},
		{"mostly zeros", column(300, func(i int) float64 { return float64(i%20/19) * 1e9 }), false, false},
		{"beyond 64 bits", column(300, func(i int) float64 { return 1e15 + float64(i%9)/8 + 0.125 }), true, true},
		{"whole and wide", column(300, func(i int) float64 { return 1 << 60 * (1 + float64(i%9)/1e6) }), true, false},
	} {
		var s Sample
		for _, v := range c.values {
			s.Add(v)
		}
		origin, loss := s.Choose()
		if (origin != 0) != c.far || (loss > Coarse) != c.coarse {
			t.Errorf("%s: origin %v, loss %v", c.name, origin, loss)
		}
	}
}

// TestOriginsBoundTheLoss: whatever follows a sample, rounding what is left to 32 bits costs a millionth of the
// distance between extremes at most.
func TestOriginsBoundTheLoss(t *testing.T) {
	t.Parallel()
	for _, first := range [][]float64{{0, 1, 2, 3}, {1e9, 1e9 + 1, 1e9 + 2}, {1e9 + 0.5}, {-5e7, -5e7 + 1e6},
		{1 << 20, 3}} {
		var s Sample
		for _, v := range first {
			s.Add(v)
		}
		origin, _ := s.Choose()
		for _, other := range []float64{0, 1, -1e6, 1e9 + 0.25, 1.5e9 + 0.125, 7e12 + 3} {
			low, high := min(first[0], other), max(first[len(first)-1], other)
			if lost := math.Abs(float64(float32(other-origin)) - (other - origin)); lost > 1.1e-6*(high-low) {
				t.Errorf("%v, then %v: %v is lost of %v", first, other, lost, high-low)
			}
		}
	}
}
