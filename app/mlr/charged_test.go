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
	"bellows/data"
	"bellows/train"
	"bellows/train/traintest"
)

var chargedRules = []string{ruleSGD, ruleAdaGrad, ruleAdam, ruleFTRL}

// entry is a scaled feature of a row.
type entry struct {
	at    int
	value float64
}

// scaledRows returns the training rows of a problem in double precision, with a 1 behind each for the bias.
func scaledRows(p *problem) (x [][]entry) {
	for _, r := range p.Rows {
		var row []entry
		for j, v := range p.Src.Vector(int(r), make([]float32, p.Features)) {
			if p.Scale.Center != nil {
				v -= p.Scale.Center[j]
			}
			if v != 0 {
				row = append(row, entry{j, float64(v) * float64(p.Scale.Factor[j])})
			}
		}
		x = append(x, append(row, entry{p.Features, 1}))
	}
	return x
}

// chancesOf sets z to the probabilities of a row's classes under weights of features + 1 rows of classes.
func chancesOf(w []float64, x []entry, z []float64) {
	clear(z)
	for _, e := range x {
		for c := range z {
			z[c] += e.value * w[e.at*len(z)+c]
		}
	}
	most, sum := slices.Max(z), 0.0
	for c := range z {
		z[c] = math.Exp(z[c] - most)
		sum += z[c]
	}
	for c := range z {
		z[c] /= sum
	}
}

// cost returns what weights cost: the mean loss, and l2 and l1 of all but the bias.
func cost(p *problem, x [][]entry, w []float64) float64 {
	z, sum := make([]float64, p.width), 0.0
	for i, row := range x {
		chancesOf(w, row, z)
		sum -= p.Weight.Weight(int(p.Rows[i])) * math.Log(z[p.class[p.Rows[i]]]) / float64(len(x))
	}
	for _, v := range w[:p.Features*p.width] {
		sum += p.l2/2*v*v + p.l1*math.Abs(v)
	}
	return sum
}

// cheapest returns the least cost and its weights, by proximal gradients with momentum that begins again when it
// leads uphill (Beck and Teboulle 2009, "A fast iterative shrinkage-thresholding algorithm"; O'Donoghue and Candès
// 2015).
func cheapest(t *testing.T, p *problem) (least float64, w []float64) {
	t.Helper()
	x, longest := scaledRows(p), 0.0
	for i, row := range x {
		square := 0.0
		for _, e := range row {
			square += e.value * e.value
		}
		longest = max(longest, square*p.Weight.Weight(int(p.Rows[i])))
	}
	size, z := (p.Features+1)*p.width, make([]float64, p.width)
	w, ahead, gradient, next := make([]float64, size), make([]float64, size), make([]float64, size), make([]float64, size)
	speed, step := 1.0, 2/longest
	for range 20000 {
		clear(gradient)
		for i, row := range x {
			chancesOf(ahead, row, z)
			z[p.class[p.Rows[i]]]--
			for _, e := range row {
				for c, d := range z {
					gradient[e.at*p.width+c] += p.Weight.Weight(int(p.Rows[i])) * e.value * d / float64(len(x))
				}
			}
		}
		uphill, moved := 0.0, 0.0
		for i, g := range gradient {
			next[i] = ahead[i] - step*g
			if i < p.Features*p.width {
				next[i] = math.Copysign(max(0, math.Abs(next[i])-step*p.l1), next[i]) / (1 + step*p.l2)
			}
			uphill += (ahead[i] - next[i]) * (next[i] - w[i])
			moved = max(moved, math.Abs(next[i]-w[i]))
		}
		faster := (1 + math.Sqrt(1+4*speed*speed)) / 2
		if uphill > 0 {
			faster, speed = 1, 1
		}
		for i, v := range next {
			ahead[i] = v + (speed-1)/faster*(v-w[i])
		}
		speed = faster
		if w, next = next, w; moved < 1e-6 {
			return cost(p, x, w), w
		}
	}
	t.Fatal("the reference has not come to the best")
	return 0, nil
}

// weightsOf returns the weights of a run's tables in double precision.
func weightsOf(p *problem, tables [][]float32) []float64 {
	w := make([]float64, (p.Features+1)*p.width)
	for i, v := range p.plain(tables[weightsTable], make([]float32, len(w))) {
		w[i] = float64(v)
	}
	return w
}

