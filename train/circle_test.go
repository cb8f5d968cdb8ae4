package train

import (
	"strings"
	"testing"
	"testing/synctest"

	"bellows"
	"bellows/table"
)

// twice is a driver that dispatches two clocks of every split at once.
type twice struct{ splits, left int }

func (d *twice) DispatchInitialTasks(to *Dispatcher) {
	for s := range bellows.SplitID(d.splits) {
		to.DispatchTask(s)
		to.DispatchTask(s)
	}
	d.left = 2 * d.splits
}

func (d *twice) HandleTaskCompletion(_ Completion, to *Dispatcher) {
	if d.left--; d.left == 0 {
		to.Finish()
	}
}

func (d *twice) Save() []float64         { return nil }
func (d *twice) Restore([]float64) error { return nil }

// TestLeaseHolderMustNotWait makes a quick split hold a shared lease, for which a slow one waits, and then wait for that
// one's clock: for a read, or for another lease. Both would wait for ever. A read of what is behind no such clock may
// wait under the lease.
func TestLeaseHolderMustNotWait(t *testing.T) {
	t.Parallel()
	tables := []table.Schema{{Name: "first", Rows: 4, Width: 1, Partitions: 2, Consistency: table.Async},
		{Name: "strict", Rows: 4, Width: 1},
		{Name: "loose", Rows: 4, Width: 1, Consistency: table.Async}}
	for want, ask := range map[string]func(task *Task){
		"a read on t1/p0 would wait for clock 0 of other splits, which may wait for the lease on t0/p1": func(
			task *Task) {
			task.PullRange(1, 0, 1)
		},
		"a lease on t1/p0 would wait for clock 0 of other splits, which may wait for the lease on t0/p1": func(
			task *Task) {
			task.Lease(1, 0, Shared)
		},
		"a read on t0/p0 asked after a lease on t0/p1": func(
			task *Task) {
			task.PullRange(0, 0, 1)
		},
		"a read on t0/p1 asked after a lease on t0/p1": func(
			task *Task) {
			task.PullRange(0, 2, 3)
		},
		"": func(task *Task) { task.PullRange(2, 0, 1) },
	} {
		synctest.Test(t, func(t *testing.T) {
			leased := make(chan struct{})
			s := newStage(t, Job{Splits: 2, Tables: tables, Driver: &twice{splits: 2},
				NewExecutor: executors(func(task *Task) error {
					switch {
					case task.Split() == 0 && task.Clock() == 1:
						task.Lease(0, 1, Shared)
						close(leased)
						ask(task)
					case task.Split() == 1 && task.Clock() == 0:
						<-leased
						task.Lease(0, 1, Exclusive)
					}
					return nil
				})}, 2)
			s.start()
			o := s.end()
			if !strings.Contains(o.Reason, want) || (want == "") != (o.Reason == "") {
				t.Errorf("the job ends: %q, want %q", o.Reason, want)
			}
		})
	}
}
