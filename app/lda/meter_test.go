package lda

import (
	"context"
	"testing"

	"bellows/app"
	"bellows/progress"
	"bellows/progress/progresstest"
)

// TestPlanningEndsAtAnyPoint ends the layout at each check of its context.
func TestPlanningEndsAtAnyPoint(t *testing.T) {
	t.Parallel()
	set := planted(300, 5, 1)
	progresstest.EndsAnywhere(t, 1, func(ctx context.Context) error {
		_, err := application{}.NewRun(app.Input{Data: set, Seed: 1, Slots: 2, Meter: progress.New(ctx), Settings: map[string]string{"topics": "5"}})
		return err
	})
}
