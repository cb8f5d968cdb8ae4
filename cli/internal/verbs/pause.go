package verbs

import (
	"io"
	"sync/atomic"

	"bellows"
	"bellows/app"
	"bellows/train"
)

// Pause, where it is set, is called by tasks of a run's third or fourth epoch, before they do anything: whoever tests interruptions holds the run there
// until the signal has been taken, so that none comes too late; and who looks at a run that is held costs no processor time. Package clitest sets
// it, before a command begins.
var Pause func()

// pausable lets the tasks of a run be paused.
func pausable(r *app.Run) {
	if Pause == nil {
		return
	}
	var visited atomic.Int64 // items, by tasks of this process
	newExecutor := r.Job.NewExecutor
	r.Job.NewExecutor = func(split bellows.SplitID) (train.Executor, error) {
		e, err := newExecutor(split)
		return &pausing{e, 3 * r.Items, &visited}, err
	}
}

// pausing is an executor whose tasks call Pause when more than so many items have been visited.
type pausing struct {
	train.Executor
	after   int64
	visited *atomic.Int64
}

// RunTask implements train.Executor.
func (h *pausing) RunTask(t *train.Task) error {
	if h.visited.Add(int64(t.Items().Len())) > h.after {
		Pause()
	}
	return h.Executor.RunTask(t)
}

// Close closes the executor.
func (h *pausing) Close() error {
	if c, ok := h.Executor.(io.Closer); ok {
		return c.Close()
	}
	return nil
}
