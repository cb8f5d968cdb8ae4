package train

import (
	"bellows"
	"bellows/core/coord"
	"bellows/core/store"
	"bellows/table"
)

// The words of the driver's side are coord's; here they are named for applications.
type (
	Driver     = coord.Driver
	Dispatcher = coord.Dispatcher
	Completion = coord.Completion
	Epoch      = coord.Epoch
	Metric     = coord.Metric
)

// Table names a table of a job: its index in Job.Tables.
type Table = bellows.TableID

// Job is a training job as the application declares it.
type Job struct {
	Tables []table.Schema
	Splits int
	// Items are the items of a split in a clock: fixed for the job, a pure function. An empty range
	// is a clock that visits nothing, such as one that scores held-out rows.
	Items func(split bellows.SplitID, clock bellows.Clock) bellows.Range
	// Units is into how many units the clock of a split is divided, at most one for each item: tasks
	// of their own, one after the other, whose updates need not wait for the clock's end where no
	// table is BSP. The driver is told of each, and which is the last (Completion.Last). nil: one. A
	// Worker takes a unit for a clock: its job has none.
	Units  func(split bellows.SplitID, clock bellows.Clock) int
	Driver Driver
	// Data is what the application says of its data and settings, for nodes that join to be
	// compared: the same text wherever the same job is made. Empty: they are not compared.
	Data string
	// Prepare makes ready what the executors of these splits will need: on each node that runs
	// tasks, before NewExecutor, with the splits that are active there, which may be none; and again
	// with each that comes there while the job runs, when tasks of others may run. One call is made at
	// a time, of Prepare, NewExecutor and Release. Where several nodes share a job, in the laboratory, one is told
	// after the other. nil: nothing is to be done.
	Prepare func(active []bellows.SplitID) error
	// NewExecutor makes the executor of a split on the node where the split is active. The split may
	// go to another node between two of its clocks, and come back: it gets another executor each time.
	// What one keeps is scratch, unless SaveExecutors saves it.
	NewExecutor func(split bellows.SplitID) (Executor, error)
	// Stays says why the splits cannot go on elsewhere: their executors keep something that cannot be
	// saved. It is the end of a sentence, such as "each holds a game that is being played". Moves of such splits are
	// refused by it, policies leave them where they are, and an interrupted run cannot go on. Empty: they can.
	Stays string
	// Release gives back the memory of what was prepared for a split that has gone to another node,
	// when its executor is closed. nil: nothing is to be done.
	Release func(split bellows.SplitID)
}

// Executor runs the tasks of one split, one after the other (Litz §3). One that is an io.Closer is
// closed when the job has ended, or its split has gone to another node.
type Executor interface {
	// RunTask does the task's unit of work. An error ends the job, with nothing of the task
	// applied.
	RunTask(t *Task) error
}

// Saved is a job at rest: with the same job, all that another run needs to go on as if nothing had happened. Each
// process reads what it will hold, so that it lies where all of them can.
type Saved interface {
	// Controller is the state of the job's controller.
	Controller() coord.State
	// Partition is a partition, and what the driver last kept of it; nil: it never did. What is returned is the caller's.
	// It fails where there is no such partition, or it cannot be read.
	Partition(ref bellows.PartitionRef) (live, kept *store.Image, err error)
}

// Image is a job at rest in memory, as an interrupted run leaves it.
type Image struct {
	Tables [][]store.Image // per table and partition
	Kept   [][]store.Image // the tables as the driver last kept them; nil: never
	State  coord.State
}

// Bytes is how many bytes its values and keys have.
func (im *Image) Bytes() (n int64) {
	for _, side := range [][][]store.Image{im.Tables, im.Kept} {
		for _, table := range side {
			for i := range table {
				n += int64(4*len(table[i].Values) + 8*len(table[i].Keys))
				for _, slot := range table[i].Slots {
					n += int64(4 * len(slot))
				}
			}
		}
	}
	return n
}

// Controller implements Saved.
func (im *Image) Controller() coord.State { return im.State }

// Partition implements Saved.
func (im *Image) Partition(ref bellows.PartitionRef) (live, kept *store.Image, err error) {
	t, i := int(ref.Table), int(ref.Partition)
	for _, tables := range [][][]store.Image{im.Tables, im.Kept} {
		if (tables != nil || live == nil) && (t >= len(tables) || i >= len(tables[t])) {
			return nil, nil, bellows.Errorf(bellows.BadData, "resume", "", "the saved run has no %v", ref)
		}
		if live == nil {
			live = &tables[t][i]
		} else if tables != nil {
			kept = &tables[t][i]
		}
	}
	return live, kept, nil
}
