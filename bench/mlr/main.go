// Command mlr compares softmax regression (app/mlr) with PyTorch, scikit-learn, Vowpal Wabbit, LIBLINEAR and Bösen.
// PyTorch runs on images; scikit-learn and Vowpal Wabbit run on text and tables.
//
// It needs Debian's python3-torch and python3-sklearn (another interpreter can be named by --python), and a built vw named
// by --vw; without them it prints recorded figures as such, and no ratio. Bösen's figures are always recorded. Data are
// MNIST, 20news, letter and dna below --data; without --data, images and documents made from a seed.
//
// Bösen's are of its own softmax regression on images of this shape, with 30 clocks an epoch. How many times as many samples we visit with as many clocks
// is given with them (--only bosen), and is a figure of two days: on another machine than the recorded one it says little.
//
// --only wide races the whole command on rows of few out of millions of features against LIBLINEAR's, named by
// --liblinear (Debian's liblinear-tools has /usr/bin/liblinear-train).
//
// What is equal is told apart: kernel-equal rows race the bare arithmetic of a mini-batch loop, system-level rows race
// whole training as a user starts it.
package main

import (
	_ "embed"
	"flag"
	"fmt"
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
	dir := flag.String("data", "", "folder with MNIST, 20news, letter, dna (default: made from a seed)")
	python := flag.String("python", "/usr/bin/python3", "interpreter with torch and sklearn")
	vw := flag.String("vw", "", "path of Vowpal Wabbit's vw")
	only := flag.String("only", "", "one part: digits, bosen, text, tables or wide")
	liblinear := flag.String("liblinear", "", "path of LIBLINEAR's train, for --only wide")
	pair.Main(3, 7, func(p *pair.Bench) {
		p.Header("mlr: kernels %s, against PyTorch, scikit-learn, Vowpal Wabbit and Bösen", vec.Kernels())
		b := &bench{Bench: p, shelf: sets.Open(*dir), vw: *vw, liblinear: *liblinear, slots: min(2, runtime.NumCPU())}
		defer b.shelf.Close()
		var err error
		if b.peer, err = p.Python("python", *python, peerSource, "python3-torch and python3-sklearn"); err != nil {
			b.Note("no peer: %v", err)
		}
		b.Parts(*only, pair.Part{Name: "digits", Run: b.digits}, pair.Part{Name: "bosen", Run: b.bosen}, pair.Part{Name: "text", Run: b.text}, pair.Part{Name: "tables", Run: b.tables}, pair.Part{Name: "wide", Run: b.wide})
		if b.peer != nil {
			pair.Check(b.peer.Close())
		}
	})
}

// bench is what every figure needs.
type bench struct {
	*pair.Bench
	shelf *sets.Shelf
	peer  *pair.Child // nil: none
	vw    string      // empty: none
	slots int

	liblinear string // empty: none
}

// asks puts a request to the peer. A library that it lacks loses us the peer, not the run.
func (b *bench) asks(request string) bool {
	if b.peer == nil {
		return false
	}
	if _, err := b.peer.Ask(request); err != nil {
		b.Note("no peer: %v", err)
		return false
	}
	return true
}

// digits measures images: speed against PyTorch, accuracy against 92 %.
func (b *bench) digits() {
	files := b.shelf.Digits(10_000)
	train, test := b.read(files)
	torch := b.asks("digits\t" + files.Train + "\t" + files.Test)
	b.arithmetic(train, torch)
	for slots := 1; slots <= b.slots; slots++ {
		b.system(train, slots, torch && slots == 1)
	}
	b.accuracy(train, test)
}

// read reads a pair and begins its section.
func (b *bench) read(p sets.Pair) (train, test *data.Set) {
	train, test = p.Read(data.Examples)
	b.Section(p.Origin + ", " + train.Detected.String())
	return train, test
}

