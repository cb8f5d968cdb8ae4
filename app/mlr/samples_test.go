package mlr

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"bellows/app"
	"bellows/app/apptest"
	"bellows/data"
)

// TestWeightsAreRepeatedRows: rows that weigh 1 to 4 come to the best of rows that stand as often.
func TestWeightsAreRepeatedRows(t *testing.T) {
	t.Parallel()
	const l2 = 0.01
	dense, rare := made(400, 6, 4, 1, 0, 1), rarely(400, 60, 3, 1)
	for _, c := range []struct {
		name  string
		set   *data.ExampleSet
		more  map[string]string
		close float64
	}{
		{"dense", dense, nil, 0.002}, {"sparse", rare, nil, 0.004}, {"dense, balanced", dense, map[string]string{"class_weights": "balanced"}, 0.002},
		{"dense, server adagrad", dense, map[string]string{"rule": "adagrad"}, 0.002}, {"sparse, server adagrad", rare, map[string]string{"rule": "adagrad"}, 0.004},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			weighted, repeated := apptest.Heavy(c.set)
			test, testRepeated := apptest.Heavy(made(100, 6, 4, 2, 0, 1))
			if c.set == rare {
				test, testRepeated = apptest.Heavy(rarely(100, 60, 3, 2))
			}
			settings := map[string]string{"l2": fmt.Sprint(l2), "early_stop": "false"}
			for k, v := range c.more {
				settings[k] = v
			}
			in := app.Input{Data: weighted, Test: test, Epochs: 60, Seed: 3, Settings: settings}
			q := problemOf(t, in)
			p := problemOf(t, app.Input{Data: repeated, Test: testRepeated, Epochs: 60, Seed: 3, Settings: settings})
			for j, factor := range p.Scale.Factor {
				if math.Abs(float64(factor-q.Scale.Factor[j])) > 1e-5*float64(factor) {
					t.Fatalf("feature %d is scaled by %v and by %v", j, q.Scale.Factor[j], factor)
				}
			}
			run, tables, epochs := trained(t, in, 2)
			if !strings.Contains(run.Headline, "rows weigh 1 to 4") {
				t.Errorf("headline %q", run.Headline)
			}
			w := make([]float64, len(tables[0]))
			for i, v := range tables[0] {
				w[i] = float64(v)
			}
			got, want := objective(p, w, l2, make([]float64, len(w))), optimum(p, l2)
			if got < want-1e-5 || got > want+c.close {
				t.Errorf("objective %.5f of the repeated rows; the optimum is %.5f", got, want)
			}
			m := apptest.Model(t, run, tables)
			byWeight := apptest.Examine(t, apptest.Open(t, New(), m), test)
			byRows := apptest.Examine(t, apptest.Open(t, New(), m), testRepeated)
			for i, figure := range byWeight.Metrics {
				if other := byRows.Metrics[i]; figure.Name != other.Name || math.Abs(figure.Value-other.Value) > 1e-6 {
					t.Errorf("%s is %v by weights and %v by rows", figure.Name, figure.Value, other.Value)
				}
			}
			last := epochs[len(epochs)-1].Metrics
			for _, name := range []string{"accuracy", "logloss"} {
				if said, is := apptest.Metric(t, last, "test_"+name), apptest.Metric(t, byWeight.Metrics, name); math.Abs(said-is) > 1e-4 {
					t.Errorf("test %s is said to be %v, the model's is %v", name, said, is)
				}
			}
		})
	}
}

// TestFiguresOfHeldOutRowsAreWeighted: those of the last epoch are what the model's are, by the rows' own weights and not by those of their classes.
func TestFiguresOfHeldOutRowsAreWeighted(t *testing.T) {
	t.Parallel()
	set, _ := apptest.Heavy(made(2000, 5, 3, 1, 0, 1))
	run, tables, list := trained(t, app.Input{Data: set, Seed: 1, Epochs: 3, Settings: map[string]string{"class_weights": "0:7"}}, 2)
	m := apptest.Model(t, run, tables)
	held := set.Select(data.HeldRows(1, set.Rows(), data.HeldAlone))
	figures := apptest.Evaluate(t, apptest.Open(t, New(), m), held)
	held.Examples.Weight = nil
	alike := apptest.Evaluate(t, apptest.Open(t, New(), m), held)
	for _, name := range []string{"logloss", "accuracy"} {
		got, want := apptest.Metric(t, list[2].Metrics, "test_"+name), apptest.Metric(t, figures, name)
		if math.Abs(got-want) > 1e-4 {
			t.Errorf("test %s is %v, the model's is %v", name, got, want)
		}
		if want == apptest.Metric(t, alike, name) {
			t.Errorf("%s is the same without weights: the test says nothing", name)
		}
	}
}
