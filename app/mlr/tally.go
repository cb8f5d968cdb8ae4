package mlr

import (
	"math"

	"bellows/app/examples"
	"bellows/vec"
)

// chanceLeast bounds the probability in a log-loss from below: a label that the model does not know
// has no probability at all, and would make every mean infinite.
const chanceLeast = 1e-15

// tally is what is counted over rows: the sum of log-losses, by what rows count by themselves and by what they weigh in training, rows named rightly, and per class the
// weighted sum of p(1-p), the curvature of the loss in a class's score.
type tally struct {
	loss    float64
	weighed float64
	correct float64
	spread  []float64
}

// counting is what is counted of some rows: the class of each, and what it weighs in training and counts in figures that are shown, nil where all are 1.
type counting struct {
	class         []int32
	weight, count examples.RowWeights
}

// pick returns some rows, in the caller's memory.
func (c *counting) pick(s seen, rows []int32) {
	c.class = c.class[:0]
	for _, r := range rows {
		c.class = append(c.class, s.class[r])
	}
	c.weight, c.count = s.weight.Pick(c.weight[:0], rows), s.count.Pick(c.count[:0], rows)
}

// part returns rows lo to hi-1.
func (c *counting) part(lo, hi int) counting {
	return counting{class: c.class[lo:hi], weight: c.weight.Part(lo, hi), count: c.count.Part(lo, hi)}
}

func (t *tally) reset() {
	t.loss, t.weighed, t.correct = 0, 0, 0
	clear(t.spread)
}

// residuals turns scores of rows into the gradients of their weighted log-losses, w (p - y), and counts them.
func (t *tally) residuals(z []float32, of counting) {
	class := of.class
	width := len(t.spread)
	vec.Softmax(len(class), width, z)
	for i, y := range class {
		p := z[i*width : (i+1)*width]
		w := of.weight.Weight(i)
		t.count(p, y, w, of.count.Weight(i))
		for c, q := range p {
			t.spread[c] += w * (float64(q) * (1 - float64(q)))
		}
		p[y]--
		if of.weight != nil {
			vec.Scale(float32(w), p)
		}
	}
}

// scores turns scores of rows into probabilities, and counts them.
func (t *tally) scores(z []float32, of counting) {
	width := len(t.spread)
	vec.Softmax(len(of.class), width, z)
	for i, y := range of.class {
		t.count(z[i*width:(i+1)*width], y, of.weight.Weight(i), of.count.Weight(i))
	}
}

// count adds a row of probabilities, with what it weighs and counts; a tie goes to the class that comes first.
func (t *tally) count(p []float32, y int32, weight, count float64) {
	chance := chanceLeast
	if y != examples.UnknownClass {
		chance = max(chanceLeast, float64(p[y]))
		if examples.Best(p) == int(y) {
			t.correct += count
		}
	}
	loss := -math.Log(chance)
	t.loss += count * loss
	t.weighed += weight * loss
}
