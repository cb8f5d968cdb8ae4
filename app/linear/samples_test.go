package linear

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"bellows/app"
	"bellows/app/apptest"
	"bellows/app/examples"
	"bellows/app/linear/internal/loss"
	"bellows/data"
)

// TestWeightsAreRepeatedRows trains every loss by every solver on rows with weights, and holds the objective of the model, over rows that stand as often as they weigh, against the least there is
// for these. What the last epoch says of training and test rows is what it would say of those.
func TestWeightsAreRepeatedRows(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, solvers, l1 string }{
		{lossLogistic, "newton dual parts descent sgd adagrad adam ftrl", "0"}, {lossHinge, "dual parts newton adagrad", "0"}, {lossSquaredHinge, "newton dual descent", "0"},
		{lossSquared, "newton dual parts descent sgd", "0"}, {lossHuber, "newton dual descent", "0"}, {lossInsensitive, "dual newton", "0"},
		{lossLogistic, "newton dual descent", "0.01"}, {lossSquared, "newton dual", "0.02"}, {lossHinge, "dual", "0.01"},
	} {
		classes := c.name == lossLogistic || strings.Contains(c.name, "hinge")
		for form, make := range map[string]func(rows int, seed uint64) *data.ExampleSet{
			"dense":  func(rows int, seed uint64) *data.ExampleSet { return made(rows, 5, seed, classes) },
			"sparse": func(rows int, seed uint64) *data.ExampleSet { return rarely(rows, 60, seed, classes) },
		} {
			weighted, repeated := apptest.Heavy(make(200, 1))
			weightedTest, repeatedTest := apptest.Heavy(make(50, 2))
			for solver := range strings.FieldsSeq(c.solvers) {
				t.Run(strings.Join([]string{c.name, form, solver, c.l1}, " "), func(t *testing.T) {
					t.Parallel()
					gap, near := 1e-4, 1e-4
					in := app.Input{Data: weighted, Test: weightedTest, Seed: 3, Settings: map[string]string{"loss": c.name, "solver": solver, "l1": c.l1, "l2": "0.05", "gap": fmt.Sprint(gap)}}
					switch {
					case solver == "parts":
						in.Settings["solver"], in.Settings["clocks"] = solverDual, "3"
					case rules[solver] != nil:
						near = 0.02
					}
					if c.name == lossHinge || c.name == lossInsensitive { // dual variables of their losses come up slowly
						near = max(near, 1e-3)
					}
					run, tables, epochs := trained(t, in, 2)
					if !strings.Contains(run.Headline, "rows weigh 1 to 4") {
						t.Errorf("headline %q", run.Headline)
					}
					p := problemOf(t, app.Input{Data: repeated, Test: repeatedTest, Seed: 3, Settings: in.Settings})
					w := weightsOf(t, p, run, tables)
					got, want := objective(p, w, p.l2, p.l1), optimum(t, p, p.l2, p.l1)
					if got < want*(1-1e-5) || got > want*(1+near)+1e-5 {
						t.Errorf("objective %.6f of the repeated rows after %d epochs; the least is %.6f", got, len(epochs), want)
					}
					m := apptest.Model(t, run, tables)
					opened := apptest.Open(t, New(), m)
					byWeight := apptest.Evaluate(t, opened, weightedTest)
					byRows := apptest.Evaluate(t, opened, repeatedTest)
					for i, figure := range byWeight {
						if math.Abs(figure.Value-byRows[i].Value) > 1e-9*(1+math.Abs(figure.Value)) {
							t.Errorf("%s is %v by weights and %v by rows", figure.Name, figure.Value, byRows[i].Value)
						}
						for _, last := range epochs[len(epochs)-1].Metrics {
							if last.Name == "test_"+figure.Name && rules[solver] == nil && math.Abs(last.Value-figure.Value) > 1e-3*(1+math.Abs(figure.Value)) {
								t.Errorf("%s is said to be %v, the model's is %v", last.Name, last.Value, figure.Value)
							}
						}
					}
				})
			}
		}
	}
}

// solversOf is a solver of each kind, for a loss of classes.
var solversOf = []string{"newton", "dual", "descent", "adagrad", "ftrl"}

