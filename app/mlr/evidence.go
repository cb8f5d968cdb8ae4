package mlr

import (
	"math"
	"slices"
)

// level is a number of features whose scaled mean square is about the same.
type level struct{ square, count float64 }

// newSpectrum gathers features by their mean square, in eighths of an octave, so that the evidence
// costs little however many there are.
func newSpectrum(square []float64) []level {
	sum := make(map[int]level)
	for _, v := range square {
		if v > 0 {
			k := int(math.Floor(8 * math.Log2(v)))
			sum[k] = level{sum[k].square + v, sum[k].count + 1}
		}
	}
	keys := make([]int, 0, len(sum))
	for k := range sum {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	levels := make([]level, len(keys))
	for i, k := range keys {
		levels[i] = level{sum[k].square / sum[k].count, sum[k].count}
	}
	return levels
}

// The bounds of alpha, and where it begins: a weak prior, until the weights say more.
const (
	alphaStart = 10
	alphaLeast = 1e-6
	alphaMost  = 1e9
)

// beliefSparse is the part of the evidence's precision that is taken for sparse rows. Their weights
// have a heavier tail than the normal prior: most features are rare and say nothing, and the precision
// that fits them all holds back those that do. On text a tenth of it is best; sets of few features do
// not mind.
const beliefSparse = 0.1

// evidence is the precision of the weights' prior that the data supports: γ/|w|², where γ counts the
// weights that the data determines, the sum of h/(h+α) over the curvatures h (MacKay 1992,
// "Bayesian interpolation", eq. 4.8-4.9), here the diagonal of the Hessian. spread is the sum over
// the rows of p(1-p), one a class; alpha is the precision before.
func evidence(levels []level, spread []float64, squares, alpha float64) float64 {
	gamma := 0.0
	for _, l := range levels {
		for _, q := range spread {
			h := q * l.square
			gamma += l.count * h / (h + alpha)
		}
	}
	if squares <= 0 || gamma <= 0 {
		return alpha
	}
	return min(alphaMost, max(alphaLeast, gamma/squares))
}
