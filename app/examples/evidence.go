package examples

import (
	"math"
	"slices"
)

// Level is a number of features whose scaled mean square is about the same.
type Level struct{ Square, Count float64 }

// NewSpectrum gathers features by their mean square, in eighths of an octave, so that the evidence
// costs little however many there are.
func NewSpectrum(square []float64) []Level {
	sum := make(map[int]Level)
	for _, v := range square {
		if v > 0 {
			k := int(math.Floor(8 * math.Log2(v)))
			sum[k] = Level{sum[k].Square + v, sum[k].Count + 1}
		}
	}
	keys := make([]int, 0, len(sum))
	for k := range sum {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	levels := make([]Level, len(keys))
	for i, k := range keys {
		levels[i] = Level{sum[k].Square / sum[k].Count, sum[k].Count}
	}
	return levels
}

// The bounds of alpha, and where it begins: a weak prior, until the weights say more.
const (
	AlphaStart = 10
	AlphaLeast = 1e-6
	AlphaMost  = 1e9
)

// The part of the evidence's precision to use. Weights have a heavier tail than the normal prior, and the precision
// that fits them all holds back the informative ones. If there are many sparse features for the number of rows, most of
// them are rare and carry no information, and the diagonal counts far more weights than the rows determine: on text a
// tenth of the precision is best.
const (
	beliefDense  = 0.7
	beliefSparse = 1.0
	beliefLeast  = 0.1
	rowsTrusted  = 8   // rows a feature from which the prior alone keeps weights from fitting the noise
	RowsMany     = 256 // rows a feature from which the noise of long steps is small relative to their gain
)

// Trusted reports whether rows are so many that the prior that follows the evidence needs no help.
func Trusted(rows, features int) bool { return rows >= rowsTrusted*features }

// Belief returns the part of the evidence's precision that is taken.
func Belief(dense bool, rows, features int) float64 {
	if dense {
		return beliefDense
	}
	return min(beliefSparse, max(beliefLeast, float64(rows)/float64(rowsTrusted*features)))
}

// Evidence returns the precision of the weights' prior that the data supports: γ/|w|², where γ counts the
// weights that the data determines, the sum of h/(h+α) over the curvatures h (MacKay 1992,
// "Bayesian interpolation", eq. 4.8-4.9), here the diagonal of the Hessian. spread is the sum over
// the rows of p(1-p), one a class, or one where there is one score; alpha is the precision before.
//
// Of a feature's weights, where they are several, one in as many as there are classes is not determined at all, since adding a number to all changes
// nothing: the curvature is that of the others, larger by so much that the trace stays.
func Evidence(levels []Level, spread []float64, squares, alpha float64) float64 {
	gamma := 0.0
	determined := 1.0
	if len(spread) > 1 {
		determined -= 1 / float64(len(spread))
	}
	for _, l := range levels {
		for _, q := range spread {
			h := q * l.Square / determined
			gamma += determined * l.Count * h / (h + alpha)
		}
	}
	if squares <= 0 || gamma <= 0 {
		return alpha
	}
	return min(AlphaMost, max(AlphaLeast, gamma/squares))
}
