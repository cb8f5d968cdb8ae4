package mlr

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"bellows"
	"bellows/app"
	"bellows/app/apptest"
	"bellows/app/examples"
	"bellows/data"
	"bellows/train"
	"bellows/train/traintest"
)

func TestEveryRowIsVisitedOnceAnEpoch(t *testing.T) {
	t.Parallel()
	for _, more := range []map[string]string{nil, {"splits": "7", "clocks": "13"}, {"splits": "16384", "clocks": "1000"}} {
		p := problemOf(t, app.Input{Data: apptest.Examples(made(997, 3, 2, 1, 0, 1)), Seed: 4, Settings: more})
		var seen []int32
		for s := range p.Splits {
			for at := range p.Clocks {
				if again := p.Items(bellows.SplitID(s), bellows.Clock(3*(p.Clocks+1)+at)); again != p.Items(bellows.SplitID(s), bellows.Clock(at)) {
					t.Fatalf("split %d has other items in another epoch", s)
				}
				seen = append(seen, p.Visited(s, at)...)
			}
			if n := p.Items(bellows.SplitID(s), bellows.Clock(p.Clocks)).Len(); n != 0 {
				t.Fatalf("the scoring clock has %d items", n)
			}
		}
		seen = append(seen, p.Held...)
		slices.Sort(seen)
		if len(seen) != 997 || len(slices.Compact(seen)) != 997 {
			t.Errorf("%v: %d rows of 997, or some twice", more, len(seen))
		}
	}
}

func TestRowsAreLedOnceAClock(t *testing.T) {
	t.Parallel()
	p := problemOf(t, app.Input{Data: apptest.Examples(rarely(400, 3000, 3, 1)), Seed: 4, Settings: map[string]string{"clocks": "6"}})
	if p.full {
		t.Fatal("units work on whole tables")
	}
	apptest.LayOut(t, p.Splits, p.prepare)
	waited := make([]int, p.Features+1)
	for at := range p.Clocks {
		led := make([]int, p.Features+1)
		used := make([]bool, p.Features+1)
		for s := range p.Splits {
			u := &p.sparseUnits[s*p.Clocks+at]
			if !slices.IsSorted(u.rows) || int(u.rows[len(u.rows)-1]) != p.Features {
				t.Fatal("the rows of a unit do not ascend to the bias")
			}
			for k, r := range u.rows {
				used[r] = true
				if u.gap[k] > 0 {
					led[r]++
					waited[r] += int(u.gap[k])
				}
			}
		}
		for r := range used {
			if used[r] != (led[r] == 1) {
				t.Fatalf("row %d is led %d times in clock %d", r, led[r], at)
			}
		}
	}
	for r, n := range waited {
		if n != 0 && n != p.Clocks {
			t.Errorf("the gaps of row %d add up to %d of %d clocks", r, n, p.Clocks)
		}
	}
}

// TestDenseAndSparseWalkAlike lays the same scaled rows out in both forms.
func TestDenseAndSparseWalkAlike(t *testing.T) {
	t.Parallel()
	for _, classes := range []int{2, 5, 20} {
		set := made(90, 12, classes, 1, 0, 1)
		p := &problem{Problem: examples.Problem{Features: 12}, width: classes}
		p.Scale = examples.Scaling{Factor: slices.Repeat([]float32{0.3}, 12), Center: make([]float32, 12), Bias: 1}
		rows := make([]int32, 90)
		for i := range rows {
			rows[i] = int32(i)
		}
		class := examples.Numbered(set, set.Labels(classes))
		var d denseUnit
		p.fill(&d, seen{Source: examples.Source{ExampleSet: set, Width: 12}, class: class}, rows)
		d.measure(12)
		source := examples.Source{ExampleSet: sparsely(set), Width: 12}
		u := p.sparseUnit(seen{Source: source, class: class}, rows, examples.NewRenumberer(12))
		e := newExecutor(p)
		a, b := make([]float32, 13*classes), make([]float32, 13*classes)
		d.walk(a, &e.scratch, 0.5, 0, 7, 3)
		loss := e.tally.loss
		e.tally.reset()
		u.walk(b, &e.scratch, 0.5, 0, 7, 3)
		if math.Abs(loss-e.tally.loss) > 1e-4*loss {
			t.Errorf("%d classes: loss %v dense, %v sparse", classes, loss, e.tally.loss)
		}
		for i := range a {
			if math.Abs(float64(a[i]-b[i])) > 1e-4 {
				t.Fatalf("%d classes: weight %d is %v dense, %v sparse", classes, i, a[i], b[i])
			}
		}
	}
}

