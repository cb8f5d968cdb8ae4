package pair

import (
	"math/rand/v2"
	"testing"
)

// TestQuantilesHoldTheirShare draws figures with known quantiles, and wants intervals to hold them about as often as
// they claim, neither less nor always.
func TestQuantilesHoldTheirShare(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 2))
	for _, c := range []struct {
		part  float64
		count int
	}{{0.5, 15}, {0.5, 40}, {0.99, 1000}} {
		const draws = 2000
		held := 0
		for range draws {
			list := make([]float64, c.count)
			for i := range list {
				list[i] = r.Float64()
			}
			q := QuantileOf(c.part, list)
			if q.Whole || q.Count != c.count {
				t.Fatalf("%v of %d figures: %+v", c.part, c.count, q)
			}
			if q.Low <= c.part && c.part <= q.High {
				held++
			}
		}
		if share := float64(held) / draws; share < 0.945 || share > 0.99 {
			t.Errorf("%v of %d figures is in its interval in %.3f of the cases", c.part, c.count, share)
		}
	}
}

func TestQuantilesOfFewFigures(t *testing.T) {
	t.Parallel()
	if q := Median([]float64{4, 1, 3, 2}); q.Value != 2.5 || q.Low != 1 || q.High != 4 || !q.Whole {
		t.Errorf("four figures: %+v", q)
	}
	if q := Median([]float64{3, 1, 2, 5, 4, 6, 7}); q.Value != 4 || q.Low != 1 || q.High != 7 || q.Whole {
		t.Errorf("seven figures: %+v", q)
	}
	if q := QuantileOf(0.99, []float64{1, 2}); q.Value != 2 || !q.Whole {
		t.Errorf("the 99th percentile of two: %+v", q)
	}
	if q := Median(nil); q.Count != 0 || !q.Whole {
		t.Errorf("none: %+v", q)
	}
}
