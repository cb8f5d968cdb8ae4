package mlr

import (
	"math"

	"bellows/app"
	"bellows/app/epochs"
	"bellows/app/examples"
	"bellows/train"
)

// policy is what is decided between epochs: the step, the strength of l2, which epoch is the best
// one and whether to go on.
//
// There are two ways to the end. Where rows are many and l2 follows the evidence, weights do not fit the noise however long they are
// trained, and what differs between epochs is the noise of their steps: the run goes on until steps are short and held-out rows have
// gained nothing for so many epochs as patience says, and a later epoch is kept unless held-out rows say plainly that an earlier one was better.
// Where features are few, too, steps grow while epochs gain slowly. Else training too long does harm, and held-out rows alone decide.
//
// Invariants: pace is from paceLeast to paceMost, and below paceFree it only falls; loss is that of the last epoch; best is of the epoch that Progress.Best is of; alpha stays
// what it was where l2 is given (TestPolicy, TestTrustedPolicy, TestEvidence).
//
// Turned down: to let held-out rows alone decide everywhere. They are few, and of steps that are still long some luck comes out
// best: of six classes in 2,000 rows a hundred held-out ones chose the first epoch.
type policy struct {
	p         *problem
	pace      float64   // multiplies the step
	alpha     float64   // l2 times the training rows
	loss      float64   // of the last epoch's training rows
	trusts    bool      // weights do not fit the noise
	grows     bool      // steps may grow
	best      []float64 // loss of each block of held-out rows where all were predicted best
	bestAlpha float64   // alpha of that epoch
	rows      []float64 // held-out rows of each block, by their weights
	held      float64   // held-out rows in all, by their weights
}

// The rules of the policy, found on sets of text, tables and images together.
const (
	gainLeast  = 0.002 // an epoch that lowers the training loss by a smaller part cuts the step
	betterPart = 0.001 // a smaller gain of held-out loss does not count for patience
	paceCut    = math.Sqrt2 / 2
	paceDrop   = 0.6 // where weights do not fit the noise, an epoch without a gain is noise
	paceLeast  = 1.0 / 1024
	paceMost   = 64       // rows that are thrown too far are held by stepStable
	paceFree   = 0.25     // below it steps have been cut for good
	slowLeast  = 0.005    // an epoch that gains more than this part,
	slowMost   = 0.03     // and less than this one, would have gained more by longer steps
	paceCalm   = 1.0 / 16 // above it, a training loss above the held-out one is the noise of long steps
	plainly    = 2        // standard errors
	betaMost   = 0.9      // momentum
)

func newPolicy(p *problem) *policy {
	k := &policy{
		p: p, pace: 1, alpha: examples.AlphaStart, loss: math.Inf(1), trusts: examples.Trusted(len(p.Rows), p.Features),
		best: make([]float64, heldBlocks), rows: make([]float64, heldBlocks),
	}
	k.grows = p.Dense && len(p.Rows) >= examples.RowsMany*p.Features
	for s := range p.Splits {
		k.rows[s%heldBlocks] += p.Weight.Sum(app.Part(p.Held, s, p.Splits))
	}
	k.held = p.Weight.Sum(p.Held)
	if p.warm != nil {
		k.pace, k.alpha = p.warm.pace(), p.warm.alpha(len(p.Rows))
	}
	if p.l2 >= 0 {
		k.alpha, k.trusts = p.l2*float64(len(p.Rows)), false
	}
	return k
}

// ended implements judge.
func (k *policy) ended() (details, map[string]float64) {
	return details{L2: k.alpha / float64(len(k.p.Rows)), Pace: k.pace}, nil
}

// Train implements epochs.Policy.
func (k *policy) Train(args []float64, p *epochs.Progress, _, at int) []float64 {
	step := k.p.stepAt(k.p.batch) * k.pace
	// A step that shrinks the weights by more than half would overshoot.
	l2 := min(k.alpha/float64(len(k.p.Rows)), 0.5/step)
	return append(args, step, l2, momentum(p.Epoch*k.p.Clocks+at))
}

// Score implements epochs.Policy.
func (k *policy) Score(*epochs.Progress, []float64) []float64 { return nil }

// End implements epochs.Policy.
func (k *policy) End(p *epochs.Progress, trained, scores []float64) epochs.Verdict {
	n := float64(len(k.p.Rows))
	loss, correct, spread := trained[gotLoss]/n, trained[gotCorrect]/n, trained[gotSpread:]
	keep, worse := k.advance(p, loss, scores[gotHeldWeighed]/k.held, scores[gotScore:]) // NaN without held-out rows
	if k.p.l2 < 0 {
		k.regularise(p.Epoch, spread, scores[gotSquares], worse)
	}
	return epochs.Verdict{Metrics: k.p.metrics(loss, correct, scores), Keep: keep && k.p.EarlyStop}
}

