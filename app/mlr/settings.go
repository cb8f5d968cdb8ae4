package mlr

import (
	_ "embed" // settings.txt

	"bellows/app"
	"bellows/app/examples"
)

//go:embed settings.txt
var settings string

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
