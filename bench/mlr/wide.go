package main

import (
	"bufio"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"

	"bellows/bench/internal/pair"
	"bellows/bench/internal/sets"
)

// wideRows of wideEntries features each are much fewer than the features.
const (
	wideRows    = 100_000
	wideEntries = 30
	wideClasses = 4
	wideEpochs  = 5
)

// wide measures the whole command on rows of few features out of very many, beside LIBLINEAR's command for the same
// loss: CPU time, and the peak of memory. Neither side trains to the accuracy of the other.
func (b *bench) wide() {
	program := b.shelf.Bellows()
	for _, c := range []struct {
		features      int
		seconds, peak float64
	}{{1_000_000, 4, 150e6}, {10_000_000, 8, 900e6}} {
		path := b.wideRows(c.features)
		b.Section(fmt.Sprintf("%d rows made from a seed, each with %d of %d features, %d classes", wideRows, wideEntries, c.features, wideClasses))
		sides := []pair.Side{{Name: "bellows", Run: func() pair.Turn {
			_, _, t := b.shelf.Train(program, nil, "mlr", path, "--epochs", strconv.Itoa(wideEpochs), "--workers", strconv.Itoa(b.slots), "--cache", "off", "--fresh")
			return t
		}}}
		if b.liblinear != "" {
			sides = append(sides, pair.Side{Name: "LIBLINEAR", Run: func() pair.Turn {
				_, t := pair.RunProgram("LIBLINEAR", b.liblinear, nil, "-s", "7", "-e", "0.1", "-q", path, b.shelf.Path("wide.model"))
				return t
			}})
		}
		series := b.Race(pair.Row{Figure: fmt.Sprintf("%d epochs, whole command, -s 7 -e 0.1", wideEpochs), Unit: "s", Cost: true, Clock: pair.CPU, Target: 1}, sides...)
		var cpu, peak []float64
		for _, t := range series[0].Turns {
			cpu, peak = append(cpu, t.CPU.Seconds()), append(peak, float64(t.Peak))
		}
		b.AddFact(pair.Fact{Figure: "CPU time, largest of all turns", Unit: "s", Ours: slices.Max(cpu), Peer: "limit", Bound: c.seconds})
		b.AddFact(pair.Fact{Figure: "peak of memory, largest of all turns", Unit: "bytes", Ours: slices.Max(peak), Peer: "limit", Bound: c.peak})
	}
}

// wideRows writes the rows. A fifth of a row's features are of a block of its class.
func (b *bench) wideRows(features int) string {
	path := b.shelf.Path("wide.svm")
	r := rand.New(rand.NewPCG(1, 2))
	sets.Write(path, func(w *bufio.Writer) {
		for range wideRows {
			class, list := r.IntN(wideClasses), make([]int, 0, wideEntries)
			for len(list) < wideEntries {
				j := r.IntN(features)
				if r.IntN(5) == 0 {
					j = j/wideClasses + class*(features/wideClasses)
				}
				if !slices.Contains(list, j) {
					list = append(list, j)
				}
			}
			slices.Sort(list)
			fmt.Fprint(w, class)
			for _, j := range list {
				fmt.Fprintf(w, " %d:%.3f", j+1, 0.5+r.Float64())
			}
			w.WriteByte('\n')
		}
	})
	return path
}
