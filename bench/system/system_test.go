package main

import (
	"math"
	"sync"
	"testing"

	"bellows/app"
	"bellows/app/mf"
	"bellows/app/mlr"
	"bellows/bench/internal/sets"
	"bellows/data"
)

func TestWaveRunsEveryStepInOrder(t *testing.T) {
	t.Parallel()
	for _, threads := range []int{1, 3} {
		const n = 7
		var mu sync.Mutex
		column := map[int]int{} // who is in a column now
		steps := make([]int, n)
		newWave(n).run(threads, func(row, step int) {
			mu.Lock()
			if steps[row] != step {
				t.Errorf("row %d took step %d after %d steps", row, step, steps[row])
			}
			at := (row + step) % n
			column[at]++
			if column[at] != 1 {
				t.Errorf("two rows are in column %d", at)
			}
			mu.Unlock()
			mu.Lock()
			column[at]--
			steps[row]++
			mu.Unlock()
		})
		for row, s := range steps {
			if s != n {
				t.Errorf("%d threads: row %d took %d steps of %d", threads, row, s, n)
			}
		}
	}
}

// subjectLoops makes both bare loops on small sets, with the runs that they stand beside.
func subjectLoops(t *testing.T) (map[string]loop, map[string]*app.Run) {
	t.Helper()
	shelf := sets.Open("")
	t.Cleanup(shelf.Close)
	loops, runs := map[string]loop{}, map[string]*app.Run{}
	for _, s := range []subject{
		{name: "mf", app: mf.New(), find: func() sets.Pair { return shelf.Ratings(200, 150, 8000) }, kind: data.Ratings, bare: newFactorLoop},
		{name: "mlr", app: mlr.New(), find: func() sets.Pair { return shelf.Images(1000, 1, 8) }, kind: data.Examples, bare: newSoftmaxLoop},
	} {
		set, _ := s.find().Read(s.kind)
		var err error
		if runs[s.name], err = s.app.NewRun(app.Input{Data: set, Seed: 1, Epochs: 1, Slots: 1}); err != nil {
			t.Fatal(err)
		}
		if loops[s.name], err = s.bare(set, runs[s.name]); err != nil {
			t.Fatal(err)
		}
	}
	return loops, runs
}

func TestBareLoopsDoTheJobsWork(t *testing.T) {
	t.Parallel()
	loops, runs := subjectLoops(t)
	for name, l := range loops {
		if got := l.visit(2); int64(got) != runs[name].Items {
			t.Errorf("%s: the bare loop visits %d items, the job %d", name, got, runs[name].Items)
		}
	}
}

func TestBareLoopsLearn(t *testing.T) {
	t.Parallel()
	loops, _ := subjectLoops(t)
	factors, softmax := loops["mf"].(*factorLoop), loops["mlr"].(*softmaxLoop)
	errorOf := func() (sum float64) {
		factors.score(1)
		for _, s := range factors.sums {
			sum += s
		}
		return sum
	}
	correct := func() (n int) {
		for i := range softmax.walkers {
			softmax.walkers[i].correct = 0
		}
		softmax.score(1)
		for _, w := range softmax.walkers {
			n += w.correct
		}
		return n
	}
	before, guessed := errorOf(), correct()
	for range 60 {
		factors.visit(1)
		softmax.visit(1)
	}
	if after := errorOf(); !(after < 0.9*before) || math.IsNaN(after) {
		t.Errorf("mf: squared held-out error %v after 60 epochs, %v before", after, before)
	}
	if got := correct(); got < 3*guessed {
		t.Errorf("mlr: %d held-out rows right after 60 epochs, %d before", got, guessed)
	}
	factors.restart()
	softmax.restart()
	if again, got := errorOf(), correct(); again != before || got != guessed {
		t.Errorf("after a restart the error is %v and %d rows are right, %v and %d at first", again, got, before, guessed)
	}
}