// forms returns rows that are dense, sparse on whole tables, and sparse on rows of their own.
func forms(seed uint64) map[string]*data.ExampleSet {
	return map[string]*data.ExampleSet{"dense": made(400, 5, 3, seed, 0, 1), "whole": rarely(400, 60, 3, seed), "own": rarely(400, 3000, 4, seed), "binary": rarely(400, 2500, 2, seed)}
}

// TestChargedStepsComeClose trains by every rule, with L1, with an elastic net and by ftrl with L2 alone, and holds the objective against the least one: within 3 % of it, and within 5 % by
// ftrl of rare features without L2. sgd has one step for all features, which is too short for rare ones that no L2 holds. Zeros that l2 helps to make are near those of the best; the last gradients of sgd
// and adagrad throw some of them off again.
func TestChargedStepsComeClose(t *testing.T) {
	t.Parallel()
	for form, set := range forms(1) {
		l1 := "0.003"
		if set.Features > 100 {
			l1 = "0.0005"
		}
		for _, pull := range [][2]string{{l1, "0"}, {l1, "0.01"}, {"0", "0.01"}} {
			t.Run(strings.Join([]string{form, pull[0], pull[1]}, " "), func(t *testing.T) {
				t.Parallel()
				in := app.Input{Data: apptest.Examples(set), Seed: 3, Settings: map[string]string{"l1": pull[0], "l2": pull[1], "rule": "ftrl"}}
				p := problemOf(t, in)
				if p.Dense != (form == "dense") || !p.Dense && p.full != (form == "whole") {
					t.Fatalf("dense %v, whole tables %v", p.Dense, p.full)
				}
				least, best := cheapest(t, p)
				for _, rule := range chargedRules {
					rare := !p.Dense && !p.full && pull[1] == "0"
					if pull[0] == "0" && rule != ruleFTRL || rare && rule == ruleSGD {
						continue
					}
					most := 1.03
					if rare && rule == ruleFTRL {
						most = 1.05
					}
					in.Settings = map[string]string{"l1": pull[0], "l2": pull[1], "rule": rule}
					_, tables, epochs := trained(t, in, 2)
					w := weightsOf(p, tables)
					if got := cost(p, scaledRows(p), w); !(got > least*(1-1e-5) && got < least*most) {
						t.Errorf("%s: objective %.6f after %d epochs; the least is %.6f", rule, got, len(epochs), least)
					}
					zeros, want := zerosOf(w), zerosOf(best)
					if noisy := rule == ruleSGD || rule == ruleAdaGrad; !noisy && pull[1] != "0" && math.Abs(float64(zeros-want)) > 3+0.02*float64(want) {
						t.Errorf("%s: %d weights of %d are zero, and %d are at the best", rule, zeros, len(w), want)
					}
				}
			})
		}
	}
}

func zerosOf(w []float64) (n int) {
	for _, v := range w {
		if v == 0 {
			n++
		}
	}
	return n
}

// TestStaleChargedStepsComeClose: with tables that lag behind, and with none that wait, too.
func TestStaleChargedStepsComeClose(t *testing.T) {
	t.Parallel()
	for _, staleness := range []int{2, -1} {
		for form, set := range forms(1) {
			for _, rule := range chargedRules {
				in := app.Input{Data: apptest.Examples(set), Seed: 3, Staleness: &staleness, Settings: map[string]string{"l1": "0.0005", "l2": "0.02", "rule": rule}}
				p := problemOf(t, in)
				least, _ := cheapest(t, p)
				_, tables, epochs := trained(t, in, 2)
				if got := cost(p, scaledRows(p), weightsOf(p, tables)); !(got < least*1.05) {
					t.Errorf("staleness %d, %s, %s: objective %.6f after %d epochs; the least is %.6f", staleness, form, rule, got, len(epochs), least)
				}
			}
		}
	}
}