// metrics returns the means of the training rows, and of the rows that are shown.
func (p *problem) metrics(loss, correct float64, score []float64) []train.Metric {
	m := []train.Metric{{Name: "train_accuracy", Value: correct}, {Name: "train_logloss", Value: loss}}
	testLoss, testCorrect, rows := score[gotTestLoss], score[gotTestCorrect], p.TestCount.Sum(p.TestRow)
	if p.Test.ExampleSet == nil {
		testLoss, testCorrect, rows = score[gotHeldLoss], score[gotHeldCorrect], p.Count.Sum(p.Held)
	}
	if rows > 0 {
		m = append(m, train.Metric{Name: "test_accuracy", Value: testCorrect / rows},
			train.Metric{Name: "test_logloss", Value: testLoss / rows})
	}
	return m
}

// momentum rises from clock to clock, as in Nesterov's method for convex functions, to a bound that
// the noise of batches sets.
func momentum(clock int) float64 {
	return min(betaMost, float64(clock+1)/float64(clock+4))
}

// advance takes an epoch's means and the loss of each block of held-out rows, and says whether its weights are to be kept, and whether held-out rows
// were plainly predicted better before. held is NaN where no rows are held out: then every epoch's are kept, and none was better.
func (k *policy) advance(p *epochs.Progress, loss, held float64, blocks []float64) (keep, worse bool) {
	before := k.loss
	gained := loss < (1-gainLeast)*before
	k.loss = loss
	more, doubt := k.compare(held-p.Best, blocks)
	worse = more > plainly*doubt
	if !k.trusts {
		if !gained || held > p.Best {
			k.cut(paceCut)
		}
		keep = p.Judge(held, (1-betterPart)*p.Marked, loss < held || k.pace <= paceCalm)
		if keep {
			k.mark(blocks)
		}
		return keep, worse
	}
	switch {
	case !gained || k.p.Epochs-p.Epoch <= k.p.Epochs/10: // the last epochs of a run that reaches them calm down
		k.cut(paceDrop)
	case more > doubt:
		k.cut(paceCut)
	case k.grows && k.pace >= paceFree && loss < (1-slowLeast)*before && loss > (1-slowMost)*before:
		k.pace = min(paceMost, 2*k.pace)
	}
	calm := k.pace <= paceCalm
	if p.Judge(held, (1-betterPart)*p.Marked, calm) {
		k.mark(blocks)
		return true, false
	}
	return (calm || gained) && more < plainly*doubt, worse
}

// mark notes the epoch that has predicted held-out rows best.
func (k *policy) mark(blocks []float64) {
	copy(k.best, blocks)
	k.bestAlpha = k.alpha
}

func (k *policy) cut(by float64) { k.pace = max(paceLeast, k.pace*by) }

// compare returns how much more loss a held-out row has than where all were predicted best, and the standard error of
// that: rows are the same, so that it comes from the differences between blocks. A single block gives no error, NaN,
// which nothing is more or less than.
func (k *policy) compare(difference float64, blocks []float64) (more, doubt float64) {
	squares, rows, n := 0.0, 0.0, 0.0
	for b, size := range k.rows {
		if size > 0 {
			d := blocks[b] - k.best[b] - difference*size
			squares, rows, n = squares+d*d, rows+size, n+1
		}
	}
	return difference, math.Sqrt(squares*n/(n-1)) / rows
}

// regularise follows the evidence of an epoch, half way in the logarithm after the first. Where held-out rows have become worse, alpha is no greater than it was when they were best: weights
// that long steps have thrown about are small and say nothing, which would be evidence for an alpha that leaves none of them.
func (k *policy) regularise(epoch int, spread []float64, squares float64, worse bool) {
	next := k.p.Belief * examples.Evidence(k.p.Spectrum, spread, squares, k.alpha/k.p.Belief)
	if epoch > 1 || k.p.warm != nil {
		next = math.Sqrt(k.alpha * next)
	}
	if worse {
		next = min(next, k.bestAlpha)
	}
	k.alpha = next
}

// Save implements epochs.Policy.
func (k *policy) Save() []float64 {
	return append([]float64{k.pace, k.alpha, k.loss, k.bestAlpha}, k.best...)
}

// Restore implements epochs.Policy.
func (k *policy) Restore(s []float64) {
	k.pace, k.alpha, k.loss, k.bestAlpha = s[0], s[1], s[2], s[3]
	copy(k.best, s[4:])
}
