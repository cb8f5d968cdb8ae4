package mlr

import (
	"bellows/app"
	"bellows/app/epochs"
	"bellows/app/examples"
	"bellows/progress"
	"bellows/table"
)

var settings = []app.Setting{
	{Name: "lr", Default: "1", Reason: "step size, as a multiple of what the data's curvature allows; it grows and is cut by what epochs gain, so the default seldom needs another"},
	{Name: "l2", Default: app.Auto, Reason: "strength of the pull towards zero, on scaled features and the mean loss; auto follows the evidence of the training rows after every epoch"},
	{Name: "class_weights", Default: examples.WeightsNone, Reason: "how much the rows of a class count in training: balanced is rows/(classes*rows of the class), so that rare classes are not missed; or label:weight,..., 1 for other labels; test figures leave these out"},
	{Name: "batch", Default: app.Auto, Reason: "rows of a local step; auto is 1 for sparse rows and, for dense ones, 8 to 64 so that a clock has about five steps"},
	{Name: "rule", Default: ruleAverage, Reason: "average: splits take local steps that are averaged with momentum, the fastest; sgd, momentum, adagrad, adam: splits push gradients and the server steps"},
	{Name: "splits", Default: app.Auto, Reason: "parts of the data, one executor each; auto is 16, fewer for small data, or four for each slot that --workers A:B allows, and never depends on the machine"},
	{Name: "clocks", Default: app.Auto, Reason: "exchanges an epoch; auto is 10, fewer for small data"},
	{Name: "early_stop", Default: app.Auto, Reason: "stop when held-out rows are predicted no better, and keep the best epoch; auto is on unless the number of epochs is given"},
	{Name: "patience", Default: "5", Reason: "epochs without improvement before stopping; a cut of the step needs two or three to show, and where rows are many only epochs of short steps count"},
}

// The values of the setting rule.
const (
	ruleAverage  = "average"
	ruleSGD      = "sgd"
	ruleMomentum = "momentum"
	ruleAdaGrad  = "adagrad"
	ruleAdam     = "adam"
)

// epochsDefault ends a run that names no number of epochs and does not stop by itself.
const epochsDefault = 100

// config is the settings of one run. Zero splits, clocks and batch, and a negative l2, are to be
// chosen from the data.
type config struct {
	name           string // of the application
	values         app.Values
	lr, l2         float64
	rule           string
	splits, clocks int
	batch          int
	seed           uint64
	consistency    table.Consistency
	epochs.Ending
	meter *progress.Meter
	least int // of the splits, where they are chosen
}

func newConfig(in app.Input, a application) (config, error) {
	v, err := app.Resolve(a.Describe(), in.Settings)
	if err != nil {
		return config{}, err
	}
	c := config{
		name:   a.name,
		values: v,
		least:  in.SplitsLeast(),
		lr:     v.Float("lr", 1e-9, 1e9),
		l2:     -1,
		rule:   v.Choice("rule", ruleAverage, ruleSGD, ruleMomentum, ruleAdaGrad, ruleAdam),
		Ending: epochs.ReadEnding(&in, v, epochsDefault), meter: in.Meter,
		splits: v.IntOrAuto("splits", 1, 1<<14), clocks: v.IntOrAuto("clocks", 1, clocksMax), batch: v.IntOrAuto("batch", 1, 1<<16),
		seed: in.Seed, consistency: in.Consistency(table.BSP),
	}
	if !v.IsAuto("l2") {
		c.l2 = v.Float("l2", 0, 1e6)
	}
	return c, v.Err()
}
