// Command processes shows what it costs to run a job in several processes of one machine instead of one: softmax regression on
// MNIST with 10 clocks an epoch, under BSP, by the command itself. The accuracy on the test rows must be the same.
//
// It needs Go, to build the command. Throughput is that of training alone, as the command prints it.
package main

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"strconv"

	"bellows/bench/internal/pair"
	"bellows/bench/internal/sets"
)

const (
	target = 0.85
	epochs = 40
	clocks = 10
)

func main() {
	data := flag.String("data", "", "folder with MNIST's IDX files; without it images are generated")
	pair.Main(5, 15, func(b *pair.Bench) {
		b.Header("processes: softmax regression in several processes beside one, %d clocks an epoch, %d epochs, BSP", clocks, epochs)
		shelf := sets.Open(*data)
		defer shelf.Close()
		t := trainer{program: shelf.Path("bellows"), out: shelf.Path("model"), pair: shelf.Digits(10_000), accuracy: map[int]float64{}}
		pair.Check(pair.Build(t.program))
		b.Section(t.pair.Origin)
		compare(b, &t)
	})
}

// trainer runs one job in many ways.
type trainer struct {
	program, out string
	pair         sets.Pair
	accuracy     map[int]float64 // by processes
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
		sides = append(sides, pair.Side{Name: name, Run: func() (pair.Turn, error) { return t.run(n), nil }})
	}
	sides = append(sides, pair.Side{Name: "4 processes, --pin=false", Run: func() (pair.Turn, error) { return t.run(4, "--pin=false"), nil }})
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
	pair.Check(os.RemoveAll(t.out))
	text, _, err := pair.Once("bellows train", t.program, nil, append([]string{"train", "mlr", t.pair.Train, "--test", t.pair.Test,
		"--set", "clocks=" + strconv.Itoa(clocks), "--set", "early_stop=false", "--epochs", strconv.Itoa(epochs),
		"--processes", strconv.Itoa(processes), "--out", t.out, "--json"}, more...)...)
	pair.Check(err)
	lines := bytes.Split(bytes.TrimSpace(text), []byte("\n"))
	var last struct {
		Seconds  float64            `json:"seconds"`
		Examples float64            `json:"examples"`
		Metrics  map[string]float64 `json:"metrics"`
	}
	pair.Check(json.Unmarshal(lines[len(lines)-1], &last))
	t.accuracy[processes] = last.Metrics["test_accuracy"]
	return pair.Turn{Work: last.Examples, Wall: pair.Seconds(last.Seconds)}
}
