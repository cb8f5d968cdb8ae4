package examples

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"bellows/data"
)

// TestSchemes holds each scheme, of dense rows and of sparse ones, with weights and without, against what it says: by two passes over the rows, in their order.
func TestSchemes(t *testing.T) {
	t.Parallel()
	const rows, features = 300, 5
	rng := rand.New(rand.NewPCG(1, 7))
	set := &data.ExampleSet{Features: features, Label: make([]float32, rows)}
	train, weights := make([]int32, rows), make(RowWeights, rows)
	total := float32(0)
	for r := range rows {
		train[r], weights[r] = int32(r), float32(r%3)
		total += weights[r]
		set.Dense = append(set.Dense, 7, 0, float32(1e6+rng.NormFloat64()), float32(rng.ExpFloat64()), -float32(rng.IntN(4)))
	}
	for r := range weights {
		weights[r] *= rows / total
	}
	for _, scheme := range Schemes()[1:] {
		for _, dense := range []bool{true, false} {
			for name, w := range map[string]RowWeights{"even": nil, "weighted": weights} {
				s := Source{ExampleSet: set, Width: features}
				if !dense {
					s.ExampleSet = sparsely(set)
				}
				got := Scale(nil, s, dense, train, w, scheme)
				for j := range features {
					what := fmt.Sprintf("%s, dense %v, %s, feature %d", scheme, dense, name, j)
					center, factor, square := reference(set, w, j, scheme, dense)
					c := 0.0
					if got.Center != nil {
						c = float64(got.Center[j])
					}
					if deviation(c, center) > 1e-6 || deviation(float64(got.Factor[j]), factor) > 1e-4 || deviation(got.Square[j], square) > 1e-3 {
						t.Errorf("%s: (x - %g) * %g of mean square %g, wanted (x - %g) * %g and %g", what, c, got.Factor[j], got.Square[j], center, factor, square)
					}
				}
				if got.Bias != 1 {
					t.Errorf("%s: the bias has %g", scheme, got.Bias)
				}
			}
		}
	}
}

// deviation returns the relative difference of a number from the wanted one.
func deviation(got, want float64) float64 { return math.Abs(got-want) / max(1e-9, math.Abs(want)) }

// reference returns the center, the factor and the scaled mean square of a feature.
func reference(set *data.ExampleSet, weights RowWeights, j int, scheme string, dense bool) (center, factor, square float64) {
	each := func(visit func(v, weight float64)) {
		for r := range set.Rows() {
			if w := weights.Weight(r); w > 0 {
				visit(float64(set.Dense[r*set.Features+j]), w)
			}
		}
	}
	n, mean, about, low, high := 0.0, 0.0, 0.0, math.Inf(1), math.Inf(-1)
	each(func(v, w float64) { n, mean, low, high = n+w, mean+w*v, min(low, v), max(high, v) })
	mean /= n
	each(func(v, w float64) { about += w * (v - mean) * (v - mean) / n })
	if !dense {
		low, high = min(0, low), max(0, high)
	}
	if dense && scheme != ScaleNone && high > low {
		center = mean
	}
	by := map[string]float64{ScaleNone: 1, ScaleStandard: math.Sqrt(about), ScaleMaxAbs: max(high, -low), ScaleMinMax: high - low}[scheme]
	if by > 0 && (scheme == ScaleNone || high > low) {
		factor = 1 / by
	}
	each(func(v, w float64) { square += w * (v - center) * (v - center) * factor * factor / n })
	return center, factor, square
}
