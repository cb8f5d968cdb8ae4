package lda

import (
	"fmt"

	"bellows"
	"bellows/app"
	"bellows/data"
	"bellows/model"
	"bellows/train"
)

// name is the application's word on the command line and in the manifest.
const name = "lda"

// New returns the application, for the list of the command line.
func New() app.Application { return application{} }

type application struct{}

// Describe implements app.Application.
func (application) Describe() app.Description {
	return app.Description{
		Name: name, Title: "topic model", Unit: "tokens", Data: data.Documents, Warm: true,
		Settings: app.ParseSettings(settings), Page: "docs/12-settings.md",
		Metrics: []string{"train_loglik_per_token", "test_loglik_per_token"},
	}
}

// NewRun implements app.Application. It copies what it needs: the sets may be closed afterwards, but
// for the vocabulary, and where several nodes share the job.
func (application) NewRun(in app.Input) (*app.Run, error) {
	if in.Data == nil || in.Data.Kind != data.Documents || in.Test != nil && in.Test.Kind != data.Documents {
		return nil, bellows.Errorf(bellows.BadData, "train", name, "the data must be documents")
	}
	c, err := newConfig(in)
	if err != nil {
		return nil, err
	}
	from, err := c.begin(&in)
	if err != nil {
		return nil, err
	}
	p, err := newProblem(in, c, from)
	if err != nil {
		return nil, err
	}
	return p.run(&in), nil
}

// run returns the problem's training job, and the way to its model.
func (p *problem) run(in *app.Input) *app.Run {
	k, settings := newPolicy(p), p.settled()
	job := train.Job{
		Tables: p.tables(), Splits: p.splits, Items: p.items, Driver: k.driver(),
		NewExecutor: func(bellows.SplitID) (train.Executor, error) { return &executor{p: p}, nil },
	}
	if p.apart {
		job.Prepare, job.Release = p.prepare, p.release
	}
	return &app.Run{
		Job:       job,
		Settings:  settings,
		Headline:  p.headline(in),
		Items:     p.tokens,
		Before:    p.before(),
		Expected:  p.expected(),
		Baseline:  p.unigram(),
		Objective: "train_loglik_per_token",
		Model: func(tables [][]float32) (*model.Model, error) {
			return newModel(p, tables, k.kept, k.keptSamples)
		},
	}
}

// expected returns how many epochs a run that ends by itself may take, as long as it has none.
func (p *problem) expected() int {
	if p.EarlyStop && p.held > 0 {
		return min(typical+samples, p.Epochs)
	}
	return 0
}

func (p *problem) settled() map[string]string {
	p.Settle(p.values, p.splits, p.clocks)
	p.values.Settle("sampler", p.sampler)
	return p.values.Map()
}

func (p *problem) headline(in *app.Input) string {
	from, until := "", ""
	if p.warm != nil {
		from = p.warm.headline() + " · "
	}
	if n := p.expected(); n > 0 {
		until = fmt.Sprintf(" · until epochs gain less than %g each, and %d more, about %d in all", gainLeast, samples, n)
	}
	return fmt.Sprintf("%d topics, %s · %s%s%s", p.topics, p.sampler, from, in.HeldOut(p.EarlyStop), until)
}
