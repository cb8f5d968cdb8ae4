package main

import (
	"context"
	_ "embed"
	"fmt"
	"math"
	"os"
	"strconv"
	"time"

	"bellows/app/linear"
	"bellows/bench/internal/pair"
	"bellows/bench/internal/sets"
	"bellows/bench/internal/trial"
	"bellows/data"
)

// races are LIBLINEAR's solvers that are raced, to the least objective that anyone here knows, times more.
var races = []struct {
	loss   string
	solver int
	cost   func(margin float64) float64
}{{"logistic", 0, logistic}, {"squared_hinge", 1, squaredHinge}, {"hinge", 3, hinge}, {"logistic", 7, logistic}}

// Both sides choose the loosest end, of their own setting for it, that comes as near as that: tries are runs from loose
// to tight, and the first that is near enough counts. The least objective is that of our run with the gap tightest,
// below which no objective is by more than that part, or that of a try.
var (
	liblinearEnds = []float64{1, 0.3, 0.1, 0.03, 0.01, 0.003, 0.001, 0.0001}
	ourEnds       = []float64{0.3, 0.1, 0.03, 0.01, 0.003, 0.001, 0.0003}
)

const tightest = 1e-4

// A race ends after the turns of the flags where its ratio is clear in all of them, and else after turnsMost, which are enough for an interval. A run of LIBLINEAR that takes longer
// than long is made once: the try that was near enough is the only turn.
const (
	turnsMost = 7
	clear     = 1.5
	long      = 5 * time.Second
)

//go:embed peer/liblinear.c
var liblinearSource []byte

// speed races one core against LIBLINEAR's, by the CPU time of the solvers from rows in memory.
func speed(b *pair.Bench, shelf *sets.Shelf, chosen string) {
	peer, err := b.Compile("LIBLINEAR", liblinearSource, "-llinear", "gcc and liblinear-dev")
	if err != nil {
		b.Note("LIBLINEAR is not measured: %v", err)
		return
	}
	for _, set := range []struct {
		name string
		rows func() *data.ExampleSet
	}{
		{"imdb_bow", func() *data.ExampleSet { return readAlone(shelf.Alone("imdb_bow")).Examples }},
		{"20news_tfidf", func() *data.ExampleSet { return readAlone(shelf.Alone("20news_tfidf")).Examples }},
		{"like-rcv1", news},
		{"mnist", func() *data.ExampleSet { return readAlone(shelf.Digits(1)).Examples }},
	} {
		if chosen != "" && chosen != set.name {
			continue
		}
		e := halves(set.rows())
		path := file(shelf, "speed", e)
		pair.Must(peer.Ask(fmt.Sprintf("read %s %d", path, e.Features)))
		b.Section(fmt.Sprintf("%s: %d rows of %d features, two halves of the classes", set.name, e.Rows(), e.Features))
		least := map[string]float64{}
		for _, c := range races {
			r := &racer{e: e, peer: peer, model: shelf.Path("speed.model"), loss: c.loss, cost: c.cost, best: least[c.loss]}
			if r.best == 0 {
				_, out := r.runOurs(tightest, 1)
				r.best = objective(e, weights(out), c.cost)
			}
			r.race(b, c.solver)
			least[c.loss] = r.best
		}
		pair.Check(os.Remove(path))
	}
	pair.Check(peer.Close())
}

// readAlone reads the training rows of a pair.
func readAlone(p sets.Pair) *data.Set {
	return pair.Must(data.Read(context.Background(), []string{p.Train}, data.Examples, data.Options{}))
}

// repeats returns how often a run that takes so long is made, so that a measurement lasts atLeast.
func repeats(once time.Duration) int { return 1 + int(atLeast/max(once, time.Microsecond)) }

// racer is both sides of the races of one loss, on the same rows.
type racer struct {
	e     *data.ExampleSet
	peer  *pair.Child
	model string // a file for LIBLINEAR's
	loss  string
	cost  func(margin float64) float64
	best  float64 // the least objective
}

