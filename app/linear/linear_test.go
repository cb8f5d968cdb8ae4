package linear

import (
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"bellows"
	"bellows/app"
	"bellows/app/apptest"
	"bellows/app/epochs"
	"bellows/app/examples"
	"bellows/app/linear/internal/loss"
	"bellows/data"
	"bellows/model"
	"bellows/train"
	"bellows/train/traintest"
)

// made returns rows whose score lies along a hidden direction, with noise: as numbers about 40, or as classes 3 and 7.
func made(rows, features int, seed uint64, classes bool) *data.ExampleSet {
	rng, hidden := rand.New(rand.NewPCG(seed, 7)), rand.New(rand.NewPCG(99, 7))
	direction := make([]float64, features)
	for i := range direction {
		direction[i] = hidden.NormFloat64()
	}
	e := &data.ExampleSet{Features: features, Dense: make([]float32, rows*features)}
	for r := range rows {
		score, common := 0.7*rng.NormFloat64(), rng.NormFloat64()
		for j := range features {
			x := float64(j)*10 + float64(1+j%3)*(rng.NormFloat64()+0.5*common)
			e.Dense[r*features+j] = float32(x)
			score += (x - float64(j)*10) * direction[j] / 2
		}
		y := 40 + 3*score
		if classes {
			y = 3
			if score > 0.3 {
				y = 7
			}
		}
		e.Label = append(e.Label, float32(y))
	}
	return e
}

// rarely returns sparse rows of many features, few of them in each, whose score is a sum of what features say.
func rarely(rows, features int, seed uint64, classes bool) *data.ExampleSet {
	rng := rand.New(rand.NewPCG(seed, 8))
	e := &data.ExampleSet{Features: features, Offset: []int64{0}, IndexBase: 1}
	for range rows {
		score := 0.3 * rng.NormFloat64()
		for at := rng.IntN(features / 3); at < features; at += 1 + rng.IntN(features/3) {
			v := 0.2 + rng.Float32()
			e.Index, e.Value = append(e.Index, int32(at)), append(e.Value, v)
			score += float64(v) * float64(at%5-2)
		}
		if classes {
			score = math.Copysign(1, score)
		}
		e.Label = append(e.Label, float32(score))
		e.Offset = append(e.Offset, int64(len(e.Index)))
	}
	return e
}

// trained makes the run of an input and trains it to its end.
func trained(t *testing.T, in app.Input, slots int) (*app.Run, [][]float32, []train.Epoch) {
	t.Helper()
	return apptest.Trained(t, New(), in, slots)
}

