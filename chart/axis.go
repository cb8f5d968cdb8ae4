package chart

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// decadesForLog is the ratio of the largest to the smallest value from which a scale is logarithmic. Below it, small
// values are still visible on a linear one.
const decadesForLog = 30

// axis maps values to [0, 1] and has ticks at round values.
type axis struct {
	low, high float64
	log       bool
	ticks     []float64
	step      float64 // between linear ticks
}

// newAxis returns an axis for the values from low to high with about n ticks, which it widens to round ones at both
// ends. Logarithmic is chosen where may allows it and the range needs it.
func newAxis(low, high float64, n int, may bool) axis {
	if !(low <= high) {
		low, high = 0, 1
	}
	if may && low > 0 && high/low >= decadesForLog {
		return logAxis(low, high)
	}
	if low == high {
		pad := math.Max(math.Abs(low)*0.1, 1e-9)
		low, high = low-pad, high+pad
	}
	step := Round((high - low) / float64(n))
	first, last := math.Floor(low/step), math.Ceil(high/step)
	a := axis{low: first * step, high: last * step, step: step}
	for i := first; i <= last; i++ {
		a.ticks = append(a.ticks, i*step)
	}
	return a
}

// within leaves out what newAxis has added beyond low and high, so that time begins and ends where the run does.
func (a axis) within(low, high float64) axis {
	var inside []float64
	for _, t := range a.ticks {
		if t >= low && t <= high {
			inside = append(inside, t)
		}
	}
	if low < high {
		a.low, a.high = low, high
	}
	a.ticks = inside
	return a
}

// Round returns the least of 1, 2, 5 times a power of ten that is not below x.
func Round(x float64) float64 {
	power := math.Pow(10, math.Floor(math.Log10(x)))
	for _, m := range []float64{1, 2, 5} {
		if m*power >= x*(1-1e-9) {
			return m * power
		}
	}
	return 10 * power
}

func logAxis(low, high float64) axis {
	first, last := math.Floor(math.Log10(low)), math.Ceil(math.Log10(high))
	a := axis{low: low, high: high, log: true}
	between := []float64{1}
	if last-first <= 3 {
		between = []float64{1, 2, 5}
	}
	every := math.Ceil((last - first) / 8)
	for e := first; e <= last; e += every {
		for _, m := range between {
			if t := m * math.Pow(10, e); t >= low && t <= high {
				a.ticks = append(a.ticks, t)
			}
		}
	}
	return a
}

// position returns where a value lies: 0 at the low end, 1 at the high one.
func (a axis) position(v float64) float64 {
	if a.log {
		return math.Log(v/a.low) / math.Log(a.high/a.low)
	}
	return (v - a.low) / (a.high - a.low)
}

// words returns a tick's value.
func (a axis) words(v float64) string {
	size := math.Max(math.Abs(a.low), math.Abs(a.high))
	switch {
	case a.log, size < 1e-3:
		return short(v)
	case size >= 1e4:
		return short(math.Round(v/a.step) * a.step)
	}
	decimals := max(0, int(-math.Floor(math.Log10(a.step)+1e-9)))
	return strconv.FormatFloat(v, 'f', min(decimals, 6), 64)
}

// short returns a number in few letters: 950, 2.5k, 12M, 3e-05.
func short(v float64) string {
	size := math.Abs(v)
	for _, unit := range []struct {
		from float64
		name string
	}{{1e9, "G"}, {1e6, "M"}, {1e3, "k"}} {
		if size >= unit.from && size < 1e13 {
			return trim(fmt.Sprintf("%.2f", v/unit.from)) + unit.name
		}
	}
	return strconv.FormatFloat(v, 'g', 3, 64)
}

// trim takes zeros off the end of a fraction.
func trim(s string) string { return strings.TrimSuffix(strings.TrimRight(s, "0"), ".") }
