package linear

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"bellows/app"
)

// TestPlattFindsTheLogOdds: of scores whose log-odds lie on a line, the line; of scores that say nothing, the share of the class; and of classes that scores tell
// apart no probabilities of 0 and 1.
func TestPlattFindsTheLogOdds(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 2))
	scores, second, noise := make([]float64, 20000), make([]bool, 20000), make([]float64, 20000)
	ones := 0.0
	for i := range scores {
		scores[i], noise[i] = 3*r.NormFloat64(), r.NormFloat64()
		if second[i] = r.Float64() < 1/(1+math.Exp(-0.7*scores[i]+1)); second[i] {
			ones++
		}
	}
	if c := platt(scores, second, nil); math.Abs(c.Slope-0.7) > 0.03 || math.Abs(c.Offset+1) > 0.05 {
		t.Errorf("the line is %+v, not 0.7 and -1", c)
	}
	if c := platt(noise, second, nil); math.Abs(c.Slope) > 0.05 || math.Abs(c.Offset-math.Log(ones/(20000-ones))) > 0.02 {
		t.Errorf("the line of noise is %+v", c)
	}
	c := platt([]float64{-2, -1, 1, 2}, []bool{false, false, true, true}, nil)
	if p := 1 / (1 + math.Exp(-c.of(2))); !(p > 0.7 && p < 0.99) {
		t.Errorf("of four rows the probability of the surest is %v by %+v", p, c)
	}
}

// TestACalibratedMachineHasProbabilities: a support vector machine's are about as good as those of logistic regression, its model keeps them, and the others have none.
func TestACalibratedMachineHasProbabilities(t *testing.T) {
	t.Parallel()
	test := setOf(made(1000, 5, 2, true))
	losses := map[string]float64{}
	for _, settings := range []string{"loss=logistic", "loss=svm calibrate=platt", "loss=svm"} {
		in := app.Input{Data: setOf(made(3000, 5, 1, true)), Test: test, Seed: 3, Settings: map[string]string{}}
		for s := range strings.FieldsSeq(settings) {
			key, value, _ := strings.Cut(s, "=")
			in.Settings[key] = value
		}
		run, tables, _ := trained(t, in, 2)
		m, err := run.Model(tables)
		if err != nil {
			t.Fatal(err)
		}
		p, err := New().Open(m)
		if err != nil {
			t.Fatal(err)
		}
		x, err := p.(app.Examiner).Examine(test, nil)
		if err != nil {
			t.Fatal(err)
		}
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
		in := app.Input{Data: setOf(made(2000, 5, 1, true)), Seed: 3, Epochs: 3, Settings: map[string]string{"solver": "adagrad", "progressive": "true", "clocks": clocks}}
		_, _, epochs := trained(t, in, 2)
		for _, e := range epochs {
			if got := metric(t, e.Metrics, "progressive_logloss"); !(got >= c[0] && got <= c[1]) || got != metric(t, epochs[0].Metrics, "progressive_logloss") {
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
		in := app.Input{Data: setOf(made(60, 3, 1, true)), Settings: map[string]string{}}
		for s := range strings.FieldsSeq(settings) {
			key, value, _ := strings.Cut(s, "=")
			in.Settings[key] = value
		}
		if _, err := New().NewRun(in); err == nil || err.Error() != want {
			t.Errorf("%s: %v", settings, err)
		}
	}
}
