package linear

import (
	"math"

	"bellows/app/epochs"
	"bellows/app/examples"
	"bellows/train"
)

// policy is what is decided between epochs: the strength of l2, where the evidence chooses it, and whether the run has come close enough to the best.
//
// Turned down: to follow the evidence by dual ascent, too. Weights are sums divided by l2 there, so that a smaller l2 makes all of them larger at once, which looks
// like evidence for an even smaller one: on 25,000 reviews of 25,000 words the test loss went to 50,000. Features are many there, and rows are not.
type policy struct {
	p     *problem
	alpha float64 // the precision of weights that the rows support (examples.Evidence); 0: l2 stays
	l2    float64
	used  float64 // the l2 that the last epoch was measured with, whose weights are those of its metrics
	part  float64 // of the direction that belongs to the weights of the last epoch: Newton's method
	loss  string  // the metrics' name of it
	total float64 // of squares of test labels about their mean

	pace, before float64          // of steps: see endSteps; the objective of the last epoch
	first        [seenAll]float64 // of steps: what the first epoch saw of rows before it learned from them
}

// Dual ascent ends, too, when the gap is not more than so many times as large as it is to be, and the objective has not fallen by this part of the gap that
// is asked for in so many epochs: the dual objective may come up slowly long after the weights are as good as they get, mostly that of hinge and insensitive.
// The epoch with the least objective is kept, which the dual objective's rise alone does not make the last. While the gap is large an objective that does not fall says nothing: that of early weights is as good by chance.
const (
	gapNear   = 10
	gainLeast = 0.1
	patience  = 20
)

// l2 is settled when it has changed by less than this part; it is l2Least at least, since without it no dual objective bounds the best.
const (
	l2Settled = 0.02
	l2Least   = 1e-12
)

func newPolicy(p *problem) *policy {
	k := &policy{p: p, l2: p.strength(), loss: "loss", pace: 1, before: math.Inf(1)}
	if p.l2 == 0 && p.newton != nil && (p.name == lossLogistic || p.name == lossSquared) {
		k.alpha = examples.AlphaStart
		k.l2 = k.alpha / float64(len(p.rows))
	}
	if p.name == lossLogistic {
		k.loss = "logloss"
	}
	mean := 0.0
	for _, r := range p.testRow {
		mean += float64(p.test.Label[r]) / float64(len(p.testRow))
	}
	for _, r := range p.testRow {
		d := float64(p.test.Label[r]) - mean
		k.total += d * d
	}
	return k
}

// driver is that of the policy's run.
func (k *policy) driver() *epochs.Driver {
	order := epochs.Order(epochs.AtOnce{})
	if k.p.steps != "" {
		order = epochs.OrderOf(k.p.consistency)
	}
	return epochs.New(k.p.work(), order, k.p.Ending, k.results(), k)
}

// results is how many numbers tasks signal.
func (k *policy) results() epochs.Results {
	switch {
	case k.p.newton != nil:
		return epochs.Results{Train: 1, Score: triedAll}
	case k.p.steps != "":
		return epochs.Results{Train: seenAll, Score: gotAll}
	}
	return epochs.Results{Score: gotAll}
}

// args are those of every task: argL2, and argL1 or argLength.
func (k *policy) args(to []float64) []float64 {
	switch {
	case k.p.newton != nil:
		return append(to, k.l2, k.part)
	case k.p.steps != "":
		return append(to, k.l2, k.p.l1, k.pace, 1)
	}
	return append(to, k.l2, k.p.l1)
}

// Train implements epochs.Policy.
func (k *policy) Train(args []float64, _ *epochs.Progress, _, _ int) []float64 {
	return k.args(args)
}

// Score implements epochs.Policy.
func (k *policy) Score(*epochs.Progress, []float64) []float64 { return k.args(nil) }

// End implements epochs.Policy.
func (k *policy) End(p *epochs.Progress, trained, scores []float64) epochs.Verdict {
	n, got := float64(len(k.p.rows)), scores
	var gap float64
	switch {
	case k.p.newton != nil:
		got = k.best(scores)
		gap = trained[0] // before the step, and so after it, too
	case k.p.dual():
		gap = (got[gotLoss]-got[gotDual])/n + k.l2*got[gotSquares] + k.p.l1*got[gotSizes]
	}
	if k.p.progressive && p.Epoch == 1 {
		copy(k.first[:], trained)
	}
	objective := got[gotLoss]/n + k.l2/2*got[gotSquares] + k.p.l1*got[gotSizes]
	gap /= max(objective, math.SmallestNonzeroFloat64)
	k.used = k.l2
	done := k.regularise(got) && gap <= k.p.gap && k.p.steps == ""
	keep := false
	if k.p.newton == nil { // l2 stays, so that objectives of different epochs are the same function of weights
		keep = p.Judge(objective, (1-k.p.gap*gainLeast)*p.Marked, true)
		if k.p.steps != "" {
			k.endSteps(objective)
			done = p.Since >= stepPatience
		}
		done = done || k.p.dual() && gap <= gapNear*k.p.gap && p.Since >= patience
	}
	return epochs.Verdict{Metrics: k.metrics(got, gap), Keep: keep, Stop: done && !k.p.fixed}
}

// best chooses the length with the least objective, and gives its results in the places of those of a task that measures.
func (k *policy) best(tried []float64) []float64 {
	n, best, least := float64(len(k.p.rows)), 0, math.Inf(1)
	for i := range lengths {
		if objective := tried[triedLoss+i]/n + k.l2/2*tried[triedSquares+i]; objective < least {
			best, least = i, objective
		}
	}
	k.part = lengths[best]
	got := make([]float64, gotAll)
	for to, from := range map[int]int{gotLoss: triedLoss, gotRight: triedRight, gotSpread: triedSpread, gotTest: triedTest, gotTestRight: triedTestRight, gotSquares: triedSquares} {
		got[to] = tried[from+best]
	}
	return got
}

