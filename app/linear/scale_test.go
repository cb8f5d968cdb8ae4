package linear

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"bellows/app"
	"bellows/app/apptest"
	"bellows/app/examples"
	"bellows/data"
)

// TestSchemesAreRowsThatCameScaled: rows that a scheme scales train as the same rows do that came so, by every solver and by softmax; and the model's weights are of the rows
// as they are.
func TestSchemesAreRowsThatCameScaled(t *testing.T) {
	t.Parallel()
	for _, set := range []*data.ExampleSet{made(400, 6, 1, true), rarely(400, 60, 1, true)} {
		for _, scheme := range []string{examples.ScaleStandard, examples.ScaleMaxAbs, examples.ScaleMinMax} {
			for _, solver := range []string{"newton", "descent", "dual", "sgd", "adam", "softmax"} {
				t.Run(fmt.Sprintf("%s/%s/sparse=%v", scheme, solver, set.Sparse()), func(t *testing.T) {
					t.Parallel()
					settings := map[string]string{"loss": "logistic", "solver": solver, "l2": "0.01", "scale": scheme}
					if solver == "descent" {
						settings["l1"] = "0.01"
					}
					if solver == "softmax" {
						settings["loss"], settings["solver"] = "softmax", "auto"
					}
					weights, bias := scaledModel(t, set, settings)
					p := problemOf(t, app.Input{Data: apptest.Examples(set), Seed: 1, Settings: map[string]string{"loss": "logistic", "scale": scheme}})
					settings["scale"] = examples.ScaleNone
					plain, plainBias := scaledModel(t, before(set, p.Scale), settings)
					classes := len(bias)
					for c := range classes {
						off := float64(plainBias[c])
						for j, factor := range p.Scale.Factor {
							w := plain[c*p.Features+j]
							if got := weights[c*p.Features+j]; math.Abs(float64(got-w*factor)) > 1e-5*math.Abs(float64(w*factor)) {
								t.Fatalf("class %d, feature %d: weight %g, and %g of the feature scaled by %g", c, j, got, w, factor)
							}
							if p.Scale.Center != nil {
								off -= float64(w*factor) * float64(p.Scale.Center[j])
							}
						}
						if math.Abs(float64(bias[c])-off) > 1e-4*max(1, math.Abs(off)) {
							t.Errorf("class %d: bias %g, not %g", c, bias[c], off)
						}
					}
				})
			}
		}
	}
}

// before returns rows scaled before anybody reads them.
func before(set *data.ExampleSet, scale examples.Scaling) *data.ExampleSet {
	out := *set
	if set.Sparse() {
		out.Value = slices.Clone(set.Value)
		for i, j := range set.Index {
			out.Value[i] *= scale.Factor[j]
		}
		return &out
	}
	out.Dense = make([]float32, len(set.Dense))
	for r := range set.Rows() {
		scale.Apply(set.Dense[r*set.Features:(r+1)*set.Features], out.Dense[r*set.Features:])
	}
	return &out
}

// scaledModel returns the weights and the biases of the model of a run.
func scaledModel(t *testing.T, set *data.ExampleSet, settings map[string]string) (weights, bias []float32) {
	t.Helper()
	run, tables, _ := trained(t, app.Input{Data: apptest.Examples(set), Seed: 1, Settings: settings, Epochs: 5}, 2)
	m := apptest.Model(t, run, tables)
	for _, tensor := range m.Tensors {
		switch tensor.Name {
		case "weights":
			weights = tensor.Floats
		case "bias":
			bias = tensor.Floats
		}
	}
	return weights, bias
}

// TestRawFeaturesAreMeasured: of features as they are steps and the evidence of l2 have their size, too.
func TestRawFeaturesAreMeasured(t *testing.T) {
	t.Parallel()
	set := made(2000, 6, 1, true)
	for i := range set.Dense {
		set.Dense[i] *= 100
	}
	worst := 0.0
	for _, settings := range []map[string]string{{"solver": "newton"}, {"solver": "sgd", "l2": "0.01"}, {"solver": "adagrad", "l2": "0.01"}, {"solver": "adam", "l2": "0.01"}} {
		settings["loss"], settings["scale"] = "logistic", examples.ScaleNone
		_, _, epochs := trained(t, app.Input{Data: apptest.Examples(set), Seed: 1, Settings: settings}, 2)
		got := apptest.Metric(t, epochs[len(epochs)-1].Metrics, "test_logloss")
		worst = max(worst, got)
		if math.IsNaN(got) || got > 0.6 {
			t.Errorf("%v: log-loss %g", settings, got)
		}
	}
	t.Logf("the worst log-loss is %.3f", worst)
}

