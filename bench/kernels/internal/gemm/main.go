// Package gemm compares the matrix products of package vec with OpenBLAS, both on one thread.
//
// It needs gcc and Debian's libopenblas-dev: a small C program, embedded here, is compiled into a temporary folder and
// runs as a child. Without them it prints our figures alone.
package gemm

import (
	"cmp"
	_ "embed"
	"errors"
	"flag"
	"fmt"
	"slices"
	"time"

	"bellows/bench/internal/pair"
	"bellows/vec"
)

//go:embed peer/openblas.c
var peerSource []byte

// turn is how long one turn of a product lasts, at least. Other work on the machine disturbs few of many short turns.
const turn = 4 * time.Millisecond

// Program is the measurement.
var Program = pair.Program{Name: "gemm", Turns: [2]int{15, 41}, Define: define}

func define(flags *flag.FlagSet) func(b *pair.Bench) {
	set := flags.String("kernels", "", "kernel set to pin (default the best of this CPU)")
	return func(b *pair.Bench) {
		if *set != "" {
			pair.Check(vec.Use(*set))
		}
		run(b)
	}
}

func run(b *pair.Bench) {
	b.Header("gemm: set %s against OpenBLAS, one thread, m x n x k, c = a·b", vec.Kernels())
	peer, err := openBLAS(b)
	if err != nil {
		b.Note("no peer: %v", err)
	} else {
		defer peer.Close()
	}
	b.Parts(b.Part, pair.Part{Name: "shapes", Run: func() { shapes(b, peer) }}, pair.Part{Name: "layers", Run: func() { layers(b, peer) }})
}

// shapes prints a row for each of some products.
func shapes(b *pair.Bench, peer *pair.Child) {
	for _, g := range groups(b.Full) {
		b.Section(g.title)
		for _, s := range g.shapes {
			for _, form := range forms {
				b.Add(race(b, peer, form, s, g.target))
			}
		}
	}
}

// worst is the number of rows that layers prints.
const worst = 10

// layers measures the products of layers of networks: rows of a batch, outputs and inputs. It prints those with the lowest ratios, and
// how many reach the target.
func layers(b *pair.Bench, peer *pair.Child) {
	if peer == nil {
		return
	}
	batches, outputs, inputs := []int{1, 8, 32, 128, 512}, []int{1, 10, 64, 256, 1000, 4096}, []int{64, 784}
	if b.Full {
		batches, outputs, inputs = []int{1, 2, 4, 8, 16, 32, 64, 128, 256, 512}, []int{1, 10, 32, 64, 100, 256, 1000, 4096}, []int{32, 100, 256, 784, 2048}
	}
	for _, form := range forms {
		var rows []pair.Row
		met := 0
		for _, m := range batches {
			for _, n := range outputs {
				for _, k := range inputs {
					target := layerTarget
					if min(m, n, k) < 32 {
						target = 1
					}
					row := race(b, peer, form, shape{m, n, k}, target)
					if ratio(row) >= target {
						met++
					}
					rows = append(rows, row)
				}
			}
		}
		b.Section(fmt.Sprintf("layers, %s: %d of %d products reach 1 of OpenBLAS with a side under 32, else %v; the lowest ratios", form.name, met, len(rows), layerTarget))
		slices.SortFunc(rows, func(x, y pair.Row) int { return cmp.Compare(ratio(x), ratio(y)) })
		for _, row := range rows[:worst] {
			b.Add(row)
		}
	}
}

const layerTarget = 0.95

func ratio(r pair.Row) float64 { return pair.Ratio(r.Ours, r.Peer, r.Clock).Median }

// shape is c's rows and columns and the length of the sums.
type shape struct{ m, n, k int }

func (s shape) flop() float64 { return 2 * float64(s.m) * float64(s.n) * float64(s.k) }

type group struct {
	title  string
	target float64
	shapes []shape
}

func groups(full bool) []group {
	narrow := []shape{{64, 10, 784}, {128, 10, 784}, {10, 784, 128}}
	wide := []shape{{32, 32, 32}, {64, 64, 64}, {64, 512, 784}, {512, 512, 512}}
	if full {
		narrow = append(narrow, shape{256, 10, 784}, shape{10, 784, 256}, shape{64, 10, 512}, shape{128, 26, 16}, shape{128, 16, 26},
			shape{1024, 8, 64}, shape{1, 512, 784}, shape{1, 784, 512})
		wide = append(wide, shape{128, 128, 128}, shape{128, 512, 784}, shape{784, 512, 128}, shape{33, 47, 129}, shape{256, 1024, 1024},
			shape{1024, 1024, 1024}, shape{2048, 2048, 2048})
	}
	return []group{
		{"one side under 32: at least OpenBLAS's speed", 1, narrow},
		{"all sides 32 and more: at least 0.95 of OpenBLAS", layerTarget, wide},
	}
}

// gemm is a product as package vec has it.
type gemm = func(m, n, k int, alpha float32, a []float32, lda int, b []float32, ldb int, beta float32, c []float32, ldc int)

// form is one of the three layouts; T marks the operand that lies transposed.
type form struct {
	name   string
	ours   gemm
	ta, tb bool
}

var forms = []form{{"NN", vec.GemmNN, false, false}, {"NT", vec.GemmNT, false, true}, {"TN", vec.GemmTN, true, false}}

// race measures one product.
func race(b *pair.Bench, peer *pair.Child, f form, s shape, target float64) pair.Row {
	x, y, z := pair.Random(s.m*s.k, 1), pair.Random(s.k*s.n, 2), make([]float32, s.m*s.n)
	lda, ldb := s.k, s.n
	if f.ta {
		lda = s.m
	}
	if f.tb {
		ldb = s.k
	}
	// Both sides make as many calls in a turn. A number found by trial would be too low if other work came between.
	calls := max(1, int(turn.Seconds()*80e9/s.flop()))
	product := func() { f.ours(s.m, s.n, s.k, 1, x, lda, y, ldb, 0, z, s.n) }
	run := pair.MeasureThread(func() float64 {
		for range calls {
			product()
		}
		return s.flop() * float64(calls)
	})
	sides := []pair.Side{{Name: "vec", Run: func() pair.Turn {
		product() // not counted: the other side had the caches before it
		return run()
	}}}
	if peer != nil {
		sides = append(sides, peer.Side(fmt.Sprintf("%s %d %d %d %d", f.name, s.m, s.n, s.k, calls)))
	}
	row := pair.Row{Figure: fmt.Sprintf("%s %dx%dx%d", f.name, s.m, s.n, s.k), Unit: "flop/s", Clock: pair.CPU, Target: target}
	series := b.Interleave(sides...)
	row.Ours = series[0]
	if peer != nil {
		row.Peer = series[1]
	}
	return row
}

// openBLAS compiles and starts the peer, and asks it once, so that one with generic kernels is refused here.
func openBLAS(b *pair.Bench) (*pair.Child, error) {
	peer, err := b.Compile("OpenBLAS", peerSource, "-lopenblas", "gcc and libopenblas-dev")
	if err != nil {
		return nil, err
	}
	if _, err := peer.Ask("NN 8 8 8 1"); err != nil {
		return nil, errors.Join(err, peer.Close())
	}
	return peer, nil
}