func problemOf(t *testing.T, in app.Input) *problem {
	t.Helper()
	c, err := newConfig(in)
	if err != nil {
		t.Fatal(err)
	}
	p, err := newProblem(in, c)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// scaledRows returns the training rows as the losses see them, the bias last, and their targets.
func scaledRows(p *problem) (x [][]float64, y []float64) {
	raw := make([]float32, p.Features)
	for _, r := range p.Rows {
		row := make([]float64, p.Features+1)
		for j, v := range p.Src.Vector(int(r), raw) {
			row[j] = float64(v) * float64(p.Scale.Factor[j])
			if p.Scale.Center != nil {
				row[j] = float64((v - p.Scale.Center[j]) * p.Scale.Factor[j])
			}
		}
		row[p.Features] = float64(p.bias)
		x, y = append(x, row), append(y, float64(p.target[r]))
	}
	return x, y
}

// optimum returns a slow reference: dual coordinate ascent in double precision, one row after the other, until the
// duality gap is next to nothing. It returns the least objective.
func optimum(t *testing.T, p *problem, l2, l1 float64) float64 {
	t.Helper()
	x, y := scaledRows(p)
	n, size := float64(len(x)), p.Features+1
	sums, duals, w := make([]float64, size), make([]float64, len(x)), make([]float64, size)
	weigh := func(j int) {
		w[j] = math.Copysign(max(0, math.Abs(sums[j])-l1*n), sums[j]) / (l2 * n)
	}
	score := func(i int) (a float64) {
		for j, v := range x[i] {
			a += v * w[j]
		}
		return a
	}
	for range 4000 {
		for i, row := range x {
			square := 0.0
			for _, v := range row {
				square += v * v
			}
			next := p.loss.Step(duals[i], score(i), square/(l2*n), y[i])
			for j, v := range row {
				sums[j] += (next - duals[i]) * v
				weigh(j)
			}
			duals[i] = next
		}
		primal, dual := 0.0, 0.0
		for i := range x {
			primal += p.loss.Value(score(i), y[i]) / n
			dual += p.loss.Dual(duals[i], y[i]) / n
		}
		for _, v := range w {
			primal += l2/2*v*v + l1*math.Abs(v)
			dual -= l2 / 2 * v * v
		}
		if primal-dual < 1e-6*primal {
			return primal
		}
	}
	t.Fatal("the reference has not come to the best")
	return 0
}

// objective returns what the run's tables cost in double precision.
func objective(p *problem, w []float64, l2, l1 float64) (sum float64) {
	x, y := scaledRows(p)
	for i, row := range x {
		a := 0.0
		for j, v := range row {
			a += v * w[j]
		}
		sum += p.loss.Value(a, y[i]) / float64(len(x))
	}
	for _, v := range w {
		sum += l2/2*v*v + l1*math.Abs(v)
	}
	return sum
}

// weightsOf returns the weights of scaled features in a model, without the bias.
func weightsOf(t *testing.T, p *problem, run *app.Run, tables [][]float32) []float64 {
	t.Helper()
	m := apptest.Model(t, run, tables)
	w, bias := make([]float64, p.Features+1), (float64(m.Tensor("bias").Floats[0])-p.center)/p.spread
	for j, v := range m.Tensor("weights").Floats {
		own := float64(v) / p.spread
		if p.Scale.Center != nil {
			bias += own * float64(p.Scale.Center[j])
		}
		if p.Scale.Factor[j] != 0 {
			w[j] = own / float64(p.Scale.Factor[j])
		}
	}
	w[p.Features] = bias / float64(p.bias)
	return w
}

// sparsest returns a slow reference for l1 without l2: coordinate descent in double precision, one feature after the
// other, each step as if the loss bent as much as it can anywhere. It returns the least objective.
func sparsest(t *testing.T, p *problem, most, l1 float64) float64 {
	t.Helper()
	x, y := scaledRows(p)
	n, w, scores := float64(len(x)), make([]float64, p.Features+1), make([]float64, len(x))
	for range 20000 {
		moved := 0.0
		for j, v := range w {
			slope, bend := 0.0, 0.0
			for i, row := range x {
				first, _ := p.loss.(loss.Curved).Slopes(scores[i], y[i])
				slope, bend = slope+first*row[j]/n, bend+most*row[j]*row[j]/n
			}
			if bend == 0 {
				continue
			}
			w[j] = math.Copysign(max(0, math.Abs(bend*v-slope)-l1), bend*v-slope) / bend
			for i, row := range x {
				scores[i] += (w[j] - v) * row[j]
			}
			moved = max(moved, math.Abs(w[j]-v)*bend)
		}
		if moved < 1e-7*l1 {
			sum := 0.0
			for i, a := range scores {
				sum += p.loss.Value(a, y[i]) / n
			}
			for _, v := range w {
				sum += l1 * math.Abs(v)
			}
			return sum
		}
	}
	t.Fatal("the reference has not come to the best")
	return 0
}

// TestReachesTheOptimum trains every loss by every solver that it has, on dense and sparse rows, and holds the objective of the model against the least
// one: within the gap that was asked for, whether dual ascent could prove that or not.
func TestReachesTheOptimum(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, solvers, l1, l2 string }{
		{lossLogistic, "newton dual parts descent", "0", "0.02"}, {lossHinge, "dual parts newton", "0", "0.02"}, {lossSquaredHinge, "newton dual descent", "0", "0.02"},
		{lossSquared, "newton dual descent", "0", "0.02"}, {lossHuber, "newton dual", "0", "0.02"}, {lossInsensitive, "dual newton", "0", "0.02"},
		{lossLogistic, "dual newton descent", "0.01", "0.02"}, {lossSquared, "dual parts newton descent", "0.02", "0.02"}, {lossHinge, "dual", "0.01", "0.02"},
		{lossSquared, "newton descent", "0.02", "0"}, {lossLogistic, "newton descent", "0.01", "0"}, {lossSquaredHinge, "newton descent", "0.01", "0"},
		{lossHuber, "newton descent", "0.01", "0"}, {lossLasso, "newton descent", "0.05", "0"},
	} {
		classes := c.name == lossLogistic || strings.Contains(c.name, "hinge")
		for form, set := range map[string]*data.ExampleSet{"dense": made(400, 5, 1, classes), "sparse": rarely(400, 60, 1, classes)} {
			for solver := range strings.FieldsSeq(c.solvers) {
				t.Run(strings.Join([]string{c.name, form, solver, c.l1, c.l2}, " "), func(t *testing.T) {
					t.Parallel()
					const gap = 5e-3
					in := app.Input{Data: apptest.Examples(set), Seed: 3, Settings: map[string]string{
						"loss": c.name, "solver": solver, "l1": c.l1, "l2": c.l2, "gap": fmt.Sprint(gap)}}
					if solver == "parts" { // of dual ascent, by all splits at once
						in.Settings["solver"], in.Settings["clocks"] = solverDual, "3"
					}
					p := problemOf(t, in)
					if p.Dense != (form == "dense") || p.solver != in.Settings["solver"] || p.lone != (solver == solverDual) {
						t.Fatalf("dense %v, solver %v", p.Dense, p.solver)
					}
					run, tables, epochs := trained(t, in, 2)
					if last := apptest.Metric(t, epochs[len(epochs)-1].Metrics, "gap"); last > gap && p.newton {
						t.Errorf("after %d epochs the gap is %v", len(epochs), last)
					}
					w := weightsOf(t, p, run, tables)
					got, want := objective(p, w, p.l2, p.l1), 0.0
					if p.l2 > 0 {
						want = optimum(t, p, p.l2, p.l1)
					} else {
						want = sparsest(t, p, 2, p.l1)
					}
					if got < want*(1-1e-5) || got > want*(1+gap)+1e-5 {
						t.Errorf("objective %.6f after %d epochs; the least is %.6f", got, len(epochs), want)
					}
				})
			}
		}
	}
}

