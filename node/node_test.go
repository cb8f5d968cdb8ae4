package node_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync/atomic"
	"testing"

	"bellows"
	"bellows/node"
	"bellows/table"
	"bellows/train"
)

// countingJob makes every split add 1 to its own cell and a float that depends on split and clock to a
// shared row, per clock, and checks what it reads.
func countingJob(splits, clocks int, c table.Consistency, fail *error) train.Job {
	job := train.Job{
		Tables: []table.Schema{
			{Name: "cells", Rows: splits, Width: 1, DType: table.Int32, Consistency: c, Partitions: min(3, splits)},
			{Name: "sum", Rows: 4, Width: 3, Consistency: c},
		},
		Splits: splits,
		Items:  func(s bellows.SplitID, c bellows.Clock) bellows.Range { return bellows.Range{Begin: 0, End: 10} },
	}
	train.Loop(&job, clocks, func(w *train.Worker) error {
		one := table.Counts
		for range clocks {
			now := int32(w.CurrentClock())
			for s := range splits {
				seen := one(w.PullRow(0, bellows.RowID(s)))[0]
				floor, ceiling := int32(c.Needs(bellows.Clock(now)))+1, int32(clocks)
				if c == table.BSP || s == int(w.Split()) {
					ceiling = now
				}
				if s == int(w.Split()) {
					floor = now
				}
				if seen < floor || seen > ceiling {
					*fail = fmt.Errorf("split %d clock %d: cell %d shows %d, want %d..%d", w.Split(), now, s, seen, floor, ceiling)
					return *fail
				}
			}
			delta := []float32{math.Float32frombits(1)}
			w.PushRow(0, bellows.RowID(w.Split()), delta)
			if got := one(w.PullRow(0, bellows.RowID(w.Split())))[0]; got != now+1 {
				return fmt.Errorf("split %d clock %d: own write not seen: %d", w.Split(), now, got)
			}
			v := float32(math.Exp(float64(int(w.Split())-int(now)%7))) * 1e-3
			w.PushRow(1, bellows.RowID(now)%4, []float32{v, -v, 1 / v})
			w.Clock()
		}
		return nil
	})
	return job
}

func TestCounting(t *testing.T) {
	for _, splits := range []int{1, 2, 5, 8} {
		for _, c := range []table.Consistency{table.BSP, table.SSP(1), table.SSP(3), table.Async} {
			var first []float32
			for _, slots := range []int{1, 2, 3} {
				t.Run(fmt.Sprintf("%d splits %v %d slots", splits, c, slots), func(t *testing.T) {
					var fail error
					job := countingJob(splits, 30, c, &fail)
					r := runAlone(t, job, node.Options{Slots: slots, Lanes: 2})
					for s, n := range table.Counts(r.Tables[0]) {
						if n != 30 {
							t.Errorf("cell %d ends at %d", s, n)
						}
					}
					checkAudit(t, r)
					if first == nil {
						first = r.Tables[1]
					}
					if c == table.BSP && !slices.Equal(first, r.Tables[1]) {
						t.Errorf("BSP sums differ with the number of slots: %v and %v", first, r.Tables[1])
					}
				})
			}
		}
	}
}

// TestEarlyEndStopsWorkers fails one worker and wants the functions of the others
// unwound, deferred calls included.
func TestEarlyEndStopsWorkers(t *testing.T) {
	var left atomic.Int32
	job := train.Job{
		Tables: []table.Schema{{Name: "w", Rows: 1, Width: 1}},
		Splits: 4,
		Items:  func(bellows.SplitID, bellows.Clock) bellows.Range { return bellows.Range{Begin: 0, End: 1} },
	}
	train.Loop(&job, 100, func(w *train.Worker) error {
		left.Add(1)
		defer left.Add(-1)
		for range 100 {
			if w.Split() == 1 && w.CurrentClock() == 5 {
				return errors.New("enough")
			}
			w.PushValue(0, 0, 0, w.PullRow(0, 0)[0]+1)
			w.Clock()
		}
		return nil
	})
	if _, err := node.Train(context.Background(), job, node.Options{Slots: 2}); err == nil {
		t.Error("the job ended without the worker's error")
	}
	if n := left.Load(); n != 0 {
		t.Errorf("%d worker functions are still there", n)
	}
}