// runTheirs makes some runs of LIBLINEAR, and returns the objective of the last.
func (r *racer) runTheirs(solver int, end float64, times int) (pair.Turn, float64) {
	a := pair.Must(r.peer.Ask(fmt.Sprintf("train %d %g %d %s", solver, end, times, r.model)))
	return pair.Turn{Work: a[0], Wall: pair.Seconds(a[1]), CPU: pair.Seconds(a[2])}, objective(r.e, readLiblinear(r.model, r.e.Features), r.cost)
}

// runOurs makes some of our runs, from rows in memory to the last epoch, and returns the last.
func (r *racer) runOurs(gap float64, times int) (pair.Turn, *trial.Outcome) {
	t, out := pair.Turn{Work: float64(times)}, (*trial.Outcome)(nil)
	setup := trial.Setup{App: linear.New(), Data: setOf(r.e), Test: setOf(selected(r.e, []int{0, 1})), Slots: 1, Settings: map[string]string{
		"loss": r.loss, "scale": "none", "gap": strconv.FormatFloat(gap, 'g', -1, 64), "l2": strconv.FormatFloat(1/float64(r.e.Rows()), 'g', -1, 64)}}
	for range times {
		out = setup.Train()
		t.CPU += out.Until(len(out.Epochs)).CPU
	}
	return t, out
}

// loosest returns the first end with which a try comes near enough, and its turn; ok is false where none does.
func (r *racer) loosest(ends []float64, try func(end float64) (pair.Turn, float64)) (end float64, turn pair.Turn, ok bool) {
	for _, end := range ends {
		turn, o := try(end)
		if r.best = min(r.best, o); o <= r.best*more {
			return end, turn, true
		}
	}
	return 0, turn, false
}

func (r *racer) race(b *pair.Bench, solver int) {
	figure, epochs := fmt.Sprintf("%s, as -s %d", r.loss, solver), 0
	end, theirs, found := r.loosest(liblinearEnds, func(end float64) (pair.Turn, float64) { return r.runTheirs(solver, end, 1) })
	if !found {
		b.Note("%s is not measured: LIBLINEAR's objective is not within %g of the least with -e %g", figure, more, liblinearEnds[len(liblinearEnds)-1])
		return
	}
	gap, ours, found := r.loosest(ourEnds, func(gap float64) (pair.Turn, float64) {
		turn, out := r.runOurs(gap, 1)
		epochs = len(out.Epochs)
		return turn, objective(r.e, weights(out), r.cost)
	})
	if !found {
		b.AddFact(pair.Fact{Figure: figure + ", objective", Ours: math.Inf(1), Peer: "the least, times 1.001:", Bound: r.best * more})
		return
	}
	row := pair.Row{Figure: figure, Unit: "s", Cost: true, Clock: pair.CPU, Target: 1, Ours: pair.Series{Name: "bellows"}, Peer: pair.Series{Name: "LIBLINEAR"}}
	if theirs.CPU > long {
		row.Ours.Turns, row.Peer.Turns = []pair.Turn{ours}, []pair.Turn{theirs}
	}
	ourTimes, theirTimes := repeats(ours.CPU), repeats(theirs.CPU)
	for theirs.CPU <= long && (len(row.Ours.Turns) < b.Turns || len(row.Ours.Turns) < turnsMost && pair.Ratio(row.Ours, row.Peer, pair.CPU).Min < clear) {
		a, _ := r.runOurs(gap, ourTimes)
		p, _ := r.runTheirs(solver, end, theirTimes)
		row.Ours.Turns, row.Peer.Turns = append(row.Ours.Turns, a), append(row.Peer.Turns, p)
	}
	b.Add(row)
	ratios := make([]float64, len(row.Ours.Turns))
	for i, t := range row.Ours.Turns {
		p := row.Peer.Turns[i]
		ratios[i] = p.CPU.Seconds() / p.Work / (t.CPU.Seconds() / t.Work)
	}
	how := fmt.Sprintf("ours with gap=%g in %d epochs, LIBLINEAR with -e %g", gap, epochs, end)
	if theirs.CPU > long {
		b.Note("one run of each; %s", how)
		return
	}
	b.Note("ratio %s in %d turns of %d and %d runs; %s", pair.Median(ratios), len(ratios), ourTimes, theirTimes, how)
}

func hinge(m float64) float64        { return max(0, 1-m) }
func squaredHinge(m float64) float64 { return hinge(m) * hinge(m) }
