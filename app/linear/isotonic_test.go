package linear

import (
	"encoding/binary"
	"math"
	"strings"
	"testing"

	"bellows"
	"bellows/app"
	"bellows/app/apptest"
	"bellows/app/examples"
	"bellows/data"
	"bellows/model"
)

// calibratedModel trains a machine with an isotonic calibration.
func calibratedModel(t *testing.T, settings map[string]string) (*model.Model, *app.Run, *data.Set) {
	t.Helper()
	test := apptest.Examples(made(2000, 5, 2, true))
	in := app.Input{Train: apptest.Trainer(2), Data: apptest.Examples(made(6000, 5, 1, true)), Test: test, Seed: 3, Epochs: 8, Settings: settings}
	run := apptest.NewRun(t, New(), in)
	tables, _ := apptest.Play(t, run, 2)
	m := apptest.Model(t, run, tables)
	return m, run, test
}

// TestIsotonicOfAMachine: its probabilities are about as good as those of logistic regression, and the model keeps them.
func TestIsotonicOfAMachine(t *testing.T) {
	t.Parallel()
	losses := map[string]float64{}
	for _, calibrate := range []string{"isotonic", "platt"} {
		m, run, test := calibratedModel(t, map[string]string{"loss": "hinge", "calibrate": calibrate})
		p := apptest.Open(t, New(), m)
		figures := apptest.Evaluate(t, p, test)
		losses[calibrate] = apptest.Metric(t, figures, "logloss")
		if (m.Tensor(isotonicTensor) != nil) != (calibrate == "isotonic") || strings.Contains(string(m.Details), "calibration") != (calibrate == "platt") || len(run.Warnings) > 0 {
			t.Errorf("%s: %s, warnings %q", calibrate, m.Details, run.Warnings)
		}
		var out strings.Builder
		if err := p.Predict(test, &out); err != nil {
			t.Fatal(err)
		}
		if fields := strings.Split(strings.Split(out.String(), "\n")[0], "\t"); len(fields) != 3 {
			t.Errorf("%s: a line is %q", calibrate, fields)
		}
	}
	if a, b := losses["isotonic"], losses["platt"]; !(a < 1.05*b) || a == b {
		t.Errorf("log-losses %v", losses)
	}
	few, err := New().NewRun(app.Input{Data: apptest.Examples(made(300, 3, 1, true)), Seed: 1, Settings: map[string]string{"calibrate": "isotonic", "loss": "hinge"}})
	if err != nil || len(few.Warnings) != 1 || !strings.Contains(few.Warnings[0], "calibrate=isotonic learns from 2") {
		t.Errorf("few rows: %q, %v", few.Warnings, err)
	}
}

// TestBadIsotonicModels: what cannot be a calibration is refused, and so is one beside another, or of a model of numbers.
func TestBadIsotonicModels(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		details, want string
		points        []float32
	}{
		{`{"loss":"hinge"}`, "", []float32{0, 0.2, 1, 0.2, 2, 0.9}},
		{`{"loss":"hinge"}`, "", []float32{0, 0.2}},
		{`{"loss":"hinge"}`, "tensor isotonic is F32 of shape [0 2]", nil},
		{`{"loss":"hinge"}`, "the scores of its calibration do not ascend at point 2", []float32{1, 0.2, 1, 0.3}},
		{`{"loss":"hinge"}`, "the scores of its calibration do not ascend at point 3", []float32{1, 0.2, 2, 0.3, 1.5, 0.4}},
		{`{"loss":"hinge"}`, "the chances of its calibration descend at point 2", []float32{1, 0.3, 2, 0.2}},
		{`{"loss":"hinge"}`, "point 1 of its calibration has the chance 0", []float32{1, 0, 2, 0.2}},
		{`{"loss":"hinge"}`, "point 2 of its calibration has the chance 1", []float32{1, 0.5, 2, 1}},
		{`{"loss":"hinge"}`, "tensor isotonic holds NaN", []float32{float32(math.NaN()), 0.5}},
		{`{"loss":"hinge","calibration":{"slope":1,"offset":0}}`, "its calibration is none of two classes", []float32{0, 0.2}},
		{`{"loss":"squared"}`, "its calibration is none of two classes", []float32{0, 0.2}},
	} {
		m := machine(c.points)
		m.Details = []byte(c.details)
		if c.details == `{"loss":"squared"}` {
			m.IDs = nil
		}
		_, err := New().Open(m)
		switch {
		case c.want == "" && err != nil:
			t.Errorf("%v: %v", c.points, err)
		case c.want != "" && (bellows.KindOf(err) != bellows.BadData || !strings.Contains(err.Error(), c.want)):
			t.Errorf("%s with %v: %v", c.details, c.points, err)
		}
	}
	m := machine([]float32{0, 0.2})
	m.Tensors[2].Shape = []int{2}
	if _, err := New().Open(m); bellows.KindOf(err) != bellows.BadData || !strings.Contains(err.Error(), "tensor isotonic is") {
		t.Errorf("another shape: %v", err)
	}
}

