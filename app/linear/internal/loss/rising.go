package loss

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"bellows/app/examples"
)

// Rising makes log-odds of scores by a function that rises and has no other form: the chance of the second class at some scores, on straight lines between them, and level beyond.
//
// Invariant: scores ascend, no two the same, and chances, between 0 and 1 and neither, do not descend (TestIsotonicRises).
type Rising struct{ Scores, Chances []float32 }

// Calibrate returns the log-odds of a score. It first rounds the score to 32 bits, like the scores of the points.
// Otherwise scores between two neighbours of that width would get chances that no row of the calibration had. If all
// scores of a model are that close, most are such scores (TestScoresCloserThanTheirWidth).
func (c *Rising) Calibrate(score float64) float64 {
	score = float64(float32(score))
	at, _ := slices.BinarySearchFunc(c.Scores, score, func(s float32, score float64) int { return cmp.Compare(float64(s), score) })
	var p float64
	switch {
	case at == len(c.Scores):
		p = float64(c.Chances[at-1])
	case at == 0:
		p = float64(c.Chances[0])
	default:
		low, high := float64(c.Scores[at-1]), float64(c.Scores[at])
		part := (score - low) / (high - low)
		p = (1-part)*float64(c.Chances[at-1]) + part*float64(c.Chances[at])
	}
	return math.Log(p / (1 - p))
}

// Wrong returns what is wrong with points that were read, or nothing.
func (c *Rising) Wrong() string {
	for i, s := range c.Scores {
		switch p := c.Chances[i]; {
		case i > 0 && s <= c.Scores[i-1]:
			return fmt.Sprintf("the scores of its calibration do not ascend at point %d", i+1)
		case !(p > 0 && p < 1):
			return fmt.Sprintf("point %d of its calibration has the chance %v, which is none between 0 and 1", i+1, p)
		case i > 0 && p < c.Chances[i-1]:
			return fmt.Sprintf("the chances of its calibration descend at point %d", i+1)
		}
	}
	return ""
}

// pool is rows next to each other in the order of scores that have one chance.
type pool struct {
	first, last float32 // scores
	sum, weight float64 // of targets times weights, and of weights
}

// FitRising returns the calibration of scores and classes of rows that were not trained on (Zadrozny and Elkan 2002,
// "Transforming classifier scores into accurate multiclass probability estimates") that is nearest in least squares,
// by pool-adjacent-violators (Ayer et al. 1955, "An empirical distribution function for sampling with incomplete
// information"): while a chance is not above that of the scores below, both become one. Rows of equal scores are one
// from the start. Targets are those of platt and not 0 and 1, so that no chance is either. Each row counts as its
// weight says; nil: 1.
func FitRising(scores []float64, second []bool, weight examples.RowWeights) *Rising {
	high, low := ClassTargets(second, weight)
	rows := make([]pool, len(scores))
	for i, s := range scores {
		w, target := weight.Weight(i), low
		if second[i] {
			target = high
		}
		rows[i] = pool{float32(s), float32(s), w * target, w}
	}
	slices.SortStableFunc(rows, func(a, b pool) int { return cmp.Compare(a.first, b.first) })
	alike := rows[:0]
	for _, p := range rows {
		if n := len(alike) - 1; n >= 0 && alike[n].first == p.first {
			alike[n].sum, alike[n].weight = alike[n].sum+p.sum, alike[n].weight+p.weight
		} else {
			alike = append(alike, p)
		}
	}
	var pools []pool
	for _, p := range alike {
		for n := len(pools) - 1; n >= 0; n-- {
			if before := &pools[n]; before.sum*p.weight < p.sum*before.weight {
				break
			}
			p = pool{pools[n].first, p.last, pools[n].sum + p.sum, pools[n].weight + p.weight}
			pools = pools[:n]
		}
		pools = append(pools, p)
	}
	c := &Rising{}
	for _, p := range pools {
		chance := min(float32(p.sum/p.weight), math.Nextafter32(1, 0))
		c.Scores, c.Chances = append(c.Scores, p.first), append(c.Chances, chance)
		if p.last > p.first {
			c.Scores, c.Chances = append(c.Scores, p.last), append(c.Chances, chance)
		}
	}
	return c
}

// ClassTargets returns the targets of the second class and of the first: those of one more row of each class, so that
// no probability is 0 or 1.
func ClassTargets(second []bool, weight examples.RowWeights) (high, low float64) {
	ones := 0.0
	for i, is := range second {
		if is {
			ones += weight.Weight(i)
		}
	}
	zeros := weight.Total(len(second)) - ones
	return (ones + 1) / (ones + 2), 1 / (zeros + 2)
}
