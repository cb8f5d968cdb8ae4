package linear

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"bellows/app"
	"bellows/app/apptest"
	"bellows/app/epochs"
	"bellows/data"
	"bellows/train"
)

// words returns rows of few out of many words, a part of which says of which class a row is.
func words(rows, features int, seed uint64, noise float64) *data.ExampleSet {
	r := rand.New(rand.NewPCG(seed, 31))
	weight := rand.New(rand.NewPCG(8, 32))
	says := make([]float64, features)
	for j := range says {
		says[j] = weight.NormFloat64()
	}
	e := &data.ExampleSet{Features: features, Offset: []int64{0}}
	for range rows {
		seen := map[int32]bool{}
		for len(seen) < 30 {
			x := r.Float64()
			seen[int32(float64(features)*x*x*x)] = true
		}
		score := noise * r.NormFloat64()
		for j := range int32(features) {
			if seen[j] {
				e.Index, e.Value = append(e.Index, j), append(e.Value, 1)
				score += says[j]
			}
		}
		e.Offset = append(e.Offset, int64(len(e.Index)))
		e.Label = append(e.Label, float32(math.Copysign(1, score)))
	}
	return e
}

// TestL2IsChosen: the l2 that rows kept aside choose makes the loss of test rows about as small as the best of a grid does, of rows with little noise, which want weak pulls, and with much.
func TestL2IsChosen(t *testing.T) {
	t.Parallel()
	wanted := map[float64]float64{}
	for _, noise := range []float64{0.5, 20} {
		in := app.Input{Data: apptest.Examples(words(1500, 3000, 1, noise)), Test: apptest.Examples(words(2000, 3000, 2, noise)), Seed: 1}
		last := func(settings map[string]string) float64 {
			in.Settings = settings
			_, _, epochs := trained(t, in, 1)
			return apptest.Metric(t, epochs[len(epochs)-1].Metrics, "test_logloss")
		}
		least := math.Inf(1)
		for strength := 1e-3; strength < 1e3; strength *= 2 {
			if got := last(map[string]string{"l2": fmt.Sprint(strength / 1500)}); got < least {
				least, wanted[noise] = got, strength
			}
		}
		if got := last(nil); got > 1.02*least {
			t.Errorf("noise %v: test log-loss is %.4f by the l2 that was chosen, and %.4f by the best", noise, got, least)
		}
	}
	if !(wanted[20] > 20*wanted[0.5]) {
		t.Errorf("the best strengths are %v, so that one would do for all", wanted)
	}
}

// TestChosenStrengthIsTrained checks that the model has the chosen l2 on all rows, whether splits step at once or not,
// and on any number of slots.
func TestChosenStrengthIsTrained(t *testing.T) {
	t.Parallel()
	for _, clocks := range []string{"auto", "3"} {
		in := app.Input{Data: apptest.Examples(words(300, 2000, 1, 1)), Test: apptest.Examples(words(50, 2000, 2, 1)), Seed: 3, Settings: map[string]string{"clocks": clocks, "gap": "0.002"}}
		run, tables, epochs := trained(t, in, 2)
		l2 := apptest.Metric(t, epochs[len(epochs)-1].Metrics, "l2")
		if first := apptest.Metric(t, epochs[0].Metrics, "l2"); math.Abs(first*2400-1) > 1e-9 || l2 == first || !slices.Contains(run.Metrics, "held_logloss") {
			t.Errorf("l2 is %v at first, %v in the end", first, l2)
		}
		apptest.Metric(t, epochs[0].Metrics, "held_logloss")
		p := problemOf(t, in)
		if !p.seeks() || p.lone != (clocks == "auto") {
			t.Fatal("nothing is sought")
		}
		if got, want := objective(p, weightsOf(t, p, run, tables), l2, 0), optimum(t, p, l2, 0); got < want*(1-1e-5) || got > 1.002*want {
			t.Errorf("the objective of all rows is %v, and the least %v", got, want)
		}
		if _, again, _ := trained(t, in, 1); !slices.Equal(tables[0], again[0]) {
			t.Error("not the same on 1 and 2 slots")
		}
	}
}

