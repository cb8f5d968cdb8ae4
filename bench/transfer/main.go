// Command transfer shows what it costs to move a model between two processes: every clock, each reads all rows of a table of
// which the other holds half, and changes all of them. Over one connection and over several, and with values of 32 and of
// 16 bits.
//
// It needs no peer: ours in another setting stands beside ours. CPU time is that of all processes, their start included. With
// --full, also a small table, and TCP.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"syscall"
	"time"

	"bellows"
	"bellows/bench/internal/pair"
	"bellows/node"
	"bellows/table"
	"bellows/train"
	"bellows/vec"
)

const (
	width  = 64
	splits = 2
	moved  = 1 << 28 // bytes of values between the two in a turn, at most
	most   = 1500    // clocks of a turn
)

// size is the bytes of the table. The processes that are started are told it.
var size = flag.Int("size", 8<<20, "bytes of the table")

func main() {
	seat := flag.Bool("seat", false, "run a part of another's job; for internal use")
	options := pair.Flags()
	pair.Exit(options.Parse(3, 7))
	if *seat {
		pair.Exit(node.Sit(context.Background(), os.Stdin, os.Stdout, func(context.Context, []byte) (train.Job, *train.Image, error) {
			return job(*size), nil, nil
		}))
		return
	}
	options.Header(os.Stdout, fmt.Sprintf("transfer: two processes read and change all of a table, of which each holds half; at most %d MiB of values move in a turn", moved>>20))
	t := pair.NewTable(os.Stdout, options.JSON)
	defer t.Close()
	networks, sizes := []string{"unix"}, []int{1 << 20, 16 << 20}
	if options.Full {
		networks, sizes = []string{"unix", "tcp"}, []int{64 << 10, 1 << 20, 16 << 20}
	}
	for _, network := range networks {
		for _, bytes := range sizes {
			pair.Exit(compare(t, options.Turns, network, bytes))
		}
	}
}

// setting is one way to move the values.
type setting struct {
	name        string
	connections int
	format      vec.Format
}

var settings = []setting{
	{"one connection, fp32", 1, vec.Float32},
	{"2 connections", 2, vec.Float32},
	{"4 connections", 4, vec.Float32},
	{"fp16", 1, vec.Float16},
	{"bf16", 1, vec.BFloat16},
}

// compare holds each setting to the first, by both clocks.
func compare(t *pair.Table, turns int, network string, bytes int) error {
	t.Section(fmt.Sprintf("%s, a table of %d KiB", network, bytes>>10))
	var sides []pair.Side
	for _, s := range settings {
		sides = append(sides, pair.Side{Name: s.name, Run: func() (pair.Turn, error) { return run(s, network, bytes) }})
	}
	series, err := pair.Interleave(turns, sides...)
	if err != nil {
		return err
	}
	for _, s := range series[1:] {
		t.Add(pair.Row{Figure: s.Name, Unit: "s/GB", Cost: true, Clock: pair.CPU, Ours: s, Peer: series[0]})
	}
	return nil
}

// clocks is how many a turn takes. In each, either process pulls and pushes the half that the other holds.
func clocks(bytes int) int { return min(most, max(2, moved/(2*bytes))) }

// run times a job of a few clocks, from the first commit on. Work is in GB.
func run(s setting, network string, bytes int) (pair.Turn, error) {
	var began time.Time
	opt := node.Options{Wire: s.format, OnEpoch: func(train.Epoch, node.Spent) { began = time.Now() }}
	l := node.Launch{Program: "/proc/self/exe", Args: []string{os.Args[0], "--seat", fmt.Sprintf("--size=%d", bytes)},
		Members: []node.Member{{}}, Transport: network, Connections: s.connections}
	for n := range 2 {
		l.Members = append(l.Members, node.Member{Node: bellows.NodeID(n + 1), Slots: 1, Lanes: node.ConnectionsMost - 1})
	}
	before := used()
	_, err := l.Run(context.Background(), job(bytes), opt)
	return pair.Turn{Work: float64(clocks(bytes)) * 2 * float64(bytes) / 1e9, Wall: time.Since(began), CPU: used() - before}, err
}

// used is the processor time of this process and of those that it has started and waited for.
func used() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_CHILDREN, &u); err != nil {
		return pair.CPUTime()
	}
	return pair.CPUTime() + time.Duration(u.Utime.Nano()+u.Stime.Nano())
}

// job reports when its first clock is done.
func job(bytes int) train.Job {
	rows := bytes / (4 * width)
	delta := make([]float32, rows*width)
	return train.Job{
		Tables: []table.Schema{{Name: "weights", Rows: rows, Width: width, Partitions: 12}},
		Splits: splits,
		Items:  func(bellows.SplitID, bellows.Clock) bellows.Range { return bellows.Range{Begin: 0, End: 1} },
		Driver: &train.Rounds{Splits: splits, Each: func(round int, _ [][]float64, to *train.Dispatcher) bool {
			if round == 0 {
				to.Report(train.Epoch{Number: 1})
			}
			return round < clocks(bytes)
		}},
		NewExecutor: func(bellows.SplitID) (train.Executor, error) { return task{rows, delta}, nil },
	}
}

type task struct {
	rows  int
	delta []float32
}

// RunTask reads and changes all.
func (e task) RunTask(t *train.Task) error {
	t.PullRange(0, 0, bellows.RowID(e.rows))
	t.PushRange(0, 0, e.delta)
	return nil
}
