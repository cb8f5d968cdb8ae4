package mlr

import (
	"math"

	"bellows"
	"bellows/table"
	"bellows/train"
)

// driver runs epochs: all training clocks of all splits, then the scoring clock, then a decision.
type driver struct {
	p       *problem
	course  course
	left    int // tasks outstanding in this phase
	scoring bool
	step    float64 // of this epoch
	visited int64
	trained []float64 // results of the epoch's training tasks, by split and clock
	scores  []float64 // results of its scoring tasks, by split
	spread  []float64
}

func newDriver(p *problem) *driver {
	return &driver{
		p: p, course: newCourse(p.config, len(p.rows)), spread: make([]float64, p.width),
		trained: make([]float64, p.splits*p.clocks*(gotSpread+p.width)),
		scores:  make([]float64, p.splits*gotScore),
	}
}

// DispatchInitialTasks implements train.Driver.
func (d *driver) DispatchInitialTasks(to *train.Dispatcher) { d.train(to) }

// train begins an epoch. Under BSP all its clocks are dispatched at once, and the gate of the tables
// orders them. Else a split's next clock waits for the one before, since a task sees what was
// committed when it was dispatched, and later is fresher.
func (d *driver) train(to *train.Dispatcher) {
	d.scoring, d.left = false, d.p.splits*d.p.clocks
	d.step = d.p.stepAt(d.p.batch) * d.course.pace
	for at := range d.p.clocks {
		for s := range d.p.splits {
			d.dispatch(to, s, at)
		}
		if d.p.consistency != table.BSP {
			return
		}
	}
}

// dispatch sends a split into a training clock of the epoch.
func (d *driver) dispatch(to *train.Dispatcher, split, at int) {
	// A step that shrinks the weights by more than half would overshoot.
	l2 := min(d.course.alpha/float64(len(d.p.rows)), 0.5/d.step)
	beta := momentum(d.course.epoch*d.p.clocks + at)
	to.DispatchTask(bellows.SplitID(split), d.step, l2, beta)
}

// HandleTaskCompletion implements train.Driver.
func (d *driver) HandleTaskCompletion(done train.Completion, to *train.Dispatcher) {
	split, at := int(done.Split), int(done.Clock)%(d.p.clocks+1)
	if d.scoring {
		copy(d.scores[split*gotScore:(split+1)*gotScore], done.Result)
	} else {
		n := gotSpread + d.p.width
		copy(d.trained[(split*d.p.clocks+at)*n:][:n], done.Result)
		d.visited += int64(done.Items.Len())
		if d.p.consistency != table.BSP && at+1 < d.p.clocks {
			d.dispatch(to, split, at+1)
		}
	}
	if d.left--; d.left > 0 {
		return
	}
	if d.scoring {
		d.endEpoch(to)
		return
	}
	d.scoring, d.left = true, d.p.splits
	for s := range d.p.splits {
		to.DispatchTask(bellows.SplitID(s))
	}
}

// endEpoch reports the epoch and decides how to go on.
func (d *driver) endEpoch(to *train.Dispatcher) {
	loss, correct := d.sumTrained()
	var score [gotScore]float64
	for i, v := range d.scores {
		score[i%gotScore] += v
	}
	n := float64(len(d.p.rows))
	held := score[gotHeldLoss] / float64(len(d.p.held)) // NaN without held-out rows
	best := d.course.advance(loss/n, held)
	if d.p.l2 < 0 {
		d.course.regularise(d.p.spectrum, d.spread, score[gotSquares], d.p.belief)
	}
	metrics := d.metrics(loss/n, correct/n, score)
	to.Report(train.Epoch{Number: d.course.epoch, Items: d.visited, Metrics: metrics})
	reached := d.reached(metrics)
	if d.p.earlyStop && (best || reached) {
		to.Keep()
	}
	stop := d.p.earlyStop && len(d.p.held) > 0 && d.course.since >= d.p.patience
	if reached || stop || d.course.epoch >= d.p.epochs {
		to.Finish()
		return
	}
	d.train(to)
}

// sumTrained adds the training results up in the order of splits and clocks.
func (d *driver) sumTrained() (loss, correct float64) {
	clear(d.spread)
	n := gotSpread + d.p.width
	for r := d.trained; len(r) > 0; r = r[n:] {
		loss += r[gotLoss]
		correct += r[gotCorrect]
		for c, v := range r[gotSpread:n] {
			d.spread[c] += v
		}
	}
	return loss, correct
}

func (d *driver) metrics(loss, correct float64, score [gotScore]float64) []train.Metric {
	m := []train.Metric{{Name: "train_accuracy", Value: correct}, {Name: "train_logloss", Value: loss}}
	testLoss, testCorrect, rows := score[gotTestLoss], score[gotTestCorrect], len(d.p.testRow)
	if d.p.test.ExampleSet == nil {
		testLoss, testCorrect, rows = score[gotHeldLoss], score[gotHeldCorrect], len(d.p.held)
	}
	if rows > 0 {
		m = append(m, train.Metric{Name: "test_accuracy", Value: testCorrect / float64(rows)},
			train.Metric{Name: "test_logloss", Value: testLoss / float64(rows)})
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

// Save implements train.Driver.
func (d *driver) Save() []float64 {
	phase := 0.0
	if d.scoring {
		phase = 1
	}
	state := append([]float64{phase, float64(d.left), float64(d.visited)}, d.course.save()...)
	state = append(state, d.trained...)
	return append(state, d.scores...)
}

// courseWords is the length of course.save; stateWords that of what stands before it.
const (
	stateWords  = 3
	courseWords = 7
)

// Restore implements train.Driver.
func (d *driver) Restore(state []float64) error {
	fixed := stateWords + courseWords
	if len(state) != fixed+len(d.trained)+len(d.scores) {
		return bellows.Errorf(bellows.BadData, "restore driver", name, "%d numbers of state for %d", len(state), fixed+len(d.trained)+len(d.scores))
	}
	if state[1] != math.Trunc(state[1]) || state[1] < 0 {
		return bellows.Errorf(bellows.BadData, "restore driver", name, "%v tasks outstanding", state[1])
	}
	d.scoring, d.left, d.visited = state[0] != 0, int(state[1]), int64(state[2])
	d.course.restore(state[stateWords:fixed])
	d.step = d.p.stepAt(d.p.batch) * d.course.pace
	copy(d.trained, state[fixed:])
	copy(d.scores, state[fixed+len(d.trained):])
	return nil
}
