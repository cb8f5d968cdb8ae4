package launch

import (
	"io"
	"os"
	"path/filepath"
	"strconv"

	"bellows"
	"bellows/app"
	"bellows/app/lda"
	"bellows/app/linear"
	"bellows/app/mf"
	"bellows/app/mlr"
	"bellows/data/demo"
	"bellows/train"
)

// gateFolder is the environment variable by which processes know where the gates of their job are.
const gateFolder = "BELLOWS_LAUNCH_GATES"

// grown is an application whose job grows. Its splits may move every so many clocks: in between, all that was
// dispatched of a split is out.
type grown struct {
	app      app.Application
	settings map[string]string
	rests    int
}

var apps = map[string]grown{
	"mlr":                       {mlr.New(), nil, 11},
	"mf":                        {mf.New(), map[string]string{"splits": "8"}, 2},
	"lda":                       {lda.New(), map[string]string{"splits": "4", "topics": "4", "clocks": "4"}, 5},
	"linear by Newton's method": {linear.New(), map[string]string{"loss": "squared"}, 3},
	"linear by dual ascent":     {linear.New(), map[string]string{"loss": "svr", "solver": "dual", "clocks": "10"}, 11},
}

// ungated returns a job of an application.
func ungated(name string) (train.Job, error) {
	a := apps[name]
	set, err := demo.Make(a.app.Describe().Data, 1)
	if err != nil {
		return train.Job{}, err
	}
	run, err := a.app.NewRun(app.Input{Data: set, Seed: 1, Epochs: 6, Slots: 2, Settings: a.settings})
	if err != nil {
		return train.Job{}, err
	}
	return run.Job, nil
}

// gates are clocks of split 0 that wait until the test has done what it does meanwhile, each at a named pipe.
const gates = 4

func gate(folder string, n int) string { return filepath.Join(folder, strconv.Itoa(n)) }

// gated returns a job whose split 0 waits at gates.
func gated(name, folder string) (train.Job, error) {
	job, err := ungated(name)
	made := job.NewExecutor
	job.NewExecutor = func(s bellows.SplitID) (train.Executor, error) {
		e, err := made(s)
		return &gatedExecutor{e, folder, bellows.Clock(apps[name].rests)}, err
	}
	return job, err
}

type gatedExecutor struct {
	train.Executor
	folder string
	rests  bellows.Clock
}

func (e *gatedExecutor) RunTask(t *train.Task) error {
	if n := int(t.Clock()/e.rests) - 1; t.Split() == 0 && t.Clock()%e.rests == 0 && n >= 0 && n < gates {
		if _, err := os.ReadFile(gate(e.folder, n)); err != nil { // until the test closes it
			return err
		}
	}
	return e.Executor.RunTask(t)
}

func (e *gatedExecutor) Close() error {
	if c, ok := e.Executor.(io.Closer); ok {
		return c.Close()
	}
	return nil
}