// arithmetic races the bare loop of mini-batches on our kernels against the same loop in PyTorch.
func (b *bench) arithmetic(train *data.Set, torch bool) {
	m := newBare(train)
	sides := []pair.Side{{Name: "vec", Run: pair.Measure(func() float64 { return m.epoch(batch) })}}
	if torch {
		sides = append(sides, rename(b.peer.Side(fmt.Sprintf("hand\t%d", batch)), "PyTorch by hand"))
	}
	b.Race(pair.Row{Figure: fmt.Sprintf("kernel-equal, batch %d, 1 thread", batch), Unit: "samples/s", Clock: pair.CPU, Target: 1}, sides...)
}

func rename(s pair.Side, name string) pair.Side {
	s.Name = name
	return s
}

// system races whole training against PyTorch's usual loop, which scores nothing.
func (b *bench) system(train *data.Set, slots int, torch bool) {
	epochs := 4
	if b.Full {
		epochs = 10
	}
	row := pair.Row{Unit: "samples/s", Peer: pair.Series{Name: "PyTorch"}}
	if slots == 1 {
		row.Recorded = torchBatch128
	}
	var peer []pair.Side
	if torch {
		peer = append(peer, rename(b.peer.Side(fmt.Sprintf("loop\t%d", batch)), "PyTorch"))
	}
	row = trial.Setup{App: mlr.New(), Data: train, Slots: slots}.Race(b.Bench, row, epochs,
		fmt.Sprintf("system-level, visits, threads %d", slots), fmt.Sprintf("system-level, whole job, threads %d", slots), peer...)
	row.Figure, row.Peer, row.Recorded = fmt.Sprintf("the same beside Bösen, threads %d", slots), pair.Series{Name: "Bösen"}, bosenOneCore
	if slots == 2 {
		row.Recorded = bosenTwoCores
	}
	b.Add(row)
}

// The setting of Bösen's figures, and how many times as fast we want to be.
const (
	bosenClocks = 30
	bosenWanted = 20
)

// bosen visits images with as many clocks as Bösen's recorded runs had.
func (b *bench) bosen() {
	train, _ := b.read(b.shelf.Digits(1))
	epochs := 8
	if b.Full {
		epochs = 20
	}
	for slots := 1; slots <= b.slots; slots++ {
		recorded := [...]float64{bosenOneCore, bosenTwoCores}[slots-1]
		whole, visiting := trial.Setup{App: mlr.New(), Data: train, Slots: slots, Settings: map[string]string{"clocks": fmt.Sprint(bosenClocks)}}.Sides("bellows", epochs)
		series := b.Interleave(whole, visiting)[0]
		core := series.Rates(pair.CPU).Median
		b.AddFact(pair.Fact{Figure: fmt.Sprintf("%d clocks an epoch, whole job, threads %d, wall", bosenClocks, slots), Unit: "samples/s", Ours: series.Rates(pair.Wall).Median})
		b.AddFact(pair.Fact{Figure: "the same, each second of a core", Unit: "samples/s", Ours: core})
		b.AddFact(pair.Fact{Figure: fmt.Sprintf("that over Bösen's recorded %.1f k samples/s of a core", recorded/1e3/float64(slots)), Unit: "times", Ours: core * float64(slots) / recorded, Peer: "wanted", Bound: bosenWanted, Least: true})
	}
	b.Note("load %s at the end", pair.Load())
}

// accuracy trains with the defaults, as the speed rows do but to the end.
func (b *bench) accuracy(train, test *data.Set) {
	out := trial.Setup{App: mlr.New(), Data: train, Test: test, Slots: b.slots}.Train()
	b.AddFact(pair.Fact{Figure: "test accuracy, our defaults", Unit: "%", Ours: 100 * out.Score(test, "accuracy"), Peer: "wanted", Bound: 92, Least: true, Exact: true})
	b.Note("%d epochs of %s clocks, %s", len(out.Epochs), out.Settings["clocks"], out.Times())
}
