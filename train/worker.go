package train

import (
	"fmt"
	"iter"

	"bellows"
)

// A Worker is the Bösen form of an executor: one function per split that loops over its clocks. Between two calls of
// Clock it is the task of one clock, with its verbs and its items; rows that it has read are valid until then. The
// numbers that it signals (SignalTaskCompletion) are its result.
type Worker struct {
	*Task // of the current clock
	yield func(struct{}) bool
	next  func() (struct{}, bool)
	stop  func()
}

// Loop makes the driver and executors of a job whose splits each run work for a number of clocks. The functions run
// freely within the staleness of the tables that they read. work returns an error to end the job, and must call Clock
// once per clock.
//
// The stack of a function cannot move. If a split continues elsewhere, on another node or from a saved run, work is
// called again there, with CurrentClock() its next clock: it runs the remaining clocks, and its locals are lost.
// Lasting state belongs in tables.
//
// Each clock is an epoch, which is shown when every split has finished it. The driver that Loop returns takes a
// function that makes metrics of the workers' signals, and may end the job early: Clocks.Each. The tables may have any
// consistency, including Async.
func Loop(job *Job, clocks int, work func(w *Worker) error) *Clocks {
	d := &Clocks{Splits: job.Splits, Count: clocks, Each: func(int, [][]float64) ([]Metric, bool) { return nil, true }}
	job.Driver = d
	job.NewExecutor = func(bellows.SplitID) (Executor, error) {
		w := &Worker{}
		var failed error
		w.next, w.stop = iter.Pull(func(yield func(struct{}) bool) {
			w.yield = yield
			failed = work(w)
		})
		return &loop{w, &failed}, nil
	}
	return d
}

// loop runs one worker function, a clock at a time, as a coroutine (iter.Pull): a call of Clock yields to RunTask,
// which returns until the next clock is dispatched.
type loop struct {
	worker *Worker
	failed *error
}

// RunTask runs the function until it calls Clock, or returns.
func (l *loop) RunTask(t *Task) error {
	l.worker.Task = t
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

// clocks returns the number of clocks, which the driver passes as an argument.
func (l *loop) clocks(t *Task) int { return int(t.Args()[0]) }

// Clock ends the current clock's work and sends its deltas. It returns when the next clock's work may begin.
func (w *Worker) Clock() {
	if !w.yield(struct{}{}) {
		panic(unwound{})
	}
}

// CurrentClock returns the worker's current clock, like Task.Clock.
func (w *Worker) CurrentClock() bellows.Clock { return w.Task.Clock() }
