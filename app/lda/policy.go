package lda

import (
	"math"
	"slices"

	"bellows/app/epochs"
	"bellows/app/lda/internal/dirichlet"
	"bellows/train"
)

// policy decides between epochs: α, which epoch is the best one, and whether epochs still gain enough.
//
// Its states: epochs that gain; then, if the run may end early, epochs that end it, each adding the counts of the
// previous sweep to the sums, which are scored and returned. Invariants: samples is above 0 only in the latter, and at
// most the constant; keptSamples belongs to the returned model (TestRunsEndWhenEpochsGainLittle,
// TestEarlyStopKeepsTheBest, TestDriverCanBeSaved).
//
// A single epoch's gain is smaller than the noise of its draws long before a run is done. So the gain is measured over
// as many epochs as the setting patience says, from the best to the best.
//
// Rejected: waiting for so many epochs without a significant gain. Noise alone makes one of fifteen epochs a little
// better than all before: on the NIPS papers a run then took 174 epochs, and those after the first 60 gained less than
// a hundredth.
type policy struct {
	p     *problem
	alpha []float64 // of this epoch
	kept  []float64 // α of the model that is returned
	best  []float64 // the least loss of held-out tokens up to each of the last epochs, one more than patience; infinite before the first

	ending      bool // epochs gain too little: the last ones add their counts up
	samples     int  // sweeps in the sums
	keptSamples int  // in those of the model that is returned
}

// gainLeast is the gain of held-out likelihood per token and epoch for which a run continues.
const gainLeast = 0.0005

// samples is how many sweeps' counts are added up at the end of a run that ends early.
const samples = 30

// typical is how many epochs gained enough, about, in runs on every set tried: what is expected while the epochs so far are too few to
// say more.
const typical = 40

func newPolicy(p *problem) *policy {
	k := &policy{p: p, alpha: slices.Clone(p.first), kept: slices.Clone(p.first)}
	if p.EarlyStop {
		k.best = slices.Repeat([]float64{math.Inf(1)}, min(p.Patience, p.Epochs)+1)
	}
	return k
}

// driver returns that of the policy's run, whose first clock gives topics to tokens.
func (k *policy) driver() *epochs.Driver {
	results := epochs.Results{Train: k.p.topics + 1, Score: gotScore}
	return epochs.New(k.p.work(), epochs.OrderOf(k.p.consistency), k.p.Ending, results, k)
}

// Train implements epochs.Policy: whether α is to learn, and α.
func (k *policy) Train(args []float64, p *epochs.Progress, _, clock int) []float64 {
	return append(append(args, number(k.p.learns(p.Epoch)), number(k.ending && clock == 0)), k.alpha...)
}

// number encodes a bool for tasks.
func number(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

// Score implements epochs.Policy: α, after it has learned from the statistics of the sweep.
func (k *policy) Score(p *epochs.Progress, trained []float64) []float64 {
	if k.p.learns(p.Epoch) {
		dirichlet.Learn(k.alpha, trained)
	}
	if k.ending {
		k.samples++
	}
	return append([]float64{float64(k.samples)}, k.alpha...)
}

// End implements epochs.Policy.
func (k *policy) End(p *epochs.Progress, _, scores []float64) epochs.Verdict {
	loss := -scores[gotHeld] / float64(k.p.held) // NaN without held-out tokens
	best := p.Judge(loss, math.Inf(-1), false)
	metrics := k.metrics(scores)
	if !k.p.EarlyStop || best || k.p.Goal.Reached(metrics) {
		copy(k.kept, k.alpha)
		k.keptSamples = k.samples
	}
	v := epochs.Verdict{Metrics: metrics, Keep: best && k.p.EarlyStop}
	if k.p.EarlyStop {
		v.Stop, v.Expected = k.goesOn(p)
	}
	return v
}

// goesOn reports whether the run is done, and else after how many epochs it will be.
func (k *policy) goesOn(p *epochs.Progress) (done bool, expected int) {
	if k.ending {
		return k.samples == samples, p.Epoch + samples - k.samples
	}
	if k.ending, expected = k.settled(p); expected > 0 {
		expected += samples
	}
	return false, expected
}

// settled reports whether the last epochs gained too little to continue, and otherwise after how many in all they will;
// 0: no rows are held out. The gain of an epoch falls about as the square of their number, for which the middle of the
// last ones is used.
func (k *policy) settled(p *epochs.Progress) (settled bool, expected int) {
	all := copy(k.best, k.best[1:])
	k.best[all] = p.Best
	if math.IsInf(p.Best, 1) {
		return false, 0
	}
	over := min(all, p.Epoch-1) // epochs with a known gain
	if over < 1 {
		return false, typical
	}
	gain, half := (k.best[all-over]-p.Best)/float64(over), float64(over)/2
	expected = int(math.Ceil(half + (float64(p.Epoch)-half)*math.Sqrt(gain/gainLeast)))
	if over < all {
		return false, max(expected, typical)
	}
	return gain < gainLeast, expected
}

func (k *policy) metrics(score []float64) []train.Metric {
	m := []train.Metric{{Name: "train_loglik_per_token", Value: score[gotTrain] / float64(k.p.sampled)}}
	test, tokens := score[gotTest], k.p.tested
	if !k.p.shown {
		test, tokens = score[gotHeld], k.p.held
	}
	if tokens > 0 {
		m = append(m, train.Metric{Name: "test_loglik_per_token", Value: test / float64(tokens)})
	}
	return m
}

// Save implements epochs.Policy.
func (k *policy) Save() []float64 {
	return slices.Concat(k.alpha, k.kept, k.best, []float64{number(k.ending), float64(k.samples), float64(k.keptSamples)})
}

// Restore implements epochs.Policy.
func (k *policy) Restore(s []float64) {
	s = s[copy(k.alpha, s):]
	s = s[copy(k.kept, s):]
	s = s[copy(k.best, s):]
	k.ending, k.samples, k.keptSamples = s[0] != 0, int(s[1]), int(s[2])
}
