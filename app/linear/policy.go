package linear

import (
	"fmt"
	"math"
	"slices"

	"bellows/app/epochs"
	"bellows/app/examples"
	"bellows/train"
)

// policy makes the decisions between epochs: the strength of l2, if the evidence chooses it, and whether the run has
// come close enough to the best.
//
// Rejected: to follow the evidence by dual ascent as well. Weights are sums divided by l2 there, so that a smaller l2
// makes all of them larger at once, which looks like evidence for an even smaller one: on 25,000 reviews of 25,000
// words the test loss went to 50,000. Dual ascent has many features and few rows.
type policy struct {
	p      *problem
	alpha  float64 // the precision of weights that the rows support (examples.Evidence); 0: l2 stays
	l2     float64
	used   float64 // the l2 with which the last epoch was measured; its metrics belong to these weights
	usedL1 float64 // the l1 of that epoch
	aside  bool    // whether it kept rows aside
	l1     float64
	part   float64 // of the direction that belongs to the weights of the last epoch: Newton's method
	kept   float64 // the part of the epoch that is kept
	bound  float64 // a known lower bound of all objectives: Newton's method, while l2 stays
	sharp  float64 // the curvature of a loss with corners, in its smooth form
	taken  float64 // the curvature of the last epoch, if its dual variables are to be those of the rows; else 0
	damp   float64 // how many times the curvature along a direction may be what a split sees of it, by columns
	loss   string  // the metrics' name of it
	total  float64 // of squares of test labels about their mean

	hold         bool             // some rows are kept aside, which say how good l2 or l1 is
	path         path             // the strengths that they have judged
	pace, before float64          // of steps: see endSteps; the objective of the last epoch
	first        [seenAll]float64 // of steps: what the first epoch saw of rows before it learned from them
	far          float64          // the gap of the last epoch, of solvers that know it
	told         []float64        // the metrics of the epoch that is kept, as metricNames has them; infinite: none
}

// Dual ascent also ends when the gap is not more than so many times the requested gap, and the objective has not fallen
// by this part of the requested gap in so many epochs: the dual objective may rise slowly long after the weights are as
// good as they get, mostly with hinge and insensitive. The epoch with the least objective is kept, which need not be
// the last if only the dual objective rises. While the gap is large, an objective that does not fall proves nothing:
// early weights may have a good one by chance.
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
	k := &policy{p: p, l2: p.strength(), l1: p.l1, loss: "loss", bound: math.Inf(-1), sharp: sharpFirst, damp: 1, pace: 1, before: math.Inf(1)}
	k.told = slices.Repeat([]float64{math.Inf(1)}, len(metricNames(p)))
	if p.evident() {
		k.alpha = examples.AlphaStart
		k.l2 = k.alpha / float64(len(p.Rows))
	}
	if k.hold = p.seeks(); k.hold {
		k.path = p.newPath(k.l2)
		k.take(k.path.start)
	}
	if p.name == lossLogistic {
		k.loss = "logloss"
	}
	mean := 0.0
	for _, r := range p.TestRow {
		mean += p.TestCount.Weight(int(r)) * float64(p.Test.Label[r]) / p.tested()
	}
	for _, r := range p.TestRow {
		d := float64(p.Test.Label[r]) - mean
		k.total += p.TestCount.Weight(int(r)) * d * d
	}
	return k
}

// driver returns the driver of the policy's run.
func (k *policy) driver() *epochs.Driver {
	order := epochs.Order(epochs.AtOnce{})
	if k.p.steps != "" {
		order = epochs.OrderOf(k.p.Consistency)
	}
	return epochs.New(k.p.Work(), order, k.p.Ending, k.results(), k)
}

// results returns how many numbers tasks signal.
func (k *policy) results() epochs.Results {
	switch {
	case k.p.newton:
		return epochs.Results{Train: 1, Score: triedAll}
	case k.p.steps != "":
		return epochs.Results{Train: seenAll, Score: gotAll}
	}
	return epochs.Results{Score: gotAll}
}

// doubts warns of a run that has not converged.
func (k *policy) doubts(d *epochs.Driver) []string {
	if k.p.steps != "" {
		return d.Doubts("", "give more with --epochs, or a solver without steps")
	}
	return d.Doubts(fmt.Sprintf(" (gap %.3g, and gap=%g was asked for)", k.far, k.p.gap), "give more with --epochs, or a larger l2")
}

