// Package loss has the loss functions of app/linear: the cost of a row by its score, derivatives, and the dual.
//
// The dual of a loss φ of score a and target y is what its conjugate makes of a row's dual variable α: Dual(α) = -φ*(-α), the least of
// φ(a) + α a over all a. Where α is at its best for the score a, it is -φ'(a). The objective of a run is the mean of φ over the rows plus what the
// weights cost, and no dual objective is above it (Shalev-Shwartz and Zhang 2013, "Stochastic dual coordinate ascent", eq. 2).
//
// Targets of classes are -1 and 1. Every function takes and gives finite numbers; a dual variable is in the loss's domain as Step gives it, and 0
// always is.
//
// Beside them are the calibrations of scores of two classes. To fit one: Deal rows to folds; for each fold train on the other rows and score its own; Align the scores; then Platt or FitRising. Scores
// of rows that a model has seen are too sure of themselves.
package loss

import "math"

// Loss is one of the losses.
type Loss interface {
	// Value is the cost of a score.
	Value(score, target float64) float64
	// Dual is -φ*(-dual).
	Dual(dual, target float64) float64
	// Step returns the dual variable d that maximises Dual(d) - score*(d-dual) - square/2*(d-dual)², given the previous
	// d, the previous score, and the square by which the score changes with d, which is positive.
	Step(dual, score, square, target float64) float64
	// Slope is the derivative by the score, and in a corner one of the slopes that touch it.
	Slope(score, target float64) float64
	// Bend returns the largest rise of the slope with the score, or 1 for losses with corners, where it has no bound.
	Bend() float64
}

// Logistic is log(1 + exp(-y a)); its scores are log-odds.
type Logistic struct{}

// Value implements Loss.
func (Logistic) Value(a, y float64) float64 {
	m := y * a
	if m > 0 {
		return math.Log1p(math.Exp(-m))
	}
	return math.Log1p(math.Exp(m)) - m
}

// Dual implements Loss: the entropy of y α, which is a probability.
func (Logistic) Dual(dual, y float64) float64 {
	p := dual * y
	return -xlogx(p) - xlogx(1-p)
}

func xlogx(p float64) float64 {
	if p <= 0 {
		return 0
	}
	return p * math.Log(p)
}

// Sigmoid returns 1/(1 + exp(-x)).
func Sigmoid(x float64) float64 { return 1 / (1 + math.Exp(-x)) }

// The steps of Newton's method of a logistic row, and the change of the log-odds below which the last step is short
// enough for a parabola of the probability; the parabola's error is at most a fiftieth of the cube of that change.
const (
	newtonMost  = 40
	newtonClose = 0.03
)

// Step implements Loss. The best p = y α has log-odds s with s + y a + q (σ(s) - p0) = 0. The left side rises by at
// least 1, so the root lies between two bounds. Newton steps that leave them, or are not half as long as the previous
// step, halve them instead. The steps begin at the previous log-odds, which are near once rows have been visited, and
// have a known probability.
func (Logistic) Step(dual, a, q, y float64) float64 {
	m, before := y*a, y*dual
	low, high := -m-q*(1-before), -m+q*before
	s := -m
	if before > 0 && before < 1 {
		s = math.Log(before / (1 - before))
		s -= (s + m) / (1 + q*before*(1-before))
	}
	s = min(high, max(low, s))
	step := math.Inf(1)
	for range newtonMost {
		p := Sigmoid(s)
		f, spread := s+m+q*(p-before), p*(1-p)
		if f > 0 {
			high = s
		} else {
			low = s
		}
		d := -f / (1 + q*spread)
		switch next := s + d; {
		case !(next >= low && next <= high) || 2*math.Abs(d) > step:
			next = (low + high) / 2
			step, s = math.Abs(next-s), next
		case math.Abs(d) < newtonClose:
			return y * (p + d*spread*(1+d*(0.5-p)))
		default:
			step, s = math.Abs(d), next
		}
	}
	return y * Sigmoid(s)
}

// Hinge is max(0, 1 - y a): that of a support vector machine.
type Hinge struct{}

// Value implements Loss.
func (Hinge) Value(a, y float64) float64 { return max(0, 1-y*a) }

// Dual implements Loss.
func (Hinge) Dual(dual, y float64) float64 { return dual * y }

// Step implements Loss.
func (Hinge) Step(dual, a, q, y float64) float64 {
	return y * min(1, max(0, y*dual+(1-y*a)/q))
}

// SquaredHinge is max(0, 1 - y a)².
type SquaredHinge struct{}

// Value implements Loss.
func (SquaredHinge) Value(a, y float64) float64 {
	m := max(0, 1-y*a)
	return m * m
}

// Dual implements Loss.
func (SquaredHinge) Dual(dual, y float64) float64 { return dual*y - dual*dual/4 }

// Step implements Loss.
func (SquaredHinge) Step(dual, a, q, y float64) float64 {
	before := y * dual
	return y * max(0, before+(1-y*a-before/2)/(q+0.5))
}

// Squared is (a - y)²/2.
type Squared struct{}

// Value implements Loss.
func (Squared) Value(a, y float64) float64 { return (a - y) * (a - y) / 2 }

// Dual implements Loss.
func (Squared) Dual(dual, y float64) float64 { return dual*y - dual*dual/2 }

// Step implements Loss.
func (Squared) Step(dual, a, q, y float64) float64 { return dual + (y-a-dual)/(1+q) }

// Huber is the squared loss up to an error of Delta, and grows with the error beyond it: Delta (|a - y| - Delta/2).
type Huber struct{ Delta float64 }

// Value implements Loss.
func (l Huber) Value(a, y float64) float64 {
	r := math.Abs(a - y)
	if r <= l.Delta {
		return r * r / 2
	}
	return l.Delta * (r - l.Delta/2)
}

// Dual implements Loss.
func (l Huber) Dual(dual, y float64) float64 { return Squared{}.Dual(dual, y) }

// Step implements Loss.
func (l Huber) Step(dual, a, q, y float64) float64 {
	return min(l.Delta, max(-l.Delta, Squared{}.Step(dual, a, q, y)))
}

// Insensitive is max(0, |a - y| - Epsilon): that of support vector regression.
type Insensitive struct{ Epsilon float64 }

// Value implements Loss.
func (l Insensitive) Value(a, y float64) float64 { return max(0, math.Abs(a-y)-l.Epsilon) }

// Dual implements Loss.
func (l Insensitive) Dual(dual, y float64) float64 { return dual*y - l.Epsilon*math.Abs(dual) }

// Step implements Loss.
func (l Insensitive) Step(dual, a, q, y float64) float64 {
	free := dual + (y-a)/q
	return min(1, max(-1, math.Copysign(max(0, math.Abs(free)-l.Epsilon/q), free)))
}
