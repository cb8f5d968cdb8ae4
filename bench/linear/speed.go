package main

import (
	"context"
	"fmt"
	"math"
	"strconv"
	"time"

	"bellows/app/linear"
	"bellows/bench/internal/pair"
	"bellows/bench/internal/sets"
	"bellows/bench/internal/trial"
	"bellows/data"
)

// races are LIBLINEAR's solvers that are raced: to the least objective that either side knows, times more.
var races = []struct {
	loss   string
	solver int
	cost   func(margin float64) float64
}{{"logistic", 0, logistic}, {"squared_hinge", 1, squaredHinge}, {"hinge", 3, hinge}, {"logistic", 7, logistic}}

// Both sides choose the loosest end, of their own setting for it, that comes as near as that: tries are runs from loose to tight, of which the
// first that is near enough counts. What LIBLINEAR takes to read its file is that of a run whose end is looser than any start.
var (
	liblinearEnds = []float64{1, 0.3, 0.1, 0.03, 0.01, 0.003, 0.001, 0.0001}
	ourEnds       = []float64{0.3, 0.1, 0.03, 0.01, 0.003, 0.001, 0.0003}
)

const tightest = 1e-4

// readings is how often LIBLINEAR reads its file before the shortest time counts: of small sets it is several times what training takes.
const readings = 5

// speed races one core against LIBLINEAR's, by CPU time from rows in memory.
func speed(b *pair.Bench, shelf *sets.Shelf, program string) {
	for _, set := range []struct {
		name string
		rows func() *data.ExampleSet
	}{
		{"imdb_bow", func() *data.ExampleSet { return readAlone(shelf.Alone("imdb_bow")).Examples }},
		{"20news_tfidf", func() *data.ExampleSet { return readAlone(shelf.Alone("20news_tfidf")).Examples }},
		{"like rcv1, from a seed", news},
		{"mnist", func() *data.ExampleSet { return readAlone(shelf.Digits(1)).Examples }},
	} {
		e := halves(set.rows())
		path := file(shelf, "speed", e)
		b.Section(fmt.Sprintf("%s: %d rows of %d features, two halves of the classes", set.name, e.Rows(), e.Features))
		for _, c := range races {
			race(b, shelf, e, path, program, c.loss, c.solver, c.cost)
		}
	}
}

// readAlone reads the training rows of a pair.
func readAlone(p sets.Pair) *data.Set {
	return pair.Must(data.Read(context.Background(), []string{p.Train}, data.Examples, data.Options{}))
}

func race(b *pair.Bench, shelf *sets.Shelf, e *data.ExampleSet, path, program, loss string, solver int, cost func(float64) float64) {
	theirs := func(end float64) (time.Duration, float64) {
		model := shelf.Path("speed.model")
		_, turn, err := pair.Once("liblinear", program, nil, "-s", strconv.Itoa(solver), "-c", "1", "-B", "1", "-e", strconv.FormatFloat(end, 'g', -1, 64), "-q", path, model)
		pair.Check(err)
		return turn.CPU, objective(e, readLiblinear(model, e.Features), cost)
	}
	ours := func(gap float64) (*trial.Outcome, float64) {
		out := trial.Setup{App: linear.New(), Data: setOf(e), Test: setOf(some(e, []int{0, 1})), Slots: 1, Settings: map[string]string{
			"loss": loss, "scale": "none", "gap": strconv.FormatFloat(gap, 'g', -1, 64), "l2": strconv.FormatFloat(1/float64(e.Rows()), 'g', -1, 64)}}.Train()
		return out, objective(e, weights(out), cost)
	}
	_, best := ours(tightest)
	_, other := theirs(tightest)
	best = min(best, other)
	end, gap := liblinearEnds[len(liblinearEnds)-1], 0.0
	for _, try := range liblinearEnds {
		if _, o := theirs(try); o <= best*more {
			end = try
			break
		}
	}
	var epochs int
	for _, try := range ourEnds {
		if out, o := ours(try); o <= best*more {
			gap, epochs = try, len(out.Epochs)
			break
		}
	}
	if gap == 0 {
		b.AddFact(pair.Fact{Figure: fmt.Sprintf("objective, %s", loss), Ours: math.Inf(1), Peer: "LIBLINEAR's, times 1.001:", Bound: best * more})
		return
	}
	reading := time.Duration(math.MaxInt64)
	for range readings {
		took, _ := theirs(1e9)
		reading = min(reading, took)
	}
	b.Race(pair.Row{Figure: fmt.Sprintf("%s, as -s %d", loss, solver), Unit: "s", Cost: true, Clock: pair.CPU, Target: 1},
		pair.Side{Name: "bellows", Run: func() (pair.Turn, error) {
			out, _ := ours(gap)
			return pair.Turn{Work: 1, CPU: out.To(len(out.Epochs)).CPU}, nil
		}},
		pair.Side{Name: "LIBLINEAR", Run: func() (pair.Turn, error) {
			took, _ := theirs(end)
			return pair.Turn{Work: 1, CPU: max(took-reading, time.Millisecond)}, nil
		}})
	b.Note("ours with gap=%g in %d epochs; LIBLINEAR with -e %g, without %.2f CPU-s of reading", gap, epochs, end, reading.Seconds())
}

func hinge(m float64) float64        { return max(0, 1-m) }
func squaredHinge(m float64) float64 { return hinge(m) * hinge(m) }
