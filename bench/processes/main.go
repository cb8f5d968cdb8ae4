// Command processes shows what it costs to run a job in several processes of one machine instead of one: softmax regression on
// MNIST with 10 clocks an epoch, under BSP, by the command itself. The accuracy on the test rows must be the same.
//
// It needs Go, to build the command. Throughput is that of training alone, as the command prints it.
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

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
	options := pair.Flags()
	pair.Exit(options.Parse(5, 15))
	options.Header(os.Stdout, fmt.Sprintf("processes: softmax regression in several processes beside one, %d clocks an epoch, %d epochs, BSP", clocks, epochs))
	shelf, err := sets.Open(*data)
	pair.Exit(err)
	table := pair.NewTable(os.Stdout, options.JSON)
	err = compare(table, options, shelf)
	shelf.Close()
	pair.Exit(err)
	table.Close()
}

// bench runs one job in many ways.
type bench struct {
	program, scratch string
	pair             sets.Pair
	accuracy         map[int]float64 // by processes
}

func compare(table *pair.Table, options *pair.Options, shelf *sets.Shelf) error {
	scratch, err := os.MkdirTemp("", "bellows-processes-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(scratch)
	b := bench{program: filepath.Join(scratch, "bellows"), scratch: scratch, accuracy: map[int]float64{}}
	if shelf.Generated() {
		b.pair, err = shelf.Images(60_000, 10_000, 28)
	} else {
		b.pair, err = shelf.Digits()
	}
	if err != nil {
		return err
	}
	if out, err := exec.Command("go", "build", "-trimpath", "-o", b.program, "bellows/cmd/bellows").CombinedOutput(); err != nil {
		return fmt.Errorf("go build: %w\n%s", err, out)
	}
	table.Section(b.pair.Origin)
	counts := []int{0, 2, 4}
	if options.Full {
		counts = append(counts, 8)
	}
	var sides []pair.Side
	for _, n := range counts {
		name := fmt.Sprintf("%d processes", n)
		if n == 0 {
			name = "one process"
		}
		sides = append(sides, pair.Side{Name: name, Run: func() (pair.Turn, error) { return b.run(n) }})
	}
	sides = append(sides, pair.Side{Name: "4 processes, --pin=false", Run: func() (pair.Turn, error) { return b.run(4, "--pin=false") }})
	series, err := pair.Interleave(options.Turns, sides...)
	if err != nil {
		return err
	}
	roaming := series[len(counts)]
	for i, s := range series[1:len(counts)] {
		wanted := 0.0
		if counts[i+1] == 4 {
			wanted = target
		}
		table.Add(pair.Row{Figure: s.Name, Unit: "samples/s", Clock: pair.Wall, Ours: s, Peer: series[0], Target: wanted})
		table.AddFact(pair.Fact{Figure: s.Name + ", test accuracy", Ours: b.accuracy[counts[i+1]], Peer: "one process", Bound: b.accuracy[0], Least: true, Exact: true})
	}
	table.Add(pair.Row{Figure: roaming.Name, Unit: "samples/s", Clock: pair.Wall, Ours: roaming, Peer: series[0]})
	return nil
}

// run trains once, and returns what the command says of it.
func (b *bench) run(processes int, more ...string) (pair.Turn, error) {
	out := filepath.Join(b.scratch, "model")
	if err := os.RemoveAll(out); err != nil {
		return pair.Turn{}, err
	}
	cmd := exec.Command(b.program, "train", "mlr", b.pair.Train, "--test", b.pair.Test, "--set", "clocks="+strconv.Itoa(clocks),
		"--set", "early_stop=false", "--epochs", strconv.Itoa(epochs), "--processes", strconv.Itoa(processes), "--out", out, "--json")
	cmd.Args = append(cmd.Args, more...)
	var errs strings.Builder
	cmd.Stderr = &errs
	text, err := cmd.Output()
	if err != nil {
		return pair.Turn{}, fmt.Errorf("%s: %w\n%s", strings.Join(cmd.Args, " "), err, errs.String())
	}
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	var last struct {
		Seconds  float64            `json:"seconds"`
		Examples float64            `json:"examples"`
		Metrics  map[string]float64 `json:"metrics"`
	}
	if err := json.Unmarshal([]byte(lines[len(lines)-1]), &last); err != nil {
		return pair.Turn{}, fmt.Errorf("what bellows printed last: %w", err)
	}
	b.accuracy[processes] = last.Metrics["test_accuracy"]
	return pair.Turn{Work: last.Examples, Wall: time.Duration(last.Seconds * float64(time.Second))}, nil
}
