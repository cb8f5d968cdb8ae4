package linear

import (
	"fmt"
	"strconv"

	"bellows"
	"bellows/app"
	"bellows/app/examples"
	"bellows/app/linear/internal/loss"
	"bellows/data"
)

var settings = []app.Setting{
	{Name: "loss", Default: app.Auto, Reason: "loss function, such as logistic or softmax; auto: by the labels",
		Details: "Two classes: logistic (scores are log-odds), hinge (also named svm), squared_hinge. Any number of " +
			"classes: softmax, which is also `train mlr`. Numbers: squared (also named linreg and ridge); lasso, " +
			"which is squared with l1 and without l2; huber (also named robust), which limits the influence of " +
			"large errors; insensitive (also named svr), which ignores small errors. auto takes logistic if there " +
			"are two different labels, softmax if there are more and they are text, and squared if there are more " +
			"and they are numbers."},
	{Name: "l2", Default: app.Auto, Reason: "L2 penalty on the weights; auto: chosen from the data",
		Details: "The objective is the mean loss of the rows plus l2/2 times the squared length of the weights of " +
			"scaled features. 0 is allowed only together with l1. auto chooses the penalty from the training data " +
			"(logistic and squared with solver=newton) or from a validation part (solver=dual with 100 rows or " +
			"more). Otherwise auto is 1/rows, like C=1 of LIBLINEAR, and at least 0.001 for dense rows."},
	{Name: "l1", Default: "0", Reason: "L1 penalty: makes weights exactly zero; auto: chosen from the data",
		Details: "Together with l2 it is an elastic net; with l2=0 it stands alone. 0 keeps all weights. auto, the " +
			"default of lasso, starts at the smallest penalty that makes all weights zero; rows kept aside from " +
			"training choose how far below that the penalty is. auto then sets l2=0, unless l2 is given or the " +
			"loss is hinge or insensitive. With fewer than 100 rows, auto is a hundredth of that start. softmax " +
			"takes a number only and does not penalise the bias."},
	{Name: "path", Default: app.Auto, Reason: "number of penalties tried to choose l1 or l2; auto: as many as needed",
		Details: "The path belongs to l1=auto, or without it to l2=auto. Training tries penalties from strong to weak " +
			"on a part of the rows; each starts from the weights of the one before. The rows kept aside choose " +
			"among the penalties; then all rows train with the best. Columns of the table and the manifest of the " +
			"model list each penalty. auto tries as many as it takes whenever l1 or l2 is chosen in this way."},
	{Name: "delta", Default: "0.5", Reason: "huber: errors above it count linearly; times the spread of labels",
		Details: "Errors up to delta count by their square, larger errors by their size. The value is a multiple of " +
			"the spread of the labels, so that it does not depend on their unit."},
	{Name: "epsilon", Default: "0.1", Reason: "insensitive: errors below it cost nothing; times the spread of labels",
		Details: "The value is a multiple of the spread of the labels, so that it does not depend on their unit."},
	{Name: "scale", Default: app.Auto, Reason: examples.ScaleReason, Details: examples.ScaleDetails +
		" none also takes labels as they are, like LIBLINEAR with -B 1; the others subtract the mean of the " +
		"training labels and divide by their standard deviation."},
	{Name: "solver", Default: app.Auto, Reason: "newton, descent, dual, or a gradient solver; auto: by data and penalties",
		Details: "newton solves for all weights at once. It reaches the minimum of every loss in few epochs, with or " +
			"without l1, except for hinge and insensitive with l1. descent updates one feature at a time, dual " +
			"one row at a time; both also end close to the minimum. sgd, adagrad, adam and ftrl (FTRL-proximal) " +
			"take gradient steps, apply l1 and l2 on the server, and allow --staleness. softmax uses average " +
			"(splits take local steps, which are averaged with momentum) by default, adam by default with l1; it " +
			"also takes sgd, momentum, adagrad and ftrl. auto is newton for up to 1,024 features; for more it is " +
			"descent with l1 and dual without. It is dual for hinge and insensitive with l1."},
	{Name: "lr", Default: "1", Reason: "gradient solvers, softmax: step size, times the one that suits the data",
		Details: "It applies to solver=sgd, adagrad, adam and ftrl, and to softmax. The run lowers the step size when " +
			"epochs gain little."},
	{Name: "class_weights", Default: "none", Reason: "training weights of classes: none, balanced, or LABEL:WEIGHT,…",
		Details: "balanced gives each row the weight rows/(classes*rows of its class). LABEL:WEIGHT,… gives weights by " +
			"label; labels that are not listed have weight 1. The setting is for losses of classes. It multiplies " +
			"the weights of --weight. Test metrics ignore it."},
	{Name: "calibrate", Default: calibrateNone, Reason: "two classes: calibrate probabilities: none, platt or isotonic",
		Details: "platt fits the log-odds as a line over the scores; isotonic fits any rising function and needs 1,000 " +
			"training rows. With either of them predict and eval give probabilities for every loss of two " +
			"classes, also for hinge and squared_hinge. Both learn from out-of-fold scores of the training rows, " +
			"which costs 5 more trainings on 4/5 of the rows at the end of the run."},
	{Name: "progressive", Default: "false", Reason: "gradient solvers: show the loss of each row before learning from it",
		Details: "With solver=sgd, adagrad, adam or ftrl, the first epoch scores each row before it learns from it. It " +
			"shows the loss and the accuracy (for numbers the error): how good the model would have been while it " +
			"learned."},
	{Name: "gap", Default: "0.01", Reason: "stop when the objective is within this fraction of its minimum",
		Details: "Training stops when the objective is proven to be within this fraction of its minimum. It is usually " +
			"much closer by then; a smaller value takes longer. solver=dual, hinge and insensitive also stop when " +
			"the objective is within ten times the gap and fell by less than a tenth of the gap in 20 epochs. " +
			"Gradient solvers prove nothing: they stop when the objective fell by less than a tenth of the gap in 5 " +
			"epochs. softmax with l1 or ftrl stops after `patience` epochs that each lowered the objective by " +
			"less than a tenth of the gap; its default is 0.001."},
	{Name: "splits", Default: app.Auto, Reason: "parts of the data, each with one executor; auto: by the data",
		Details: "auto is 4 for dense rows and 16 for sparse rows, and fewer for small data. With --workers A:B it is " +
			"four for each slot that the job may get. It never depends on the machine."},
	{Name: "clocks", Default: app.Auto, Reason: "exchanges per epoch; auto: 10 for dual, 100 for gradient solvers",
		Details: "With a gradient solver, each clock is one step. auto is smaller for small data. newton always has 2 " +
			"clocks an epoch."},
	{Name: "batch", Default: app.Auto, Reason: "softmax: rows of a local step; auto: 1 if sparse, 8 to 64 if dense",
		Details: "A local step is what a split does alone with solver=average, before the exchange of a clock."},
	{Name: "early_stop", Default: app.Auto, Reason: "softmax: stop when held-out rows gain no more; auto: without --epochs",
		Details: "The run keeps the best epoch. auto is on unless --epochs is given. The other losses, and softmax " +
			"with l1, have a single minimum and need no held-out rows to stop."},
	{Name: "patience", Default: "5", Reason: "softmax: epochs without improvement before stopping",
		Details: "With early_stop an improvement is a better score of the held-out rows; with l1 or ftrl it is an " +
			"objective that falls by at least a tenth of gap."},
}

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
	return p.Values.All()
}