// TestManySplitsGoDown: the best is found, too, where each split goes down along a part of the features; more slowly.
func TestManySplitsGoDown(t *testing.T) {
	t.Parallel()
	in := app.Input{Data: apptest.Examples(rarely(400, 60, 1, true)), Seed: 3, Settings: map[string]string{"l1": "0.01", "l2": "0", "gap": "0.001", "solver": "descent"}}
	p := problemOf(t, in)
	p.alone = 0
	if p.groups() != 4 {
		t.Fatalf("%d splits go down", p.groups())
	}
	run := p.run(in)
	tables, epochs := apptest.Play(t, run, 2)
	got, want := objective(p, weightsOf(t, p, run, tables), 0, p.l1), sparsest(t, p, 2, p.l1)
	if got < want*(1-1e-5) || got > want*1.001 {
		t.Errorf("objective %.6f after %d epochs; the least is %.6f", got, len(epochs), want)
	}
	p = problemOf(t, in)
	p.alone = 0
	if again, _ := apptest.Play(t, p.run(in), 1); !reflect.DeepEqual(tables, again) {
		t.Error("not the same on 1 and 2 slots")
	}
}

// TestAPartOfTheRowsBend: with a part of the rows in the Hessian the best is the same, of dense rows that are many beside features and wide enough, and of no others.
func TestAPartOfTheRowsBend(t *testing.T) {
	t.Parallel()
	in := app.Input{Data: apptest.Examples(made(3000, 6, 1, true)), Seed: 3, Settings: map[string]string{"loss": "logistic", "l2": "0.001", "gap": "0.0001"}}
	p := problemOf(t, in)
	if p.thin != 1 {
		t.Fatalf("of 6 features one in %d rows bends", p.thin)
	}
	p.thin = 4
	run := p.run(in)
	tables, epochs := apptest.Play(t, run, 2)
	got, want := objective(p, weightsOf(t, p, run, tables), p.l2, 0), optimum(t, p, p.l2, 0)
	if got < want*(1-1e-5) || got > want*1.0001+1e-6 {
		t.Errorf("objective %.6f after %d epochs; the least is %.6f", got, len(epochs), want)
	}
	for settings, thin := range map[string]int{"loss=logistic": 2, "loss=squared_hinge": 1, "loss=logistic l1=0.1": 1} {
		in := app.Input{Data: apptest.Examples(made(10_000, 256, 1, true)), Test: apptest.Examples(made(2, 256, 2, true)), Settings: apptest.Settings(settings)}
		if p := problemOf(t, in); p.thin != thin {
			t.Errorf("%s: one in %d rows bends, want %d", settings, p.thin, thin)
		}
	}
}

// TestTheGapIsCertain: whatever the epoch, no objective is closer to the best than a gap says that it may be far.
func TestTheGapIsCertain(t *testing.T) {
	t.Parallel()
	const l2 = 0.01
	in := app.Input{Data: apptest.Examples(rarely(500, 40, 1, true)), Seed: 3, Settings: map[string]string{"loss": "logistic", "solver": "dual", "l2": fmt.Sprint(l2)}}
	p := problemOf(t, in)
	best := optimum(t, p, l2, 0)
	for n := 1; n <= 4; n++ {
		in.Epochs = n
		run, tables, epochs := trained(t, in, 1)
		got := objective(p, weightsOf(t, p, run, tables), l2, 0)
		if gap := apptest.Metric(t, epochs[n-1].Metrics, "gap") * got; got-gap > best*(1+1e-5) {
			t.Errorf("epoch %d: objective %.6f and gap %.6f say that the best is %.6f at least, and it is %.6f", n, got, gap, got-gap, best)
		}
	}
}

