package traintest

import (
	"io"

	"bellows"
	"bellows/train"
)

// Before returns a job whose executors call a function before each of their tasks.
func Before(j train.Job, call func(t *train.Task)) train.Job {
	made := j.NewExecutor
	j.NewExecutor = func(s bellows.SplitID) (train.Executor, error) {
		e, err := made(s)
		return &before{e, call}, err
	}
	return j
}

type before struct {
	train.Executor
	call func(t *train.Task)
}

func (e *before) RunTask(t *train.Task) error {
	e.call(t)
	return e.Executor.RunTask(t)
}

// Close closes the executor if it can be closed.
func (e *before) Close() error {
	if c, ok := e.Executor.(io.Closer); ok {
		return c.Close()
	}
	return nil
}
