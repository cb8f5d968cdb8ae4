package mlr

import (
	"bellows/app"
	"bellows/app/examples"
)

var settings = []app.Setting{
	{Name: "lr", Default: "1", Reason: "step size, as a multiple of what the data's curvature allows; it grows and is cut by what epochs gain, so the default seldom needs another"},
	{Name: "l2", Default: app.Auto, Reason: "strength of the pull towards zero, on scaled features and the mean loss; auto chooses it from the training data, again after every epoch"},
	{Name: "l1", Default: "0", Reason: "strength of the pull that makes weights exactly zero, beside l2, which together are an elastic net; with it the server steps, by rule, and l2=auto is 1/rows, for dense rows 0.001 at least. 0 keeps all weights"},
	{Name: "class_weights", Default: examples.WeightsNone, Reason: "how much the rows of a class count in training: balanced is rows/(classes*rows of the class), so that rare classes are not missed; or label:weight,..., 1 for other labels; test figures leave these out"},
	{Name: "scale", Default: app.Auto, Reason: examples.ScaleReason},
	{Name: "batch", Default: app.Auto, Reason: "rows of a local step; auto is 1 for sparse rows and, for dense ones, 8 to 64 so that a clock has about five steps"},
	{Name: "rule", Default: app.Auto, Reason: "average: splits take local steps that are averaged with momentum, the fastest; sgd, momentum, adagrad, adam, ftrl (FTRL-proximal): splits push gradients and the server steps; auto is average, and with l1 adam"},
	{Name: "splits", Default: app.Auto, Reason: "parts of the data, one executor each; auto is 16, with l1 or rule=ftrl 4 for dense rows, fewer for small data, or four for each slot that --workers A:B allows, and never depends on the machine"},
	{Name: "clocks", Default: app.Auto, Reason: "exchanges an epoch; auto is 10, with l1 or rule=ftrl 100, each of them a step, fewer for small data"},
	{Name: "early_stop", Default: app.Auto, Reason: "stop when held-out rows are predicted no better, and keep the best epoch; auto is on unless the number of epochs is given. With l1 or rule=ftrl the objective of the training rows decides in their place"},
	{Name: "gap", Default: "0.001", Reason: "with l1 or rule=ftrl: an epoch that lowers the objective by less than a tenth of this part is one without improvement, and cuts the step; smaller comes closer to the best, and takes longer"},
	{Name: "patience", Default: "5", Reason: "epochs without improvement before stopping; a cut of the step needs two or three to show, and where rows are many only epochs of short steps count"},
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
		v.Refuse("l1", "softmax takes it as it is given, and has nothing that chooses it; give a number, such as l1=0.001")
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
		v.Refuse("batch", "with l1 or ftrl a step is of all rows of a clock, whose number clocks says; leave it out")
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