// args appends the arguments of every task: argL2 and argL1, and with Newton's method the others.
func (k *policy) args(to []float64) []float64 {
	to = append(to, k.l2, k.l1, ones(k.hold))
	switch {
	case k.p.newton:
		to = append(to, k.part, k.sharp, k.taken, k.damp)
	case k.p.steps != "":
		to = append(to, k.pace, 1)
	}
	return to
}

// Train implements epochs.Policy.
func (k *policy) Train(args []float64, _ *epochs.Progress, _, _ int) []float64 {
	return k.args(args)
}

// Score implements epochs.Policy.
func (k *policy) Score(*epochs.Progress, []float64) []float64 { return k.args(nil) }

// End implements epochs.Policy.
func (k *policy) End(p *epochs.Progress, trained, scores []float64) epochs.Verdict {
	n, got := k.p.trains(k.hold), scores
	var gap float64
	switch {
	case k.p.newton:
		got, gap = k.step(scores, trained[0])
	case k.p.dual():
		gap = (got[gotLoss]-got[gotDual])/n + k.l2*got[gotSquares] + k.l1*got[gotSizes]
	}
	if k.p.progressive && p.Epoch == 1 {
		copy(k.first[:], trained)
	}
	objective := got[gotLoss]/n + k.l2/2*got[gotSquares] + k.l1*got[gotSizes]
	gap /= max(objective, math.SmallestNonzeroFloat64)
	k.far = gap
	k.used, k.usedL1, k.aside = k.l2, k.l1, k.hold
	done := k.regularise(got) && gap <= k.p.gap && k.p.steps == ""
	if k.hold {
		found := tried{Train: got[gotLoss] / n, Held: got[gotHeld] / (float64(len(k.p.Rows)) - n), Count: got[gotCount]}
		metrics := append(k.metrics(got, gap), train.Metric{Name: "held_" + k.loss, Value: found.Held})
		k.keepMetrics(metrics)
		k.seek(p.Epoch, gap, objective, found)
		return epochs.Verdict{Metrics: metrics, Keep: true}
	}
	keep, judged := false, !k.p.newton || k.p.corners
	if judged { // l2 stays, so that objectives of different epochs are the same function of weights
		keep = p.Judge(objective, (1-k.p.gap*gainLeast)*p.Marked, true)
		if k.p.steps != "" {
			k.endSteps(objective)
			done = p.Since >= stepPatience
		}
		done = done || k.p.dual() && gap <= gapNear*k.p.gap && p.Since >= patience
	}
	metrics := k.metrics(got, gap)
	if keep || !judged || k.p.Goal.Reached(metrics) {
		k.keepMetrics(metrics)
	}
	sought := k.p.seeks() && k.p.newton && !k.p.corners // a later epoch than one of the search is kept
	return epochs.Verdict{Metrics: metrics, Keep: keep || sought, Stop: done && !k.p.fixed}
}

// keepMetrics records that the model is that of the last epoch, with its metrics.
func (k *policy) keepMetrics(metrics []train.Metric) {
	k.kept = k.part
	for i, name := range metricNames(k.p) {
		k.told[i] = math.Inf(1)
		for _, m := range metrics {
			if m.Name == name {
				k.told[i] = m.Value
			}
		}
	}
}

// evident reports whether the evidence of the rows chooses l2.
func (p *problem) evident() bool {
	return p.chosen && p.newton && p.l1 == 0 && p.path == 0 && (p.name == lossLogistic || p.name == lossSquared)
}

// The curvature of a loss with corners, for scores on the scale of targets: at first hardly sharper than the targets,
// then so many times as sharp with every change of dual variables.
const (
	sharpFirst = 0.25
	sharpTimes = 1.25
	sharpMost  = 100
	sharpLeast = 0.01
)

