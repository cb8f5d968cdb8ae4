package mlr

import (
	"math"

	"bellows"
	"bellows/app"
	"bellows/app/epochs"
	"bellows/app/examples"
	"bellows/train"
)

// Charged steps: weights cost l1 |w| + l2/2 w², but for those of the bias, and the rule of the table takes that by proximal steps on the server (core/rule), which
// make weights exactly zero. Each row of the table has one value more than there are classes: what is due, which is for how many clocks its weights have paid. In a
// clock every split pushes its part of the mean gradient of the clock's rows. Where units work on whole tables all weights pay in each clock, a part by each
// split; else the split that leads a row pays for all clocks since the row was used before, so that rare features pay as often as common ones.
//
// There is one least objective, so that training rows alone say how far the run is: the objective of all of them is measured after each epoch, the epoch with the
// least is kept, and the pace, by which gradients and charges are multiplied, is cut when an epoch gains little.
//
// Invariant: each row of weights that an epoch uses is charged for all its clocks (TestDueOfEachRow).
//
// Turned down: the proximal step within the local steps of rule average. Ways are averaged and have momentum, and hardly a mean is exactly zero.

// The results of a scoring task that follow those of rows that are held out.
const (
	gotTrainLoss = iota
	gotTrainCorrect
	gotSquaresOf // of the weights but the bias, as gotSizesOf
	gotSizesOf
	gotCharged // how many
)

// clockStep returns the step of rule sgd, whose gradient is that of all rows of a clock. Charged steps have short
// clocks, whose gradients are noisy; others are taken for exact.
func (p *problem) clockStep() float64 {
	if !p.charges {
		return p.stepAt(1 << 20)
	}
	batch := float64(len(p.Rows)) / float64(p.Clocks)
	return p.lr * 2 / (p.Top + (p.size*p.Weight.Unevenness(p.Rows)-p.Top)/batch)
}

// stride returns the values of a row of the table.
func (p *problem) stride() int {
	if p.charges {
		return p.width + 1
	}
	return p.width
}

// plain returns rows of the table without what is due: itself where nothing is, else in the memory that is given.
func (p *problem) plain(table, to []float32) []float32 {
	stride := p.stride()
	if stride == p.width {
		return table
	}
	for k := range len(table) / stride {
		copy(to[k*p.width:(k+1)*p.width], table[k*stride:])
	}
	return to
}

// pull returns the weights of some rows of the table, of nil all.
func (e *executor) pull(t *train.Task, rows []bellows.RowID) []float32 {
	var table []float32
	switch {
	case rows == nil:
		table = t.PullRange(weightsTable, 0, e.end())
	case e.p.charges:
		table = examples.Reserve(&e.m, len(rows)*e.p.stride())
		t.Pull(weightsTable, rows, table)
	default:
		table = examples.Reserve(&e.w, len(rows)*e.width)
		t.Pull(weightsTable, rows, table)
		return table
	}
	return e.p.plain(table, examples.Reserve(&e.w, len(table)/e.p.stride()*e.width))
}

// charge pushes the split's part of the clock's mean gradient, and what is due.
func (e *executor) charge(t *train.Task, split, at int) {
	pace := float32(t.Args()[argStep])
	if e.p.full {
		push := e.slopes(e.unitOf(split, at), e.pull(t, nil), pace)
		each := pace / float32(e.p.Splits)
		for k := range e.p.Features {
			push[k*e.p.stride()+e.width] = each
		}
		t.PushRange(weightsTable, 0, push)
		return
	}
	u := &e.p.sparseUnits[split*e.p.Clocks+at]
	push := e.slopes(u, e.pull(t, u.rows), pace)
	for k, clocks := range u.gap[:len(u.gap)-1] {
		push[k*e.p.stride()+e.width] = pace * float32(clocks)
	}
	t.Push(weightsTable, u.rows, push)
}

// slopes returns the unit's part of the mean gradient in rows of the table, in which nothing is due.
func (e *executor) slopes(u tableUnit, w []float32, pace float32) []float32 {
	g := examples.Reserve(&e.local, len(w))
	clear(g)
	u.gradient(w, g, &e.scratch, pace*e.p.rate())
	stride := e.p.stride()
	push := examples.Reserve(&e.m, len(w)/e.width*stride)
	for k := range len(w) / e.width {
		row := push[k*stride : (k+1)*stride]
		copy(row, g[k*e.width:(k+1)*e.width])
		row[e.width] = 0
	}
	return push
}

