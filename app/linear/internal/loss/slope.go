package loss

import "math"

// Slope implements Loss.
func (l Logistic) Slope(a, y float64) float64 { return -y * Sigmoid(-y*a) }

// Bend implements Loss.
func (Logistic) Bend() float64 { return 0.25 }

// Slope implements Loss.
func (Hinge) Slope(a, y float64) float64 {
	if y*a < 1 {
		return -y
	}
	return 0
}

// Bend implements Loss: it has a corner, and otherwise does not bend.
func (Hinge) Bend() float64 { return 1 }

// Slope implements Loss.
func (l SquaredHinge) Slope(a, y float64) float64 { return first(l, a, y) }

// Bend implements Loss.
func (SquaredHinge) Bend() float64 { return 2 }

// Slope implements Loss.
func (Squared) Slope(a, y float64) float64 { return a - y }

// Bend implements Loss.
func (Squared) Bend() float64 { return 1 }

// Slope implements Loss.
func (l Huber) Slope(a, y float64) float64 { return first(l, a, y) }

// Bend implements Loss.
func (Huber) Bend() float64 { return 1 }

// Slope implements Loss.
func (l Insensitive) Slope(a, y float64) float64 {
	if math.Abs(a-y) <= l.Epsilon {
		return 0
	}
	return math.Copysign(1, a-y)
}

// Bend implements Loss: it has corners, and otherwise does not bend.
func (Insensitive) Bend() float64 { return 1 }

func first(l Curved, a, y float64) float64 {
	d, _ := l.Slopes(a, y)
	return d
}
