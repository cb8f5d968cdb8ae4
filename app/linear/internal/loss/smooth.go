package loss

import "math"

// Smoothed returns a loss about a dual variable: the most of Dual(d) - score d - (d - dual)²/(2 sharp) over d, and
// its two derivatives by the score. The first is -d, where d is what Step makes of the dual variable; the second is
// sharp where d follows the score, and 0 where a bound or a corner holds it. It is at most the loss, by what the last
// term takes, and equal where the dual variable is at its best already.
//
// It is for losses that consist of straight pieces (Hinge, Insensitive), whose dual variables have their corners at 0 and at 1 and -1.
func Smoothed(l Loss, dual, score, sharp, target float64) (value, first, second float64) {
	d := l.Step(dual, score, 1/sharp, target)
	value = l.Dual(d, target) - score*d - (d-dual)*(d-dual)/(2*sharp)
	if size := math.Abs(d); size > 0 && size < 1 {
		second = sharp
	}
	return value, -d, second
}

// Bender is the loss of some rows as Newton's method sees it: value and two derivatives by the score. Of a loss with corners they are those of Smoothed.
type Bender struct {
	loss  Loss
	curve Curved    // nil: the loss has corners
	Dual  []float32 // by row, of a loss with corners
	Sharp float64
}

// NewBender returns the Bender of rows without dual variables.
func NewBender(l Loss, sharp float64) Bender {
	curve, _ := l.(Curved)
	return Bender{loss: l, curve: curve, Sharp: sharp}
}

// Slopes returns both derivatives of row i.
func (b *Bender) Slopes(i int, score, target float64) (first, second float64) {
	if b.curve != nil {
		return b.curve.Slopes(score, target)
	}
	_, first, second = Smoothed(b.loss, float64(b.Dual[i]), score, b.Sharp, target)
	return first, second
}

// Value returns the cost of row i.
func (b *Bender) Value(i int, score, target float64) float64 {
	if b.curve != nil {
		return b.loss.Value(score, target)
	}
	value, _, _ := Smoothed(b.loss, float64(b.Dual[i]), score, b.Sharp, target)
	return value
}
