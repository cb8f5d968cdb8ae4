package mlr

import (
	"context"
	"testing"

	"bellows/app"
	"bellows/app/apptest"
	"bellows/app/examples"
	"bellows/data"
	"bellows/progress"
	"bellows/progress/progresstest"
)

// TestPlanningEndsAtAnyPoint ends the layout of dense and of sparse rows, that of scored ones included, at each look whether to go on. Each of the pieces that
// are left is looked at, and left alone.
func TestPlanningEndsAtAnyPoint(t *testing.T) {
	t.Parallel()
	rows := made(3000, 12, 3, 1, 0, 1)
	for _, set := range []*data.Set{apptest.Examples(rows), apptest.Examples(sparsely(rows))} {
		progresstest.EndsAnywhere(t, 200, func(ctx context.Context) error {
			run, err := application{}.NewRun(app.Input{Data: set, Seed: 1, Slots: 2, Meter: progress.New(ctx)})
			if err != nil {
				return err
			}
			return run.Job.Prepare(apptest.AllSplits(run.Job.Splits))
		})
	}
}

// TestScoringEndsAtAnyPoint: what is left is not scored, and whoever asked finds out from the meter.
func TestScoringEndsAtAnyPoint(t *testing.T) {
	t.Parallel()
	rows := made(3000, 12, 3, 1, 0, 1)
	p := &predictor{Predictor: examples.Predictor{Labels: []string{"0", "1", "2"}, Features: 12}, table: make([]float32, 39)}
	progresstest.EndsAnywhere(t, 200, func(ctx context.Context) error {
		m := progress.New(ctx)
		p.Pace(m)
		if _, err := p.Examine(apptest.Examples(rows), nil); err != nil {
			return err
		}
		return m.Err()
	})
}