// step chooses the length with the least objective, of the smooth loss if it is used, and returns how far that is from
// the best at most. beyond is the same for the weights and the smooth loss of length 0. The results are in the places
// of those of a task that measures.
func (k *policy) step(tried []float64, beyond float64) (got []float64, gap float64) {
	n, best, least := k.p.trains(k.hold), 0, math.Inf(1)
	objective := func(block, i int) float64 {
		return tried[block+i]/n + k.l2/2*tried[triedSquares+i] + k.l1*tried[triedSizes+i]
	}
	chosen := triedLoss
	if k.p.corners {
		chosen = triedSmooth
	}
	for i := k.p.longest(); i < len(lengths); i++ {
		if o := objective(chosen, i); o < least {
			best, least = i, o
		}
	}
	k.part = lengths[best]
	got = make([]float64, gotAll)
	for to, from := range map[int]int{gotLoss: triedLoss, gotRight: triedRight, gotSpread: triedSpread, gotTest: triedTest, gotTestRight: triedTestRight,
		gotSquares: triedSquares, gotSizes: triedSizes, gotHeld: triedHeld, gotCount: triedCount} {
		got[to] = tried[from+best]
	}
	bound, still := tried[triedDual]/n, len(lengths)-1
	switch {
	case k.l1 > 0:
	case k.p.corners: // P(w) - D(α) is the mean of φ(a) + a α - φ's dual of α, and |gradient|²/(2 l2)
		bound = objective(triedLoss, still) - (tried[triedLoss+still]/n - bound) - beyond
	default:
		bound = objective(triedLoss, still) - beyond
	}
	if k.alpha > 0 {
		k.bound = bound
	}
	k.bound = max(k.bound, bound)
	k.taken = 0
	if k.p.corners {
		switch k.part {
		case 1:
			k.taken, k.sharp = k.sharp, min(sharpMost, sharpTimes*k.sharp)
		case 0:
			k.taken, k.sharp = k.sharp, max(sharpLeast, k.sharp/2)
		}
	}
	if k.p.solver == solverDescent {
		if k.part < 1 {
			k.damp = min(float64(k.p.groups()), 2*k.damp)
		} else {
			k.damp = max(1, k.damp/dampLess)
		}
	}
	return got, max(0, objective(triedLoss, best)-k.bound)
}

// dampLess is how much less splits damp their descent after a whole step.
const dampLess = 1.1

// regularise follows the evidence, half way in the logarithm, and says whether l2 has settled.
func (k *policy) regularise(got []float64) (settled bool) {
	if k.alpha == 0 {
		return true
	}
	n, noise, spread := float64(len(k.p.Rows)), 1.0, got[gotSpread]
	if k.p.name == lossSquared {
		noise = max(noiseLeast, 2*got[gotLoss]/n) // the variance of labels about the scores
		spread /= noise
	}
	next := k.p.Belief * examples.Evidence(k.p.Spectrum, []float64{spread}, got[gotSquares], k.alpha/k.p.Belief)
	next = math.Sqrt(next * k.alpha)
	before := k.l2
	k.alpha, k.l2 = next, max(l2Least, next*noise/n)
	return math.Abs(math.Log(k.l2/before)) < l2Settled
}

// strength returns l2 as it is given, 0 too, or where nothing else chooses it.
func (p *problem) strength() float64 {
	if !p.chosen {
		return p.l2
	}
	return examples.Strength(p.Dense, len(p.Rows))
}

// noiseLeast bounds the variance of the noise, in squares of the labels' spread.
const noiseLeast = 1e-9

// tested returns how many test rows there are, by what they count.
func (p *problem) tested() float64 { return p.TestCount.Sum(p.TestRow) }

func (k *policy) metrics(got []float64, gap float64) []train.Metric {
	n, tested := k.p.trains(k.hold), k.p.tested()
	if k.p.classes {
		m := []train.Metric{{Name: "train_accuracy", Value: got[gotRight] / k.p.counts(k.hold)}, {Name: "train_" + k.loss, Value: got[gotLoss] / n}}
		if tested > 0 {
			m = append(m, train.Metric{Name: "test_accuracy", Value: got[gotTestRight] / tested}, train.Metric{Name: "test_" + k.loss, Value: got[gotTest] / tested})
		}
		return k.close(m, gap, got[gotCount])
	}
	return k.close(k.regressed(got), gap, got[gotCount])
}

