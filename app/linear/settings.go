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
	{Name: "loss", Default: app.Auto, Reason: "what a wrong score costs, and so what labels are; auto is logistic where there are two, softmax where they are more and text, and squared where they are more numbers. Of two classes: logistic, whose scores are log-odds; hinge (or svm); squared_hinge. Of numbers: squared (or linreg, ridge; lasso, which is it with l1 and without l2); huber (or robust), which large errors pull less; insensitive (or svr), which small ones do not pull. Of any number of classes: softmax, which train mlr is a name of"},
	{Name: "l2", Default: app.Auto, Reason: "strength of the pull of weights towards zero, on scaled features and the mean loss, 0 only beside l1; auto chooses it from the training data (logistic, squared, with solver=newton), from a validation part (solver=dual, 100 rows or more), otherwise 1/rows, as C=1 of LIBLINEAR, and for dense rows at least 0.001"},
	{Name: "l1", Default: "0", Reason: "strength of the pull that makes weights exactly zero, beside l2, which together are an elastic net, or with l2=0; 0 keeps all. auto, which lasso has, begins with the least that leaves none, and rows that are kept aside choose how much less it is to be, with l2=0 unless it is given or the loss has corners; of fewer than 100 rows it is a hundredth. softmax takes it as it is given, and leaves the bias alone"},
	{Name: "path", Default: app.Auto, Reason: "how many strengths of l1=auto, or else of l2, are tried from strong to weak, each from where the last has ended, on a part of the rows; those kept aside choose among them, and then all rows train. Columns and the manifest tell of each. auto is as many as it takes, where l1 or l2 is to be chosen so"},
	{Name: "delta", Default: "0.5", Reason: "huber: errors beyond it count by their size and not by their square; a multiple of the labels' spread"},
	{Name: "epsilon", Default: "0.1", Reason: "insensitive: errors up to it cost nothing; a multiple of the labels' spread"},
	{Name: "scale", Default: app.Auto, Reason: examples.ScaleReason + "; none takes labels as they are, too, as LIBLINEAR with -B 1, and the others have their mean and deviation from the training rows"},
	{Name: "solver", Default: app.Auto, Reason: "newton solves for all weights at once, and comes to the best of all losses, with l1 or without, in few epochs; descent goes from feature to feature, dual from row to row, and all of them end close to the best; sgd, adagrad, adam and ftrl (FTRL-proximal) step by gradients, with l1 and l2 taken on the server, and allow --staleness; softmax has average (splits take local steps that are averaged with momentum), its choice, and sgd, momentum, adagrad, adam, its choice with l1, and ftrl; auto is newton for up to 1024 features, else descent with l1 and dual without, and dual where l1 meets hinge or insensitive"},
	{Name: "lr", Default: "1", Reason: "sgd, adagrad, adam, ftrl, and softmax: step size, as a multiple of what suits the data; it is cut when epochs gain little"},
	{Name: "class_weights", Default: "none", Reason: "how much the rows of a class count in training: balanced is rows/(classes*rows of the class), or label:weight,..., 1 for other labels; test figures leave these out. Of losses of classes; it multiplies what rows count by --weight"},
	{Name: "calibrate", Default: calibrateNone, Reason: "two classes: platt gives predict and eval probabilities by hinge and squared_hinge, too, as a line of log-odds over scores; isotonic as any function that rises, which wants 1,000 rows. Both learn from out-of-fold scores of the training rows, which costs 5 more trainings of 4/5 of them at the end"},
	{Name: "progressive", Default: "false", Reason: "sgd, adagrad, adam, ftrl: show the loss and the accuracy, or the error, of each row before it was learned from, in the first epoch: what the model would have been good for while it learned"},
	{Name: "gap", Default: "0.01", Reason: "the run ends when the objective is certain to be within this part of the best there is; it mostly is far closer then, and smaller takes longer. Or by dual, or with hinge and insensitive, when it is within ten times that and has fallen by less than a tenth of it in 20 epochs; by steps, which prove nothing, when it has fallen by less than a tenth of it in 5, and softmax with l1 or ftrl as many times less than a tenth as patience says, where 0.001 is its choice"},
	{Name: "splits", Default: app.Auto, Reason: "parts of the data, one executor each; auto is 4 for dense rows and 16 for sparse ones, fewer for small data, or four for each slot that --workers A:B allows, and never depends on the machine"},
	{Name: "clocks", Default: app.Auto, Reason: "exchanges an epoch: auto is 10 by dual and 100 by steps, each of them a step, fewer for small data. Newton's epochs always have 2"},
	{Name: "batch", Default: app.Auto, Reason: "softmax: rows of a local step; auto is 1 for sparse rows and 8 to 64 for dense ones"},
	{Name: "early_stop", Default: app.Auto, Reason: "softmax: stop when held-out rows are predicted no better, and keep the best epoch; auto is on unless the number of epochs is given. The other losses, and softmax with l1, have one best, and need no such rows"},
	{Name: "patience", Default: "5", Reason: "softmax: epochs without improvement before stopping"},
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
		return config{}, bellows.Errorf(bellows.Config, "train", name, "there is no staleness but 0: that a step comes closer to the best is certain only where all splits begin a clock with the same weights").
			Hinted("leave --staleness out, or take --set solver=adagrad, which steps by gradients")
	}
	if in.From != nil {
		return config{}, bellows.Errorf(bellows.Config, "train", name, "only loss=softmax begins with a model").Hinted("leave --from out: the others come to the same best from anywhere")
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
		v.Refuse("lr", "there is no step size but that of solver=sgd, adagrad, adam or ftrl; the others need none")
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
		v.Refuse("l1", "solver=%s takes it as it is given; leave solver out, or say a number", c.solver)
	case c.path > 0 && rules[c.solver] != nil:
		v.Refuse("path", "solver=%s goes one way to its end; leave solver or path out", c.solver)
	case c.path > 0 && !c.seekL1 && !c.chosen:
		v.Refuse("path", "l1 and l2 are given, so that there is nothing to choose; say l1=auto, or leave l2 or path out")
	}
	_, curved := c.loss.(loss.Curved)
	c.corners = !curved && c.loss != nil
	switch {
	case c.solver == solverAverage || c.solver == solverMomentum:
		v.Refuse("solver", "only loss=softmax has it")
	case c.solver == solverDescent && c.corners:
		v.Refuse("solver", "loss=%s has corners, where a weight alone finds no way down; solver=dual finds its best", c.name)
	case c.solver == solverNewton && c.corners && c.l1 > 0:
		v.Refuse("solver", "loss=%s has corners, and so has l1; solver=dual finds the best", c.name)
	case c.corners && !c.chosen && c.l2 == 0 && rules[c.solver] == nil:
		v.Refuse("l2", "loss=%s has corners, and needs it", c.name)
	case c.lasso && c.l1 == 0:
		v.Refuse("loss", "with l1=0 it is not a lasso; leave l1 out, or say how strong the pull is that makes weights zero, such as l1=0.01")
	case c.chosen || c.l2 >= l2Least:
	case c.l2 > 0 || c.l1 == 0:
		v.Refuse("l2", "must be a number from %g to 1e+06, or 0 with l1", l2Least)
	case c.solver == solverDual:
		v.Refuse("solver", "its weights are sums divided by l2, which is 0; leave it out")
	}
}

// lossOf is the loss that suits labels: two of them, or text, are classes.
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
