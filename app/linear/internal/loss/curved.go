package loss

import "math"

// Curved is a Loss with a derivative everywhere, and a second one but at single points: what Newton's method needs.
type Curved interface {
	Loss
	// Slopes are the first and the second derivative by the score.
	Slopes(score, target float64) (first, second float64)
}

// Slopes implements Curved.
func (Logistic) Slopes(a, y float64) (first, second float64) {
	p := Sigmoid(-y * a)
	return -y * p, p * (1 - p)
}

// Slopes implements Curved.
func (SquaredHinge) Slopes(a, y float64) (first, second float64) {
	if m := 1 - y*a; m > 0 {
		return -2 * y * m, 2
	}
	return 0, 0
}

// Slopes implements Curved.
func (Squared) Slopes(a, y float64) (first, second float64) { return a - y, 1 }

// Slopes implements Curved.
func (l Huber) Slopes(a, y float64) (first, second float64) {
	if d := a - y; math.Abs(d) > l.Delta {
		return math.Copysign(l.Delta, d), 0
	}
	return a - y, 1
}
