package linear

import (
	"maps"
	"strings"

	"bellows/app"
	"bellows/app/mlr"
	"bellows/model"
)

// lossSoftmax is the loss of two and more classes, with a score for each. It is that of mlr under this name: see
// docs/decisions/learning.md, 0089.
const lossSoftmax = "softmax"

// The solvers of softmax beside sgd, adagrad, adam and ftrl: its rule of that name.
const (
	solverAverage  = "average"
	solverMomentum = "momentum"
)

var softmax = mlr.Named(name)

// softmaxOnly are settings that no other loss has.
var softmaxOnly = []string{"batch", "early_stop", "patience"}

// mlrSettings returns settings of linear by mlr's names. What mlr has not is refused in v.
func mlrSettings(in app.Input, v app.Values) map[string]string {
	given := map[string]string{}
	for _, key := range []string{"l2", "l1", "lr", "class_weights", "scale", "batch", "splits", "clocks", "early_stop", "patience"} {
		given[key] = v.Text(key)
	}
	if gap, said := in.Settings["gap"]; said { // that of the other losses is another where nobody says it
		given["gap"] = gap
	}
	switch solver := v.Choice("solver", solvers...); solver {
	case solverNewton, solverDescent, solverDual:
		v.Refuse("solver", "loss=softmax has the solvers average, sgd, momentum, adagrad, adam, ftrl")
	case solverAverage, solverMomentum:
		if v.IsAuto("l1") || v.Float("l1", 0, 1e6) > 0 {
			v.Refuse("solver", "l1 is taken by proximal steps on the server, which sgd, adagrad, adam and ftrl have; leave it out")
		}
		given["rule"] = solver
	default:
		given["rule"] = solver
	}
	if _, said := in.Settings["path"]; said {
		v.Refuse("path", "loss=softmax follows the evidence of the rows, or takes l1 and l2 as they are given")
	}
	if v.Choice("calibrate", calibrateNone, calibratePlatt, calibrateIsotonic) != calibrateNone {
		v.Refuse("calibrate", "scores of loss=softmax are log-probabilities already")
	}
	if v.Bool("progressive") {
		v.Refuse("progressive", "loss=softmax shows the loss of rows as they are visited, which in the first epoch is this")
	}
	return given
}

// newSoftmax makes a run by mlr's settings of these values.
func newSoftmax(in app.Input, v app.Values) (*app.Run, error) {
	given := mlrSettings(in, v)
	if err := v.Err(); err != nil {
		return nil, err
	}
	in.Settings = given
	run, err := softmax.NewRun(in)
	if err != nil {
		return nil, err
	}
	for key, value := range run.Settings {
		if key == "rule" {
			key = "solver"
		}
		v.Settle(key, value)
	}
	v.Settle("loss", lossSoftmax)
	run.Settings, run.Metrics = v.Map(), softmax.Describe().Metrics
	run.Headline = strings.Join([]string{"loss " + lossSoftmax, run.Headline}, " · ")
	inner := run.Model
	run.Model = func(tables [][]float32) (*model.Model, error) {
		m, err := inner(tables)
		if err == nil {
			m.Settings = maps.Clone(run.Settings)
		}
		return m, err
	}
	return run, nil
}