// TestChargedBits: any number of slots makes the same tables, by each rule, weights of rows and of classes included.
func TestChargedBits(t *testing.T) {
	t.Parallel()
	for form, set := range forms(1) {
		for _, rule := range chargedRules {
			in := app.Input{Data: apptest.Examples(set), Epochs: 3, Seed: 5, Settings: map[string]string{"l1": "0.001", "rule": rule, "class_weights": "balanced"}}
			_, want, epochs := trained(t, in, 1)
			_, got, again := trained(t, in, 3)
			if !slices.Equal(got[0], want[0]) {
				t.Errorf("%s by %s: tables differ between 1 and 3 slots", form, rule)
			}
			for i, e := range epochs {
				if !slices.Equal(again[i].Metrics, e.Metrics) {
					t.Errorf("%s by %s: epoch %d has %v with 1 slot, %v with 3", form, rule, i+1, e.Metrics, again[i].Metrics)
				}
			}
		}
	}
}

// TestDueOfEachRow: what is due to a row at the end of an epoch is all of its clocks, whether they came one by one or at once; the bias owes nothing, and what is never used either.
func TestDueOfEachRow(t *testing.T) {
	t.Parallel()
	for form, set := range forms(1) {
		in := app.Input{Data: apptest.Examples(set), Epochs: 1, Seed: 5, Settings: map[string]string{"l1": "0.001", "clocks": "5"}}
		p := problemOf(t, in)
		used := make([]bool, p.Features)
		for _, r := range p.Rows {
			for j, v := range p.Src.Vector(int(r), make([]float32, p.Features)) {
				used[j] = used[j] || v != 0 || p.full
			}
		}
		_, tables, _ := trained(t, in, 2)
		late := false
		for j := range p.Features + 1 {
			due, want := tables[0][j*p.stride()+p.width], float32(0)
			if j < p.Features && used[j] {
				want = 5
			}
			// What a row owes of the clocks behind its last use is paid in the next epoch, and that of the epoch before in this one.
			if math.Abs(float64(due-want)) > 1e-5 {
				t.Fatalf("%s: row %d has been charged for %v clocks, want %v", form, j, due, want)
			}
			late = late || j < p.Features && !used[j]
		}
		if !p.full && !late {
			t.Errorf("%s: all features are used", form)
		}
	}
}

// TestChargedPolicy: the pace is cut when an epoch gains next to nothing, the best epoch is kept, patience ends the run, and all of it can be saved.
func TestChargedPolicy(t *testing.T) {
	t.Parallel()
	in := app.Input{Data: apptest.Examples(made(300, 3, 2, 1, 0, 1)), Seed: 4, Settings: map[string]string{"l1": "0.5", "l2": "0.25", "patience": "2", "splits": "3", "clocks": "4"}}
	p := problemOf(t, in)
	k := newChargedPolicy(p)
	d := p.driver(k)
	n := float64(len(p.Rows))
	for i, s := range []struct {
		loss, squares, sizes, pace float64
		keep, stop                 bool
	}{
		{1, 8, 4, 1, true, false}, // 4
		{1, 8, 2, 1, true, false}, // 3
		{1.5, 0, 3.1, 0.5, false, false},
		{1, 7.999, 2, 0.5, true, true}, // better, and too little to count
		{0.5, 8, 2, 0.5, true, false},
	} {
		scores := make([]float64, gotScore+heldBlocks+gotCharged)
		copy(scores[gotScore+heldBlocks:], []float64{s.loss * n, n / 2, s.squares, s.sizes})
		v := k.End(&d.Progress, nil, scores)
		if v.Keep != s.keep || v.Stop != s.stop || k.pace != s.pace || apptest.Metric(t, v.Metrics, "train_logloss") != s.loss || apptest.Metric(t, v.Metrics, "train_accuracy") != 0.5 {
			t.Errorf("epoch %d: %+v, pace %v; want %+v", i+1, v, k.pace, s)
		}
	}
	traintest.CanBeSaved(t, traintest.Job{
		Job:   train.Job{Tables: p.tables(), Splits: p.Splits, Items: p.Items},
		Fresh: func() train.Driver { return p.driver(p.judge()) },
		Result: func(u bellows.Unit) []float64 {
			rng := rand.New(rand.NewPCG(uint64(u.Split), uint64(u.Clock)))
			r := make([]float64, gotScore+heldBlocks+gotCharged)
			for i := range r {
				r[i] = 100 * rng.Float64()
			}
			if p.Work().Place(u.Clock) < p.Clocks {
				r = r[:gotSpread+p.width]
			}
			return r
		},
	})
}

