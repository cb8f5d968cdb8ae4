package gauge

import (
	"math"
	"math/rand/v2"
	"testing"
)

// TestMedianHoldsTruth: the true median is within the bounds in 95 of a hundred cases at least, whatever the number of
// values and however they are distributed.
func TestMedianHoldsTruth(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(3, 3))
	for name, draw := range map[string]func() float64{
		"normal": rng.NormFloat64, "exponential": func() float64 { return rng.ExpFloat64() - math.Ln2 },
		"Cauchy": func() float64 { return math.Tan(math.Pi * (rng.Float64() - 0.5)) },
	} {
		for _, n := range []int{6, 7, 10, 16, 21, 32, 64} {
			const cases = 2000
			inside, narrower := 0, 0
			for range cases {
				values := make([]float64, n)
				for i := range values {
					values[i] = draw()
				}
				v := median(values)
				if v.Low <= 0 && 0 <= v.High {
					inside++
				}
				if v.Low > values[0] && v.High < values[n-1] {
					narrower++
				}
			}
			if inside < cases*95/100 || n >= 16 && narrower < cases*9/10 {
				t.Errorf("%d values, %s: %d of %d inside, %d without the extremes", n, name, inside, cases, narrower)
			}
		}
	}
}

// TestMergeKeepsEnds: of more points than figures may have those with the fewest and the most splits stay, and the
// present ones replace former ones.
func TestMergeKeepsEnds(t *testing.T) {
	t.Parallel()
	var list []Traffic
	for k := 1; k <= 3*pointsMost; k++ {
		list = merge(list, []Traffic{{Splits: k, Pulled: Exactly(1)}})
	}
	list = merge(list, []Traffic{{Splits: 1, Pulled: Exactly(2)}})
	if len(list) != pointsMost || list[0].Pulled.Value != 2 || list[pointsMost-1].Splits != 3*pointsMost {
		t.Errorf("%d points from %+v to %+v", len(list), list[0], list[len(list)-1])
	}
	for i := 1; i < len(list); i++ {
		if list[i].Splits > 2*list[i-1].Splits {
			t.Errorf("no point is between %d and %d", list[i-1].Splits, list[i].Splits)
		}
	}
}
