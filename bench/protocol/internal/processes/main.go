// Package processes measures the cost of running a job in several processes of one machine instead of one. The job is
// softmax regression on MNIST with 10 clocks an epoch, under BSP, by the command itself. The accuracy on the test rows
// must be the same.
//
// It needs Go, to build the command. Throughput is that of training alone, as the command prints it.
package processes

import (
	"flag"
	"fmt"
	"strconv"

	"bellows/bench/internal/pair"
	"bellows/bench/internal/sets"
)

const (
	target = 0.85
	epochs = 40
	clocks = 10
)

// Program is the measurement.
var Program = pair.Program{Name: "processes", Turns: [2]int{5, 15}, Define: define}

func define(flags *flag.FlagSet) func(b *pair.Bench) {
	data := flags.String("data", "", "folder with MNIST's IDX files; without it images are generated")
	return func(b *pair.Bench) {
		b.Header("processes: softmax regression in several processes beside one, %d clocks an epoch, %d epochs, BSP", clocks, epochs)
		shelf := sets.Open(*data)
		defer shelf.Close()
		t := trainer{shelf: shelf, program: shelf.Bellows(), pair: shelf.Digits(10_000), accuracy: map[int]float64{}}
		b.Section(t.pair.Origin)
		compare(b, &t)
	}
}

// trainer runs one job in many ways.
type trainer struct {
	shelf    *sets.Shelf
	program  string
	pair     sets.Pair
	accuracy map[int]float64 // by processes
}

func compare(b *pair.Bench, t *trainer) {
	counts := []int{0, 2, 4}
	if b.Full {
		counts = append(counts, 8)
	}
	var sides []pair.Side
	for _, n := range counts {
		name := fmt.Sprintf("%d processes", n)
		if n == 0 {
			name = "one process"
		}
		sides = append(sides, pair.Side{Name: name, Run: func() pair.Turn { return t.run(n) }})
	}
	sides = append(sides, pair.Side{Name: "4 processes, --pin=false", Run: func() pair.Turn { return t.run(4, "--pin=false") }})
	series := b.Interleave(sides...)
	for i, s := range series[1:] {
		row := pair.Row{Figure: s.Name, Unit: "samples/s", Clock: pair.Wall, Ours: s, Peer: series[0]}
		if i+1 == len(counts) { // without pins
			b.Add(row)
			break
		}
		if counts[i+1] == 4 {
			row.Target = target
		}
		b.Add(row)
		b.AddFact(pair.Fact{Figure: s.Name + ", test accuracy", Ours: t.accuracy[counts[i+1]], Peer: "one process", Bound: t.accuracy[0], Least: true, Exact: true})
	}
}

// run trains once, and returns what the command says of it.
func (t *trainer) run(processes int, more ...string) pair.Turn {
	last, _, _ := t.shelf.Train(t.program, nil, append([]string{"mlr", t.pair.Train, "--test", t.pair.Test, "--set", "clocks=" + strconv.Itoa(clocks),
		"--set", "early_stop=false", "--epochs", strconv.Itoa(epochs), "--processes", strconv.Itoa(processes)}, more...)...)
	t.accuracy[processes] = last.Metrics["test_accuracy"]
	return pair.Turn{Work: last.Examples, Wall: pair.Seconds(last.Seconds)}
}