// TestRunContinuesWhileFarOff checks that an objective that does not fall, because the first epoch's is low by
// chance, ends no run with a large gap.
func TestRunContinuesWhileFarOff(t *testing.T) {
	t.Parallel()
	p := problemOf(t, app.Input{Data: apptest.Examples(made(100, 3, 1, true)), Settings: map[string]string{"loss": "svm", "solver": "dual", "gap": "0.01"}})
	n := float64(len(p.Rows))
	for _, c := range []struct {
		dual float64 // of a row, where the loss is 1
		ends int     // the epoch; 0: none of 40
	}{{0.3, 0}, {0.89, 0}, {0.95, 1 + patience}, {0.995, 1}} {
		k, progress, ended := newPolicy(p), epochs.Progress{Best: math.Inf(1), Marked: math.Inf(1)}, 0
		for epoch := 1; epoch <= 40 && ended == 0; epoch++ {
			got := make([]float64, gotAll)
			got[gotLoss], got[gotDual] = n, c.dual*n
			if k.End(&progress, nil, got).Stop {
				ended = epoch
			}
		}
		if ended != c.ends {
			t.Errorf("a run whose gap is %v ends after epoch %d, not %d", 1-c.dual, ended, c.ends)
		}
	}
}

// TestL1MakesZeros: of features that say nothing most weights are exactly zero, and of those that do hardly any is.
func TestL1MakesZeros(t *testing.T) {
	t.Parallel()
	set := made(500, 4, 1, false)
	rng := rand.New(rand.NewPCG(5, 5))
	wide := &data.ExampleSet{Label: set.Label, Features: 24, Dense: make([]float32, 500*24)}
	for r := range 500 {
		copy(wide.Dense[r*24:], set.Dense[r*4:(r+1)*4])
		for j := 4; j < 24; j++ {
			wide.Dense[r*24+j] = float32(rng.NormFloat64())
		}
	}
	run, tables, _ := trained(t, app.Input{Data: apptest.Examples(wide), Seed: 1, Settings: map[string]string{"loss": "squared", "l1": "0.02", "l2": "0.001"}}, 2)
	m := apptest.Model(t, run, tables)
	zeros := [2]int{}
	for j, w := range m.Tensor("weights").Floats {
		if w == 0 {
			zeros[min(1, j/4)]++
		}
	}
	if zeros[0] > 1 || zeros[1] < 12 {
		t.Errorf("%d of the 4 weights that say something are zero, and %d of the 20 of noise", zeros[0], zeros[1])
	}
}

// TestHuberIgnoresWhatIsFarOut: labels that are far out change the squared loss's weights, and hardly those of huber.
func TestHuberIgnoresWhatIsFarOut(t *testing.T) {
	t.Parallel()
	test := made(300, 4, 2, false)
	errors := map[string]float64{}
	for _, name := range []string{"squared", "robust", "svr"} {
		set := made(600, 4, 1, false)
		for r := 0; r < 600; r += 10 {
			set.Label[r] += 2000
		}
		_, _, epochs := trained(t, app.Input{Data: apptest.Examples(set), Test: apptest.Examples(test), Seed: 1, Settings: map[string]string{"loss": name}}, 2)
		errors[name] = apptest.Metric(t, epochs[len(epochs)-1].Metrics, "test_rmse")
	}
	if errors["robust"] > 3 || errors["svr"] > 3 || errors["squared"] < 20 {
		t.Errorf("errors %v", errors)
	}
}

