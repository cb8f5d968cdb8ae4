package lda

import (
	"math"
	"slices"

	"bellows"
	"bellows/table"
	"bellows/train"
)

// driver runs the clock that gives topics, then epochs: all training clocks of all splits, the
// scoring clock, a decision.
type driver struct {
	p       *problem
	phase   phase
	left    int // tasks outstanding in this phase
	visited int64
	epoch   int       // completed
	alpha   []float64 // of this epoch
	kept    []float64 // α of the model that is returned
	best    float64   // highest held-out likelihood
	marked  float64   // the likelihood at the last improvement that counted
	since   int       // epochs since then
	stats   []float64 // results of the epoch's training tasks, by split and clock
	scores  []float64 // results of its scoring tasks, by split
	args    []float64
}

type phase int

const (
	giving phase = iota // topics to tokens
	training
	scoringDocuments
)

// betterLeast is the gain of held-out likelihood per token that counts for patience.
const betterLeast = 0.0005

func newDriver(p *problem) *driver {
	d := &driver{
		p: p, alpha: make([]float64, p.topics), best: math.Inf(-1), marked: math.Inf(-1),
		stats:  make([]float64, p.splits*p.clocks*(p.topics+1)),
		scores: make([]float64, p.splits*gotScore),
	}
	first := p.config.alpha
	if first == 0 {
		first = min(alphaTotal/float64(p.topics), alphaEach)
	}
	for k := range d.alpha {
		d.alpha[k] = first
	}
	d.kept = slices.Clone(d.alpha)
	return d
}

// DispatchInitialTasks implements train.Driver.
func (d *driver) DispatchInitialTasks(to *train.Dispatcher) {
	d.phase, d.left = giving, d.p.splits
	for s := range d.p.splits {
		to.DispatchTask(bellows.SplitID(s))
	}
}

// train begins an epoch. Under BSP all its clocks are dispatched at once, and the gate of the tables
// orders them. Else a split's next clock waits for the one before, since a task sees what was
// committed when it was dispatched, and later is fresher.
func (d *driver) train(to *train.Dispatcher) {
	d.phase, d.left = training, d.p.splits*d.p.clocks
	learns := 0.0
	if d.p.learns(d.epoch) {
		learns = 1
	}
	d.args = append(append(d.args[:0], learns), d.alpha...)
	for range d.p.clocks {
		for s := range d.p.splits {
			to.DispatchTask(bellows.SplitID(s), d.args...)
		}
		if d.p.consistency != table.BSP {
			return
		}
	}
}

// HandleTaskCompletion implements train.Driver.
func (d *driver) HandleTaskCompletion(done train.Completion, to *train.Dispatcher) {
	split, at := int(done.Split), d.p.phase(done.Clock)
	switch d.phase {
	case scoringDocuments:
		copy(d.scores[split*gotScore:], done.Result)
	case training:
		n := d.p.topics + 1
		copy(d.stats[(split*d.p.clocks+at)*n:][:n], done.Result)
		d.visited += int64(done.Items.Len())
		if d.p.consistency != table.BSP && at+1 < d.p.clocks {
			to.DispatchTask(done.Split, d.args...)
		}
	}
	if d.left--; d.left > 0 {
		return
	}
	switch d.phase {
	case giving:
		d.train(to)
	case training:
		if d.args[argLearn] != 0 {
			d.learn()
		}
		d.phase, d.left = scoringDocuments, d.p.splits
		for s := range d.p.splits {
			to.DispatchTask(bellows.SplitID(s), d.alpha...)
		}
	case scoringDocuments:
		d.endEpoch(to)
	}
}

// learn adds the statistics of the sweep up in the order of splits and clocks.
func (d *driver) learn() {
	n := d.p.topics + 1
	sum := make([]float64, n)
	for r := d.stats; len(r) > 0; r = r[n:] {
		for k, v := range r[:n] {
			sum[k] += v
		}
	}
	learn(d.alpha, sum)
}

// endEpoch reports the epoch and decides how to go on.
func (d *driver) endEpoch(to *train.Dispatcher) {
	var score [gotScore]float64
	for i, v := range d.scores {
		score[i%gotScore] += v
	}
	d.epoch++
	held := score[gotHeld] / float64(d.p.held) // NaN without held-out tokens
	best := d.advance(held)
	metrics := d.metrics(score)
	to.Report(train.Epoch{Number: d.epoch, Items: d.visited, Metrics: metrics})
	reached := d.reached(metrics)
	if !d.p.earlyStop || best || reached {
		d.kept = append(d.kept[:0], d.alpha...)
	}
	if d.p.earlyStop && (best || reached) {
		to.Keep()
	}
	stop := d.p.earlyStop && d.p.held > 0 && d.since >= d.p.patience
	if reached || stop || d.epoch >= d.p.epochs {
		to.Finish()
		return
	}
	d.train(to)
}

// advance takes the held-out likelihood of an epoch and says whether its topics are the best yet.
// Without held-out tokens every epoch is.
func (d *driver) advance(held float64) (best bool) {
	if d.since++; held > d.marked+betterLeast {
		d.marked, d.since = held, 0
	}
	if held <= d.best {
		return false
	}
	if !math.IsNaN(held) {
		d.best = held
	}
	return true
}

func (d *driver) metrics(score [gotScore]float64) []train.Metric {
	m := []train.Metric{{Name: "train_loglik_per_token", Value: score[gotTrain] / float64(d.p.sampled)}}
	test, tokens := score[gotTest], d.p.tested
	if !d.p.shown {
		test, tokens = score[gotHeld], d.p.held
	}
	if tokens > 0 {
		m = append(m, train.Metric{Name: "test_loglik_per_token", Value: test / float64(tokens)})
	}
	return m
}

func (d *driver) reached(metrics []train.Metric) bool {
	g := d.p.goal
	if g == nil {
		return false
	}
	for _, m := range metrics {
		if m.Name == g.Metric {
			return g.Below && m.Value <= g.Value || !g.Below && m.Value >= g.Value
		}
	}
	return false
}

// stateWords is how many numbers stand before the vectors of the state.
const stateWords = 8

// Save implements train.Driver.
func (d *driver) Save() []float64 {
	learns := 0.0
	if len(d.args) > 0 {
		learns = d.args[argLearn]
	}
	state := []float64{float64(d.phase), float64(d.left), float64(d.visited), float64(d.epoch), d.best, d.marked, float64(d.since), learns}
	for _, v := range [][]float64{d.alpha, d.kept, d.stats, d.scores} {
		state = append(state, v...)
	}
	return state
}

// Restore implements train.Driver.
func (d *driver) Restore(s []float64) error {
	if want := stateWords + 2*d.p.topics + len(d.stats) + len(d.scores); len(s) != want {
		return bellows.Errorf(bellows.BadData, "restore driver", name, "%d numbers of state for %d", len(s), want)
	}
	if s[1] != math.Trunc(s[1]) || s[1] < 0 || s[0] < 0 || s[0] > float64(scoringDocuments) {
		return bellows.Errorf(bellows.BadData, "restore driver", name, "phase %v with %v tasks outstanding", s[0], s[1])
	}
	d.phase, d.left, d.visited, d.epoch = phase(s[0]), int(s[1]), int64(s[2]), int(s[3])
	d.best, d.marked, d.since = s[4], s[5], int(s[6])
	learns := s[7]
	s = s[stateWords:]
	for _, v := range [][]float64{d.alpha, d.kept, d.stats, d.scores} {
		s = s[copy(v, s):]
	}
	d.args = append(append(d.args[:0], learns), d.alpha...)
	return nil
}
