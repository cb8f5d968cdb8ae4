package mlr

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"bellows"
	"bellows/app"
	"bellows/app/apptest"
	"bellows/data"
	"bellows/train"
)

// optimum returns a slow reference: gradient descent with Nesterov's momentum in double precision on the
// scaled training rows, to the least weighted mean log-loss plus l2/2 |w|². It returns that least value.
func optimum(p *problem, l2 float64) float64 {
	w := make([]float64, (p.Features+1)*p.width)
	before, ahead := make([]float64, len(w)), make([]float64, len(w))
	g := make([]float64, len(w))
	rate := 2 / (p.size + l2)
	for k := range 800 {
		beta := float64(k) / float64(k+3)
		for i := range w {
			ahead[i] = w[i] + beta*(w[i]-before[i])
		}
		objective(p, ahead, l2, g)
		for i := range w {
			before[i], w[i] = w[i], ahead[i]-rate*g[i]
		}
	}
	return objective(p, w, l2, g)
}

// objective returns the value at w, with its gradient in g.
func objective(p *problem, w []float64, l2 float64, g []float64) float64 {
	clear(g)
	value, n := 0.0, float64(len(p.Rows))
	x, raw := make([]float64, p.Features+1), make([]float32, p.Features)
	for _, r := range p.Rows {
		for j, v := range p.Src.Vector(int(r), raw) {
			x[j] = float64(v) * float64(p.Scale.Factor[j])
			if p.Scale.Center != nil {
				x[j] = (float64(v) - float64(p.Scale.Center[j])) * float64(p.Scale.Factor[j])
			}
		}
		x[p.Features] = 1
		value += rowLoss(x, w, g, p.width, int(p.class[r]), p.Weight.Weight(int(r))) / n
	}
	for i := range g {
		g[i] /= n
	}
	for i, v := range w[:p.Features*p.width] {
		value += l2 / 2 * v * v
		g[i] += l2 * v
	}
	return value
}

// rowLoss returns the log-loss of a row times its weight; its gradient is added to g.
func rowLoss(x, w, g []float64, width, class int, weight float64) float64 {
	z := make([]float64, width)
	for j, v := range x {
		for c := range z {
			z[c] += v * w[j*width+c]
		}
	}
	top, sum := slices.Max(z), 0.0
	for c := range z {
		sum += math.Exp(z[c] - top)
	}
	loss := math.Log(sum) + top - z[class]
	for c := range z {
		d := math.Exp(z[c]-top) / sum
		if c == class {
			d--
		}
		d *= weight
		for j, v := range x {
			g[j*width+c] += d * v
		}
	}
	return weight * loss
}

