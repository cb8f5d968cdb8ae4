package linear

import (
	"math"

	"bellows"
	"bellows/app/examples"
	"bellows/app/linear/internal/loss"
)

// The values of the setting calibrate.
const (
	calibrateNone     = "none"
	calibratePlatt    = "platt"
	calibrateIsotonic = "isotonic"
)

// calibrator makes log-odds of scores.
type calibrator interface{ of(score float64) float64 }

// calibration makes log-odds of scores: slope * score + offset.
type calibration struct {
	Slope  float64 `json:"slope"`
	Offset float64 `json:"offset"`
}

// of is the calibrated score.
func (c *calibration) of(score float64) float64 {
	return c.Slope*score + c.Offset
}

// plattSteps and plattClose end Newton's method, plattRidge keeps its matrix positive, and a step is halved so often at most.
const (
	plattSteps  = 100
	plattClose  = 1e-9
	plattRidge  = 1e-12
	plattHalves = 30
)

// platt is the calibration with the least log-loss of scores and classes of rows that were not trained on (Platt 1999, "Probabilistic outputs for support vector
// machines", by Newton's method as Lin, Lin and Weng 2007 have it). Targets are not 0 and 1 but those of one more row of each class, so that classes that scores tell apart
// do not make probabilities of 0 and 1. Each row counts as its weight says; nil: 1.
func platt(scores []float64, second []bool, weight examples.RowWeights) calibration {
	ones := 0.0
	for i, is := range second {
		if is {
			ones += weight.Of(i)
		}
	}
	zeros := weight.Total(len(second)) - ones
	high, low := loss.ClassTargets(second, weight)
	target := func(i int) float64 {
		if second[i] {
			return high
		}
		return low
	}
	cost := func(c calibration) (sum float64) {
		for i, s := range scores {
			a, t := c.of(s), target(i)
			sum += weight.Of(i) * (t*loss.Logistic{}.Value(a, 1) + (1-t)*loss.Logistic{}.Value(a, -1))
		}
		return sum
	}
	c := calibration{Slope: 0, Offset: math.Log((ones + 1) / (zeros + 1))}
	before := cost(c)
	for range plattSteps {
		var g, h0, h1, h2, gs float64
		h0, h2 = plattRidge, plattRidge
		for i, s := range scores {
			p := loss.Sigmoid(c.of(s))
			d, q := weight.Of(i)*(p-target(i)), weight.Of(i)*(p*(1-p))
			g, gs = g+d, gs+d*s
			h0, h1, h2 = h0+q, h1+q*s, h2+q*s*s
		}
		det := h0*h2 - h1*h1
		if !(det > 0) || math.Abs(g)+math.Abs(gs) < plattClose {
			break
		}
		step := calibration{Slope: (h0*gs - h1*g) / det, Offset: (h2*g - h1*gs) / det}
		part, next, after := 1.0, c, before
		for range plattHalves {
			next = calibration{c.Slope - part*step.Slope, c.Offset - part*step.Offset}
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

// calibrated fits the calibration of a model's weights on the rows that are held out.
func (p *problem) calibrated(weights []float32, bias float32) (calibrator, error) {
	if p.calibrate == calibrateNone {
		return nil, nil
	}
	of := &predictor{weights: weights, bias: bias}
	scores, second := make([]float64, len(p.held)), make([]bool, len(p.held))
	both := [2]int{}
	for i, r := range p.held {
		scores[i], second[i] = of.raw(p.src, int(r)), p.target[r] > 0
		if second[i] {
			both[1]++
		} else {
			both[0]++
		}
	}
	if both[0] == 0 || both[1] == 0 {
		return nil, bellows.Errorf(bellows.BadData, "train", name, "calibrate=%s needs held-out rows of both classes, and there are %d of %s and %d of %s", p.calibrate, both[0], p.names[0], both[1], p.names[1]).
			Hinted("give more rows, or leave calibrate out")
	}
	weight := p.count.Pick(nil, p.held)
	if p.calibrate == calibrateIsotonic {
		return &isotonic{*loss.FitRising(scores, second, weight)}, nil
	}
	c := platt(scores, second, weight)
	return &c, nil
}
