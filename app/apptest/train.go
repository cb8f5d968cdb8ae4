package apptest

import (
	"context"
	"strings"
	"testing"

	"bellows"
	"bellows/app"
	"bellows/data"
	"bellows/model"
	"bellows/node"
	"bellows/train"
)

// Examples returns rows with labels as a data set.
func Examples(e *data.ExampleSet) *data.Set { return &data.Set{Kind: data.Examples, Examples: e} }

// Settings returns the settings that a text lists as "key=value key=value".
func Settings(text string) map[string]string {
	settings := map[string]string{}
	for s := range strings.FieldsSeq(text) {
		key, value, _ := strings.Cut(s, "=")
		settings[key] = value
	}
	return settings
}

// AllSplits returns the numbers of all splits of a job.
func AllSplits(splits int) []bellows.SplitID {
	all := make([]bellows.SplitID, splits)
	for s := range all {
		all[s] = bellows.SplitID(s)
	}
	return all
}

// NewRun makes the run of an input.
func NewRun(t *testing.T, a app.Application, in app.Input) *app.Run {
	t.Helper()
	run, err := a.NewRun(in)
	if err != nil {
		t.Fatal(err)
	}
	return run
}

// Trained makes the run of an input and trains it to its end on some compute slots. It returns the tables and the epochs.
func Trained(t *testing.T, a app.Application, in app.Input, slots int) (*app.Run, [][]float32, []train.Epoch) {
	t.Helper()
	in.Train = Trainer(slots)
	run := NewRun(t, a, in)
	tables, epochs := Play(t, run, slots)
	return run, tables, epochs
}

// Play trains a run to its end and checks the job's audit. It returns the tables and the epochs.
func Play(t *testing.T, run *app.Run, slots int) ([][]float32, []train.Epoch) {
	t.Helper()
	var epochs []train.Epoch
	res, err := node.Train(context.Background(), run.Job, node.Options{
		Slots: slots, OnEpoch: func(e train.Epoch, _ node.Spent) { epochs = append(epochs, e) },
	})
	if err != nil {
		t.Fatal(err)
	}
	if res.Audit.Disagreements(true) != nil || res.Audit.Sent == 0 {
		t.Fatalf("audit: %q", res.Audit.Disagreements(true))
	}
	return res.Tables, epochs
}

// Trainer returns an app.Train that trains on some compute slots.
func Trainer(slots int) app.Train {
	return func(job train.Job) ([][]float32, error) {
		res, err := node.Train(context.Background(), job, node.Options{Slots: slots})
		if err != nil {
			return nil, err
		}
		return res.Tables, nil
	}
}

// Model makes the model of a run that was trained.
func Model(t *testing.T, run *app.Run, tables [][]float32) *model.Model {
	t.Helper()
	m, err := run.Model(tables)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// Saved takes a model through its files.
func Saved(t *testing.T, m *model.Model) *model.Model {
	t.Helper()
	dir := t.TempDir() + "/run"
	if err := model.Save(dir, m); err != nil {
		t.Fatal(err)
	}
	read, err := model.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	return read
}

// Open opens a model.
func Open(t *testing.T, a app.Application, m *model.Model) app.Predictor {
	t.Helper()
	p, err := a.Open(m)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// Evaluate returns the metrics of a model on a set.
func Evaluate(t *testing.T, p app.Predictor, set *data.Set) []train.Metric {
	t.Helper()
	metrics, err := p.Evaluate(set)
	if err != nil {
		t.Fatal(err)
	}
	return metrics
}

// Examine returns all that a model's predictor tells of a set.
func Examine(t *testing.T, p app.Predictor, set *data.Set) *app.Examination {
	t.Helper()
	found, err := p.(app.Examiner).Examine(set, nil)
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// Predict returns the lines that a model predicts for a set.
func Predict(t *testing.T, p app.Predictor, set *data.Set) string {
	t.Helper()
	var out strings.Builder
	if err := p.Predict(set, &out); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// Metric returns the value of one of a list of metrics.
func Metric(t *testing.T, list []train.Metric, name string) float64 {
	t.Helper()
	for _, m := range list {
		if m.Name == name {
			return m.Value
		}
	}
	t.Fatalf("no metric %s in %v", name, list)
	return 0
}
