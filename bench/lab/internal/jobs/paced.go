package jobs

import (
	"cmp"
	"runtime"
	"time"

	"golang.org/x/sys/unix"

	"bellows"
	"bellows/table"
	"bellows/train"
)

// paced makes a job of PacedApp.
func (o Order) paced() train.Job {
	p := o.Paced
	schema := table.Schema{Name: "weights", Rows: p.Rows, Width: clockWidth, Partitions: p.Partitions}
	splits, epochs := len(p.Items), o.Epochs
	return train.Job{
		Tables: []table.Schema{schema},
		Splits: splits,
		Items: func(s bellows.SplitID, _ bellows.Clock) bellows.Range {
			return bellows.Range{End: p.Items[s]}
		},
		Driver: &train.Rounds{Splits: splits, Each: func(round int, _ [][]float64, to *train.Dispatcher) bool {
			to.ShowEpoch(train.Epoch{Number: round + 1, Items: int64(round+1) * int64(splits)})
			return round+1 < epochs
		}},
		NewExecutor: func(bellows.SplitID) (train.Executor, error) {
			return &pacer{p, make([]float32, p.touched()*clockWidth)}, nil
		},
	}
}

// touched returns how many rows a task reads and changes.
func (p *Paced) touched() int { return cmp.Or(p.Touched, p.Rows) }

// pacer is the executor of a split.
type pacer struct {
	*Paced
	delta []float32
}

// RunTask reads rows, takes its time, and changes the same rows.
func (p *pacer) RunTask(t *train.Task) error {
	t.PullRange(0, 0, bellows.RowID(p.touched()))
	took := p.Item * time.Duration(t.Items().Len())
	switch {
	case took == 0:
	case p.Spin:
		spin(took)
	default:
		time.Sleep(took)
	}
	for i := range p.delta {
		p.delta[i] = 1
	}
	t.PushRange(0, 0, p.delta)
	return nil
}

// spin uses a processor for a time, however often others have it meanwhile.
func spin(took time.Duration) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	for end := threadTime() + took; threadTime() < end; {
	}
}

// threadTime returns the processor time of this thread.
func threadTime() time.Duration {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &t); err != nil {
		return 0
	}
	return time.Duration(t.Nano())
}