// TestRowsAsideAreNotTrained: while rows are kept aside their dual variables stay 0, and one in five or ten is.
func TestRowsAsideAreNotTrained(t *testing.T) {
	t.Parallel()
	for rows, each := range map[int]int{300: 5, 6000: 10} {
		p := problemOf(t, app.Input{Data: apptest.Examples(words(rows, 2000, 1, 1)), Test: apptest.Examples(words(50, 2000, 2, 1)), Seed: 3})
		apptest.LayOut(t, p.Splits, p.prepare)
		duals, sums := make([]float32, rows), make([]float32, p.Features+1)
		(&ascent{p: p}).visit(&p.all, sums, duals, p.penalty([]float64{argL2: 0.01, argHold: 1}), 12345, true)
		for place, d := range duals {
			if (d == 0) != (place%each == 0) {
				t.Fatalf("%d rows: the dual variable of row %d is %v", rows, place, d)
			}
		}
		if got := p.trains(true); got != float64(rows-rows/each) {
			t.Errorf("%v of %d rows train", got, rows)
		}
		for s := range p.Splits {
			if first := p.first(s, 0); &p.Rows[first] != &p.Visited(s, 0)[0] {
				t.Errorf("the rows of split %d do not begin at %d", s, first)
			}
		}
	}
}

// noisy returns rows of 40 features, of which the first four say something.
func noisy(rows int, seed uint64, classes bool) *data.ExampleSet {
	set, r := made(rows, 4, seed, classes), rand.New(rand.NewPCG(seed, 33))
	wide := &data.ExampleSet{Label: set.Label, Features: 40, Dense: make([]float32, rows*40)}
	for i := range rows {
		copy(wide.Dense[i*40:], set.Dense[i*4:(i+1)*4])
		for j := 4; j < 40; j++ {
			wide.Dense[i*40+j] = float32(r.NormFloat64())
		}
		if !classes {
			wide.Label[i] += float32(5 * r.NormFloat64())
		}
	}
	return wide
}

// TestL1IsChosen: the error of test rows is about that of the best l1 of a grid, and the model is the best of all rows with the l1 that was chosen. Few rows take a hundredth of the strongest.
func TestL1IsChosen(t *testing.T) {
	t.Parallel()
	in := app.Input{Data: apptest.Examples(noisy(400, 1, false)), Test: apptest.Examples(noisy(2000, 2, false)), Seed: 1}
	last := func(settings map[string]string) (*app.Run, [][]float32, []train.Metric) {
		in.Settings = settings
		run, tables, epochs := trained(t, in, 2)
		return run, tables, epochs[len(epochs)-1].Metrics
	}
	least := math.Inf(1)
	for l1 := 1e-4; l1 < 1; l1 *= 1.5 {
		_, _, metrics := last(map[string]string{"loss": "lasso", "l1": fmt.Sprint(l1)})
		least = min(least, apptest.Metric(t, metrics, "test_rmse"))
	}
	for _, solver := range []string{"newton", "descent"} {
		run, tables, metrics := last(map[string]string{"loss": "lasso", "solver": solver, "gap": "0.001"})
		if got := apptest.Metric(t, metrics, "test_rmse"); got > 1.01*least {
			t.Errorf("%s: test RMSE is %v, and %v by the best l1", solver, got, least)
		}
		p, l1 := problemOf(t, in), apptest.Metric(t, metrics, "l1")
		if got, want := objective(p, weightsOf(t, p, run, tables), 0, l1), sparsest(t, p, 2, l1); got < want*(1-1e-5) || got > 1.001*want {
			t.Errorf("%s: the objective is %v, and the least %v", solver, got, want)
		}
		m := apptest.Model(t, run, tables)
		count := 0.0
		for _, w := range m.Tensor("weights").Floats {
			count += ones(w != 0)
		}
		if count != apptest.Metric(t, metrics, "nonzero") || count < 4 || count > 30 {
			t.Errorf("%s: %v weights are not 0, and %v were told", solver, count, apptest.Metric(t, metrics, "nonzero"))
		}
	}
	in.Data = apptest.Examples(noisy(90, 1, false))
	_, _, epochs := trained(t, in, 1)
	if p := problemOf(t, in); p.seeks() || p.l1 != fewL1*p.steepest || len(epochs) == 0 {
		t.Errorf("of 90 rows l1 is %v of %v", p.l1, p.steepest)
	}
}

