package processes

import (
	"context"
	"encoding/json"
	"os"
	"runtime"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"bellows"
	"bellows/node/launch"
	"bellows/table"
	"bellows/train"
)

// Job is a job with tasks that read all rows, take their time, and change all rows.
type Job struct {
	Splits     int           `json:"splits"`
	Partitions int           `json:"partitions"`
	Rows       int           `json:"rows"` // of width numbers
	Clocks     int           `json:"clocks"`
	Item       time.Duration `json:"item_nanoseconds"` // a split has one
	Spin       bool          `json:"spin,omitempty"`   // a task uses its processor, else it sleeps
	Staleness  int           `json:"staleness"`
}

// width is the numbers in a row.
const width = 64

// epochs is how many a job expects, and has if nothing ends it.
const epochs = 500

// make makes the job.
func (j *Job) make() train.Job {
	return train.Job{
		Tables: []table.Schema{{Name: "weights", Rows: j.Rows, Width: width, Partitions: j.Partitions,
			Consistency: table.SSP(j.Staleness)}},
		Splits: j.Splits,
		Items:  func(bellows.SplitID, bellows.Clock) bellows.Range { return bellows.Range{End: 1} },
		Driver: &rounds{clocks: j.Clocks, Rounds: train.Rounds{Splits: j.Splits, Each: j.each}},
		NewExecutor: func(bellows.SplitID) (train.Executor, error) {
			return &executor{j, make([]float32, j.Rows*width)}, nil
		},
	}
}

// each ends a clock.
func (j *Job) each(round int, _ [][]float64, to *train.Dispatcher) bool {
	if clocks := round + 1; clocks%j.Clocks == 0 {
		to.ShowEpoch(train.Epoch{Number: clocks / j.Clocks, Expected: epochs, Items: int64(clocks * j.Splits)})
	}
	return round+1 < epochs*j.Clocks
}

// rounds is a driver that knows its epochs.
type rounds struct {
	train.Rounds
	clocks int
}

// Cycle implements visits.Cycler.
func (r *rounds) Cycle() (opens, clocks int) { return 0, r.clocks }

// executor is that of a split.
type executor struct {
	*Job
	delta []float32
}

// RunTask implements train.Executor.
func (e *executor) RunTask(t *train.Task) error {
	t.PullRange(0, 0, bellows.RowID(e.Rows))
	if e.Spin {
		spin(e.Item)
	} else {
		time.Sleep(e.Item)
	}
	for i := range e.delta {
		e.delta[i] = 1
	}
	t.PushRange(0, 0, e.delta)
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

// serve runs a part of a job. The first argument is the Job.
func serve(args []string) error {
	var j Job
	if err := json.Unmarshal([]byte(strings.Join(args, " ")), &j); err != nil {
		return err
	}
	return launch.RunChild(context.Background(), os.Stdin, os.Stdout,
		func(context.Context, []byte) (launch.Part, error) { return launch.Part{Job: j.make()}, nil })
}
