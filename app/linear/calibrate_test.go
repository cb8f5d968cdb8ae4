package linear

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"bellows/app"
	"bellows/app/apptest"
	"bellows/app/linear/internal/loss"
	"bellows/data"
	"bellows/progress"
	"bellows/train"
)

// TestACalibratedMachineHasProbabilities: a support vector machine's are about as good as those of logistic regression, its model keeps them, and the others have none.
func TestACalibratedMachineHasProbabilities(t *testing.T) {
	t.Parallel()
	test := apptest.Examples(made(1000, 5, 2, true))
	losses := map[string]float64{}
	for _, settings := range []string{"loss=logistic", "loss=svm calibrate=platt", "loss=svm"} {
		in := app.Input{Data: apptest.Examples(made(3000, 5, 1, true)), Test: test, Seed: 3, Settings: apptest.Settings(settings)}
		run, tables, _ := trained(t, in, 2)
		m := apptest.Model(t, run, tables)
		p := apptest.Open(t, New(), m)
		x := apptest.Examine(t, p, test)
		for _, f := range x.Metrics {
			if f.Name == "logloss" {
				losses[settings] = f.Value
			}
			if f.Name == "auc" && (f.Value < 0.9 || x.Classes[0].AUC != f.Value) {
				t.Errorf("%s: the area under the curve is %v", settings, f.Value)
			}
		}
		if len(x.Classes) != 2 || x.Classes[0].Label != "3" || x.Confusion[0][0]+x.Confusion[0][1] != x.Classes[0].Rows || x.Confusion[1][0] > x.Confusion[1][1]/5 {
			t.Errorf("%s: classes %+v with %v", settings, x.Classes, x.Confusion)
		}
		var out strings.Builder
		if err := p.Predict(test, &out); err != nil {
			t.Fatal(err)
		}
		if fields := strings.Split(strings.Split(out.String(), "\n")[0], "\t"); len(fields) != map[string]int{"loss=svm": 2, "loss=logistic": 3, "loss=svm calibrate=platt": 3}[settings] {
			t.Errorf("%s: a line is %q", settings, fields)
		}
		if settings != "loss=svm calibrate=platt" {
			continue
		}
		m.Details = []byte(strings.Replace(string(m.Details), `"hinge"`, `"squared"`, 1))
		if _, err := New().Open(m); err == nil {
			t.Error("a model of numbers with a calibration was opened")
		}
	}
	if a, b := losses["loss=logistic"], losses["loss=svm calibrate=platt"]; len(losses) != 2 || b > 1.1*a {
		t.Errorf("log-losses %v", losses)
	}
}

// TestProgressive: the figures are those of the first epoch, before rows were learned from: of one clock those of weights that are zero, and of many better ones.
func TestProgressive(t *testing.T) {
	t.Parallel()
	for clocks, c := range map[string][2]float64{"1": {math.Ln2 - 1e-6, math.Ln2 + 1e-6}, "20": {0.1, 0.6}} {
		in := app.Input{Data: apptest.Examples(made(2000, 5, 1, true)), Seed: 3, Epochs: 3, Settings: map[string]string{"solver": "adagrad", "progressive": "true", "clocks": clocks}}
		_, _, epochs := trained(t, in, 2)
		for _, e := range epochs {
			if got := apptest.Metric(t, e.Metrics, "progressive_logloss"); !(got >= c[0] && got <= c[1]) || got != apptest.Metric(t, epochs[0].Metrics, "progressive_logloss") {
				t.Errorf("%s clocks, epoch %d: %v", clocks, e.Number, got)
			}
		}
	}
}

// TestCalibrationIsRefused where it cannot be.
func TestCalibrationIsRefused(t *testing.T) {
	t.Parallel()
	for settings, want := range map[string]string{
		"loss=squared calibrate=platt":    "set linear: calibrate=platt: loss=squared predicts numbers, which are not calibrated",
		"loss=softmax calibrate=platt":    "set linear: calibrate=platt: scores of loss=softmax are log-probabilities already",
		"loss=ridge calibrate=isotonic":   "set linear: calibrate=isotonic: loss=squared predicts numbers, which are not calibrated",
		"loss=logistic progressive=true":  "set linear: progressive=true: solver=auto does not learn row by row; take solver=sgd, adagrad, adam or ftrl",
		"loss=logistic calibrate=sigmoid": "set linear: calibrate=sigmoid: must be one of none, platt, isotonic",
	} {
		in := app.Input{Data: apptest.Examples(made(60, 3, 1, true)), Settings: apptest.Settings(settings)}
		if _, err := New().NewRun(in); err == nil || err.Error() != want {
			t.Errorf("%s: %v", settings, err)
		}
	}
}

// rare makes rows of two features that say little, with one in six in the second class.
func rare(rows int, seed uint64) *data.ExampleSet {
	e := &data.ExampleSet{Features: 2}
	r := rand.New(rand.NewPCG(seed, 1))
	for range rows {
		a, b := 1.5*r.NormFloat64(), 1.5*r.NormFloat64()
		y := float32(0)
		if r.Float64() < 1/(1+math.Exp(-0.4*a+1.8)) {
			y = 1
		}
		e.Label, e.Dense = append(e.Label, y), append(e.Dense, float32(a), float32(b))
	}
	return e
}

// meanProbability trains a model and returns the mean probability of the second class over all rows, and the model's details with its tensors.
func meanProbability(t *testing.T, set *data.Set, seed uint64, slots int, settings string) (mean float64, kept string) {
	t.Helper()
	in := app.Input{Data: set, Test: set, Seed: seed, Settings: apptest.Settings(settings)}
	run, tables, _ := trained(t, in, slots)
	m := apptest.Model(t, run, tables)
	p, err := openModel(m)
	if err != nil {
		t.Fatal(err)
	}
	s, err := p.Source(set, "test", 1)
	if err != nil {
		t.Fatal(err)
	}
	for row := range s.Rows() {
		mean += loss.Sigmoid(p.score(s, row)) / float64(s.Rows())
	}
	return mean, fmt.Sprintf("%s %v", m.Details, m.Tensors)
}