func TestReachesTheOptimum(t *testing.T) {
	t.Parallel()
	const l2 = 0.01
	dense, rare := made(600, 6, 4, 1, 0, 1), rarely(500, 60, 3, 1)
	stale := 2
	for _, c := range []struct {
		name  string
		set   *data.ExampleSet
		more  map[string]string
		stale *int
		close float64 // to the optimum
	}{
		{"dense", dense, nil, nil, 0.002},
		{"sparse", rare, nil, nil, 0.004},
		{"sparse in batches", rare, map[string]string{"batch": "5"}, nil, 0.004},
		{"dense, balanced", dense, map[string]string{"class_weights": "balanced"}, nil, 0.002},
		{"dense, one class in front", dense, map[string]string{"class_weights": "2:20"}, nil, 0.004},
		{"sparse, balanced", rare, map[string]string{"class_weights": "balanced"}, nil, 0.004},
		{"sparse, one class in front", rare, map[string]string{"class_weights": "2:20"}, nil, 0.004},
		{"dense, balanced, server sgd", dense, map[string]string{"rule": "sgd", "lr": "2", "class_weights": "1:8"}, nil, 0.004},
		{"dense under staleness", dense, nil, &stale, 0.004},
		{"sparse under staleness", rare, nil, &stale, 0.01},
		{"dense, server sgd", dense, map[string]string{"rule": "sgd", "lr": "2"}, nil, 0.004},
		{"sparse, server sgd", rare, map[string]string{"rule": "sgd", "lr": "4"}, nil, 0.02},
		{"dense, server momentum", dense, map[string]string{"rule": "momentum", "lr": "4"}, nil, 0.004},
		{"sparse, server momentum", rare, map[string]string{"rule": "momentum", "lr": "8"}, nil, 0.02},
		{"dense, server adam", dense, map[string]string{"rule": "adam", "lr": "2"}, nil, 0.004},
		{"sparse, server adam", rare, map[string]string{"rule": "adam"}, nil, 0.02},
		{"dense, server adagrad", dense, map[string]string{"rule": "adagrad"}, nil, 0.002},
		{"sparse, server adagrad", rare, map[string]string{"rule": "adagrad"}, nil, 0.004},
	} {
		if testing.Short() && c.more["rule"] != "" && c.set == rare {
			continue // what the rule does is shown on the dense rows
		}
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			settings := map[string]string{"l2": fmt.Sprint(l2)}
			for k, v := range c.more {
				settings[k] = v
			}
			in := app.Input{Data: apptest.Examples(c.set), Epochs: 60, Seed: 3, Settings: settings, Staleness: c.stale}
			p := problemOf(t, in)
			if p.Dense == strings.HasPrefix(c.name, "sparse") {
				t.Fatal("the rows are laid out in the other form")
			}
			_, tables, _ := trained(t, in, 2)
			w := make([]float64, len(tables[0]))
			for i, v := range tables[0] {
				w[i] = float64(v)
			}
			got, want := objective(p, w, l2, make([]float64, len(w))), optimum(p, l2)
			if got < want-1e-6 || got > want+c.close {
				t.Errorf("objective %.5f; the optimum is %.5f", got, want)
			}
		})
	}
}

func TestSameBitsForAnyNumberOfSlots(t *testing.T) {
	t.Parallel()
	for name, set := range map[string]*data.ExampleSet{
		"dense": made(1500, 9, 3, 1, 0, 1), "sparse": rarely(3000, 400, 5, 1), "binary": rarely(1200, 300, 2, 1),
	} {
		in := app.Input{Data: apptest.Examples(set), Epochs: 4, Seed: 5}
		_, want, epochs := trained(t, in, 1)
		for slots := 2; slots <= 3; slots++ {
			_, got, again := trained(t, in, slots)
			for i := range want {
				if !slices.Equal(got[i], want[i]) {
					t.Errorf("%s: table %d differs between 1 and %d slots", name, i, slots)
				}
			}
			if fmt.Sprint(again) != fmt.Sprint(epochs) {
				t.Errorf("%s: epochs differ between 1 and %d slots", name, slots)
			}
		}
	}
}

func TestLearnsWhatCanBeSeparated(t *testing.T) {
	t.Parallel()
	for _, step := range []float32{1, 2} { // labels -1, 0 and -1, 1
		set, test := made(2000, 8, 2, 1, -1, step), made(500, 8, 2, 2, -1, step)
		_, _, epochs := trained(t, app.Input{Data: apptest.Examples(set), Test: apptest.Examples(test), Seed: 1}, 2)
		last := epochs[len(epochs)-1].Metrics
		if got := apptest.Metric(t, last, "test_accuracy"); got < 0.9 {
			t.Errorf("test accuracy %.3f after %d epochs", got, len(epochs))
		}
	}
}

func TestUnitsOfFeaturesDoNotMatter(t *testing.T) {
	t.Parallel()
	set := made(1000, 6, 3, 1, 0, 1)
	other := *set
	other.Dense = slices.Clone(set.Dense)
	for i := range other.Dense {
		switch j := i % set.Features; j {
		case 0:
			other.Dense[i] = other.Dense[i]*1024 + 4096
		case 1:
			other.Dense[i] /= 1 << 20
		}
	}
	in := app.Input{Data: apptest.Examples(set), Epochs: 5, Seed: 2}
	_, _, want := trained(t, in, 1)
	in.Data = apptest.Examples(&other)
	_, _, got := trained(t, in, 1)
	a, b := apptest.Metric(t, want[4].Metrics, "test_logloss"), apptest.Metric(t, got[4].Metrics, "test_logloss")
	if math.Abs(a-b) > 1e-3 {
		t.Errorf("test logloss %.5f, in other units %.5f", a, b)
	}
}