// regularise follows the evidence, half way in the logarithm, and says whether l2 has settled.
func (k *policy) regularise(got []float64) (settled bool) {
	if k.alpha == 0 {
		return true
	}
	n, noise, spread := float64(len(k.p.rows)), 1.0, got[gotSpread]
	if k.p.name == lossSquared {
		noise = max(noiseLeast, 2*got[gotLoss]/n) // the variance of labels about the scores
		spread /= noise
	}
	next := k.p.belief * examples.Evidence(k.p.spectrum, []float64{spread}, got[gotSquares], k.alpha/k.p.belief)
	next = math.Sqrt(next * k.alpha)
	before := k.l2
	k.alpha, k.l2 = next, max(l2Least, next*noise/n)
	return math.Abs(math.Log(k.l2/before)) < l2Settled
}

// strength is l2 as it is given, or where nothing else chooses it.
func (p *problem) strength() float64 {
	switch {
	case p.l2 > 0:
		return p.l2
	case p.dense:
		return max(l2Dense, 1/float64(len(p.rows)))
	}
	return 1 / float64(len(p.rows))
}

// l2Dense is the least l2 of dense rows where nothing else chooses it. Weights of scaled features hardly notice it, and dual ascent of many rows needs it.
const l2Dense = 0.001

// noiseLeast bounds the variance of the noise, in squares of the labels' spread.
const noiseLeast = 1e-9

func (k *policy) metrics(got []float64, gap float64) []train.Metric {
	n, tested := float64(len(k.p.rows)), float64(len(k.p.testRow))
	if k.p.classes {
		m := []train.Metric{{Name: "train_accuracy", Value: got[gotRight] / n}, {Name: "train_" + k.loss, Value: got[gotLoss] / n}}
		if tested > 0 {
			m = append(m, train.Metric{Name: "test_accuracy", Value: got[gotTestRight] / tested}, train.Metric{Name: "test_" + k.loss, Value: got[gotTest] / tested})
		}
		return k.close(m, gap)
	}
	return k.close(k.regressed(got), gap)
}

// close adds the gap, where the solver knows it.
func (k *policy) close(m []train.Metric, gap float64) []train.Metric {
	n := float64(len(k.p.rows))
	switch {
	case k.p.steps == "":
		return append(m, train.Metric{Name: "gap", Value: gap})
	case !k.p.progressive:
		return m
	case k.p.classes:
		return append(m, train.Metric{Name: "progressive_accuracy", Value: k.first[seenRight] / n}, train.Metric{Name: "progressive_" + k.loss, Value: k.first[seenLoss] / n})
	}
	return append(m, train.Metric{Name: "progressive_rmse", Value: math.Sqrt(k.first[seenRight] / n)})
}

// regressed is the metrics of numbers.
func (k *policy) regressed(got []float64) []train.Metric {
	n, tested := float64(len(k.p.rows)), float64(len(k.p.testRow))
	m := []train.Metric{{Name: "train_rmse", Value: math.Sqrt(got[gotRight] / n)}}
	if tested > 0 {
		m = append(m, train.Metric{Name: "test_rmse", Value: math.Sqrt(got[gotTestRight] / tested)})
		if k.total > 0 {
			m = append(m, train.Metric{Name: "test_r2", Value: 1 - got[gotTestRight]/k.total})
		}
	}
	return m
}

// weights are those of scaled features that were measured last, and of the bias.
func (k *policy) weights(tables [][]float32) []float64 {
	if k.p.steps != "" {
		out := make([]float64, k.p.features+1)
		for j := range out {
			out[j] = float64(tables[weightsTable][charged*j])
		}
		return out
	}
	out := make([]float64, len(tables[0]))
	if k.p.newton != nil {
		for j, w := range tables[weightsTable] {
			out[j] = float64(w) + k.part*float64(tables[directionTable][j])
		}
		return out
	}
	by := k.p.penalty([]float64{argL2: k.used, argL1: k.p.l1})
	for j, sum := range tables[sumsTable] {
		out[j] = by.factor * float64(by.soft(sum))
	}
	return out
}

// metricNames are the columns of a run with a loss.
func metricNames(c config) []string {
	names := []string{"train_rmse", "test_rmse", "test_r2", "gap"}
	switch {
	case c.name == lossLogistic:
		names = []string{"train_accuracy", "train_logloss", "test_accuracy", "test_logloss", "gap"}
	case c.classes:
		names = []string{"train_accuracy", "train_loss", "test_accuracy", "test_loss", "gap"}
	}
	if rules[c.solver] == nil {
		return names
	}
	names = names[:len(names)-1]
	switch {
	case !c.progressive:
	case !c.classes:
		names = append(names, "progressive_rmse")
	case c.name == lossLogistic:
		names = append(names, "progressive_accuracy", "progressive_logloss")
	default:
		names = append(names, "progressive_accuracy", "progressive_loss")
	}
	return names
}

// Save implements epochs.Policy.
func (k *policy) Save() []float64 {
	return append([]float64{k.alpha, k.l2, k.used, k.part, k.pace, k.before}, k.first[:]...)
}

// Restore implements epochs.Policy.
func (k *policy) Restore(s []float64) {
	k.alpha, k.l2, k.used, k.part, k.pace, k.before = s[0], s[1], s[2], s[3], s[4], s[5]
	copy(k.first[:], s[6:])
}
