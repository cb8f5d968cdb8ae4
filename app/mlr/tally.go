package mlr

import (
	"math"

	"bellows/app/examples"
	"bellows/vec"
)

// chanceLeast bounds the probability in a log-loss from below: a label that the model does not know
// has no probability at all, and would make every mean infinite.
const chanceLeast = 1e-15

// tally is what is counted over rows: the sum of log-losses, as they are and by the weights of classes, rows named rightly, and per class the
// weighted sum of p(1-p), the curvature of the loss in a class's score.
type tally struct {
	weights examples.ClassWeights
	loss    float64
	weighed float64
	correct float64
	spread  []float64
}

func (t *tally) reset() {
	t.loss, t.weighed, t.correct = 0, 0, 0
	clear(t.spread)
}

// residuals turns scores of rows into the gradients of their weighted log-losses, w (p - y), and counts them.
func (t *tally) residuals(z []float32, class []int32) {
	width := len(t.spread)
	vec.Softmax(len(class), width, z)
	for i, y := range class {
		p := z[i*width : (i+1)*width]
		t.count(p, y)
		w := t.weights.Of(y)
		for c, q := range p {
			t.spread[c] += float64(w) * (float64(q) * (1 - float64(q)))
		}
		p[y]--
		if t.weights != nil {
			vec.Scale(w, p)
		}
	}
}

// count adds a row of probabilities; a tie goes to the class that comes first.
func (t *tally) count(p []float32, y int32) {
	chance := chanceLeast
	if y != examples.UnknownClass {
		chance = max(chanceLeast, float64(p[y]))
		if examples.Best(p) == int(y) {
			t.correct++
		}
	}
	loss := -math.Log(chance)
	t.loss += loss
	t.weighed += float64(t.weights.Of(y)) * loss
}
