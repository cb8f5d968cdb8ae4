package loss

import "math"

// Lengths are the parts of a step that Newton's method tries, the longest first and 0 last.
var Lengths = [...]float64{2, 1, 0.5, 0.25, 1.0 / 16, 1.0 / 256, 0}

// Along adds up the logistic loss of rows that count 1, and its curvature, at all lengths of a step. All margins of a row are on one line, so that two exponentials do for all of them: the powers of the
// step's are squares of each other. Sums of log(1 + x) are logarithms of products, so that one does for many rows. It says nothing of rows far out, whose products would leave double precision.
type Along struct {
	product [len(Lengths)]float64 // of 1 + exp(-margin)
	loss    [len(Lengths)]float64 // the logarithm of what the product had before
	spread  [len(Lengths)]float64
}

// The bounds of margins, and of products.
const (
	alongMost   = 100
	productMost = 1e250
)

// NewAlong returns the Along of no rows.
func NewAlong() (s Along) {
	for k := range s.product {
		s.product[k] = 1
	}
	return s
}

// Add adds a row by its margin and by how the whole step changes that; ok is false, and nothing is added, where these are too large or no numbers.
func (s *Along) Add(margin, step float64) (ok bool) {
	if !(math.Abs(margin)+Lengths[0]*math.Abs(step) <= alongMost) {
		return false
	}
	at := math.Exp(-margin)
	x256 := math.Exp(-step / 256)
	x16 := x256 * x256
	x16 *= x16
	x16 *= x16
	x16 *= x16
	x4 := x16 * x16
	x4 *= x4
	x2 := x4 * x4
	for k, x := range [...]float64{at * x2 * x2 * x2 * x2, at * x2 * x2, at * x2, at * x4, at * x16, at * x256, at} { // in their order
		p := 1 / (1 + x)
		s.spread[k] += x * p * p
		if s.product[k] *= 1 + x; s.product[k] > productMost {
			s.loss[k] += math.Log(s.product[k])
			s.product[k] = 1
		}
	}
	return true
}

// AddTo adds the sums of each length to others; spread may be nil.
func (s *Along) AddTo(loss, spread []float64) {
	for k, p := range s.product {
		loss[k] += s.loss[k] + math.Log(p)
		if spread != nil {
			spread[k] += s.spread[k]
		}
	}
}