// measure adds to the results of a scoring task those of the split's training rows and its share of the weights.
func (e *executor) measure(t *train.Task, split int) {
	e.tally.reset()
	for at := range e.p.Clocks {
		if u := e.unitOf(split, at); e.p.full {
			u.score(e.pull(t, nil), &e.scratch)
		} else {
			u.score(e.pull(t, e.p.sparseUnits[split*e.p.Clocks+at].rows), &e.scratch)
		}
	}
	squares, sizes := 0.0, 0.0
	lo, hi := app.Share(e.p.Features, split, e.p.Splits), app.Share(e.p.Features, split+1, e.p.Splits)
	if lo < hi {
		for i, w := range t.PullRange(weightsTable, row(lo), row(hi)) {
			if i%e.p.stride() < e.width {
				squares += float64(w) * float64(w)
				sizes += math.Abs(float64(w))
			}
		}
	}
	e.result = append(e.result, e.tally.weighed, e.tally.correct, squares, sizes)
}

// score counts the rows of the unit.
func (u *denseUnit) score(w []float32, s *scratch) {
	for lo := 0; lo < len(u.class); lo += batchMost {
		hi := min(len(u.class), lo+batchMost)
		z := s.z[:(hi-lo)*s.width]
		u.logits(w, s.width, lo, hi, z)
		s.tally.scores(z, u.part(lo, hi))
	}
}

// score counts the rows of the unit.
func (u *sparseUnit) score(w []float32, s *scratch) {
	z := s.z[:s.width]
	for i := range u.class {
		u.logits(w, i, z)
		s.tally.scores(z, u.part(i, i+1))
	}
}

// chargedPolicy is what is decided between the epochs of charged steps: the pace, and which epoch is the best.
type chargedPolicy struct {
	p            *problem
	pace, before float64    // before: the objective of the last epoch
	told         [4]float64 // the metrics of the epoch that is kept; infinite: none
}

// An epoch that lowers the objective by less than this part of the gap cuts the pace. Cut by what costs a fixed part, as rows that are held out cut it, runs without
// l2 ended 9 % above the best: they go down slowly, and for long.
const (
	gapPart    = 0.1
	chargedCut = 0.5
)

func newChargedPolicy(p *problem) *chargedPolicy {
	none := math.Inf(1)
	return &chargedPolicy{p, 1, none, [4]float64{none, none, none, none}}
}

// ended implements judge.
func (k *chargedPolicy) ended() (details, map[string]float64) {
	all := map[string]float64{}
	for i, name := range chargedMetrics {
		if !math.IsInf(k.told[i], 0) {
			all[name] = k.told[i]
		}
	}
	return details{L2: k.p.l2, L1: k.p.l1, Pace: k.pace}, all
}

// chargedMetrics are the metrics of an epoch, of which the last two need rows that are shown.
var chargedMetrics = New().Describe().Metrics

// Train implements epochs.Policy.
func (k *chargedPolicy) Train(args []float64, _ *epochs.Progress, _, _ int) []float64 {
	return append(args, k.pace)
}

// Score implements epochs.Policy.
func (k *chargedPolicy) Score(*epochs.Progress, []float64) []float64 { return nil }

// End implements epochs.Policy.
func (k *chargedPolicy) End(p *epochs.Progress, _, scores []float64) epochs.Verdict {
	n, got := float64(len(k.p.Rows)), scores[gotScore+heldBlocks:]
	loss := got[gotTrainLoss] / n
	objective := loss + k.p.l2/2*got[gotSquaresOf] + k.p.l1*got[gotSizesOf]
	if objective > (1-gapPart*k.p.gap)*k.before {
		k.pace *= chargedCut
	}
	k.before = objective
	keep := p.Judge(objective, (1-gapPart*k.p.gap)*p.Marked, true)
	metrics := k.p.metrics(loss, got[gotTrainCorrect]/n, scores)
	if keep || k.p.Goal.Reached(metrics) {
		for i, m := range metrics {
			k.told[i] = m.Value
		}
	}
	return epochs.Verdict{Metrics: metrics, Keep: keep, Stop: k.p.stops && p.Since >= k.p.Patience}
}

// Save implements epochs.Policy.
func (k *chargedPolicy) Save() []float64 { return append([]float64{k.pace, k.before}, k.told[:]...) }

// Restore implements epochs.Policy.
func (k *chargedPolicy) Restore(s []float64) {
	k.pace, k.before = s[0], s[1]
	copy(k.told[:], s[2:])
}
