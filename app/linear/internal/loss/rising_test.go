package loss

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"bellows/app/apptest"
	"bellows/app/examples"
)

// TestScoresCloserThanTheirWidth: scores that are the same in 32 bits have one chance, which is that of the rows with such scores, and none between two points.
func TestScoresCloserThanTheirWidth(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(5, 1))
	scores, second, ones := make([]float64, 4000), make([]bool, 4000), 0.0
	for i := range scores {
		u := rng.Float64()
		scores[i] = -1 + 1.2e-7*(2*u-1)
		if second[i] = rng.Float64() < 0.02+0.3*u; second[i] {
			ones++
		}
	}
	c, mean := FitRising(scores, second, nil), 0.0
	for _, s := range scores {
		mean += Sigmoid(c.Calibrate(s)) / 4000
	}
	if share := ones / 4000; math.Abs(mean-share) > 0.002 {
		t.Errorf("the mean chance is %.4f, the share %.4f, by %+v", mean, share, c)
	}
}

// TestIsotonicRises holds pool-adjacent-violators against the formula of the least squares: the chance of a score is the largest, over where a run of scores may begin that ends no earlier, of the least mean
// of such runs (Barlow et al. 1972, "Statistical inference under order restrictions", theorem 1.4).
func TestIsotonicRises(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(3, 1))
	for range 300 {
		n := 2 + rng.IntN(40)
		scores, second, weight := make([]float64, n), make([]bool, n), make(examples.RowWeights, n)
		for i := range scores {
			scores[i], second[i], weight[i] = float64(rng.IntN(12)-6)/2, rng.IntN(2) == 0, float32(1+rng.IntN(8))/2
		}
		high, low := ClassTargets(second, weight)
		distinct := slices.Compact(slices.Sorted(slices.Values(scores)))
		mean := func(from, to float64) float64 {
			sum, all := 0.0, 0.0
			for i, s := range scores {
				if s < from || s > to {
					continue
				}
				target := low
				if second[i] {
					target = high
				}
				sum, all = sum+weight.Weight(i)*target, all+weight.Weight(i)
			}
			return sum / all
		}
		c := FitRising(scores, second, weight)
		for at, s := range distinct {
			want := 0.0
			for a := range at + 1 {
				least := 1.0
				for b := at; b < len(distinct); b++ {
					least = min(least, mean(distinct[a], distinct[b]))
				}
				want = max(want, least)
			}
			if got := 1 / (1 + math.Exp(-c.Calibrate(s))); math.Abs(got-want) > 1e-6 {
				t.Fatalf("the chance of %v is %v, not %v", s, got, want)
			}
		}
		apptest.Rises(t, float64(c.Scores[0]), float64(c.Scores[len(c.Scores)-1]), c.Calibrate)
	}
}

// TestIsotonicWeightsAreRepeatedRows, and rows of one class beyond a score have chances that are neither 0 nor 1.
func TestIsotonicWeightsAreRepeatedRows(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(4, 1))
	var scores, all []float64
	var second, allSecond []bool
	var weight examples.RowWeights
	for range 400 {
		s, n := rng.NormFloat64(), 1+rng.IntN(3)
		is := rng.Float64() < 1/(1+math.Exp(-4*s))
		scores, second, weight = append(scores, s), append(second, is), append(weight, float32(n))
		all, allSecond = append(all, slices.Repeat([]float64{s}, n)...), append(allSecond, slices.Repeat([]bool{is}, n)...)
	}
	a, b := FitRising(scores, second, weight), FitRising(all, allSecond, nil)
	if !slices.Equal(a.Scores, b.Scores) {
		t.Fatalf("points at %v by weights, at %v by rows", a.Scores, b.Scores)
	}
	for i, p := range a.Chances {
		if math.Abs(float64(p-b.Chances[i])) > 1e-6 {
			t.Errorf("chance %v by weights, %v by rows", p, b.Chances[i])
		}
	}
	if first, last := a.Chances[0], a.Chances[len(a.Chances)-1]; first <= 0 || first > 0.02 || last >= 1 || last < 0.98 {
		t.Errorf("chances from %v to %v", first, last)
	}
}