// TestSameBitsForAnyNumberOfSlots: of each solver and form of rows.
func TestSameBitsForAnyNumberOfSlots(t *testing.T) {
	t.Parallel()
	for name, in := range map[string]app.Input{
		"dense newton":  {Data: apptest.Examples(made(500, 6, 1, true))},
		"sparse newton": {Data: apptest.Examples(rarely(500, 60, 1, true))},
		"dense dual":    {Data: apptest.Examples(made(500, 6, 1, false)), Settings: map[string]string{"loss": "svr", "solver": "dual", "clocks": "10"}},
		"whole tables":  {Data: apptest.Examples(rarely(800, 60, 1, true)), Settings: map[string]string{"loss": "svm", "solver": "dual", "clocks": "10"}},
		"own rows":      {Data: apptest.Examples(rarely(800, 9000, 1, true)), Settings: map[string]string{"clocks": "10"}},
		"one for all":   {Data: apptest.Examples(rarely(800, 9000, 1, true))},
		"corners":       {Data: apptest.Examples(rarely(500, 60, 1, true)), Settings: map[string]string{"loss": "svm"}},
		"columns":       {Data: apptest.Examples(rarely(800, 9000, 1, true)), Settings: map[string]string{"l1": "0.001"}},
		"dense steps":   {Data: apptest.Examples(made(500, 6, 1, true)), Settings: map[string]string{"solver": "adam"}},
		"whole steps":   {Data: apptest.Examples(rarely(800, 60, 1, true)), Settings: map[string]string{"solver": "sgd"}},
		"steps":         {Data: apptest.Examples(rarely(800, 9000, 1, true)), Settings: map[string]string{"solver": "adagrad", "l1": "0.001"}},
	} {
		in.Epochs, in.Seed = 3, 5
		_, want, epochs := trained(t, in, 1)
		_, got, again := trained(t, in, 3)
		for i := range min(len(again), len(epochs)) { // which record tells of it is a matter of time
			epochs[i].Commit, again[i].Commit = 0, 0
		}
		if !reflect.DeepEqual(got, want) || fmt.Sprint(again) != fmt.Sprint(epochs) {
			t.Errorf("%s: not the same on 1 and 3 slots", name)
		}
	}
}

// TestSharing counts by hand the splits that use each feature in a clock, and holds the shares of blocks against it.
func TestSharing(t *testing.T) {
	t.Parallel()
	p := problemOf(t, app.Input{Data: apptest.Examples(rarely(300, 9000, 1, true)), Seed: 2, Settings: map[string]string{"loss": "svm", "splits": "7", "clocks": "3"}})
	if p.whole {
		t.Fatal("blocks work on whole tables")
	}
	apptest.LayOut(t, p.Splits, p.prepare)
	for at := range p.Visits {
		users := map[bellows.RowID]int{}
		for s := range p.Splits {
			for _, j := range p.blocks[s*p.Visits+at].rows {
				users[j]++
			}
		}
		for s := range p.Splits {
			u := &p.blocks[s*p.Visits+at]
			for k, j := range u.rows {
				if int(u.share[k]) != users[j] {
					t.Fatalf("clock %d: feature %d is shared by %v, and %d splits use it", at, j, u.share[k], users[j])
				}
			}
			for i := range u.target {
				index, value := u.Entries(i)
				want := float64(u.share[len(u.share)-1]) * float64(p.bias) * float64(p.bias)
				for k, j := range index {
					want += float64(u.share[j]) * float64(value[k]) * float64(value[k])
				}
				if math.Abs(float64(u.square[i])-want) > 1e-4*want {
					t.Fatalf("row %d has the square %v, want %v", i, u.square[i], want)
				}
			}
		}
	}
}

// TestSplitsApartLieAlike lets splits come and go, and holds what lies there against a problem that has all.
func TestSplitsApartLieAlike(t *testing.T) {
	t.Parallel()
	for name, in := range map[string]app.Input{
		"own rows": {Data: apptest.Examples(rarely(300, 9000, 1, true)), Settings: map[string]string{"splits": "6", "clocks": "3"}},
		"steps":    {Data: apptest.Examples(rarely(300, 9000, 1, true)), Settings: map[string]string{"splits": "6", "clocks": "3", "solver": "ftrl"}},
		"columns":  {Data: apptest.Examples(rarely(300, 9000, 1, true)), Settings: map[string]string{"splits": "6", "l1": "0.01"}},
		"all":      {Data: apptest.Examples(rarely(300, 9000, 1, true)), Settings: map[string]string{"splits": "6"}},
		"newton":   {Data: apptest.Examples(made(300, 5, 1, true)), Test: apptest.Examples(made(50, 5, 2, true)), Settings: map[string]string{"splits": "6"}},
	} {
		want, got := problemOf(t, in), problemOf(t, in)
		apptest.LayOut(t, want.Splits, want.prepare)
		apptest.ComeAndGo(t, got.Splits, got.prepare, got.release, func(s int, here bool) {
			for at := range got.Visits {
				w := want.blocks[s*want.Visits+at]
				if !here {
					w = block{}
				}
				if g := got.blocks[s*got.Visits+at]; !reflect.DeepEqual(g, w) && !(got.lone && reflect.DeepEqual(said(&g), said(&w))) {
					t.Fatalf("%s: split %d clock %d, here: %v, lies in another way", name, s, at, here)
				}
			}
			if s == 0 && got.lone && (here != (got.all.target != nil) || here && !reflect.DeepEqual(got.all, want.all)) {
				t.Fatalf("%s: split 0, here: %v, has other rows of all", name, here)
			}
			if s == 0 && here != (got.columns[s].own != nil) && got.solver == solverDescent || here && !reflect.DeepEqual(got.columns[s], want.columns[s]) {
				t.Fatalf("%s: split %d, here: %v, has other columns", name, s, here)
			}
			if here && !reflect.DeepEqual(got.scored[s], want.scored[s]) || !here && got.scored[s].target != nil {
				t.Fatalf("%s: split %d, here: %v, scores something else", name, s, here)
			}
		})
	}
}

