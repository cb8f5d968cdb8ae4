package mf

import (
	"context"
	"runtime"
	"testing"

	"bellows/app"
	"bellows/progress"
	"bellows/progress/progresstest"
)

// TestPlanningEndsAtAnyPoint ends the layout of both schedules at each check of its context. Each remaining block
// checks, and is left alone.
func TestPlanningEndsAtAnyPoint(t *testing.T) {
	t.Parallel()
	set, test := Made{Users: 300, Items: 100, Rank: 2, Each: 40, Mean: 3, Unit: 1, Seed: 1}.Sets()
	for _, schedule := range []string{strata, ssp} {
		progresstest.EndsAnywhere(t, int64(64+4*runtime.GOMAXPROCS(0)), func(ctx context.Context) error {
			_, err := application{}.NewRun(app.Input{Data: set, Test: test, Seed: 1, Slots: 2, Meter: progress.New(ctx), Settings: map[string]string{"schedule": schedule}})
			return err
		})
	}
}

// TestScoringEndsAtAnyPoint ends both ways of scoring: the caller checks the meter.
func TestScoringEndsAtAnyPoint(t *testing.T) {
	t.Parallel()
	set, _ := Made{Users: 300, Items: 100, Rank: 2, Each: 40, Mean: 3, Unit: 1, Seed: 1}.Sets()
	d := &predictor{rank: 2, known: *set.Ratings, uf: make([]float32, 600), qf: make([]float32, 200), ub: make([]float32, 300), qb: make([]float32, 100)}
	d.index = indexOf(&d.known)
	for _, metrics := range [][]string{{"rmse"}, {"ndcg@10"}} {
		progresstest.EndsAnywhere(t, 8, func(ctx context.Context) error {
			m := progress.New(ctx)
			d.Pace(m)
			if _, err := d.Examine(set, metrics); err != nil {
				return err
			}
			return m.Err()
		})
	}
}