func TestWalksAllocateNothing(t *testing.T) {
	p := problemOf(t, app.Input{Data: apptest.Examples(made(2000, 20, 4, 1, 0, 1)), Seed: 1})
	q := problemOf(t, app.Input{Data: apptest.Examples(rarely(2000, 300, 4, 1)), Seed: 1, Settings: map[string]string{"batch": "3"}})
	apptest.LayOut(t, q.Splits, q.prepare)
	dense, sparse := newExecutor(p), newExecutor(q)
	w, v := make([]float32, 21*4), make([]float32, 301*4)
	if n := testing.AllocsPerRun(10, func() {
		p.denseUnit(0, 0, &dense.unit).walk(w, &dense.scratch, 0.1, 0.01, p.batch, 1)
		q.sparseUnits[0].walk(v, &sparse.scratch, 0.1, 0, q.batch, 1)
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// TestSparseBiasIsAFeature holds the bias against a feature that is always the root of its factor.
func TestSparseBiasIsAFeature(t *testing.T) {
	t.Parallel()
	const classes, always = 3, 0.5
	rows := []int32{0, 1, 2, 3, 4, 5, 6, 7}
	set := sparsely(made(8, 2, classes, 1, 0, 1))
	with := &data.ExampleSet{Features: 3, Label: set.Label, Offset: []int64{0}}
	for r := range rows {
		index, value := examples.Source{ExampleSet: set, Width: 2}.Entries(r)
		with.Index = append(append(with.Index, index...), 2)
		with.Value = append(append(with.Value, value...), always)
		with.Offset = append(with.Offset, int64(len(with.Index)))
	}
	class := []int32{0, 1, 2, 0, 1, 2, 0, 1}
	walk := func(set *data.ExampleSet, bias float64) []float32 {
		p := &problem{Problem: examples.Problem{Features: set.Features}, width: classes}
		p.Scale = examples.Scaling{Factor: slices.Repeat([]float32{1}, set.Features), Bias: bias}
		u := p.sparseUnit(seen{Source: examples.Source{ExampleSet: set, Width: set.Features}, class: class}, rows, examples.NewRenumberer(set.Features))
		w := make([]float32, (set.Features+1)*classes)
		u.walk(w, &newExecutor(p).scratch, 0.5, 0, 1, 0)
		return w
	}
	a, b := walk(set, always*always), walk(with, 0)
	for c := range classes {
		if got, want := float64(a[2*classes+c]), always*float64(b[2*classes+c]); math.Abs(got-want) > 1e-5 {
			t.Errorf("bias of class %d is %v, as a feature %v", c, got, want)
		}
	}
}

func TestCurvatureIsTheLargestEigenvalue(t *testing.T) {
	t.Parallel()
	rows := []float32{3, 0, -3, 0, 0, 1, 0, -1} // second moments: 18/4 and 2/4
	if got := examples.Curvature(rows, 2); math.Abs(got-4.5) > 1e-3 {
		t.Errorf("curvature %v", got)
	}
	if got := examples.Curvature(make([]float32, 8), 2); got != 0 {
		t.Errorf("curvature of zeros %v", got)
	}
}

func TestPolicy(t *testing.T) {
	t.Parallel()
	p := problemOf(t, app.Input{Data: apptest.Examples(made(300, 3, 2, 1, 0, 1)), Seed: 4, Settings: map[string]string{"l2": "0.5"}})
	k := newPolicy(p)
	d := p.driver(k)
	if k.alpha != 0.5*float64(len(p.Rows)) {
		t.Errorf("alpha %v", k.alpha)
	}
	for i, s := range []struct {
		loss, held, pace float64
		best             bool
		since            int
	}{
		{0.9, 1, 1, true, 0},
		{0.7, 0.8, 1, true, 0},
		{0.6, 0.7999, 1, true, 1},                        // a gain too small to count
		{0.6, 0.79, paceCut, true, 0},                    // no gain in training
		{0.5, 0.9, paceCut * paceCut, false, 1},          // worse on held-out rows
		{0.95, 0.9, math.Pow(paceCut, 3), false, 1},      // worse yet in training: noise
		{0.4, math.NaN(), math.Pow(paceCut, 3), true, 1}, // nothing held out
	} {
		if best, _ := k.advance(&d.Progress, s.loss, s.held, make([]float64, heldBlocks)); best != s.best || d.Since != s.since || math.Abs(k.pace-s.pace) > 1e-12 {
			t.Errorf("epoch %d: best %v, since %d, pace %v; want %+v", i+1, best, d.Since, k.pace, s)
		}
	}
	again := newPolicy(p)
	again.Restore(k.Save())
	if !slices.Equal(again.Save(), k.Save()) {
		t.Errorf("restored %+v from %+v", again, k)
	}
	for clock, want := range map[int]float64{0: 0.25, 2: 0.5, 1000: betaMost} {
		if got := momentum(clock); got != want {
			t.Errorf("momentum at clock %d is %v", clock, got)
		}
	}
}

// TestTrustedPolicy plays a run of which the prior says enough: three epochs of long steps, in which held-out rows are predicted
// worse and do not end it, epochs that calm it down, and epochs of short steps, of which later ones are kept within the doubt.
func TestTrustedPolicy(t *testing.T) {
	t.Parallel()
	p := problemOf(t, app.Input{Data: apptest.Examples(made(3000, 3, 2, 1, 0, 1)), Seed: 4, Settings: map[string]string{"splits": "4"}})
	k := newPolicy(p)
	d := p.driver(k)
	if !k.trusts || !k.grows {
		t.Fatal("3,000 rows are few for 3 features")
	}
	n := float64(len(p.Held))
	for i, s := range []struct {
		loss, held, swing, pace float64 // swing moves loss from one block to another
		keep                    bool
		since                   int
	}{
		{0.9, 1, 0, 1, true, 0},
		{0.89, 0.99, 0, 2, true, 0},                // slowly better: longer steps
		{0.88, 1.1, 0, math.Sqrt2, false, 0},       // plainly worse on held-out rows: shorter ones
		{0.88, 1.1, 0, 0.6 * math.Sqrt2, false, 0}, // no gain
		{0.7, 1.1, 0.5, 0.6 * math.Sqrt2, true, 0}, // worse within the doubt
		{0.4, 0.9, 0.5, 0.6 * math.Sqrt2, true, 0},
	} {
		blocks := make([]float64, heldBlocks)
		for b, rows := range k.rows {
			blocks[b] = s.held * rows
		}
		blocks[0] += s.swing * n
		blocks[1] -= s.swing * n
		if keep, _ := k.advance(&d.Progress, s.loss, s.held, blocks); keep != s.keep || d.Since != s.since || math.Abs(k.pace-s.pace) > 1e-12 {
			t.Errorf("epoch %d: keep %v, since %d, pace %v; want %+v", i+1, keep, d.Since, k.pace, s)
		}
	}
	if got := k.best[0] - 0.5*n - 0.9*k.rows[0]; math.Abs(got) > 1e-9 {
		t.Errorf("the best epoch's first block is off by %v", got)
	}
	k.pace = 0.1
	for since := range 3 {
		if k.advance(&d.Progress, 0.4, 0.95, slices.Repeat([]float64{0.95 * n / 4}, heldBlocks)); d.Since != since+1 || k.pace > paceCalm {
			t.Errorf("calm epoch %d: since %d, pace %v", since+1, d.Since, k.pace)
		}
	}
	d.Epoch = p.Epochs - 5
	before := k.pace
	if k.advance(&d.Progress, 0.1, 0.9, make([]float64, heldBlocks)); k.pace >= before {
		t.Error("the last epochs do not calm down")
	}
	again := newPolicy(p)
	again.Restore(k.Save())
	if !slices.Equal(again.Save(), k.Save()) || again.pace != k.pace {
		t.Errorf("restored %+v from %+v", again, k)
	}
}

// TestStepsOfLongRowsAreBounded checks that a row a hundred times as long as the mean one moves its score by what its
// curvature allows, in both forms.
func TestStepsOfLongRowsAreBounded(t *testing.T) {
	t.Parallel()
	set := &data.ExampleSet{Features: 2, Label: []float32{0, 1}, Dense: []float32{10, 0, 0, 0.1}}
	p := &problem{Problem: examples.Problem{Features: 2}, width: 2}
	p.Scale = examples.Scaling{Factor: []float32{1, 1}, Center: make([]float32, 2), Bias: 1}
	var d denseUnit
	p.fill(&d, seen{Source: examples.Source{ExampleSet: set, Width: 2}, class: []int32{0, 1}}, []int32{0})
	d.measure(2)
	u := p.sparseUnit(seen{Source: examples.Source{ExampleSet: sparsely(set), Width: 2}, class: []int32{0, 1}}, []int32{0}, examples.NewRenumberer(2))
	e := newExecutor(p)
	a, b := make([]float32, 6), make([]float32, 6)
	d.walk(a, &e.scratch, 2, 0, 1, 0)
	u.walk(b[:len(u.rows)*2], &e.scratch, 2, 0, 1, 0)
	// The residual is a half, and the step 4/101 for the square of 10 and the bias.
	if want := float32(0.5 * 10 * stepStable / 101); math.Abs(float64(a[0]-want)) > 1e-5 || math.Abs(float64(b[0]-want)) > 1e-5 {
		t.Errorf("weights moved by %v and %v, not %v", a[0], b[0], want)
	}
}

func TestClasses(t *testing.T) {
	t.Parallel()
	numbers := &data.ExampleSet{Label: slices.Repeat([]float32{2, -1, 0.5}, 5)}
	classes, warnings, err := classesOf(apptest.Examples(numbers), "mlr")
	if err != nil || !slices.Equal(classes, []string{"-1", "0.5", "2"}) || len(warnings) != 1 {
		t.Fatalf("classes %v, %q, %v", classes, warnings, err)
	}
	text := &data.ExampleSet{Label: slices.Repeat([]float32{1, 0}, 5), LabelNames: []string{"no", "yes"}}
	if classes, warnings, err = classesOf(apptest.Examples(text), "mlr"); err != nil || !slices.Equal(classes, text.LabelNames) || len(warnings) > 0 {
		t.Errorf("classes %v, %q, %v", classes, warnings, err)
	}
}

// TestLabelsThatAreNoClasses: what is refused, what is warned of, and what both say.
func TestLabelsThatAreNoClasses(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		distinct, rows int
		step           float32
		choice         string
		refused        bool
		says           string
	}{
		"ids":              {550, 600, 1, "", true, "550 distinct labels in 600 rows"},
		"first column":     {30, 100, 1, "the first", true, "30 distinct labels in 100 rows"},
		"named":            {30, 100, 1, "", false, "30 classes in 100 rows"},
		"measurements":     {30, 100, 0.1, "", true, "30 distinct labels in 100 rows"},
		"half stars":       {10, 100, 0.5, "", false, "not whole numbers"},
		"many":             {5000, 100000, 1, "", true, "more than 4096 distinct labels"},
		"two in four rows": {2, 4, 1, "", false, ""},
		"ten in a hundred": {10, 100, 1, "the first", false, ""},
	} {
		e := &data.ExampleSet{Features: 1}
		for r := range c.rows {
			e.Label = append(e.Label, float32(r%c.distinct)*c.step)
		}
		set := apptest.Examples(e)
		set.Detected.Choice = c.choice
		set.Reading = &data.Reading{Features: []data.Column{{Name: "kind", Number: 1, Levels: []string{"a"}}, {Name: "last", Number: 2}}}
		_, warnings, err := classesOf(set, "mlr")
		said := strings.Join(warnings, "; ")
		if err != nil {
			said = err.Error()
		}
		if (err != nil) != c.refused || !strings.Contains(said, c.says) || (c.says == "") != (said == "") {
			t.Errorf("%s: %v, %q", name, err, warnings)
		}
		advice := "--label kind"
		if c.choice == "" { // an option names the column
			advice = "`train linear` predicts numbers"
		}
		if err != nil && !strings.Contains(said, advice) {
			t.Errorf("%s: the error has no advice %q: %v", name, advice, err)
		}
	}
}

func TestSettings(t *testing.T) {
	t.Parallel()
	set := apptest.Examples(made(400, 3, 2, 1, 0, 1))
	for name, c := range map[string]struct {
		given map[string]string
		want  string
	}{
		"unknown":  {map[string]string{"lrr": "1"}, "did you mean lr?"},
		"lr":       {map[string]string{"lr": "-1"}, "lr=-1: must be a number from 1e-09 to 1e+09"},
		"l2":       {map[string]string{"l2": "x"}, "l2=x: must be a number from 0"},
		"batch":    {map[string]string{"batch": "0"}, "batch=0: must be a whole number from 1 to 65536"},
		"rule":     {map[string]string{"rule": "adma"}, "rule=adma: must be one of auto, average, sgd, momentum, adagrad, adam, ftrl"},
		"splits":   {map[string]string{"splits": "1.5"}, "splits=1.5: must be a whole number"},
		"clocks":   {map[string]string{"clocks": "1001"}, "clocks=1001: must be a whole number from 1 to 1000"},
		"stop":     {map[string]string{"early_stop": "maybe"}, "early_stop=maybe: must be true or false"},
		"patience": {map[string]string{"patience": "0"}, "patience=0: must be a whole number from 1"},
		"two":      {map[string]string{"lr": "a", "rule": "b"}, "lr=a: must be a number from 1e-09 to 1e+09; rule=b"},
	} {
		_, err := New().NewRun(app.Input{Data: set, Settings: c.given})
		if err == nil || !strings.Contains(err.Error(), c.want) || bellows.KindOf(err) != bellows.Config {
			t.Errorf("%s: %v", name, err)
		}
	}
	run := apptest.NewRun(t, New(), app.Input{Data: set, Settings: map[string]string{"splits": "5"}, Seed: 2})
	if run.Settings["splits"] != "5" || run.Settings["clocks"] == app.Auto || run.Settings["early_stop"] != "true" {
		t.Errorf("settings %v", run.Settings)
	}
	if want := "2 classes · dense, batch 8 · 10 % held out (seed 2)"; run.Headline != want {
		t.Errorf("headline %q", run.Headline)
	}
}

// TestDriverCanBeSaved plays runs of all clocks at once and of one after the other, with and without early stop.
func TestDriverCanBeSaved(t *testing.T) {
	t.Parallel()
	for _, staleness := range []int{0, 2} {
		for _, stop := range []bool{false, true} {
			p := problemOf(t, app.Input{Data: apptest.Examples(made(300, 3, 2, 1, 0, 1)), Seed: 4, Epochs: 4, Staleness: &staleness,
				Settings: map[string]string{"splits": "3", "clocks": "4"}})
			if p.EarlyStop = stop; stop {
				p.warm = &warm{predictor: &predictor{}} // its driver opens
			}
			traintest.CanBeSaved(t, traintest.Job{
				Job:   train.Job{Tables: p.tables(), Splits: p.Splits, Items: p.Items},
				Fresh: func() train.Driver { return p.driver(p.judge()) },
				Result: func(u bellows.Unit) []float64 {
					r := make([]float64, gotSpread+p.width)
					if p.Work().Place(u.Clock) == p.Clocks {
						r = make([]float64, gotScore)
					}
					rng := rand.New(rand.NewPCG(uint64(u.Split), uint64(u.Clock)))
					for i := range r {
						r[i] = 100 * rng.Float64()
					}
					return r
				},
			})
		}
	}
}
