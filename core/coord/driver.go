package coord

import (
	"bellows"
	"bellows/core/journal"
)

// Driver is the application's half of the controller (Litz §3, Table 1): it decides which tasks
// run, from the results of those that have. It must be deterministic in the order of completions,
// so that another controller can replay it; it reads no clock, starts nothing and blocks on nothing.
type Driver interface {
	// DispatchInitialTasks is called once, before anything has run.
	DispatchInitialTasks(d *Dispatcher)
	// HandleTaskCompletion is called once per committed task, in the order of the commits; if the job divides clocks,
	// several times for a clock of a split, and Completion.Last marks the last. Tasks that it dispatches see everything
	// that was committed up to then.
	HandleTaskCompletion(done Completion, d *Dispatcher)
	// Save returns the driver's state as numbers, and Restore loads it: together with the tables and the queued tasks
	// it is all that a job needs to resume elsewhere.
	Save() []float64
	Restore(state []float64) error
}

// Completion tells the driver of one committed task. Those of a split come in the order of dispatch.
type Completion struct {
	bellows.Unit                      // what was done
	Last         bool                 // it is the last unit of its split's clock: that is complete
	Commit       bellows.CommitNumber // the commit that made it count
	Result       []float64            // what the executor signalled; valid during the call
}

// The journal keeps the reports of drivers until they may be sent.
type (
	// Metric is one named figure of an epoch.
	Metric = journal.Metric
	// Epoch is a driver's report when one pass over the data has been committed.
	Epoch = journal.Epoch
)