// said returns what a block says of its rows, whatever it is a view of.
func said(u *block) (rows []string) {
	for i, y := range u.target {
		index, value := u.Entries(i)
		rows = append(rows, fmt.Sprint(u.first+i, y, u.square[i], index, value))
	}
	return rows
}

// TestCanBeSaved plays the drivers of both solvers from each of their records.
func TestCanBeSaved(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ loss, solver string }{{"logistic", "newton"}, {"svm", "newton"}, {"logistic", "descent"}, {"logistic", "dual"}, {"logistic", "sgd"}} {
		in := app.Input{Data: apptest.Examples(made(60, 3, 1, true)), Seed: 3, Epochs: 3, Settings: map[string]string{"splits": "3", "clocks": "2", "solver": c.solver, "loss": c.loss}}
		p := problemOf(t, in)
		traintest.CanBeSaved(t, traintest.Job{
			Job:   train.Job{Splits: p.Splits, Tables: p.tables(), Items: p.Items},
			Fresh: func() train.Driver { return newPolicy(p).driver() },
			Result: func(u bellows.Unit) []float64 {
				if p.Work().Place(u.Clock) < p.Clocks {
					return []float64{1 / float64(1+u.Clock), 1}[:newPolicy(p).results().Train]
				}
				got := make([]float64, max(gotAll, triedAll))
				for i := range got {
					got[i] = float64(1+i%5+int(u.Split)) / float64(1+u.Clock)
				}
				return got[:newPolicy(p).results().Score]
			},
		})
	}
}

// TestUnitsOfDataDoNotMatter checks that predictions are the same in other units of features and labels, by the
// defaults.
func TestUnitsOfDataDoNotMatter(t *testing.T) {
	t.Parallel()
	set := made(400, 5, 1, false)
	other := *set
	other.Dense, other.Label = slices.Clone(set.Dense), slices.Clone(set.Label)
	for i := range other.Dense {
		if i%5 == 0 {
			other.Dense[i] = other.Dense[i]*1024 + 4096
		}
	}
	for i := range other.Label {
		other.Label[i] *= 1024
	}
	var errors []float64
	for _, e := range []*data.ExampleSet{set, &other} {
		_, _, epochs := trained(t, app.Input{Data: apptest.Examples(e), Seed: 2, Settings: map[string]string{"loss": "squared"}}, 1)
		errors = append(errors, apptest.Metric(t, epochs[len(epochs)-1].Metrics, "test_rmse"))
	}
	if math.Abs(errors[1]/errors[0]/1024-1) > 1e-3 {
		t.Errorf("errors %v", errors)
	}
}

// TestAModelAnswersAsItWasMeasured: the metrics of the model are those of an epoch, and a model that does not fit is refused.
func TestAModelAnswersAsItWasMeasured(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		loss  string
		train *data.ExampleSet
		test  *data.ExampleSet
		line  string
	}{
		"numbers":          {"squared", made(400, 5, 1, false), made(100, 5, 2, false), ""},
		"log-odds":         {"logistic", made(400, 5, 1, true), made(100, 5, 2, true), "\t0."},
		"margins":          {"svm", rarely(400, 60, 1, true), rarely(100, 60, 2, true), "\t"},
		"sparse log-odds":  {"logistic", rarely(400, 9000, 1, true), rarely(100, 9000, 2, true), "\t"},
		"rows of no class": {"logistic", made(400, 5, 1, true), unknownLabels(made(100, 5, 2, true)), "\t0."},
	} {
		in := app.Input{Data: apptest.Examples(c.train), Test: apptest.Examples(c.test), Seed: 4, Settings: map[string]string{"loss": c.loss}}
		run, tables, epochs := trained(t, in, 2)
		m := apptest.Model(t, run, tables)
		p := apptest.Open(t, New(), m)
		figures := apptest.Evaluate(t, p, in.Test)
		for _, f := range figures {
			if f.Name == "mae" || f.Name == "logloss" && name == "rows of no class" {
				continue
			}
			if !slices.ContainsFunc(epochs, func(e train.Epoch) bool {
				return math.Abs(apptest.Metric(t, e.Metrics, "test_"+f.Name)-f.Value) < 1e-4*(1+math.Abs(f.Value))
			}) {
				t.Errorf("%s: %s is %v, and was that in no epoch", name, f.Name, f.Value)
			}
		}
		var out strings.Builder
		if err := p.Predict(in.Test, &out); err != nil || strings.Count(out.String(), "\n") != 100 || !strings.Contains(out.String(), c.line) {
			t.Errorf("%s: predictions %q, %v", name, out.String(), err)
		}
		m.Tensors[0].Floats[0] = float32(math.NaN())
		if _, err := New().Open(m); bellows.KindOf(err) != bellows.BadData {
			t.Errorf("%s: a weight that is no number: %v", name, err)
		}
	}
}