// TestAlignedFoldsKeepTheShare: the mean probability of a rare class is its share of the training rows, whatever the seed, the loss and the solver. The best weights of hinge are close to 0 here, where
// the scores of folds have no common scale.
func TestAlignedFoldsKeepTheShare(t *testing.T) {
	t.Parallel()
	set, share := apptest.Examples(rare(1000, 5)), 0.0
	for _, y := range set.Examples.Label {
		share += float64(y) / 1000
	}
	for _, settings := range []string{"loss=hinge calibrate=platt", "loss=hinge calibrate=isotonic solver=dual", "loss=logistic calibrate=platt solver=adagrad", "loss=logistic l1=0.01 l2=0 calibrate=isotonic"} {
		for seed := range uint64(2) {
			if mean, _ := meanProbability(t, set, seed+1, 2, settings); math.Abs(mean-share) > 0.01 {
				t.Errorf("%s, seed %d: the mean probability is %.4f, the share %.4f", settings, seed+1, mean, share)
			}
		}
	}
}

// TestCalibrationHasTheSameBits with any number of compute slots.
func TestCalibrationHasTheSameBits(t *testing.T) {
	t.Parallel()
	set := apptest.Examples(rare(700, 6))
	for _, settings := range []string{"loss=hinge calibrate=platt", "loss=logistic calibrate=isotonic solver=dual", "loss=squared_hinge calibrate=platt solver=ftrl"} {
		_, one := meanProbability(t, set, 3, 1, settings)
		if _, three := meanProbability(t, set, 3, 3, settings); one != three {
			t.Errorf("%s: with one slot\n%s\nwith three\n%s", settings, one, three)
		}
	}
}

// TestCalibrationTrainsOnAllRows: beside test rows none is held out, and the weights are those of a model without a calibration.
func TestCalibrationTrainsOnAllRows(t *testing.T) {
	t.Parallel()
	weights := map[string]string{}
	for _, calibrate := range []string{"none", "platt", "isotonic"} {
		in := app.Input{Data: apptest.Examples(rare(400, 7)), Test: apptest.Examples(rare(100, 8)), Seed: 2, Settings: map[string]string{"loss": "logistic", "calibrate": calibrate}}
		run, tables, _ := trained(t, in, 2)
		m := apptest.Model(t, run, tables)
		if run.Items != 400 || !strings.Contains(run.Headline, "no further rows held out") {
			t.Errorf("calibrate=%s trains on %d rows: %s", calibrate, run.Items, run.Headline)
		}
		weights[calibrate] = fmt.Sprint(m.Tensors[:2])
	}
	if weights["none"] != weights["platt"] || weights["none"] != weights["isotonic"] {
		t.Error(weights)
	}
}

// TestRareClassesHaveFewerFolds: with less than five rows of a class there are as many folds as rows, and a warning; with one, a refusal before training.
func TestRareClassesHaveFewerFolds(t *testing.T) {
	t.Parallel()
	for rows, want := range map[int]string{0: "all labels are 0", 1: "calibrate=platt needs 2 training rows of each class, and there are 1 of 1", 3: "calibrate=platt uses 3 folds and not 5: label 1 has 3 training rows", 5: ""} {
		e := rare(60, 9)
		for i := range e.Label {
			e.Label[i] = 0
			if i < rows {
				e.Label[i] = 1
			}
		}
		in := app.Input{Data: apptest.Examples(e), Test: apptest.Examples(e), Seed: 1, Train: apptest.Trainer(1), Settings: map[string]string{"loss": "logistic", "calibrate": "platt"}}
		run, err := New().NewRun(in)
		switch {
		case err != nil:
			if rows > 1 || !strings.Contains(err.Error(), want) {
				t.Errorf("%d rows: %v", rows, err)
			}
			continue
		case want == "" && len(run.Warnings) > 0, want != "" && (len(run.Warnings) != 1 || !strings.Contains(run.Warnings[0], want)):
			t.Errorf("%d rows: warnings %q", rows, run.Warnings)
		}
		tables, _ := apptest.Play(t, run, 1)
		if _, err := run.Model(tables); err != nil {
			t.Errorf("%d rows: %v", rows, err)
		}
	}
}

// TestFoldsEndWithTheRun: an interrupted run has a model without a calibration, and one that is interrupted while folds train has none.
func TestFoldsEndWithTheRun(t *testing.T) {
	t.Parallel()
	for _, folds := range []int{0, 2} {
		ctx, cancel := context.WithCancel(t.Context())
		in := app.Input{Data: apptest.Examples(rare(300, 10)), Seed: 1, Meter: progress.New(ctx), Settings: map[string]string{"loss": "logistic", "calibrate": "platt"}}
		left, inner := folds, apptest.Trainer(1)
		in.Train = func(job train.Job) ([][]float32, error) {
			if left--; left == 0 {
				cancel()
			}
			return inner(job)
		}
		run := apptest.NewRun(t, New(), in)
		tables, _ := apptest.Play(t, run, 1)
		if folds == 0 {
			cancel()
		}
		m, err := run.Model(tables)
		if folds == 0 && (err != nil || strings.Contains(string(m.Details), "calibration")) || folds > 0 && !errors.Is(err, context.Canceled) {
			t.Errorf("interrupted in fold %d: %v, %v", folds, m, err)
		}
		cancel()
	}
}
