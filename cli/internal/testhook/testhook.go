// Package testhook lets tests of training commands hold the tasks of a run.
//
// Set Task before a command begins; Install then makes the tasks of a run call it. Without Task nothing changes.
package testhook

import (
	"io"
	"sync/atomic"

	"bellows"
	"bellows/app"
	"bellows/train"
)

// Task, if set, is called by tasks before they begin, with the number of epochs whose items this process has visited.
// Tests of interruptions and changes hold the run there until their event has come, so that nothing comes too late; an
// observer of a run that is held costs no processor time. Package clitest sets it, before a command begins.
var Task func(epochs int64)

// Install makes the tasks of a run call Task, if that is set.
func Install(r *app.Run) {
	if Task == nil {
		return
	}
	var visited atomic.Int64 // items, by tasks of this process
	newExecutor := r.Job.NewExecutor
	r.Job.NewExecutor = func(split bellows.SplitID) (train.Executor, error) {
		e, err := newExecutor(split)
		return &pausing{e, r.Items, &visited}, err
	}
}

// pausing is an executor with tasks that call Task.
type pausing struct {
	train.Executor
	items   int64 // of an epoch
	visited *atomic.Int64
}

// RunTask implements train.Executor.
func (h *pausing) RunTask(t *train.Task) error {
	Task((h.visited.Add(int64(t.Items().Len())) - 1) / h.items)
	return h.Executor.RunTask(t)
}

// Close closes the executor.
func (h *pausing) Close() error {
	if c, ok := h.Executor.(io.Closer); ok {
		return c.Close()
	}
	return nil
}