func unknownLabels(e *data.ExampleSet) *data.ExampleSet {
	for r := 0; r < e.Rows(); r += 4 {
		e.Label[r] = 5
	}
	return e
}

// TestOpenRefuses models whose parts do not fit each other.
func TestOpenRefuses(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ details, labels, want string }{
		{`{"loss":"cubic"}`, "", "its loss \"cubic\" is none"},
		{`{"loss":"logistic"}`, "3 5 7", "has 3 labels, and loss logistic tells 2 apart"},
		{`{"loss":"squared"}`, "3 7", "it has labels, and loss squared predicts numbers"},
		{`{"loss":"logistic"}`, "3 3", "line 2"},
		{`{"loss":"logistic","index_base":2}`, "3 7", "its index_base is 2"},
		{`{"loss":`, "3 7", "details"},
	} {
		in := app.Input{Data: apptest.Examples(made(60, 3, 1, true)), Epochs: 1}
		run, tables, _ := trained(t, in, 1)
		m := apptest.Model(t, run, tables)
		m.Details, m.IDs = []byte(c.details), nil
		if c.labels != "" {
			m.IDs = append(m.IDs, model.IDs{File: examples.LabelsFile, Names: strings.Fields(c.labels)})
		}
		if _, err := New().Open(m); bellows.KindOf(err) != bellows.BadData || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s with labels %s: %v", c.details, c.labels, err)
		}
	}
}

// TestRefuses holds what cannot be trained against its message: what, why, and what to do.
func TestRefuses(t *testing.T) {
	t.Parallel()
	three := made(60, 3, 1, true)
	three.Label[5] = 9
	text := made(60, 3, 1, true)
	text.LabelNames, text.Label = []string{"ash", "elm", "oak"}, slices.Repeat([]float32{0, 1, 2}, 20)
	same, numbers := made(60, 3, 1, true), made(2000, 3, 1, false)
	for i := range same.Label {
		same.Label[i] = 5
	}
	stale := 1
	for _, c := range []struct {
		set      *data.ExampleSet
		settings string
		want     string
	}{
		{three, "loss=logistic", "train linear: loss=logistic tells two classes apart, and there are 3 labels: 3, 7, 9; take --set loss=softmax for more classes, loss=squared to predict numbers"},
		{text, "loss=svm", "train linear: loss=hinge tells two classes apart, and there are 3 labels: ash, elm, oak; take --set loss=softmax for more classes"},
		{text, "loss=ridge", "train linear: loss=squared predicts numbers, and the labels are text: ash, elm, oak; take --set loss=logistic for two classes, loss=softmax for more"},
		{same, "loss=robust", "train linear: loss=huber has nothing to learn: all labels are 5; give rows of other labels, too"},
		{same, "", "train linear: loss=squared has nothing to learn: all labels are 5; give rows of other labels, too"},
		{numbers, "loss=logistic", "train linear: loss=logistic tells two classes apart, and there are more than 1000 labels; take --set loss=squared to predict numbers"},
		{&data.ExampleSet{Label: slices.Repeat([]float32{0, 1}, 20)}, "", "train linear: the rows have no features; give rows of a label and at least one feature"},
		{three, "loss=logistik", "set linear: loss=logistik: must be one of softmax, logistic, hinge, squared_hinge, squared, huber, insensitive; did you mean logistic?"},
		{three, "loss=softmax solver=dual", "set linear: solver=dual: loss=softmax has the solvers average, sgd, momentum, adagrad, adam, ftrl"},
		{three, "loss=softmax solver=average l1=0.1", "set linear: solver=average: l1 is taken by proximal steps on the server, which sgd, adagrad, adam and ftrl have; leave it out"},
		{three, "loss=softmax l2=-1", "set linear: l2=-1: must be a number from 0 to 1e+06"},
		{three, "loss=squared patience=3", "set linear: patience=3: only loss=softmax has it"},
		{three, "loss=squared solver=average", "set linear: solver=average: only loss=softmax has it"},
		{three, "loss=lasso l1=0", "set linear: loss=lasso: a lasso needs an l1 above 0; leave l1 out, or set a penalty such as l1=0.01"},
		{three, "loss=squared solver=sgd l1=auto", "set linear: l1=auto: solver=sgd takes a number only; leave solver out, or give a number"},
		{three, "loss=squared solver=sgd path=5", "set linear: path=5: solver=sgd follows no path of penalties; leave solver or path out"},
		{three, "loss=squared l2=0.1 path=5", "set linear: path=5: l1 and l2 are given, so there is nothing to choose; set l1=auto, or leave l2 or path out"},
		{three, "loss=lasso l1=0.1 path=5", "set linear: path=5: l1 and l2 are given, so there is nothing to choose; set l1=auto, or leave l2 or path out"},
		{three, "loss=squared path=1", "set linear: path=1: must be a whole number from 2 to 100"},
		{three, "loss=squared path=5", "train linear: path=5 needs 100 rows to train and to choose, and there are 57; leave path out, and give l1 or l2"},
		{three, "loss=softmax path=5", "set linear: path=5: loss=softmax follows the evidence of the rows, or takes l1 and l2 as they are given"},
		{three, "loss=softmax l1=auto", "set linear: l1=auto: softmax has no l1=auto; give a number, such as l1=0.001"},
		{three, "loss=hinge solver=descent", "set linear: solver=descent: loss=hinge has no derivative in places, where descent gets stuck; use solver=dual"},
		{three, "loss=svr l1=1 solver=newton", "set linear: solver=newton: loss=insensitive has no derivative in places, and neither has l1; use solver=dual"},
		{three, "loss=hinge l1=1 l2=0", "set linear: l2=0: loss=hinge needs an l2 above 0"},
		{three, "loss=logistic l1=1 l2=0 solver=dual", "set linear: solver=dual: solver=dual divides by l2, which is 0; leave solver out"},
		{rarely(60, 9000, 1, true), "solver=newton", "train linear: solver=newton is for up to 1024 features, and the rows have 9000; leave it out: other solvers take any number"},
		{three, "l2=0", "set linear: l2=0: must be a number from 1e-12 to 1e+06, or 0 with l1"},
		{nil, "", "train linear: staleness must be 0: a step is sure to lower the objective only if all splits begin a clock with the same weights; leave --staleness out, or take --set solver=adagrad, which steps by gradients"},
	} {
		in := app.Input{Data: apptest.Examples(c.set), Seed: 1, Settings: apptest.Settings(c.settings)}
		if c.set == nil {
			in.Data, in.Staleness = apptest.Examples(three), &stale
		}
		if _, err := New().NewRun(in); err == nil || err.Error() != c.want {
			t.Errorf("%s:\n%v, want\n%s", c.settings, err, c.want)
		}
	}
}

