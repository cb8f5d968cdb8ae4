package mf

import (
	"fmt"

	"bellows"
	"bellows/app"
	"bellows/app/epochs"
	"bellows/data"
	"bellows/model"
	"bellows/table"
	"bellows/train"
)

// NewRun makes a training job from ratings. It copies what it needs: the sets may be closed
// afterwards, but for their ids.
func (application) NewRun(in app.Input) (*app.Run, error) {
	c, values, err := configure(&in)
	if err != nil {
		return nil, err
	}
	set, err := ratings(in.Data)
	if err != nil {
		return nil, err
	}
	var test *data.RatingSet
	if in.Test != nil {
		if test, err = ratings(in.Test); err != nil {
			return nil, err
		}
	}
	if c.chooseLoss(&in, values, set); values.Err() != nil {
		return nil, values.Err()
	}
	from, err := c.begin(&in, values, set)
	if err != nil {
		return nil, err
	}
	if c.loss == lossWeighted {
		return newWeightedRun(c, values, &in, set.CountedFrom(0), test.CountedFrom(0), from)
	}
	heldOut := in.HeldOut(true) // while the data has its rows
	p, err := newProblem(c, set, test)
	if err != nil {
		return nil, err
	}
	if from != nil {
		p.start = newStart(from, &p.users, &p.items)
		p.startEpoch, p.startNoise = p.start.schedule(&p.stepSchedule, p.scale.deviation)
	}
	p.settle(values, p.stepSchedule.step)
	k := newPolicy(p)
	driver := k.driver()
	run := &app.Run{
		Job: p.job(driver), Doubts: driver.DoubtsOfStopping, Settings: values.Map(), Headline: p.headline(heldOut), Items: p.trained, Objective: "train_rmse",
		Baseline: p.baseline, Copied: !p.apart,
		Model: func(tables [][]float32) (*model.Model, error) { return p.model(set, values.Map(), k.folding(), tables) },
	}
	if p.held != nil {
		run.Held = &data.Set{Kind: data.Ratings, Ratings: p.held}
	}
	return run, nil
}

// headline says in words what the table's first line adds to the data. Held-out ratings are needed even where they stop nothing:
// the strength of L2 follows them.
func (p *problem) headline(heldOut string) string {
	tested := ""
	if p.tested > 0 {
		tested = fmt.Sprintf("%d test %s · ", p.tested, map[bool]string{true: "rating", false: "ratings"}[p.tested == 1])
	}
	from := ""
	if p.start != nil {
		from = p.start.headline() + " · "
	}
	return fmt.Sprintf("rank %d · %s%s%s", p.rank, from, tested, heldOut)
}

// ratings returns the set's columns.
func ratings(set *data.Set) (*data.RatingSet, error) {
	r := set.Ratings
	if r == nil || r.Rows() == 0 {
		return nil, bellows.Errorf(bellows.BadData, "train", "mf", "the data holds no ratings")
	}
	return r, nil
}

func (p *problem) job(driver *epochs.Driver) train.Job {
	tables := p.tables()
	p.inits = [2]table.Init{tables[usersTable].Init, tables[itemsTable].Init}
	if p.schedule == strata { // the tasks of the first epoch fill them in, on all slots
		tables[usersTable].Init, tables[itemsTable].Init = table.Init{}, table.Init{}
	}
	job := train.Job{
		Tables: tables, Splits: p.splits, Items: p.itemsOf, Driver: driver, Prepare: p.prepare,
		NewExecutor: func(split bellows.SplitID) (train.Executor, error) {
			if p.schedule == ssp {
				return newSSPExecutor(p, split), nil
			}
			return &strataExecutor{newWorker(p, split)}, nil
		},
	}
	if p.apart {
		job.Release = p.release
	}
	return job
}