func TestStopsByItselfAndKeepsTheBest(t *testing.T) {
	t.Parallel()
	set, test := made(300, 40, 3, 1, 0, 1), made(300, 40, 3, 2, 0, 1)
	in := app.Input{Data: apptest.Examples(set), Test: apptest.Examples(test), Seed: 1}
	run, tables, epochs := trained(t, in, 2)
	if len(epochs) >= epochsDefault {
		t.Fatalf("ran all %d epochs", len(epochs))
	}
	m := apptest.Model(t, run, tables)
	p := apptest.Open(t, New(), m)
	figures := apptest.Evaluate(t, p, in.Test)
	got := apptest.Metric(t, figures, "logloss")
	if !slices.ContainsFunc(epochs, func(e train.Epoch) bool {
		return math.Abs(apptest.Metric(t, e.Metrics, "test_logloss")-got) < 1e-5
	}) {
		t.Errorf("the model's test logloss %.6f is that of no epoch", got)
	}
}

func TestGoalEndsARun(t *testing.T) {
	t.Parallel()
	in := app.Input{Data: apptest.Examples(made(1500, 8, 3, 1, 0, 1)), Epochs: 50, Goal: &app.Goal{Metric: "test_accuracy", Value: 0.8}}
	_, _, epochs := trained(t, in, 1)
	if got := apptest.Metric(t, epochs[len(epochs)-1].Metrics, "test_accuracy"); got < 0.8 || len(epochs) == 50 {
		t.Errorf("accuracy %.3f after %d epochs", got, len(epochs))
	}
	for _, e := range epochs[:len(epochs)-1] {
		if apptest.Metric(t, e.Metrics, "test_accuracy") >= 0.8 {
			t.Errorf("epoch %d had reached the goal", e.Number)
		}
	}
}

func TestRefusesDataWithoutClasses(t *testing.T) {
	t.Parallel()
	one := made(50, 3, 2, 1, 5, 0)
	many := made(10000, 1, 2, 1, 0, 1)
	for i := range many.Label {
		many.Label[i] = float32(i) / 2
	}
	few := made(2, 3, 2, 1, 0, 1)
	few.Label = []float32{0, 1}
	for name, c := range map[string]struct {
		set  *data.Set
		want string
	}{
		"one class":   {apptest.Examples(one), "train mlr: all labels are the same: [5]; classification needs rows of at least two classes"},
		"regression":  {apptest.Examples(many), "train mlr: more than 4096 distinct labels: that is a regression target, not a class; `train linear` predicts numbers; mlr needs labels that name classes"},
		"ratings":     {&data.Set{Kind: data.Ratings, Ratings: &data.RatingSet{}}, "train mlr: the data must be labelled examples"},
		"no features": {apptest.Examples(&data.ExampleSet{Label: []float32{0, 1, 0, 1, 0, 1, 1, 0}}), "train mlr: the rows have no features"},
	} {
		_, err := New().NewRun(app.Input{Data: c.set, Seed: 1})
		if err == nil || err.Error() != c.want || bellows.KindOf(err) != bellows.BadData {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestLongStepsAreNoEvidence: few sparse rows, which the first steps throw about, do not make l2 so strong that nothing is learned. Without bestAlpha, which holds alpha, a quarter of such sets ended at
// the log-loss of a guess, 1.39.
func TestLongStepsAreNoEvidence(t *testing.T) {
	t.Parallel()
	for _, seed := range []uint64{1, 5, 7, 12, 13, 22} {
		_, _, epochs := trained(t, app.Input{Data: apptest.Examples(rarely(3000, 200, 4, seed)), Seed: seed}, 2)
		if got := apptest.Metric(t, epochs[len(epochs)-1].Metrics, "test_logloss"); got > 1.05 {
			t.Errorf("seed %d: log-loss %.3f after %d epochs", seed, got, len(epochs))
		}
	}
}