// TestChargedModel: the model has the weights of the table, zeros too, says how strong the pull was, and predicts test rows as they were measured.
func TestChargedModel(t *testing.T) {
	t.Parallel()
	for form, set := range forms(1) {
		test := apptest.Examples(forms(2)[form])
		run, tables, epochs := trained(t, app.Input{Data: apptest.Examples(set), Test: test, Seed: 3, Epochs: 6, Settings: map[string]string{"l1": "0.001", "l2": "0.01"}}, 2)
		m := apptest.Model(t, run, tables)
		if run.Settings["rule"] != "adam" || run.Settings["early_stop"] != "false" || !strings.Contains(string(m.Details), `"l2":0.01,"l1":0.001`) || !strings.Contains(run.Headline, "adam with l1=0.001 and l2=0.01") {
			t.Errorf("%s: settings %v, details %s, headline %q", form, run.Settings, m.Details, run.Headline)
		}
		p := apptest.Open(t, New(), m)
		got := apptest.Evaluate(t, p, test)
		for _, name := range []string{"logloss", "accuracy"} {
			if want := apptest.Metric(t, got, name); math.Abs(m.Metrics["test_"+name]-want) > 1e-5 {
				t.Errorf("%s: %s is %v, and the model says %v after %d epochs", form, name, want, m.Metrics, len(epochs))
			}
		}
	}
}

func TestChargedRefusals(t *testing.T) {
	t.Parallel()
	for settings, want := range map[string]string{
		"l1=auto":              "softmax has no l1=auto; give a number, such as l1=0.001",
		"l1=-1":                "must be a number from 0 to 1e+06",
		"l1=1e-20":             "must be 0, or a number from 1e-12 to 1e+06",
		"l1=0.1 rule=average":  "sgd, adagrad, adam and ftrl have; leave it out",
		"l1=0.1 rule=momentum": "sgd, adagrad, adam and ftrl have; leave it out",
		"rule=ftrl l2=0":       "ftrl needs what holds weights",
		"l1=0.1 batch=4":       "a step uses all rows of a clock; leave batch out and set clocks",
		"gap=0.1":              "it goes with l1 or ftrl",
	} {
		_, err := New().NewRun(app.Input{Data: apptest.Examples(made(300, 3, 2, 1, 0, 1)), Settings: apptest.Settings(settings)})
		if err == nil || !strings.Contains(err.Error(), want) || bellows.KindOf(err) != bellows.Config {
			t.Errorf("%s: %v, want an error about %q", settings, err, want)
		}
	}
	run, tables, _ := trained(t, app.Input{Data: apptest.Examples(made(300, 3, 2, 1, 0, 1)), Epochs: 1}, 1)
	m := apptest.Model(t, run, tables)
	for _, settings := range []map[string]string{{"l1": "0.1"}, {"rule": "ftrl"}} {
		if _, err := New().NewRun(app.Input{Data: apptest.Examples(made(300, 3, 2, 1, 0, 1)), From: m, Settings: settings}); err == nil || !strings.Contains(err.Error(), "a run that begins with a model has others") {
			t.Errorf("%v from a model: %v", settings, err)
		}
	}
}

// TestChargedStepsAllocateNothing measures the inner loops on rows of their own and on whole tables.
func TestChargedStepsAllocateNothing(t *testing.T) {
	for form, set := range forms(1) {
		p := problemOf(t, app.Input{Data: apptest.Examples(set), Seed: 1, Settings: map[string]string{"l1": "0.1"}})
		apptest.LayOut(t, p.Splits, p.prepare)
		e := newExecutor(p)
		e.buffers = p.takeBuffers()
		w := make([]float32, (p.Features+1)*p.width)
		table := make([]float32, (p.Features+1)*p.stride())
		if n := testing.AllocsPerRun(10, func() {
			e.slopes(e.unitOf(0, 0), p.plain(table, w), 1)
			e.unitOf(0, 0).score(w, &e.scratch)
		}); n != 0 {
			t.Errorf("%s: %v allocations", form, n)
		}
	}
}