// TestEqualWeightsAreNone: weights that all are the same give the bits of none, and twice the weights, or a half, those of the weights.
func TestEqualWeightsAreNone(t *testing.T) {
	t.Parallel()
	for form, set := range map[string]*data.ExampleSet{"dense": made(300, 4, 1, true), "sparse": rarely(300, 40, 1, true)} {
		weighted, _ := apptest.Heavy(set)
		for _, solver := range append([]string{"softmax"}, solversOf...) {
			t.Run(form+" "+solver, func(t *testing.T) {
				t.Parallel()
				tables := func(weight func(r int) float32) [][]float32 {
					e := *set
					if weight != nil {
						e.Weight = make([]float32, e.Rows())
						for r := range e.Weight {
							e.Weight[r] = weight(r)
						}
					}
					settings := map[string]string{"solver": solver, "loss": lossLogistic}
					if solver == "softmax" {
						settings = map[string]string{"loss": lossSoftmax}
					}
					_, tables, _ := trained(t, app.Input{Data: apptest.Examples(&e), Seed: 2, Epochs: 3, Settings: settings}, 2)
					return tables
				}
				same := func(a, b [][]float32) bool { return slices.EqualFunc(a, b, slices.Equal[[]float32]) }
				none := tables(nil)
				for _, w := range []float32{1, 4, 0.125} {
					if !same(none, tables(func(int) float32 { return w })) {
						t.Errorf("weights of %v give other bits than none", w)
					}
				}
				once := tables(func(r int) float32 { return weighted.Examples.Weight[r] })
				if same(once, none) {
					t.Error("weights change nothing")
				}
				if !same(once, tables(func(r int) float32 { return 8 * weighted.Examples.Weight[r] })) {
					t.Error("eight times the weights give other bits")
				}
			})
		}
	}
}

// TestClassWeightsAreSampleWeights: by every solver.
func TestClassWeightsAreSampleWeights(t *testing.T) {
	t.Parallel()
	for form, set := range map[string]*data.ExampleSet{"dense": made(300, 4, 1, true), "sparse": rarely(300, 40, 1, true)} {
		first, second := "3", "7"
		if form == "sparse" {
			first, second = "-1", "1"
		}
		for _, solver := range append([]string{"softmax", "parts"}, solversOf...) {
			t.Run(form+" "+solver, func(t *testing.T) {
				t.Parallel()
				models := [2][]float32{}
				for i := range models {
					e, settings := *set, map[string]string{"solver": solver, "loss": lossLogistic, "l2": "0.01"}
					switch solver {
					case "softmax":
						settings = map[string]string{"loss": lossSoftmax, "l2": "0.01"}
					case "parts":
						settings["solver"], settings["clocks"] = solverDual, "3"
					}
					if i == 0 {
						settings["class_weights"] = first + ":0.5," + second + ":3"
					} else {
						e.Weight = make([]float32, e.Rows())
						for r, y := range e.Label {
							if e.Weight[r] = 0.5; fmt.Sprint(y) == second {
								e.Weight[r] = 3
							}
						}
					}
					run, tables, _ := trained(t, app.Input{Data: apptest.Examples(&e), Seed: 2, Epochs: 6, Settings: settings}, 2)
					m := apptest.Model(t, run, tables)
					models[i] = slices.Concat(m.Tensor("weights").Floats, m.Tensor("bias").Floats)
				}
				for j, w := range models[0] {
					if math.Abs(float64(w-models[1][j])) > 1e-3*(0.01+math.Abs(float64(w))) {
						t.Fatalf("weight %d is %v by class and %v by row", j, w, models[1][j])
					}
				}
			})
		}
	}
}

// TestWeightsOfMiddle: median and mean by weights are those of repeated rows.
func TestWeightsOfMiddle(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		var weighted, repeated []label
		for range 1 + rng.IntN(9) {
			y, n := float64(rng.IntN(6)), 1+rng.IntN(3)
			weighted = append(weighted, label{y, float64(n)})
			repeated = append(repeated, slices.Repeat([]label{{y, 1}}, n)...)
		}
		for _, robust := range []bool{false, true} {
			a, b := middle(slices.Clone(weighted), robust)
			c, d := middle(slices.Clone(repeated), robust)
			if math.Abs(a-c) > 1e-12 || math.Abs(b-d) > 1e-12 {
				t.Fatalf("%v: %v ± %v, repeated %v ± %v", weighted, a, b, c, d)
			}
		}
	}
}

// TestWeightsOfCalibration: by weights as by repeated rows.
func TestWeightsOfCalibration(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(1, 3))
	var scores, all []float64
	var second, allSecond []bool
	var weights examples.RowWeights
	for range 300 {
		s, n := rng.NormFloat64(), 1+rng.IntN(3)
		is := rng.Float64() < 1/(1+math.Exp(-s))
		scores, second, weights = append(scores, s), append(second, is), append(weights, float32(n))
		all, allSecond = append(all, slices.Repeat([]float64{s}, n)...), append(allSecond, slices.Repeat([]bool{is}, n)...)
	}
	a, b := loss.Platt(scores, second, weights), loss.Platt(all, allSecond, nil)
	if math.Abs(a.Slope-b.Slope) > 1e-6 || math.Abs(a.Offset-b.Offset) > 1e-6 {
		t.Errorf("%+v by weights, %+v by rows", a, b)
	}
}
