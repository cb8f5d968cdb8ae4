package mlr

import (
	"math"

	"bellows/app/epochs"
	"bellows/train"
)

// policy is what is decided between epochs: the step, the strength of l2, which epoch is the best
// one and whether to go on.
//
// Invariants: pace only falls, to paceLeast at last; loss is that of the last epoch; alpha stays what it was where l2 is given
// (TestPolicy, TestEvidence).
type policy struct {
	p     *problem
	pace  float64 // multiplies the step
	alpha float64 // l2 times the training rows
	loss  float64 // of the last epoch's training rows
}

// The rules of the policy, found on eight sets of data together.
const (
	gainLeast  = 0.002 // an epoch that lowers the training loss by a smaller part cuts the step
	betterPart = 0.001 // a smaller gain of held-out loss does not count for patience
	paceCut    = math.Sqrt2 / 2
	paceLeast  = 1.0 / 1024
	paceCalm   = 1.0 / 16 // above it, a training loss above the held-out one is the noise of long steps
	betaMost   = 0.9      // momentum
)

func newPolicy(p *problem) *policy {
	k := &policy{p: p, pace: 1, alpha: alphaStart, loss: math.Inf(1)}
	if p.l2 >= 0 {
		k.alpha = p.l2 * float64(len(p.rows))
	}
	return k
}

// driver is that of the policy's run.
func (k *policy) driver() *epochs.Driver {
	results := epochs.Results{Train: gotSpread + k.p.width, Score: gotScore}
	return epochs.New(k.p.work(), epochs.OrderOf(k.p.consistency), k.p.Ending, results, k)
}

// Train implements epochs.Policy.
func (k *policy) Train(args []float64, p *epochs.Progress, _, at int) []float64 {
	step := k.p.stepAt(k.p.batch) * k.pace
	// A step that shrinks the weights by more than half would overshoot.
	l2 := min(k.alpha/float64(len(k.p.rows)), 0.5/step)
	return append(args, step, l2, momentum(p.Epoch*k.p.clocks+at))
}

// Score implements epochs.Policy.
func (k *policy) Score(*epochs.Progress, []float64) []float64 { return nil }

// End implements epochs.Policy.
func (k *policy) End(p *epochs.Progress, trained, scores []float64) epochs.Verdict {
	n := float64(len(k.p.rows))
	loss, correct, spread := trained[gotLoss]/n, trained[gotCorrect]/n, trained[gotSpread:]
	best := k.advance(p, loss, scores[gotHeldLoss]/float64(len(k.p.held))) // NaN without held-out rows
	if k.p.l2 < 0 {
		k.regularise(p.Epoch, spread, scores[gotSquares])
	}
	return epochs.Verdict{Metrics: k.metrics(loss, correct, scores), Keep: best && k.p.EarlyStop}
}

func (k *policy) metrics(loss, correct float64, score []float64) []train.Metric {
	m := []train.Metric{{Name: "train_accuracy", Value: correct}, {Name: "train_logloss", Value: loss}}
	testLoss, testCorrect, rows := score[gotTestLoss], score[gotTestCorrect], len(k.p.testRow)
	if k.p.test.ExampleSet == nil {
		testLoss, testCorrect, rows = score[gotHeldLoss], score[gotHeldCorrect], len(k.p.held)
	}
	if rows > 0 {
		m = append(m, train.Metric{Name: "test_accuracy", Value: testCorrect / float64(rows)},
			train.Metric{Name: "test_logloss", Value: testLoss / float64(rows)})
	}
	return m
}

// momentum rises from clock to clock, as in Nesterov's method for convex functions, to a bound that
// the noise of batches sets.
func momentum(clock int) float64 {
	return min(betaMost, float64(clock+1)/float64(clock+4))
}

// advance takes an epoch's means, and says whether its weights are the best yet. held is NaN where
// no rows are held out: then every epoch is.
func (k *policy) advance(p *epochs.Progress, loss, held float64) (best bool) {
	if !(loss < (1-gainLeast)*k.loss) || held > p.Best {
		k.pace = max(paceLeast, k.pace*paceCut)
	}
	k.loss = loss
	return p.Judge(held, (1-betterPart)*p.Marked, loss < held || k.pace <= paceCalm)
}

// regularise follows the evidence of an epoch, half way in the logarithm after the first.
func (k *policy) regularise(epoch int, spread []float64, squares float64) {
	next := k.p.belief * evidence(k.p.spectrum, spread, squares, k.alpha/k.p.belief)
	if epoch > 1 {
		next = math.Sqrt(k.alpha * next)
	}
	k.alpha = next
}

// Save implements epochs.Policy.
func (k *policy) Save() []float64 { return []float64{k.pace, k.alpha, k.loss} }

// Restore implements epochs.Policy.
func (k *policy) Restore(s []float64) { k.pace, k.alpha, k.loss = s[0], s[1], s[2] }
