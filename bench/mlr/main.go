// Command mlr holds softmax regression against PyTorch on images, and against scikit-learn and Vowpal Wabbit on text and
// tables.
//
// It needs Debian's python3-torch and python3-sklearn (another interpreter can be named by --python), and a built vw named
// by --vw; without them it prints recorded figures as such, and no ratio. Bösen's figures are always recorded. Data are
// MNIST, 20news, letter and dna below --data; without --data, images and documents made from a seed.
//
// What is equal is told apart: kernel-equal rows race the bare arithmetic of a mini-batch loop, system-level rows race
// whole training as a user starts it.
package main

import (
	_ "embed"
	"flag"
	"fmt"
	"os"
	"runtime"

	"bellows/app/mlr"
	"bellows/bench/internal/pair"
	"bellows/bench/internal/sets"
	"bellows/bench/internal/trial"
	"bellows/data"
	"bellows/vec"
)

//go:embed peer/peer.py
var peerSource string

// Recorded figures, of the machine that the figures come from: samples per second.
const (
	bosenOneCore  = 48.8e3
	bosenTwoCores = 91e3
	torchBatch128 = 522e3
)

// batch is PyTorch's: its figure is for it.
const batch = 128

func main() {
	options := pair.Flags()
	dir := flag.String("data", "", "folder with MNIST, 20news, letter, dna (default: made from a seed)")
	python := flag.String("python", "/usr/bin/python3", "interpreter with torch and sklearn")
	vw := flag.String("vw", "", "path of Vowpal Wabbit's vw")
	only := flag.String("only", "", "one part: digits, text or tables")
	pair.Exit(options.Parse(3, 7))
	options.Header(os.Stdout, "mlr: kernels "+vec.Kernels()+", against PyTorch, scikit-learn, Vowpal Wabbit and Bösen")
	shelf, err := sets.Open(*dir)
	pair.Exit(err)
	defer shelf.Close()
	table := pair.NewTable(os.Stdout, options.JSON)
	defer table.Close()
	b := &bench{table: table, options: options, shelf: shelf, vw: *vw, slots: min(2, runtime.NumCPU())}
	b.peer, err = pair.Start("python", *python, "-c", peerSource)
	if err != nil {
		b.table.Note("no peer: %v; install python3-torch and python3-sklearn, or name an interpreter that has them by --python", err)
	}
	if err := b.run(*only); err != nil {
		shelf.Close()
		pair.Exit(err)
	}
}

// bench is what every figure needs.
type bench struct {
	table   *pair.Table
	options *pair.Options
	shelf   *sets.Shelf
	peer    *pair.Child // nil: none
	vw      string      // empty: none
	slots   int
}

func (b *bench) run(only string) error {
	for _, part := range []struct {
		name string
		do   func() error
	}{{"digits", b.digits}, {"text", b.text}, {"tables", b.tables}} {
		if only != "" && only != part.name {
			continue
		}
		if err := part.do(); err != nil {
			return err
		}
	}
	if b.peer == nil {
		return nil
	}
	return b.peer.Close()
}

// asks puts a request to the peer. A library that it lacks loses us the peer, not the run.
func (b *bench) asks(request string) bool {
	if b.peer == nil {
		return false
	}
	if _, err := b.peer.Ask(request); err != nil {
		b.table.Note("no peer: %v", err)
		return false
	}
	return true
}

// digits is the images: speed against PyTorch, accuracy against 92 %.
func (b *bench) digits() error {
	files, err := b.images()
	if err != nil {
		return err
	}
	train, test, err := files.Read(data.Examples)
	if err != nil {
		return err
	}
	b.table.Section(files.Origin + ", " + train.Detected.String())
	torch := b.asks("digits\t" + files.Train + "\t" + files.Test)
	if err := b.arithmetic(train, torch); err != nil {
		return err
	}
	for slots := 1; slots <= b.slots; slots++ {
		if err := b.system(train, slots, torch && slots == 1); err != nil {
			return err
		}
	}
	return b.accuracy(train, test)
}

func (b *bench) images() (sets.Pair, error) {
	if b.shelf.Generated() {
		return b.shelf.Images(60_000, 10_000, 28)
	}
	return b.shelf.Digits()
}

// arithmetic races the bare loop of mini-batches on our kernels against the same loop in PyTorch.
func (b *bench) arithmetic(train *data.Set, torch bool) error {
	m := newBare(train)
	sides := []pair.Side{{Name: "vec", Run: pair.Measure(func() (float64, error) { return m.epoch(batch), nil })}}
	if torch {
		sides = append(sides, rename(b.peer.Side(fmt.Sprintf("hand\t%d", batch)), "PyTorch by hand"))
	}
	series, err := pair.Interleave(b.options.Turns, sides...)
	if err != nil {
		return err
	}
	row := pair.Row{Figure: fmt.Sprintf("kernel-equal, batch %d, 1 thread", batch), Unit: "samples/s", Clock: pair.CPU, Ours: series[0], Target: 1}
	if torch {
		row.Peer = series[1]
	}
	b.table.Add(row)
	return nil
}

func rename(s pair.Side, name string) pair.Side {
	s.Name = name
	return s
}

// system races whole training against PyTorch's usual loop, which scores nothing.
func (b *bench) system(train *data.Set, slots int, torch bool) error {
	epochs := 4
	if b.options.Full {
		epochs = 10
	}
	setup := trial.Setup{App: mlr.New(), Data: train, Slots: slots}
	whole, visiting := setup.Sides("bellows", epochs)
	sides := []pair.Side{whole, visiting}
	if torch {
		sides = append(sides, rename(b.peer.Side(fmt.Sprintf("loop\t%d", batch)), "PyTorch"))
	}
	series, err := pair.Interleave(b.options.Turns, sides...)
	if err != nil {
		return err
	}
	row := pair.Row{Unit: "samples/s", Clock: pair.Wall, Ours: series[1], Peer: pair.Series{Name: "PyTorch"}, Target: 1,
		Figure: fmt.Sprintf("system-level, visits, threads %d", slots)}
	if slots == 1 {
		row.Recorded = torchBatch128
	}
	if torch {
		row.Peer = series[2]
	}
	b.table.Add(row)
	row.Figure, row.Ours, row.Target = fmt.Sprintf("system-level, whole job, threads %d", slots), series[0], 0
	b.table.Add(row)
	row.Figure, row.Peer, row.Recorded = fmt.Sprintf("the same beside Bösen, threads %d", slots), pair.Series{Name: "Bösen"}, bosenOneCore
	if slots == 2 {
		row.Recorded = bosenTwoCores
	}
	b.table.Add(row)
	return nil
}

// accuracy trains with the defaults, as the speed rows do but to the end.
func (b *bench) accuracy(train, test *data.Set) error {
	out, err := trial.Setup{App: mlr.New(), Data: train, Test: test, Slots: b.slots}.Train()
	if err != nil {
		return err
	}
	got, err := out.Score(test, "accuracy")
	if err != nil {
		return err
	}
	b.table.AddFact(pair.Fact{Figure: "test accuracy, our defaults", Unit: "%", Ours: 100 * got, Peer: "wanted", Bound: 92, Least: true, Exact: true})
	b.table.Note("%d epochs of %s clocks, %.2f s of training, %.2f s with scoring", len(out.Epochs), out.Settings["clocks"],
		out.Trained.Seconds(), out.Total.Seconds())
	return nil
}
