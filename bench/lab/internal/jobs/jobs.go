// Package jobs makes the jobs of bench/lab: an Order selects one, so that one process can tell another to make the
// same.
//
// The caller's duty: Make a job for every run, since a run uses it up.
//
// The package does not run a job; a measurement leaves out the first Warm epochs.
package jobs

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"bellows/app"
	"bellows/app/lda"
	"bellows/app/mf"
	"bellows/app/mlr"
	"bellows/bench/internal/cluster"
	"bellows/data"
	"bellows/table"
	"bellows/train"
)

// applications are those that an experiment can train.
var applications = []app.Application{mf.New(), mlr.New(), lda.New()}

// Order is a job as one process tells another to make it.
type Order struct {
	App       string            // one of applications, or ClockApp
	Files     []string          // data
	Cache     string            // folder for parsed data; "": none
	Rows      int               // of the table of ClockApp
	Epochs    int               // so many, and no early end
	Staleness int               // -1: async
	Slots     int               // a hint for mf
	Settings  map[string]string // of the application
	Kernels   string            // set to compute with; "": the best
	Paced     *Paced            // of PacedApp
}

// PacedApp names the job of Paced.
const PacedApp = "paced"

// Paced is a job of fixed times: a task reads rows of a table, takes its time, and changes the same rows. An epoch is
// a clock.
type Paced struct {
	Rows, Partitions int           // of the table; rows have the width of ClockApp
	Touched          int           // rows that a task reads and changes, from the first on; 0: all
	Items            []int         // by split
	Item             time.Duration // what an item takes; 0: nothing, as in the laboratory, which takes its own time
	Spin             bool          // it computes for that time of a processor, instead of resting
}

// Warm is how many epochs are not measured.
const Warm = 2

// The clock job: every split reads a table of rows of ten values and changes all of it. An epoch is so many clocks.
const (
	ClockApp    = "clock"
	clockSplits = 8
	clockEpoch  = 100
	clockWidth  = 10
)

// Made is a job, its clocks from one epoch to the next, and its items in an epoch.
type Made struct {
	Job    train.Job
	Clocks int
	Items  int64
	Splits int
}

// Make makes the job, anew each time: a job is used up by a run.
func (o Order) Make() (Made, error) {
	if o.App == ClockApp {
		return Made{o.clock(), clockEpoch, clockSplits * clockEpoch, clockSplits}, nil
	}
	if o.App == PacedApp {
		return Made{Job: o.paced(), Clocks: 1, Splits: len(o.Paced.Items)}, nil
	}
	for _, a := range applications {
		if a.Describe().Name == o.App {
			return o.train(a)
		}
	}
	return Made{}, fmt.Errorf("--app %s: it must be mf, mlr or lda", o.App)
}

func (o Order) train(a app.Application) (Made, error) {
	set, err := read(a.Describe().Data, o.Files, o.Cache)
	if err != nil {
		return Made{}, err
	}
	run, err := a.NewRun(app.Input{Data: set, Seed: 1, Epochs: o.Epochs, Slots: o.Slots, Staleness: &o.Staleness, Settings: o.Settings})
	if err != nil {
		return Made{}, err
	}
	clocks := 0
	if n, err := strconv.Atoi(run.Settings["clocks"]); err == nil {
		clocks = n + 1 // one scores
	}
	return Made{run.Job, clocks, run.Items, run.Job.Splits}, nil
}

// readSets is the sets that this process has read.
var readSets = map[string]*data.Set{}

func read(kind data.Kind, files []string, cache string) (*data.Set, error) {
	name := fmt.Sprint(kind, files)
	if set := readSets[name]; set != nil {
		return set, nil
	}
	set, err := data.Read(context.Background(), files, kind, data.Options{Cache: cache})
	if err == nil {
		readSets[name] = set
	}
	return set, err
}

func (o Order) clock() train.Job {
	return cluster.Exchange(table.Schema{Name: "weights", Rows: o.Rows, Width: clockWidth}, clockSplits, func(round int, to *train.Dispatcher) bool {
		epoch := (round + 1) / clockEpoch
		if (round+1)%clockEpoch == 0 {
			to.ShowEpoch(train.Epoch{Number: epoch, Items: int64(epoch) * clockSplits * clockEpoch})
		}
		return epoch < o.Epochs
	})
}
