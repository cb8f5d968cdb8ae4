// Package cluster runs a job in several processes of one machine, all of them the program of a benchmark, and has a job that does
// nothing but exchange: what messages cost shows where tasks cost nothing.
//
// The caller's duties, in order: call RunChild before anything else, since the program may have been started for a part of another's
// job; Launch as many runs as it likes. Both are told the same order, a text from which the program makes the same job.
//
// The package refuses to leave this machine: transports are "unix" and "tcp" over loopback.
package cluster

import (
	"cmp"
	"context"
	"flag"
	"os"
	"time"

	"bellows"
	"bellows/node"
	"bellows/node/launch"
	"bellows/table"
	"bellows/train"
)

// Child defines the flag that tells a process its order.
func Child() *string {
	return flag.String("child", "", "`order` of another's job, to run a part of it; for internal use")
}

// RunChild plays this process's part of another's job if it has an order, and says whether it had.
func RunChild(order string, job func(order string) (train.Job, error)) (ran bool, err error) {
	if order == "" {
		return false, nil
	}
	return true, launch.RunChild(context.Background(), os.Stdin, os.Stdout, func(context.Context, []byte) (launch.Part, error) {
		j, err := job(order)
		return launch.Part{Job: j}, err
	})
}

// Launch is how a job runs.
type Launch struct {
	Processes   int // 0: in this one
	Slots       int // compute slots of all processes; each has one at least
	Lanes       int // server lanes of a process; 0: as many as it has slots
	Order       string
	Transport   string
	Connections int // between two processes; 0: one
}

// Run runs the job that the order names. This process is the controller of the others, unless the job runs in it alone.
func (l Launch) Run(job train.Job, opt node.Options) error {
	opt.Slots = l.Slots
	if l.Processes == 0 {
		_, err := node.Train(context.Background(), job, opt)
		return err
	}
	program, err := os.Executable()
	if err != nil {
		return err
	}
	members := []node.Member{{}}
	for i := range l.Processes {
		m := node.Member{Node: bellows.NodeID(i + 1), Slots: max(1, l.Slots*(i+1)/l.Processes-l.Slots*i/l.Processes), Lanes: l.Lanes}
		m.Lanes = cmp.Or(m.Lanes, m.Slots)
		members = append(members, m)
	}
	_, err = launch.Processes{Program: program, Args: []string{os.Args[0], "--child", l.Order}, Members: node.Place(members, job.Tables, false),
		Transport: l.Transport, Connections: l.Connections}.Run(context.Background(), job, opt)
	return err
}

// Clocks is an Exchange of so many clocks. Its only report comes when the first has ended: what is before that is the start.
func Clocks(clocks int, schema table.Schema, splits int) train.Job {
	return Exchange(schema, splits, func(round int, to *train.Dispatcher) bool {
		if round == 0 {
			to.ShowEpoch(train.Epoch{Number: 1})
		}
		return round < clocks
	})
}

// Time runs a job of Clocks, and is the time from its first clock to its end.
func (l Launch) Time(job train.Job, opt node.Options) (time.Duration, error) {
	var began time.Time
	opt.OnEpoch = func(train.Epoch, node.Spent) { began = time.Now() }
	err := l.Run(job, opt)
	return time.Since(began), err
}

// Exchange is a job in which every task reads all rows of a table and changes all of them. Each is told of every round that has
// ended, as train.Rounds tells it.
func Exchange(schema table.Schema, splits int, each func(round int, to *train.Dispatcher) (more bool)) train.Job {
	task := exchange{schema.Rows, make([]float32, schema.Rows*schema.Width)}
	return train.Job{
		Tables:      []table.Schema{schema},
		Splits:      splits,
		Items:       func(bellows.SplitID, bellows.Clock) bellows.Range { return bellows.Range{Begin: 0, End: 1} },
		Driver:      &train.Rounds{Splits: splits, Each: func(round int, _ [][]float64, to *train.Dispatcher) bool { return each(round, to) }},
		NewExecutor: func(bellows.SplitID) (train.Executor, error) { return task, nil },
	}
}

// exchange is the executor of all splits.
type exchange struct {
	rows  int
	delta []float32
}

// RunTask reads and changes all.
func (e exchange) RunTask(t *train.Task) error {
	t.PullRange(0, 0, bellows.RowID(e.rows))
	t.PushRange(0, 0, e.delta)
	return nil
}
