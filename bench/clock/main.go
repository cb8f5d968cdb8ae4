// Command clock shows what one BSP clock costs: every split reads all rows of a table of 31 KB, the size of a softmax
// model of MNIST, and changes all of them; in one process, and in several that are joined by Unix sockets or TCP.
//
// It needs no peer; Bösen's recorded figure is one clock of its softmax application between two processes of one machine.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"time"

	"bellows"
	"bellows/bench/internal/pair"
	"bellows/node"
	"bellows/table"
	"bellows/train"
)

// The table, and the most that a clock of two processes may take: half of Bösen's 1.65 ms.
const (
	rows      = 785
	width     = 10
	splits    = 8
	clocks    = 2000
	clockMost = 1.65e-3 / 2
)

func main() {
	seat := flag.Bool("seat", false, "run a part of another's job; for internal use")
	options := pair.Flags()
	pair.Exit(options.Parse(3, 7))
	if *seat {
		pair.Exit(node.Sit(context.Background(), os.Stdin, os.Stdout, func(context.Context, []byte) (train.Job, *train.Image, error) { return job(), nil, nil }))
		return
	}
	options.Header(os.Stdout, fmt.Sprintf("clock: one BSP clock of %d splits, a table of %d rows of %d, all of it read and changed by each", splits, rows, width))
	table := pair.NewTable(os.Stdout, options.JSON)
	defer table.Close()
	table.Section("time of a clock")
	for _, shape := range []struct {
		name, transport string
		processes       int
		most            float64
	}{
		{"one process, 2 slots", "", 0, 0},
		{"2 processes, Unix sockets", "unix", 2, clockMost},
		{"2 processes, TCP", "tcp", 2, clockMost},
		{"4 processes, Unix sockets", "unix", 4, 0},
	} {
		series, err := pair.Interleave(options.Turns, pair.Side{Name: shape.name, Run: func() (pair.Turn, error) { return run(shape.transport, shape.processes) }})
		pair.Exit(err)
		median := 1 / series[0].Rates(pair.Wall).Median
		fact := pair.Fact{Figure: shape.name, Unit: "s", Ours: median}
		if shape.most > 0 {
			fact.Peer, fact.Bound = "half of recorded Bösen", shape.most
		}
		table.AddFact(fact)
	}
}

// run times the clocks of one job, from the first commit on.
func run(transport string, processes int) (pair.Turn, error) {
	var began time.Time
	opt := node.Options{Slots: 2, OnEpoch: func(train.Epoch, node.Spent) { began = time.Now() }}
	var err error
	if processes == 0 {
		_, err = node.Train(context.Background(), job(), opt)
	} else {
		l := node.Launch{Program: "/proc/self/exe", Args: []string{os.Args[0], "--seat"}, Members: []node.Member{{}}, Transport: transport}
		for n := range processes {
			l.Members = append(l.Members, node.Member{Node: bellows.NodeID(n + 1), Slots: max(1, 2/processes), Lanes: 1})
		}
		l.Members = node.Place(l.Members, job().Tables)
		_, err = l.Run(context.Background(), job(), opt)
	}
	return pair.Turn{Work: clocks, Wall: time.Since(began)}, err
}

// job reports when its first clock is done.
func job() train.Job {
	delta := make([]float32, rows*width)
	return train.Job{
		Tables: []table.Schema{{Name: "weights", Rows: rows, Width: width}},
		Splits: splits,
		Items:  func(bellows.SplitID, bellows.Clock) bellows.Range { return bellows.Range{Begin: 0, End: 1} },
		Driver: &train.Rounds{Splits: splits, Each: func(round int, _ [][]float64, to *train.Dispatcher) bool {
			if round == 0 {
				to.Report(train.Epoch{Number: 1})
			}
			return round < clocks
		}},
		NewExecutor: func(bellows.SplitID) (train.Executor, error) { return task{delta}, nil },
	}
}

type task struct{ delta []float32 }

// RunTask reads and changes all.
func (e task) RunTask(t *train.Task) error {
	t.PullRange(0, 0, rows)
	t.PushRange(0, 0, e.delta)
	return nil
}
