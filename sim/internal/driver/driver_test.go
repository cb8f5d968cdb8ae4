package driver_test

import (
	"fmt"
	"testing"

	"bellows"
	"bellows/sim/internal/driver"
	"bellows/sim/internal/model"
	"bellows/sim/internal/schedule"
	"bellows/train"
	"bellows/train/traintest"
)

// TestItCanBeSaved plays jobs of each way to dispatch.
func TestItCanBeSaved(t *testing.T) {
	t.Parallel()
	ways := map[string]bool{}
	const all = 11 + 5
	for seed := uint64(1); len(ways) < all && seed < 5000; seed++ {
		s := schedule.New(seed)
		way := fmt.Sprint(s.Drive, s.KeepFrom < schedule.Never, s.TurnAt < schedule.Never)
		if s.Job.Divided {
			way = fmt.Sprint(s.Drive, "divided")
		}
		if ways[way] {
			continue
		}
		ways[way] = true
		traintest.CanBeSaved(t, traintest.Job{
			Job: train.Job{Tables: s.Job.Schemas, Splits: s.Job.Splits, Items: s.Job.Items, Units: s.Job.Units},
			Fresh: func() train.Driver {
				return driver.New(s, model.NewOracle(s.Job), t.Errorf)
			},
			Result: func(u bellows.Unit) []float64 { r := s.Job.Result(u); return r[:] },
		})
	}
	if len(ways) != all {
		t.Errorf("%d ways to dispatch were played: %v", len(ways), ways)
	}
}
