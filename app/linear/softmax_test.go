package linear

import (
	"reflect"
	"strings"
	"testing"

	"bellows/app"
	"bellows/app/apptest"
	"bellows/app/mlr"
	"bellows/data"
)

// three returns rows of three classes, which text names.
func three(seed uint64) *data.ExampleSet {
	e := made(300, 4, seed, false)
	for r, y := range e.Label {
		e.Label[r] = min(2, max(0, float32(int(y/4)-9)))
	}
	e.LabelNames = []string{"ash", "elm", "oak"}
	return e
}

// TestSoftmaxIsMlr: the loss softmax, chosen by itself for three classes, is mlr: the same tables by the same settings, and a model of linear that answers as that of mlr does.
func TestSoftmaxIsMlr(t *testing.T) {
	t.Parallel()
	test := apptest.Examples(three(2))
	own := app.Input{Data: apptest.Examples(three(1)), Test: test, Seed: 3, Epochs: 4, Settings: map[string]string{"solver": "adagrad", "lr": "2", "class_weights": "balanced", "splits": "3"}}
	theirs := own
	theirs.Settings = map[string]string{"rule": "adagrad", "lr": "2", "class_weights": "balanced", "splits": "3"}
	run, tables, epochs := trained(t, own, 2)
	if run.Settings["loss"] != "softmax" || run.Settings["solver"] != "adagrad" || run.Settings["clocks"] == "auto" || run.Settings["gap"] == "" {
		t.Errorf("settings %v", run.Settings)
	}
	if !reflect.DeepEqual(run.Metrics, mlr.New().Describe().Metrics) || len(epochs) != 4 {
		t.Errorf("%d epochs with metrics %v", len(epochs), run.Metrics)
	}
	other := apptest.NewRun(t, mlr.New(), theirs)
	if !reflect.DeepEqual(run.Job.Tables, other.Job.Tables) {
		t.Errorf("tables %v, and mlr's %v", run.Job.Tables, other.Job.Tables)
	}
	var lines [2]strings.Builder
	for i, made := range []*app.Run{run, other} {
		m, err := made.Model(tables)
		if err != nil {
			t.Fatal(err)
		}
		if m.App != []string{"linear", "mlr"}[i] || strings.Contains(string(m.Details), "softmax") != (i == 0) {
			t.Errorf("a model of %s with %s", m.App, m.Details)
		}
		p, err := []app.Application{New(), mlr.New()}[i].Open(m)
		if err != nil {
			t.Fatal(err)
		}
		if err := p.Predict(test, &lines[i]); err != nil {
			t.Fatal(err)
		}
		if i == 0 {
			own.From, own.Settings = m, map[string]string{}
			if again, _, _ := trained(t, own, 1); !strings.Contains(again.Headline, "from a model") {
				t.Errorf("a run with the model begins as %q", again.Headline)
			}
			own.Settings["loss"] = "ridge"
			if _, err := New().NewRun(own); err == nil || !strings.Contains(err.Error(), "only loss=softmax can start from a model") {
				t.Errorf("ridge from a model: %v", err)
			}
		}
	}
	if lines[0].String() != lines[1].String() || strings.Count(lines[0].String(), "\n") != 300 {
		t.Error("the models of linear and of mlr do not predict the same")
	}
}

// TestSoftmaxTakesL1: by linear's name softmax with l1 is mlr's, and steps by the solver that is asked for.
func TestSoftmaxTakesL1(t *testing.T) {
	t.Parallel()
	for solver, rule := range map[string]string{"auto": "adam", "ftrl": "ftrl", "sgd": "sgd"} {
		in := app.Input{Data: apptest.Examples(three(1)), Seed: 3, Epochs: 2, Settings: map[string]string{"l1": "0.01", "solver": solver}}
		run, tables, _ := trained(t, in, 2)
		if run.Settings["solver"] != rule || run.Settings["l1"] != "0.01" || run.Job.Tables[0].Rule.Name != rule || run.Job.Tables[0].Rule.L1 != 0.01 {
			t.Errorf("solver=%s: settings %v, rule %+v", solver, run.Settings, run.Job.Tables[0].Rule)
		}
		in.Settings = map[string]string{"l1": "0.01", "rule": rule}
		other := apptest.NewRun(t, mlr.New(), in)
		if theirs, _ := apptest.Play(t, other, 1); !reflect.DeepEqual(tables, theirs) {
			t.Errorf("solver=%s: the tables are not mlr's", solver)
		}
	}
}
