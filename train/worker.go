package train

import (
	"fmt"
	"iter"

	"bellows"
)

// Worker is the Bösen form of an executor: one function per split that loops over its clocks, with
// the verbs of Bösen's Table 2. Between two calls of Clock it works on one clock's items.
type Worker struct {
	task  *Task
	yield func(struct{}) bool
	next  func() (struct{}, bool)
	stop  func()
	row   []float32
}

// Loop makes the driver and executors of a job whose splits each run work for that many clocks. The
// functions run freely within the staleness of the tables that they read; work returns an error to end
// the job, and must call Clock once per clock.
//
// The stack of a function cannot move. Where a split goes on elsewhere, on another node or from a saved run, work is
// called again there, with Now() its next clock: it runs the clocks that are left, and its locals do not travel. What must
// last is in tables.
func Loop(job *Job, clocks int, work func(w *Worker) error) {
	job.Driver = &Clocks{Splits: job.Splits, Count: clocks}
	job.NewExecutor = func(bellows.SplitID) (Executor, error) {
		w := &Worker{}
		var failed error
		w.next, w.stop = iter.Pull(func(yield func(struct{}) bool) {
			w.yield = yield
			failed = work(w)
		})
		return &loop{w, &failed}, nil
	}
}

// loop runs one worker function, a clock at a time.
type loop struct {
	worker *Worker
	failed *error
}

func (l *loop) RunTask(t *Task) error {
	l.worker.task = t
	if _, more := l.worker.next(); !more && *l.failed != nil {
		return *l.failed
	} else if !more && t.Clock() < bellows.Clock(l.clocks(t))-1 {
		return fmt.Errorf("the worker of split %d returned after clock %d of %d", t.Split(), t.Clock(), l.clocks(t))
	}
	return nil
}

// Close ends a worker function that the job's end left between two clocks.
func (l *loop) Close() error {
	defer func() {
		if p := recover(); p != nil && p != any(unwound{}) {
			panic(p)
		}
	}()
	l.worker.stop()
	return nil
}

func (l *loop) clocks(t *Task) int { return int(t.Args()[0]) }

// Clock ends the current clock's work: its deltas are on their way. It returns when the next clock's
// work may begin.
func (w *Worker) Clock() {
	if !w.yield(struct{}{}) {
		panic(unwound{})
	}
}

// Split, Now and Items say what the worker works on: its split, the current clock, and the items of
// the split in that clock.
func (w *Worker) Split() bellows.SplitID { return w.task.Split() }

// Now is the worker's current clock.
func (w *Worker) Now() bellows.Clock { return w.task.Clock() }

// Items are the items of the split in the current clock.
func (w *Worker) Items() bellows.Range { return w.task.Items() }

// GetRow is one row, read-only, valid until Clock.
func (w *Worker) GetRow(tab Table, row bellows.RowID) []float32 {
	return w.task.PullRange(tab, row, row+1)
}

// Get is one value.
func (w *Worker) Get(tab Table, row bellows.RowID, column int) float32 {
	return w.GetRow(tab, row)[column]
}

// IncRow adds a delta to a row.
func (w *Worker) IncRow(tab Table, row bellows.RowID, delta []float32) {
	w.task.PushRange(tab, row, delta)
}

// Inc adds a delta to one value.
func (w *Worker) Inc(tab Table, row bellows.RowID, column int, delta float32) {
	width := w.task.runner.tables[tab].Width
	if cap(w.row) < width {
		w.row = make([]float32, width)
	}
	w.row = w.row[:width]
	clear(w.row)
	w.row[column] = delta
	w.IncRow(tab, row, w.row)
}

// Pull and Push are GetRow and IncRow for any rows, as those of Task.
func (w *Worker) Pull(tab Table, rows []bellows.RowID, dst []float32) { w.task.Pull(tab, rows, dst) }

// Push adds a delta row to each of the named rows.
func (w *Worker) Push(tab Table, rows []bellows.RowID, deltas []float32) {
	w.task.Push(tab, rows, deltas)
}

// GetKey, IncKey, PullKeys and PushKeys are GetRow, IncRow, Pull and Push for rows of sparse tables, as
// those of Task.
func (w *Worker) GetKey(tab Table, key bellows.Key) []float32 { return w.task.GetKey(tab, key) }

// IncKey adds a delta to the row of a key.
func (w *Worker) IncKey(tab Table, key bellows.Key, delta []float32) { w.task.IncKey(tab, key, delta) }

// PullKeys writes the rows of keys to dst.
func (w *Worker) PullKeys(tab Table, list []bellows.Key, dst []float32) {
	w.task.PullKeys(tab, list, dst)
}

// PushKeys adds a delta row to each of the rows of keys.
func (w *Worker) PushKeys(tab Table, list []bellows.Key, deltas []float32) {
	w.task.PushKeys(tab, list, deltas)
}
