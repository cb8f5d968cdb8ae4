package linear

import (
	_ "embed" // settings.txt
	"fmt"
	"strconv"

	"bellows"
	"bellows/app"
	"bellows/app/examples"
	"bellows/app/linear/internal/loss"
	"bellows/data"
)

//go:embed settings.txt
var settings string

// The values of the setting loss.
const (
	lossLogistic     = "logistic"
	lossHinge        = "hinge"
	lossSquaredHinge = "squared_hinge"
	lossSquared      = "squared"
	lossHuber        = "huber"
	lossInsensitive  = "insensitive"
	lossLasso        = "lasso" // squared, without l2
)

// otherNames are the names that losses have elsewhere.
var otherNames = map[string]string{"svm": lossHinge, "linreg": lossSquared, "ridge": lossSquared, "robust": lossHuber, "svr": lossInsensitive}

// The values of the setting solver beside auto.
const (
	solverNewton  = "newton"
	solverDual    = "dual"
	solverSGD     = "sgd"
	solverAdaGrad = "adagrad"
	solverAdam    = "adam"
	solverFTRL    = "ftrl"
	solverDescent = "descent"
)

// solvers is all of them, those of softmax too.
var solvers = []string{app.Auto, solverNewton, solverDescent, solverDual, solverSGD, solverAdaGrad, solverAdam, solverFTRL, solverAverage, solverMomentum}

// epochsDefault ends a run that names no number of epochs and does not come close enough to the best.
const epochsDefault = 200

// config is the settings of one run.
type config struct {
	examples.Config
	choices
}

// choices is what only this application lets one choose. A zero l2 is to be chosen from the data.
type choices struct {
	name        string // of the loss
	loss        loss.Loss
	classes     bool // targets are classes
	corners     bool // the loss has corners, where it has no derivative
	lasso       bool // squared by that name, which is without l2
	chosen      bool // l2 is chosen from the data
	seekL1      bool // so is l1
	path        int  // strengths to try; 0: as it suits
	l2, l1, gap float64
	lr          float64
	calibrate   string
	progressive bool
	weighs      bool // rows count by their class
	solver      string
	fixed       bool // the number of epochs is given
}

func newConfig(in app.Input) (config, error) {
	v, err := app.Resolve(application{}.Describe(), in.Settings)
	if err != nil {
		return config{}, err
	}
	if in.Staleness != nil && *in.Staleness != 0 && rules[v.Text("solver")] == nil {
		return config{}, bellows.Errorf(bellows.Config, "train", name, "staleness must be 0: a step is sure to lower the objective only if all splits begin a clock with the same weights").
			Hinted("leave --staleness out, or take --set solver=adagrad, which steps by gradients")
	}
	if in.From != nil {
		return config{}, bellows.Errorf(bellows.Config, "train", name, "only loss=softmax can start from a model").Hinted("leave --from out: the other losses reach the same minimum from any start")
	}
	for _, key := range softmaxOnly {
		if _, given := in.Settings[key]; given {
			v.Refuse(key, "only loss=softmax has it")
		}
	}
	c := config{examples.ReadConfig(&in, v, name, epochsDefault), choices{
		name: v.Text("loss"), path: v.IntOrAuto("path", 2, givenMost), gap: v.Float("gap", 1e-7, 1),
		solver: v.Choice("solver", solvers...), lr: v.Float("lr", 1e-9, 1e9),
	}}
	c.EarlyStop = false // the objective of the training rows says when a run ends
	if c.fixed = in.Epochs > 0; !c.fixed {
		c.Epochs = epochsDefault + givenStay*c.path
	}
	c.readPenalties(in)
	delta, epsilon := v.Float("delta", 1e-6, 1e6), v.Float("epsilon", 0, 1e6)
	if c.name == app.Auto {
		c.name = lossOf(in.Data)
	}
	c.choose(delta, epsilon)
	c.calibrate, c.progressive = v.Choice("calibrate", calibrateNone, calibratePlatt, calibrateIsotonic), v.Bool("progressive")
	if c.calibrate != calibrateNone && !c.classes && c.loss != nil {
		v.Refuse("calibrate", "loss=%s predicts numbers, which are not calibrated", c.name)
	}
	if c.progressive && rules[c.solver] == nil {
		v.Refuse("progressive", "solver=%s does not learn row by row; take solver=sgd, adagrad, adam or ftrl", c.solver)
	}
	c.weighs = v.Text("class_weights") != examples.WeightsNone
	if c.weighs && !c.classes && c.loss != nil {
		v.Refuse("class_weights", "loss=%s predicts numbers", c.name)
	}
	if _, given := in.Settings["lr"]; given && rules[c.solver] == nil {
		v.Refuse("lr", "only solver=sgd, adagrad, adam and ftrl have a step size; leave lr out")
	}
	c.check()
	return c, v.Err()
}

