package mlr

import (
	"bellows/app"
	"bellows/app/examples"
)

var settings = []app.Setting{
	{Name: "lr", Default: "1", Reason: "step size, times the one that suits the curvature of the data",
		Details: "The run adapts it after each epoch by what the epoch gained: it grows or is cut. So the default " +
			"seldom needs a change."},
	{Name: "l2", Default: app.Auto, Reason: "L2 penalty on the weights; auto: chosen from the data after each epoch",
		Details: "The objective is the mean loss of the rows plus l2/2 times the squared length of the weights of " +
			"scaled features. auto chooses the penalty from the training data, and again after every epoch. With " +
			"l1 or rule=ftrl, auto is 1/rows, and at least 0.001 for dense rows."},
	{Name: "l1", Default: "0", Reason: "L1 penalty: makes weights exactly zero; 0 keeps all weights",
		Details: "Together with l2 it is an elastic net. With l1 the server takes the steps, by `rule`."},
	{Name: "class_weights", Default: examples.WeightsNone, Reason: "training weights of classes: none, balanced, or LABEL:WEIGHT,…",
		Details: "balanced gives each row the weight rows/(classes*rows of its class), so that rare classes are not " +
			"missed. LABEL:WEIGHT,… gives weights by label; labels that are not listed have weight 1. Test " +
			"metrics ignore it."},
	{Name: "scale", Default: app.Auto, Reason: examples.ScaleReason, Details: examples.ScaleDetails},
	{Name: "batch", Default: app.Auto, Reason: "rows of a local step; auto: 1 if sparse, 8 to 64 if dense",
		Details: "For dense rows auto is chosen so that a clock has about five steps."},
	{Name: "rule", Default: app.Auto, Reason: "average, sgd, momentum, adagrad, adam or ftrl; auto: average",
		Details: "average: splits take local steps, which are averaged with momentum; it is the fastest. sgd, " +
			"momentum, adagrad, adam and ftrl (FTRL-proximal): splits push gradients and the server takes the " +
			"steps. auto is average, and adam with l1."},
	{Name: "splits", Default: app.Auto, Reason: "parts of the data, each with one executor; auto: by the data",
		Details: "auto is 16 (with l1 or rule=ftrl 4 for dense rows), and fewer for small data. With --workers A:B it " +
			"is four for each slot that the job may get. It never depends on the machine."},
	{Name: "clocks", Default: app.Auto, Reason: "exchanges per epoch; auto: 10, or 100 with l1 or rule=ftrl",
		Details: "With l1 or rule=ftrl, each clock is one step. auto is smaller for small data."},
	{Name: "early_stop", Default: app.Auto, Reason: "stop when held-out rows gain no more; auto: without --epochs",
		Details: "The run keeps the best epoch. auto is on unless --epochs is given. With l1 or rule=ftrl the " +
			"objective of the training rows decides instead of the held-out rows."},
	{Name: "gap", Default: "0.001", Reason: "l1, ftrl: an epoch must lower the objective by a tenth of this fraction",
		Details: "With l1 or rule=ftrl, an epoch that lowers the objective by less than a tenth of this fraction is " +
			"without improvement, and the run cuts the step. A smaller gap comes closer to the minimum and takes " +
			"longer."},
	{Name: "patience", Default: "5", Reason: "epochs without improvement before stopping",
		Details: "A cut of the step needs two or three epochs to take effect. With many rows, only epochs of short " +
			"steps count."},
}

// The values of the setting rule.
const (
	ruleAverage  = "average"
	ruleSGD      = "sgd"
	ruleMomentum = "momentum"
	ruleAdaGrad  = "adagrad"
	ruleAdam     = "adam"
	ruleFTRL     = "ftrl"
)

// epochsDefault ends a run that names no number of epochs and does not stop by itself; epochsCharged one of charged steps.
const (
	epochsDefault = 100
	epochsCharged = 200
)

// config is the settings of one run.
type config struct {
	examples.Config
	choices
}

// choices is what only this application lets one choose. A zero batch and a negative l2 are to be chosen from the data.
type choices struct {
	lr, l2  float64
	l1, gap float64
	rule    string
	charges bool // weights cost something by the rule of the table: see charged.go
	stops   bool // the run may end before its epochs
	batch   int
}

func newConfig(in app.Input, a application) (config, error) {
	v, err := app.Resolve(a.Describe(), in.Settings)
	if err != nil {
		return config{}, err
	}
	c := config{examples.ReadConfig(&in, v, a.name, epochsDefault), choices{
		lr: v.Float("lr", 1e-9, 1e9), l2: -1, gap: v.Float("gap", 1e-7, 1), batch: v.IntOrAuto("batch", 1, 1<<16),
		rule: v.Choice("rule", app.Auto, ruleAverage, ruleSGD, ruleMomentum, ruleAdaGrad, ruleAdam, ruleFTRL),
	}}
	if !v.IsAuto("l2") {
		c.l2 = v.Float("l2", 0, 1e6)
	}
	c.stops = c.EarlyStop
	_, gapped := in.Settings["gap"]
	c.charge(in.From != nil, gapped, in.Epochs > 0)
	return c, v.Err()
}

// charge reads l1, and says whether weights cost something by the rule of the table.
func (c *config) charge(warm, gapped, fixed bool) {
	v := c.Values
	if v.IsAuto("l1") {
		v.Refuse("l1", "softmax has no l1=auto; give a number, such as l1=0.001")
		return
	}
	if c.l1 = v.Float("l1", 0, 1e6); c.l1 > 0 && c.l1 < penaltyLeast {
		v.Refuse("l1", "must be 0, or a number from %g to 1e+06", penaltyLeast)
	}
	if c.rule == app.Auto {
		if c.rule = ruleAverage; c.l1 > 0 && !warm {
			c.rule = ruleAdam
		}
	}
	if c.charges = c.l1 > 0 || c.rule == ruleFTRL; c.charges && c.batch > 0 {
		v.Refuse("batch", "with l1 or ftrl a step uses all rows of a clock; leave batch out and set clocks")
	}
	switch {
	case !c.charges:
		if gapped {
			v.Refuse("gap", "it goes with l1 or ftrl; otherwise held-out rows end the run, see patience")
		}
		return
	case warm:
		v.Refuse("l1", "with l1 or ftrl weights begin at zero, and a run that begins with a model has others; leave both out")
	case c.rule == ruleAverage || c.rule == ruleMomentum:
		v.Refuse("rule", "l1 is taken by proximal steps on the server, which sgd, adagrad, adam and ftrl have; leave it out")
	case c.l1 == 0 && !v.IsAuto("l2") && c.l2 < penaltyLeast:
		v.Refuse("l2", "ftrl needs what holds weights: from %g on, or 0 with l1", penaltyLeast)
	}
	if c.EarlyStop = false; !fixed { // the objective of the training rows decides, and no row is kept out for that
		c.Epochs = epochsCharged
	}
}

// penaltyLeast is the least l1, or l2 without it, that still is one beside the loss.
const penaltyLeast = 1e-12
