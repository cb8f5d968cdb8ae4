package linear

import (
	"bellows"
	"bellows/app"
	"bellows/app/epochs"
	"bellows/app/examples"
	"bellows/data"
	"bellows/model"
	"bellows/train"
)

// name is the application's word on the command line and in the manifest.
const name = "linear"

// short are the names that people have for its losses.
var short = []app.Short{
	{Name: "logistic", Title: "logistic regression of two classes", Settings: map[string]string{"loss": lossLogistic}},
	{Name: "svm", Title: "a linear support vector machine of two classes", Settings: map[string]string{"loss": lossHinge}},
	{Name: "softmax", Title: "softmax regression of two or more classes", Settings: map[string]string{"loss": lossSoftmax}},
	{Name: "linreg", Title: "linear regression by least squares", Settings: map[string]string{"loss": lossSquared}},
	{Name: "ridge", Title: "ridge regression: least squares with l2", Settings: map[string]string{"loss": lossSquared}},
	{Name: "lasso", Title: "lasso: least squares with l1 and without l2", Settings: map[string]string{"loss": lossLasso}},
	{Name: "robust", Title: "robust regression: Huber's loss", Settings: map[string]string{"loss": lossHuber}},
}

// New returns the application, for the list of the command line.
func New() app.Application { return application{} }

type application struct{}

// Describe implements app.Application.
func (application) Describe() app.Description {
	return app.Description{
		Name: name, Title: "linear regression and classification", Unit: "rows", Data: data.Examples, Demo: "customers", Warm: true, Weighs: true, Short: short,
		Settings: app.ParseSettings(settings), Page: "docs/12-settings.md",
		Metrics: []string{"train_accuracy", "train_logloss", "test_accuracy", "test_logloss", "gap"},
		Other:   []string{"l1", "l2", "nonzero", "held_loss", "held_logloss", "train_loss", "test_loss", "train_rmse", "test_rmse", "test_r2", "progressive_accuracy", "progressive_logloss", "progressive_loss", "progressive_rmse"},
	}
}

// NewRun implements app.Application.
func (application) NewRun(in app.Input) (*app.Run, error) {
	if err := examples.CheckLabelled(in.Data, "train", name); err != nil {
		return nil, err
	}
	v, err := app.Resolve(application{}.Describe(), in.Settings)
	if err != nil {
		return nil, err
	}
	if chosen := v.Text("loss"); chosen == lossSoftmax || chosen == app.Auto && lossOf(in.Data) == lossSoftmax {
		return newSoftmax(in, v)
	}
	c, err := newConfig(in)
	if err != nil {
		return nil, err
	}
	p, err := newProblem(in, c)
	if err != nil {
		return nil, err
	}
	return p.run(in), nil
}

// run returns the run of a problem.
func (p *problem) run(in app.Input) *app.Run {
	k, settings := newPolicy(p), p.settle()
	objective := "train_" + k.loss
	if !p.classes {
		objective = "train_rmse"
	}
	driver := k.driver()
	return &app.Run{
		Job:       p.job(driver),
		Doubts:    func() []string { return k.doubts(driver) },
		Settings:  settings,
		Headline:  p.headline(in),
		Numbers:   !p.classes,
		Warnings:  p.Warnings,
		Items:     int64(len(p.Rows)),
		Baseline:  p.baseline(),
		Metrics:   metricNames(p),
		Objective: objective,
		Model:     func(tables [][]float32) (*model.Model, error) { return newModel(p, tables, k) },
	}
}

// job makes the training job of a problem.
func (p *problem) job(driver *epochs.Driver) train.Job {
	return train.Job{
		Tables: p.tables(), Splits: p.Splits, Items: p.Items, Driver: driver,
		Prepare:     p.prepare,
		Release:     p.release,
		NewExecutor: func(bellows.SplitID) (train.Executor, error) { return p.newExecutor(), nil },
	}
}
