package train

import (
	"bellows"
	"bellows/core/coord"
	"bellows/core/rowstore"
	"bellows/table"
)

// The types of the driver's side belong to coord; here they are named for applications.
type (
	Driver     = coord.Driver
	Dispatcher = coord.Dispatcher
	Completion = coord.Completion
	Epoch      = coord.Epoch
	Metric     = coord.Metric
)

// Table names a table of a job: its index in Job.Tables.
type Table = bellows.TableID

// A Job is a training job as the application declares it.
type Job struct {
	Tables []table.Schema
	Splits int
	// Items returns the items of a split in a clock. It is a pure function, fixed for the job. An empty range is a
	// clock that visits nothing, such as one that scores held-out rows.
	Items func(split bellows.SplitID, clock bellows.Clock) bellows.Range
	// Units returns the number of units into which the clock of a split is divided, at most one per item. Units are
	// separate tasks that run one after another. Updates of each count with it; those of BSP tables are seen when the
	// clock is complete, by later units of the split too, and sums depend on the division (docs/4-consistency.md).
	// The driver is called for each, and Completion.Last marks the last. nil: one unit. A Worker treats a unit as a
	// clock, so its job must have none.
	Units  func(split bellows.SplitID, clock bellows.Clock) int
	Driver Driver
	// Data describes the application's data and settings, so that joining nodes can be compared: the text is the same
	// wherever the same job is made. Empty: they are not compared.
	Data string
	// Prepare prepares what the executors of some splits need. It is called on each node that runs tasks: before
	// NewExecutor, with the splits active there, of which there may be none; and again for each split that arrives
	// while the job runs, when tasks of other splits may be running. Only one call of Prepare, NewExecutor and Release
	// is made at a time. If several nodes share a job, in the laboratory, they are called one after another. nil:
	// nothing to prepare.
	Prepare func(active []bellows.SplitID) error
	// NewExecutor makes the executor of a split on the node where the split is active. The split may move to another
	// node between two of its clocks, and return: it gets a new executor each time. State in an executor is scratch,
	// unless SaveExecutors saves it.
	NewExecutor func(split bellows.SplitID) (Executor, error)
	// Stays says why the splits cannot run elsewhere: their executors keep something that cannot be saved. It is the
	// end of a sentence, such as "each holds a game that is being played". Moves of such splits are refused with this
	// reason, policies do not move them, and an interrupted run cannot resume. Empty: they can move.
	Stays string
	// Release frees what was prepared for a split that has moved to another node, after its executor is closed. nil:
	// nothing to free.
	Release func(split bellows.SplitID)
	// Ended frees what tasks alone need. It is called on a node when no task runs there any more, before the tables are
	// collected. nil: nothing to free.
	Ended func()
}

// An Executor runs the tasks of one split, one after another (Litz §3). An executor that is an io.Closer is closed when
// the job has ended, or when its split has moved to another node.
type Executor interface {
	// RunTask does the task's unit of work. An error ends the job; nothing of the task is applied.
	RunTask(t *Task) error
}

// Saved is a job at rest: with the same job, all that another run needs to resume as if nothing had happened. Each
// process reads the parts that it will hold, so they must lie where all processes can read them.
// Controller returns the state of the job's controller.
type Saved interface {
	// Controller is the state of the job's controller.
	Controller() coord.State
	// Partition returns a partition, and the copy of it that the driver last kept; nil: it kept none. The caller owns
	// the result. It returns an error if the partition does not exist or cannot be read.
	Partition(ref bellows.PartitionRef) (live, kept *rowstore.Image, err error)
}

// An Image is a job at rest in memory, as an interrupted run leaves it.
type Image struct {
	Tables [][]rowstore.Image // per table and partition
	Kept   [][]rowstore.Image // the tables as the driver last kept them; nil: never
	State  coord.State
}

// Bytes returns the size of its values and keys in bytes.
func (im *Image) Bytes() (n int64) {
	for _, side := range [][][]rowstore.Image{im.Tables, im.Kept} {
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
func (im *Image) Partition(ref bellows.PartitionRef) (live, kept *rowstore.Image, err error) {
	t, i := int(ref.Table), int(ref.Partition)
	for _, tables := range [][][]rowstore.Image{im.Tables, im.Kept} {
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