// TestRidgeIsThatOfAPipeline: by each scheme the weights of ridge are those of normal equations, in double precision, of features that were scaled before, with a bias that nothing pulls: what
// scikit-learn's pipelines come to (docs/11-linear-models.md).
func TestRidgeIsThatOfAPipeline(t *testing.T) {
	t.Parallel()
	const features, alpha = 5, 30.0
	set := made(500, features, 3, false)
	for _, scheme := range []string{examples.ScaleStandard, examples.ScaleMaxAbs, examples.ScaleMinMax} {
		in := app.Input{Data: apptest.Examples(set), Test: apptest.Examples(made(50, features, 4, false)), Seed: 1}
		n := float64(set.Rows())
		in.Settings = map[string]string{"loss": "ridge", "scale": scheme, "l2": fmt.Sprint(alpha / n), "gap": "0.000001"}
		run, tables, _ := trained(t, in, 2)
		m := apptest.Model(t, run, tables)
		// (Z'Z + alpha) v = Z'y of columns about their means, scaled by hand.
		by, mean := make([]float64, features), make([]float64, features)
		for j := range by {
			sum, squares, low, high := 0.0, 0.0, math.Inf(1), math.Inf(-1)
			for r := range set.Rows() {
				v := float64(set.Dense[r*features+j])
				sum, squares, low, high = sum+v, squares+v*v, min(low, v), max(high, v)
			}
			mean[j] = sum / n
			by[j] = map[string]float64{examples.ScaleStandard: math.Sqrt(squares/n - mean[j]*mean[j]), examples.ScaleMaxAbs: max(high, -low), examples.ScaleMinMax: high - low}[scheme]
		}
		a := make([][]float64, features)
		label := 0.0
		for _, y := range set.Label {
			label += float64(y) / n
		}
		for i := range a {
			a[i] = make([]float64, features+1)
			a[i][i] = alpha
			for r := range set.Rows() {
				z := (float64(set.Dense[r*features+i]) - mean[i]) / by[i]
				for j := range features {
					a[i][j] += z * (float64(set.Dense[r*features+j]) - mean[j]) / by[j]
				}
				a[i][features] += z * (float64(set.Label[r]) - label)
			}
		}
		for i := range a { // Gauss and Jordan: the matrix is positive definite
			for k := range a {
				if f := a[k][i] / a[i][i]; k != i {
					for j := range a[k] {
						a[k][j] -= f * a[i][j]
					}
				}
			}
		}
		for j, got := range m.Tensors[0].Floats {
			if want := a[j][features] / a[j][j] / by[j]; math.Abs(float64(got)-want) > 2e-5*math.Abs(want) {
				t.Errorf("%s, feature %d: weight %g, not %g", scheme, j, got, want)
			}
		}
	}
}

// TestRawLabelsAreMeasured: steps whose length is that of weights know how large labels are, where nothing scales them.
func TestRawLabelsAreMeasured(t *testing.T) {
	t.Parallel()
	set := rarely(2000, 60, 1, false)
	for r := range set.Label {
		set.Label[r] = 1000 * (3 + set.Label[r])
	}
	for _, solver := range []string{"adagrad", "adam", "ftrl"} {
		errs := map[string]float64{}
		for _, scheme := range []string{examples.ScaleAuto, examples.ScaleNone} {
			_, _, epochs := trained(t, app.Input{Data: apptest.Examples(set), Seed: 1, Settings: map[string]string{"loss": "squared", "solver": solver, "scale": scheme, "l2": "0.0001"}}, 2)
			errs[scheme] = apptest.Metric(t, epochs[len(epochs)-1].Metrics, "test_rmse")
		}
		if errs[examples.ScaleNone] > 1.1*errs[examples.ScaleAuto] {
			t.Errorf("%s: errors %v", solver, errs)
		}
		t.Logf("%s: errors %v", solver, errs)
	}
}