// TestThePathIsInTheModel: path=N tries N strengths from strong to weak by each solver, with more weights each time where it is of l1, takes the one with the least loss of the rows aside, and the manifest says so.
func TestThePathIsInTheModel(t *testing.T) {
	t.Parallel()
	for settings, set := range map[string]*data.ExampleSet{
		"loss=logistic":                      noisy(600, 1, true),
		"loss=logistic l1=auto":              noisy(600, 1, true),
		"loss=squared":                       noisy(600, 1, false),
		"loss=hinge":                         noisy(600, 1, true),
		"loss=hinge l1=auto":                 noisy(600, 1, true),
		"loss=lasso solver=descent":          noisy(600, 1, false),
		"loss=logistic solver=dual":          words(600, 2000, 1, 1),
		"loss=logistic l1=auto scale=none":   words(600, 2000, 1, 1),
		"loss=squared l1=0.01 solver=newton": noisy(600, 1, false),
	} {
		t.Run(settings, func(t *testing.T) {
			t.Parallel()
			in := app.Input{Data: apptest.Examples(set), Seed: 3, Settings: apptest.Settings("path=6 " + settings)}
			run, tables, epochs := trained(t, in, 2)
			m := apptest.Model(t, run, tables)
			var d details
			if err := json.Unmarshal(m.Details, &d); err != nil || len(d.Path) != 6 {
				t.Fatalf("%s: %v", m.Details, err)
			}
			p, best := problemOf(t, in), d.Path[0]
			for i, at := range d.Path {
				if i > 0 && !(at.Strength < d.Path[i-1].Strength && at.Train <= d.Path[i-1].Train*1.02) || p.seekL1 && i > 0 && at.Count < d.Path[i-1].Count-2 {
					t.Errorf("after %+v comes %+v", d.Path[i-1], at)
				}
				if at.Held < best.Held {
					best = at
				}
			}
			if p.seekL1 && (d.L1 != best.Strength || d.Path[0].Count > 1 || best.Count < 3) {
				t.Errorf("l1 is %v, and %+v the best", d.L1, best)
			}
			if want := best.Strength / float64(len(p.Rows)); !p.seekL1 && math.Abs(d.L2/want-1) > 1e-9 {
				t.Errorf("l2 is %v, want %v", d.L2, want)
			}
			if !slices.Contains(run.Metrics, "nonzero") || apptest.Metric(t, epochs[len(epochs)-1].Metrics, "nonzero") < 3 {
				t.Errorf("columns %v", run.Metrics)
			}
			w := weightsOf(t, p, run, tables)
			if got, want := objective(p, w, d.L2, d.L1), 0.0; d.L2 > 0 && p.name != lossHinge {
				if want = optimum(t, p, d.L2, d.L1); got < want*(1-1e-5) || got > 1.011*want {
					t.Errorf("the objective is %v, and the least %v", got, want)
				}
			}
			if _, again, _ := trained(t, in, 1); !reflect.DeepEqual(tables, again) {
				t.Error("not the same on 1 and 2 slots")
			}
		})
	}
}