// machine returns a model of hinge with the points of a calibration.
func machine(points []float32) *model.Model {
	return &model.Model{App: name, Details: []byte(`{"loss":"hinge"}`), IDs: []model.IDs{{File: examples.LabelsFile, Names: []string{"no", "yes"}}},
		Tensors: []model.Tensor{{Name: "weights", Shape: []int{1}, Floats: []float32{1}}, {Name: "bias", Shape: []int{1}, Floats: []float32{0}},
			{Name: isotonicTensor, Shape: []int{len(points) / 2, 2}, Floats: points}}}
}

// FuzzIsotonic opens models whose points may be anything: they are refused, or log-odds are finite and do not fall.
func FuzzIsotonic(f *testing.F) {
	f.Add([]byte{0, 0, 0, 0, 0, 0, 0, 63, 0, 0, 128, 63, 0, 0, 64, 63})
	f.Add([]byte{0, 0, 128, 63, 0, 0, 0, 63, 0, 0, 0, 0, 0, 0, 64, 63})
	f.Fuzz(func(t *testing.T, raw []byte) {
		var points []float32
		for ; len(raw) >= 8; raw = raw[8:] {
			points = append(points, math.Float32frombits(binary.LittleEndian.Uint32(raw)), math.Float32frombits(binary.LittleEndian.Uint32(raw[4:])))
		}
		p, err := New().Open(machine(points))
		if err == nil {
			c := p.(*predictor).calibrated.(*isotonic)
			apptest.Rises(t, float64(c.Scores[0]), float64(c.Scores[len(c.Scores)-1]), c.Calibrate)
		}
	})
}

// TestCalibratedProbabilitiesAreNoWorse: over 12 seeds, the log-loss on rows that were not trained on is on the mean no more
// than that of the probabilities that logistic regression has by itself, by either calibration of it.
func TestCalibratedProbabilitiesAreNoWorse(t *testing.T) {
	t.Parallel()
	losses := map[string]float64{}
	for seed := range uint64(12) {
		in := app.Input{Data: apptest.Examples(made(1500, 4, 10+seed, true)), Test: apptest.Examples(made(2000, 4, 50+seed, true)), Seed: seed}
		for _, calibrate := range []string{"none", "platt", "isotonic"} {
			in.Settings = apptest.Settings("loss=logistic l2=0.001 calibrate=" + calibrate)
			run, tables, _ := trained(t, in, 2)
			p := apptest.Open(t, New(), apptest.Model(t, run, tables))
			losses[calibrate] += apptest.Metric(t, apptest.Evaluate(t, p, in.Test), "logloss") / 12
		}
	}
	t.Logf("mean log-loss %v", losses)
	if most := losses["none"]; losses["platt"] > 1.005*most || losses["isotonic"] > 1.03*most {
		t.Errorf("mean log-loss %v", losses)
	}
}
