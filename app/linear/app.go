package linear

import (
	"bellows"
	"bellows/app"
	"bellows/data"
	"bellows/model"
	"bellows/train"
)

// name is the application's word on the command line and in the manifest.
const name = "linear"

// New is the application, for the list of the command line.
func New() app.Application { return application{} }

type application struct{}

// Describe implements app.Application.
func (application) Describe() app.Description {
	return app.Description{
		Name: name, Title: "linear regression and classification", Unit: "rows", Data: data.Examples,
		Settings: settings,
		Metrics:  []string{"train_accuracy", "train_logloss", "test_accuracy", "test_logloss", "gap"},
		Other:    []string{"train_loss", "test_loss", "train_rmse", "test_rmse", "test_r2"},
	}
}

// NewRun implements app.Application.
func (application) NewRun(in app.Input) (*app.Run, error) {
	if in.Data == nil || in.Data.Kind != data.Examples {
		return nil, bellows.Errorf(bellows.BadData, "train", name, "the data must be labelled examples")
	}
	c, err := newConfig(in)
	if err != nil {
		return nil, err
	}
	p, err := newProblem(in, c)
	if err != nil {
		return nil, err
	}
	k, settings := newPolicy(p), p.settle()
	objective := "train_" + k.loss
	if !p.classes {
		objective = "train_rmse"
	}
	return &app.Run{
		Job: train.Job{
			Tables: p.tables(), Splits: p.splits, Items: p.items, Driver: k.driver(),
			Prepare:     p.prepare,
			Release:     p.release,
			NewExecutor: func(bellows.SplitID) (train.Executor, error) { return p.newExecutor(), nil },
		},
		Settings:  settings,
		Headline:  p.headline(in),
		Warnings:  p.warnings,
		Items:     int64(len(p.rows)),
		Baseline:  p.baseline(),
		Metrics:   metricNames(c),
		Objective: objective,
		Model:     func(tables [][]float32) (*model.Model, error) { return newModel(p, tables, k) },
	}, nil
}
