package mlr

import (
	"fmt"
	"maps"
	"math"
	"strconv"

	"bellows"
	"bellows/app"
	"bellows/app/epochs"
	"bellows/app/examples"
	"bellows/data"
	"bellows/model"
	"bellows/table"
	"bellows/train"
)

// New returns the application, for the list of the command line.
func New() app.Application { return application{"mlr"} }

// Named returns the application under the name of another application that has it as one of its losses: models have
// that name, and name their loss.
func Named(name string) app.Application { return application{name} }

// application has the name that the command line and the manifest use.
type application struct{ name string }

// Describe implements app.Application.
func (a application) Describe() app.Description {
	return app.Description{
		Name: a.name, Title: "softmax regression", Unit: "rows", Data: data.Examples, Warm: true, Weighs: true,
		Settings: app.ParseSettings(settings), Page: "docs/12-settings.md",
		Metrics: []string{"train_accuracy", "train_logloss", "test_accuracy", "test_logloss"},
	}
}

// NewRun implements app.Application. Training metrics are those of the rows as they were visited,
// so of weights that were still moving.
func (a application) NewRun(in app.Input) (*app.Run, error) {
	if err := examples.CheckLabelled(in.Data, "train", a.name); err != nil {
		return nil, err
	}
	c, err := newConfig(in, a)
	if err != nil {
		return nil, err
	}
	p, err := newProblem(in, c)
	if err != nil {
		return nil, err
	}
	k, settings := p.judge(), p.settled()
	driver := p.driver(k)
	job := train.Job{
		Tables: p.tables(), Splits: p.Splits, Items: p.Items, Driver: driver,
		NewExecutor: func(bellows.SplitID) (train.Executor, error) { return newExecutor(p), nil },
	}
	copied := !in.Shared && !p.Dense && p.warm == nil
	if copied {
		if err := p.copyRows(); err != nil {
			return nil, err
		}
		job.Ended = func() { p.sparseUnits, p.scored = nil, nil }
	} else {
		job.Prepare, job.Release = p.prepare, p.release
	}
	return &app.Run{
		Job: job, Copied: copied,
		Doubts: func() []string {
			if p.charges && p.stops {
				return driver.Doubts("", "give more with --epochs")
			}
			return driver.DoubtsOfStopping()
		},
		Settings:  settings,
		Headline:  p.headline(in),
		Warnings:  p.Warnings,
		Items:     int64(len(p.Rows)),
		Baseline:  p.majority(),
		Objective: "train_logloss",
		Model: func(tables [][]float32) (*model.Model, error) {
			ended, metrics := k.ended()
			ended.Loss = a.loss()
			m, err := newModel(p, tables, ended)
			if err == nil {
				maps.Copy(m.Metrics, metrics)
			}
			return m, err
		},
	}, nil
}

// adagradReach makes the first steps of rule adagrad, which are of one size in every weight, no larger
// than suits rows of the mean length.
const adagradReach = 0.5

// adamReach is the same for rule adam, with steps that do not shrink.
const adamReach = 0.05

// ftrlBeta keeps the first steps of rule ftrl from being longer than their gradients say.
const ftrlBeta = 0.01

// serverMomentum is the momentum of rule momentum. Its steps add up to those of sgd.
const serverMomentum = 0.9

// judge is a policy that knows what its run has come to.
type judge interface {
	epochs.Policy
	ended() (details, map[string]float64) // and the metrics of the model, where it may not be that of the last epoch
}

// judge returns what decides between epochs.
func (p *problem) judge() judge {
	if p.charges {
		return newChargedPolicy(p)
	}
	return newPolicy(p)
}

// driver returns the driver of a policy's run.
func (p *problem) driver(k judge) *epochs.Driver {
	results := epochs.Results{Train: gotSpread + p.width, Score: gotScore + heldBlocks}
	if p.charges {
		results.Score += gotCharged
	}
	return epochs.New(p.Work(), epochs.OrderOf(p.Consistency), p.Ending, results, k)
}

// The tables of a job, in their order.
const (
	// row j: the weights of scaled feature j, one a class, followed by what is due (charged.go); last row: bias
	weightsTable  train.Table = iota
	velocityTable             // the momentum of each weight; only where problem.momentum
)

func (p *problem) tables() []table.Schema {
	weights := table.Schema{Name: "weights", Rows: p.Features + 1, Width: p.stride(), Consistency: p.Consistency}
	switch p.rule {
	case ruleSGD:
		weights.Rule = table.Rule{Name: "sgd", Step: float32(p.clockStep())}
	case ruleMomentum:
		weights.Rule = table.Rule{Name: "momentum", Step: float32(p.stepAt(1<<20) * (1 - serverMomentum)), Momentum: serverMomentum, Nesterov: true}
	case ruleAdam:
		weights.Rule = table.Rule{Name: "adam", Step: float32(p.lr * adamReach / math.Sqrt(p.size)), Epsilon: 1e-8, Beta1: 0.9, Beta2: 0.999}
	case ruleAdaGrad:
		weights.Rule = table.Rule{Name: "adagrad", Step: float32(p.lr * adagradReach / math.Sqrt(p.size)), Epsilon: 1e-6}
	case ruleFTRL:
		weights.Rule = table.Rule{Name: "ftrl", Step: float32(p.lr * adagradReach / math.Sqrt(p.size)), Epsilon: ftrlBeta}
	}
	if p.charges {
		weights.Rule.L1, weights.Rule.L2 = float32(p.l1), float32(p.l2)
	}
	if !p.momentum {
		return []table.Schema{weights}
	}
	velocity := weights
	velocity.Name, velocity.Scratch = "velocity", true
	return []table.Schema{weights, velocity}
}

// loss returns what a model says of its loss, where its application has others.
func (a application) loss() string {
	if a == New() {
		return ""
	}
	return "softmax"
}

func (p *problem) settled() map[string]string {
	p.Settle(p.Values, p.Splits, p.Clocks)
	p.Values.Settle("batch", strconv.Itoa(p.batch))
	p.Values.Settle("rule", p.rule)
	p.Values.Settle("early_stop", strconv.FormatBool(p.stops))
	return p.Values.Map()
}

func (p *problem) headline(in app.Input) string {
	from, weighed := "", ""
	if p.warm != nil {
		from = p.warm.headline() + " · "
	}
	for _, told := range p.Weighed {
		weighed += told + " · "
	}
	steps := fmt.Sprintf("batch %d", p.batch)
	if p.charges {
		steps = fmt.Sprintf("%s with l1=%g and l2=%g", p.rule, p.l1, p.l2)
	}
	return fmt.Sprintf("%d classes · %s, %s · %s%s%s", p.width, p.Form(), steps, from, weighed, in.HeldOut(len(p.Held) > 0))
}

// majority returns the accuracy of always naming the training rows' commonest class. It is nothing to compare with
// where weights ask for more than accuracy.
func (p *problem) majority() *train.Metric {
	if p.Classed != nil {
		return nil
	}
	count := make([]float64, p.width)
	best := 0.0
	for _, r := range p.Rows {
		c := p.class[r]
		count[c] += p.Count.Weight(int(r))
		best = max(best, count[c])
	}
	return &train.Metric{Name: "majority class", Value: best / float64(len(p.Rows))}
}
