package mlr

import "math"

// course is what is decided between epochs: the step, the strength of l2, which epoch is the best
// one and whether to go on.
type course struct {
	epoch  int     // completed
	pace   float64 // multiplies the step
	alpha  float64 // l2 times the training rows
	loss   float64 // of the last epoch's training rows
	best   float64 // least held-out loss
	marked float64 // held-out loss at the last improvement that counted
	since  int     // epochs since then, but for those that noise explains
}

// The rules of the course, found on eight sets of data together.
const (
	gainLeast  = 0.002 // an epoch that lowers the training loss by a smaller part cuts the step
	betterPart = 0.001 // a smaller gain of held-out loss does not count for patience
	paceCut    = math.Sqrt2 / 2
	paceLeast  = 1.0 / 1024
	paceCalm   = 1.0 / 16 // above it, a training loss above the held-out one is the noise of long steps
	betaMost   = 0.9      // momentum
)

func newCourse(c config, rows int) course {
	k := course{pace: 1, alpha: alphaStart, loss: math.Inf(1), best: math.Inf(1), marked: math.Inf(1)}
	if c.l2 >= 0 {
		k.alpha = c.l2 * float64(rows)
	}
	return k
}

// momentum rises from clock to clock, as in Nesterov's method for convex functions, to a bound that
// the noise of batches sets.
func momentum(clock int) float64 {
	return min(betaMost, float64(clock+1)/float64(clock+4))
}

// advance takes an epoch's means, and says whether its weights are the best yet. held is NaN where
// no rows are held out: then every epoch is.
func (k *course) advance(loss, held float64) (best bool) {
	k.epoch++
	if !(loss < (1-gainLeast)*k.loss) || held > k.best {
		k.pace = max(paceLeast, k.pace*paceCut)
	}
	k.loss = loss
	if loss < held || k.pace <= paceCalm {
		k.since++
	}
	if held < (1-betterPart)*k.marked {
		k.marked, k.since = held, 0
	}
	if held >= k.best {
		return false
	}
	if !math.IsNaN(held) {
		k.best = held
	}
	return true
}

// regularise follows the evidence of an epoch, half way in the logarithm after the first. belief is
// the part of the evidence's precision that is taken.
func (k *course) regularise(levels []level, spread []float64, squares, belief float64) {
	next := belief * evidence(levels, spread, squares, k.alpha/belief)
	if k.epoch > 1 {
		next = math.Sqrt(k.alpha * next)
	}
	k.alpha = next
}

// save and restore are the way of a course through the driver's state.
func (k *course) save() []float64 {
	return []float64{float64(k.epoch), k.pace, k.alpha, k.loss, k.best, k.marked, float64(k.since)}
}

func (k *course) restore(s []float64) {
	*k = course{int(s[0]), s[1], s[2], s[3], s[4], s[5], int(s[6])}
}
