// Package cluster runs a benchmark's job in several processes of one machine, and has a job that only exchanges
// messages. All processes run the program of the benchmark. Where tasks cost nothing, the job shows what messages cost.
//
// The caller's duties, in order: enter Role among the roles of its pair.Program, since the program may be started for a part of another's
// job; Launch as many runs as it likes. Both get the same order, a text from which the program makes the same job.
//
// The package refuses to leave this machine: transports are "unix" and "tcp" over loopback.
package cluster

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"time"

	"bellows"
	"bellows/bench/internal/pair"
	"bellows/node"
	"bellows/node/launch"
	"bellows/table"
	"bellows/train"
)

// Role returns the role of a process that plays its part of another's job: its one argument is the order of the job.
func Role(job func(order string) (train.Job, error)) func(args []string) {
	return func(args []string) {
		if len(args) != 1 {
			pair.Check(fmt.Errorf("a part of a job is played by one order, not by %q", args))
		}
		pair.Check(launch.RunChild(context.Background(), os.Stdin, os.Stdout, func(context.Context, []byte) (launch.Part, error) {
			j, err := job(args[0])
			return launch.Part{Job: j}, err
		}))
	}
}

// Launch is how a job runs.
type Launch struct {
	Processes   int    // 0: in this one
	Slots       int    // compute slots of all processes; each has one at least
	Lanes       int    // server lanes of a process; 0: as many as it has slots
	Role        string // of the program that these processes play
	Order       string
	Transport   string
	Connections int // between two processes; 0: one
}

// Run runs the job that the order names. This process is the controller of the others, unless the job runs in it alone.
func (l Launch) Run(job train.Job, opt node.Options) {
	opt.Slots = l.Slots
	if l.Processes == 0 {
		pair.Must(node.Train(context.Background(), job, opt))
		return
	}
	program := pair.Must(os.Executable())
	members := []node.Member{{}}
	for i := range l.Processes {
		m := node.Member{Node: bellows.NodeID(i + 1), Slots: max(1, l.Slots*(i+1)/l.Processes-l.Slots*i/l.Processes), Lanes: l.Lanes}
		m.Lanes = cmp.Or(m.Lanes, m.Slots)
		members = append(members, m)
	}
	pair.Must(launch.Processes{Program: program, Args: append([]string{os.Args[0]}, pair.RoleArgs(l.Role, l.Order)...), Members: node.Place(members, job.Tables, false),
		Transport: l.Transport, Connections: l.Connections}.Run(context.Background(), job, opt))
}

// Clocks returns an Exchange of so many clocks. Its only report comes when the first has ended: what is before that is
// the start.
func Clocks(clocks int, schema table.Schema, splits int) train.Job {
	return Exchange(schema, splits, func(round int, to *train.Dispatcher) bool {
		if round == 0 {
			to.ShowEpoch(train.Epoch{Number: 1})
		}
		return round < clocks
	})
}

// Time runs a job of Clocks, and returns the time from its first clock to its end.
func (l Launch) Time(job train.Job, opt node.Options) time.Duration {
	var began time.Time
	opt.OnEpoch = func(train.Epoch, node.Spent) { began = time.Now() }
	l.Run(job, opt)
	return time.Since(began)
}

// Exchange returns a job in which every task reads all rows of a table and changes all of them. each is called after
// every round, as by train.Rounds.
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