// TestSolve holds the solution of a linear system against the system, and refuses one that is not positive.
func TestSolve(t *testing.T) {
	t.Parallel()
	a, b := []float64{4, 2, 1, 2, 5, 3, 1, 3, 6}, []float64{1, 2, 3}
	system, want := slices.Clone(a), slices.Clone(b)
	if !solve(a, b, 3) {
		t.Fatal("refused")
	}
	for i := range 3 {
		if got := system[3*i]*b[0] + system[3*i+1]*b[1] + system[3*i+2]*b[2]; math.Abs(got-want[i]) > 1e-12 {
			t.Errorf("line %d gives %v, want %v", i, got, want[i])
		}
	}
	if solve([]float64{1, 2, 2, 1}, []float64{1, 1}, 2) {
		t.Error("solved a matrix that is not positive")
	}
}

// TestCoprime: steps of it visit each of n places once.
func TestCoprime(t *testing.T) {
	t.Parallel()
	for n := 1; n < 40; n++ {
		for from := range 50 {
			seen, at := make([]bool, n), 0
			for range n {
				seen[at] = true
				at = (at + coprime(from, n)) % n
			}
			if slices.Contains(seen, false) {
				t.Fatalf("steps of %d miss some of %d places", coprime(from, n), n)
			}
		}
	}
}

// TestLossOfLabels: what is not said is found by the labels, and told where they may be something else.
func TestLossOfLabels(t *testing.T) {
	t.Parallel()
	few := made(100, 3, 1, false)
	for i := range few.Label {
		few.Label[i] = float32(i % 5)
	}
	for _, c := range []struct {
		set      *data.ExampleSet
		loss     string
		warnings int
	}{{made(100, 3, 1, true), lossLogistic, 0}, {made(100, 3, 1, false), lossSquared, 0}, {few, lossSquared, 1}} {
		if p := problemOf(t, app.Input{Data: apptest.Examples(c.set)}); p.name != c.loss || len(p.Warnings) != c.warnings {
			t.Errorf("loss %s with warnings %q, want %s with %d", p.name, p.Warnings, c.loss, c.warnings)
		}
	}
}
