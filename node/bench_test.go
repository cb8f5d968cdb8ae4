package node_test

import (
	"context"
	"slices"
	"testing"

	"bellows"
	"bellows/node"
	"bellows/table"
	"bellows/train"
)

// strata is the smallest job with exclusive leases and data-flow dispatch: split s works on its own
// partition and, in clock c, on partition s+c of the other table.
type strata struct{ splits, clocks, done int }

func (d *strata) DispatchInitialTasks(to *train.Dispatcher) {
	for s := range d.splits {
		to.DispatchTask(bellows.SplitID(s))
	}
}

func (d *strata) HandleTaskCompletion(c train.Completion, to *train.Dispatcher) {
	if d.done++; d.done%d.splits != 0 {
		return
	}
	if int(c.Clock) == d.clocks-1 {
		to.Finish()
		return
	}
	d.DispatchInitialTasks(to)
}

func (d *strata) Save() []float64           { return []float64{float64(d.done)} }
func (d *strata) Restore(s []float64) error { d.done = int(s[0]); return nil }

type leaseTask struct{ splits int }

func (e leaseTask) RunTask(t *train.Task) error {
	mine := t.Lease(0, bellows.PartitionID(t.Split()), train.Exclusive)
	other := t.Lease(1, bellows.PartitionID((int(t.Split())+int(t.Clock()))%e.splits), train.Exclusive)
	mine[0]++
	other[0]++
	t.SignalTaskCompletion(1, 2)
	return nil
}

func leaseJob(splits, clocks int) train.Job {
	return train.Job{
		Tables: []table.Schema{
			{Name: "mine", Rows: splits, Width: 1, Partitions: splits, Consistency: table.Async},
			{Name: "other", Rows: splits, Width: 1, Partitions: splits, Consistency: table.Async},
		},
		Splits:      splits,
		Items:       func(bellows.SplitID, bellows.Clock) bellows.Range { return bellows.Range{Begin: 0, End: 1} },
		Driver:      &strata{splits: splits, clocks: clocks},
		NewExecutor: func(bellows.SplitID) (train.Executor, error) { return leaseTask{splits}, nil },
	}
}

// BenchmarkLeaseTask measures the whole price of one task that holds two exclusive leases.
func BenchmarkLeaseTask(b *testing.B) {
	b.ReportAllocs()
	clocks := b.N/8 + 1
	if _, err := node.Train(context.Background(), leaseJob(8, clocks), node.Options{Slots: 2}); err != nil {
		b.Fatal(err)
	}
}

// BenchmarkClock measures the price of one BSP clock of 8 splits on a table of 31 KB, all rows changed.
func BenchmarkClock(b *testing.B) {
	b.ReportAllocs()
	job := train.Job{
		Tables: []table.Schema{{Name: "w", Rows: 785, Width: 10}},
		Splits: 8,
		Items:  func(bellows.SplitID, bellows.Clock) bellows.Range { return bellows.Range{Begin: 0, End: 1} },
		Driver: &strata{splits: 8, clocks: b.N},
	}
	delta := make([]float32, 7850)
	job.NewExecutor = func(bellows.SplitID) (train.Executor, error) { return clockTask{delta}, nil }
	if _, err := node.Train(context.Background(), job, node.Options{Slots: 2}); err != nil {
		b.Fatal(err)
	}
}

type clockTask struct{ delta []float32 }

func (e clockTask) RunTask(t *train.Task) error {
	t.PullRange(0, 0, 785)
	t.PushRange(0, 0, e.delta)
	return nil
}

// BenchmarkClockKeys measures BenchmarkClock on a sparse table: every split reads and updates all 785 rows of ten
// values by their keys.
func BenchmarkClockKeys(b *testing.B) {
	b.ReportAllocs()
	job := train.Job{
		Tables: []table.Schema{{Name: "w", Sparse: true, Rows: 785, Width: 10, Partitions: 2}},
		Splits: 8,
		Items:  func(bellows.SplitID, bellows.Clock) bellows.Range { return bellows.Range{Begin: 0, End: 1} },
		Driver: &strata{splits: 8, clocks: b.N},
	}
	list := make([]bellows.Key, 785)
	for i := range list {
		list[i] = bellows.Key(i) << 50
	}
	slices.Sort(list)
	delta := make([]float32, 7850)
	job.NewExecutor = func(bellows.SplitID) (train.Executor, error) {
		return &keysTask{list, delta, make([]float32, 7850)}, nil
	}
	if _, err := node.Train(context.Background(), job, node.Options{Slots: 2}); err != nil {
		b.Fatal(err)
	}
}

type keysTask struct {
	list        []bellows.Key
	delta, seen []float32
}

func (e *keysTask) RunTask(t *train.Task) error {
	t.PullKeys(0, e.list, e.seen)
	t.PushKeys(0, e.list, e.delta)
	return nil
}