// TestPath plays the search of a strength on losses of a known least, near and far, with bounds.
func TestPath(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ start, weakest, best, want float64 }{
		{1, 0, 1, 1}, {1, 0, 0.3, 0.3}, {1, 0, 0.02, 0.02}, {1, 0, 7, 7}, {50, 0, 900, 900}, {10, 10, 2, 10}, {10, 10, 70, 70}, {1, 0, 1e-9, 1e-5}, {1, 0, 1e9, 1e5},
	} {
		p := path{start: c.start, weakest: max(c.weakest, c.start/pathReach), strongest: c.start * pathReach, ratio: ratioL2}
		for s, ok := p.next(); ok; s, ok = p.next() {
			d := math.Log(s / c.best)
			p.list = append(p.list, tried{Strength: s, Held: 1 + d*d})
			if len(p.list) > pathMost {
				t.Fatal("it does not end")
			}
		}
		if got := p.chosen(); math.Abs(math.Log(got/c.want)) > 1e-6 {
			t.Errorf("from %v the strength %v is chosen of %d, want %v", c.start, got, len(p.list), c.want)
		}
	}
	if p := (path{start: 3}); p.chosen() != 3 {
		t.Errorf("of none %v is chosen", p.chosen())
	}
	flat := path{start: 1, strongest: 1, ratio: 2, list: []tried{{Strength: 1, Held: 2}, {Strength: 0.5, Held: 2}}}
	if _, ok := flat.next(); ok || flat.chosen() != 1 {
		t.Errorf("of equal losses %v is chosen", flat.chosen())
	}
	given := path{start: 8, ratio: 2, given: 5}
	for s, ok := given.next(); ok; s, ok = given.next() {
		given.list = append(given.list, tried{Strength: s, Held: math.Abs(s - 1.6)})
	}
	if fmt.Sprint(given.list) != "[{8 0 6.4 0} {4 0 2.4 0} {2 0 0.3999999999999999 0} {1 0 0.6000000000000001 0} {0.5 0 1.1 0}]" || given.chosen() != 2 {
		t.Errorf("%v of %v", given.chosen(), given.list)
	}
}

// TestFewEpochsSeekLess: a run of a given number of epochs seeks in half of them at most, and in one not at all.
func TestFewEpochsSeekLess(t *testing.T) {
	t.Parallel()
	for count, want := range map[int]int{1: 0, 2: 1, 3: 1, 4: 2, 5: 2} {
		in := app.Input{Data: apptest.Examples(words(300, 2000, 1, 1)), Test: apptest.Examples(words(50, 2000, 2, 1)), Seed: 3, Epochs: count}
		_, _, epochs := trained(t, in, 1)
		sought := 0
		for _, e := range epochs {
			if slices.ContainsFunc(e.Metrics, func(m train.Metric) bool { return m.Name == "held_logloss" }) {
				sought++
			}
		}
		if sought != want || len(epochs) != count {
			t.Errorf("%d of %d epochs seek, want %d of %d", sought, len(epochs), want, count)
		}
	}
	if p := problemOf(t, app.Input{Data: apptest.Examples(words(80, 2000, 1, 1)), Test: apptest.Examples(words(50, 2000, 2, 1))}); p.seeks() {
		t.Error("80 rows seek")
	}
}

// TestASearchIsSaved: what a policy knows of its search goes through Save and Restore.
func TestASearchIsSaved(t *testing.T) {
	t.Parallel()
	p := problemOf(t, app.Input{Data: apptest.Examples(words(300, 2000, 1, 1)), Seed: 3})
	k, progress := newPolicy(p), epochs.Progress{Best: math.Inf(1), Marked: math.Inf(1)}
	for epoch := range 9 {
		got := make([]float64, gotAll)
		for i := range got {
			got[i] = 100 + float64(i*epoch)
		}
		got[gotHeld] = 60 / float64(1+epoch)
		progress.Epoch = epoch + 1
		k.End(&progress, nil, got)
		other := newPolicy(p)
		other.Restore(k.Save())
		if fmt.Sprint(other.path, other.hold, other.aside, other.l2, other.used, other.l1, other.usedL1) != fmt.Sprint(k.path, k.hold, k.aside, k.l2, k.used, k.l1, k.usedL1) || len(k.Save()) != len(other.Save()) {
			t.Fatalf("after epoch %d: %+v, want %+v", epoch+1, other, k)
		}
	}
	if len(k.path.list) == 0 {
		t.Error("nothing was tried")
	}
}