// close adds the gap, where the solver knows it, and what is sought.
func (k *policy) close(m []train.Metric, gap, count float64) []train.Metric {
	n := float64(len(k.p.Rows))
	switch {
	case k.p.seeks() && k.p.seekL1:
		return append(m, train.Metric{Name: "gap", Value: gap}, train.Metric{Name: "l1", Value: k.usedL1}, train.Metric{Name: "nonzero", Value: count})
	case k.p.seeks():
		return append(m, train.Metric{Name: "gap", Value: gap}, train.Metric{Name: "l2", Value: k.used}, train.Metric{Name: "nonzero", Value: count})
	case k.p.steps == "":
		return append(m, train.Metric{Name: "gap", Value: gap})
	case !k.p.progressive:
		return m
	case k.p.classes:
		return append(m, train.Metric{Name: "progressive_accuracy", Value: k.first[seenRight] / n}, train.Metric{Name: "progressive_" + k.loss, Value: k.first[seenLoss] / n})
	}
	return append(m, train.Metric{Name: "progressive_rmse", Value: math.Sqrt(k.first[seenRight] / n)})
}

// regressed returns the metrics of numbers.
func (k *policy) regressed(got []float64) []train.Metric {
	n, tested := k.p.counts(k.hold), k.p.tested()
	m := []train.Metric{{Name: "train_rmse", Value: math.Sqrt(got[gotRight] / n)}}
	if tested > 0 {
		m = append(m, train.Metric{Name: "test_rmse", Value: math.Sqrt(got[gotTestRight] / tested)})
		if k.total > 0 {
			m = append(m, train.Metric{Name: "test_r2", Value: 1 - got[gotTestRight]/k.total})
		}
	}
	return m
}

// weights returns the last measured weights of scaled features, and of the bias.
func (k *policy) weights(tables [][]float32) []float64 {
	if k.p.steps != "" {
		out := make([]float64, k.p.Features+1)
		for j := range out {
			out[j] = float64(tables[weightsTable][charged*j])
		}
		return out
	}
	out := make([]float64, len(tables[0]))
	if k.p.newton {
		for j, w := range tables[weightsTable] {
			out[j] = float64(w) + k.kept*float64(tables[directionTable][j])
		}
		return out
	}
	by := k.p.penalty([]float64{argL2: k.used, argL1: k.usedL1, argHold: ones(k.aside)})
	for j, sum := range tables[sumsTable] {
		out[j] = by.factor * float64(by.soft(sum))
	}
	return out
}

// keptMetrics returns the metrics of the epoch that is kept.
func (k *policy) keptMetrics() map[string]float64 {
	all := map[string]float64{}
	for i, name := range metricNames(k.p) {
		if finite(k.told[i]) {
			all[name] = k.told[i]
		}
	}
	return all
}

// metricNames returns the columns of a run with a loss.
func metricNames(p *problem) []string {
	names, c := []string{"train_rmse", "test_rmse", "test_r2", "gap"}, &p.choices
	switch {
	case c.name == lossLogistic:
		names = []string{"train_accuracy", "train_logloss", "test_accuracy", "test_logloss", "gap"}
	case c.classes:
		names = []string{"train_accuracy", "train_loss", "test_accuracy", "test_loss", "gap"}
	}
	switch {
	case p.seeks():
		sought, held := "l2", "held_loss"
		if c.seekL1 {
			sought = "l1"
		}
		if c.name == lossLogistic {
			held = "held_logloss"
		}
		return append(names, sought, "nonzero", held)
	case rules[c.solver] == nil:
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
	s := append([]float64{k.alpha, k.l2, k.used, k.part, k.kept, k.bound, k.sharp, k.taken, k.damp, k.pace, k.before}, k.first[:]...)
	s = append(s, k.told...)
	if !k.p.seeks() {
		return s
	}
	return k.path.save(append(s, ones(k.hold), ones(k.aside), k.l1, k.usedL1))
}

// Restore implements epochs.Policy.
func (k *policy) Restore(s []float64) {
	k.alpha, k.l2, k.used, k.part = s[0], s[1], s[2], s[3]
	k.kept, k.bound, k.sharp, k.taken, k.damp = s[4], s[5], s[6], s[7], s[8]
	k.pace, k.before = s[9], s[10]
	s = s[11+copy(k.first[:], s[11:]):]
	s = s[copy(k.told, s):]
	if !k.p.seeks() {
		return
	}
	k.hold, k.aside, k.l1, k.usedL1 = s[0] != 0, s[1] != 0, s[2], s[3]
	k.path.restore(s[4:])
}
