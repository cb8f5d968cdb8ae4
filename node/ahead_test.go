package node_test

import (
	"testing"

	"bellows"
	"bellows/table"
	"bellows/train"
)

// eager dispatches all clocks of all splits at once.
type eager struct{ splits, clocks, left int }

func (d *eager) DispatchInitialTasks(to *train.Dispatcher) {
	for range d.clocks {
		for s := range d.splits {
			to.DispatchTask(bellows.SplitID(s))
		}
	}
}

func (d *eager) HandleTaskCompletion(_ train.Completion, to *train.Dispatcher) {
	if d.left--; d.left == 0 {
		to.Finish()
	}
}

func (d *eager) Save() []float64         { return nil }
func (d *eager) Restore([]float64) error { return nil }

// TestSplitsRunAheadByAnyWay runs splits that wait for no other. Their flushes go now to all servers, now to one, now
// to none, so that their done messages take different ways to the controller, and overtake each other.
func TestSplitsRunAheadByAnyWay(t *testing.T) {
	t.Parallel()
	const splits, clocks, rows = 4, 60, 8
	job := func(bellows.NodeID) train.Job {
		return train.Job{
			Tables:      []table.Schema{{Name: "free", Rows: rows, Width: 1, Partitions: rows, Consistency: table.Async}},
			Splits:      splits,
			Items:       func(bellows.SplitID, bellows.Clock) bellows.Range { return bellows.Range{End: 1} },
			Driver:      &eager{splits, clocks, splits * clocks},
			NewExecutor: func(bellows.SplitID) (train.Executor, error) { return task(scatter), nil },
		}
	}
	for name, members := range shapes {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := gang{members: members, job: job}.done(t)
			for row, v := range r.Tables[0] {
				want := float32(splits * clocks / 3)
				if row == 0 {
					want *= 2
				}
				if v != want {
					t.Errorf("row %d is %v, not %v", row, v, want)
				}
			}
		})
	}
}

// scatter adds 1 to all rows, to the first, or to none.
func scatter(t *train.Task) error {
	one := []float32{1}
	switch t.Clock() % 3 {
	case 0:
		for row := range bellows.RowID(8) {
			t.PushRange(0, row, one)
		}
	case 1:
		t.PushRange(0, 0, one)
	}
	return nil
}
