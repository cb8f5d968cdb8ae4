package loss

import (
	"math"

	"bellows/app/examples"
)

// Line makes log-odds of scores: Slope * score + Offset.
type Line struct {
	Slope  float64 `json:"slope"`
	Offset float64 `json:"offset"`
}

// Calibrate returns the calibrated score.
func (c *Line) Calibrate(score float64) float64 { return c.Slope*score + c.Offset }

// plattSteps and plattClose end Newton's method, plattRidge keeps its matrix positive, and plattHalves bounds how often a step is halved.
const (
	plattSteps  = 100
	plattClose  = 1e-9
	plattRidge  = 1e-12
	plattHalves = 30
)

// Platt returns the line with the least log-loss of scores and classes of rows that were not trained on (Platt 1999, "Probabilistic outputs for support vector
// machines", by Newton's method as in Lin, Lin and Weng 2007). Targets are not 0 and 1 but those of one more row of each class, so that classes that the scores separate
// do not get probabilities of 0 and 1. Each row counts by its weight; nil: 1.
func Platt(scores []float64, second []bool, weight examples.RowWeights) Line {
	ones := 0.0
	for i, is := range second {
		if is {
			ones += weight.Weight(i)
		}
	}
	zeros := weight.Total(len(second)) - ones
	high, low := ClassTargets(second, weight)
	target := func(i int) float64 {
		if second[i] {
			return high
		}
		return low
	}
	cost := func(c Line) (sum float64) {
		for i, s := range scores {
			a, t := c.Calibrate(s), target(i)
			sum += weight.Weight(i) * (t*Logistic{}.Value(a, 1) + (1-t)*Logistic{}.Value(a, -1))
		}
		return sum
	}
	c := Line{Slope: 0, Offset: math.Log((ones + 1) / (zeros + 1))}
	before := cost(c)
	for range plattSteps {
		var g, h0, h1, h2, gs float64
		h0, h2 = plattRidge, plattRidge
		for i, s := range scores {
			p := Sigmoid(c.Calibrate(s))
			d, q := weight.Weight(i)*(p-target(i)), weight.Weight(i)*(p*(1-p))
			g, gs = g+d, gs+d*s
			h0, h1, h2 = h0+q, h1+q*s, h2+q*s*s
		}
		det := h0*h2 - h1*h1
		if !(det > 0) || math.Abs(g)+math.Abs(gs) < plattClose {
			break
		}
		step := Line{Slope: (h0*gs - h1*g) / det, Offset: (h2*g - h1*gs) / det}
		part, next, after := 1.0, c, before
		for range plattHalves {
			next = Line{c.Slope - part*step.Slope, c.Offset - part*step.Offset}
			if after = cost(next); after < before {
				break
			}
			part /= 2
		}
		if !(after < before) {
			break
		}
		c, before = next, after
	}
	return c
}