// readPenalties reads l1 and l2, or that they are to be chosen.
func (c *config) readPenalties(in app.Input) {
	v := c.Values
	if c.lasso = c.name == lossLasso; c.lasso {
		c.name = lossSquared
		if _, given := in.Settings["l1"]; !given {
			v.Settle("l1", app.Auto)
		}
	}
	if c.seekL1 = v.IsAuto("l1"); c.seekL1 {
		c.l1 = 1 // until the rows say
	} else {
		c.l1 = v.Float("l1", 0, 1e6)
	}
	if c.chosen = v.IsAuto("l2") && !c.lasso; !v.IsAuto("l2") {
		c.l2 = v.Float("l2", 0, 1e6)
	}
}

// check refuses what does not go together: penalties, the loss and the solver.
func (c *config) check() {
	v := c.Values
	switch {
	case c.seekL1 && rules[c.solver] != nil:
		v.Refuse("l1", "solver=%s takes a number only; leave solver out, or give a number", c.solver)
	case c.path > 0 && rules[c.solver] != nil:
		v.Refuse("path", "solver=%s follows no path of penalties; leave solver or path out", c.solver)
	case c.path > 0 && !c.seekL1 && !c.chosen:
		v.Refuse("path", "l1 and l2 are given, so there is nothing to choose; set l1=auto, or leave l2 or path out")
	}
	_, curved := c.loss.(loss.Curved)
	c.corners = !curved && c.loss != nil
	switch {
	case c.solver == solverAverage || c.solver == solverMomentum:
		v.Refuse("solver", "only loss=softmax has it")
	case c.solver == solverDescent && c.corners:
		v.Refuse("solver", "loss=%s has no derivative in places, where descent gets stuck; use solver=dual", c.name)
	case c.solver == solverNewton && c.corners && c.l1 > 0:
		v.Refuse("solver", "loss=%s has no derivative in places, and neither has l1; use solver=dual", c.name)
	case c.corners && !c.chosen && c.l2 == 0 && rules[c.solver] == nil:
		v.Refuse("l2", "loss=%s needs an l2 above 0", c.name)
	case c.lasso && c.l1 == 0:
		v.Refuse("loss", "a lasso needs an l1 above 0; leave l1 out, or set a penalty such as l1=0.01")
	case c.chosen || c.l2 >= l2Least:
	case c.l2 > 0 || c.l1 == 0:
		v.Refuse("l2", "must be a number from %g to 1e+06, or 0 with l1", l2Least)
	case c.solver == solverDual:
		v.Refuse("solver", "solver=dual divides by l2, which is 0; leave solver out")
	}
}

// lossOf returns the loss that suits labels: two of them, or text, are classes.
func lossOf(set *data.Set) string {
	switch labels := set.Examples.Labels(2); {
	case len(labels) == 2:
		return lossLogistic
	case !set.Examples.TextLabels():
	case labels == nil:
		return lossSoftmax
	default:
		return lossLogistic
	}
	return lossSquared
}

// choose finds the loss by its name, one of them, or one that is used elsewhere.
func (c *config) choose(delta, epsilon float64) {
	if own, ok := otherNames[c.name]; ok {
		c.name = own
	}
	switch c.name {
	case lossLogistic:
		c.loss, c.classes = loss.Logistic{}, true
	case lossHinge:
		c.loss, c.classes = loss.Hinge{}, true
	case lossSquaredHinge:
		c.loss, c.classes = loss.SquaredHinge{}, true
	case lossSquared:
		c.loss = loss.Squared{}
	case lossHuber:
		c.loss = loss.Huber{Delta: delta}
	case lossInsensitive:
		c.loss = loss.Insensitive{Epsilon: epsilon}
	default:
		names := []string{lossSoftmax, lossLogistic, lossHinge, lossSquaredHinge, lossSquared, lossHuber, lossInsensitive}
		near := ""
		if n := app.Nearest(c.name, names); n != "" {
			near = fmt.Sprintf("; did you mean %s?", n)
		}
		c.Values.Refuse("loss", "must be one of softmax, logistic, hinge, squared_hinge, squared, huber, insensitive%s", near)
	}
}

// settle records what was chosen.
func (p *problem) settle() map[string]string {
	p.Values.Settle("splits", strconv.Itoa(p.Splits))
	p.Values.Settle("clocks", strconv.Itoa(p.Clocks))
	p.Values.Settle("loss", p.name)
	p.Values.Settle("solver", p.solver)
	if p.lasso {
		p.Values.Settle("l2", strconv.FormatFloat(p.l2, 'g', -1, 64))
	}
	return p.Values.Map()
}
