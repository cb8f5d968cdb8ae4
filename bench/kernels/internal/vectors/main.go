// Package vectors compares the vector kernels of package vec with the machine's bandwidth and with package math.
// Streaming kernels run against loops that only load and store the same bytes; exp, log and sigmoid run against package
// math.
//
// It needs no peer and no data.
package vectors

import (
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"time"

	"bellows/bench/internal/pair"
	"bellows/vec"
	"bellows/vec/roofline"
)

// turn is how long one turn of a kernel lasts.
const turn = 20 * time.Millisecond

// Program is the measurement.
var Program = pair.Program{Name: "vectors", Turns: [2]int{5, 11}, Define: define}

func define(flags *flag.FlagSet) func(b *pair.Bench) {
	set := flags.String("kernels", "", "kernel set to pin (default the best of this CPU)")
	return func(b *pair.Bench) {
		if *set != "" {
			pair.Check(vec.Use(*set))
		}
		b.Header("kernels: set %s against the limits of the machine, one thread", vec.Kernels())
		sizes := []size{{"L2", 512 << 10, 0.9}}
		if b.Full {
			sizes = []size{{"L1", 16 << 10, 0}, {"L2", 512 << 10, 0.9}, {"memory", 128 << 20, 0}}
		}
		for _, s := range sizes {
			streams(b, s)
		}
		functions(b)
		factors(b)
	}
}

// size is a working set: all vectors of a kernel together.
type size struct {
	name   string
	bytes  int
	target float64
}

// stream is a kernel that should be as fast as its bytes can be moved.
type stream struct {
	name    string
	vectors int     // operands, each a share of the working set
	moved   float64 // bytes loaded and stored for an element
	limit   string
	ours    func(x, y []float32)
	bound   func(x, y []float32)
}

var streamKernels = []stream{
	{"axpy", 2, 12, "load 2, store 1", func(x, y []float32) { vec.Axpy(1e-9, x, y) }, roofline.UpdateFrom},
	{"add", 2, 12, "load 2, store 1", vec.Add, roofline.UpdateFrom},
	{"scale", 1, 8, "load, store", func(x, _ []float32) { vec.Scale(1, x) }, func(x, _ []float32) { roofline.Update(x) }},
	{"dot", 2, 8, "load 2", func(x, y []float32) { vec.Dot(x, y) }, roofline.ReadTwo},
	{"sum of squares", 1, 4, "load", func(x, _ []float32) { vec.SumSquares(x) }, func(x, _ []float32) { roofline.Read(x) }},
	{"abs-max", 1, 4, "load", func(x, _ []float32) { vec.AbsMax(x) }, func(x, _ []float32) { roofline.Read(x) }},
}

func streams(b *pair.Bench, s size) {
	b.Section(fmt.Sprintf("loads plus stores, working set of %d KiB: %s", s.bytes>>10, s.name))
	for _, k := range streamKernels {
		n := s.bytes / 4 / k.vectors
		x, y := pair.Random(n, 1), pair.Random(n, 2)
		work := k.moved * float64(n)
		b.Race(pair.Row{Figure: k.name, Unit: "B/s", Clock: pair.CPU, Target: s.target},
			side(k.name, work, func() { k.ours(x, y) }), side(k.limit, work, func() { k.bound(x, y) }))
	}
}

func side(name string, work float64, do func()) pair.Side {
	return pair.Side{Name: name, Run: pair.Repeat(turn, work, do)}
}

// function is an elementwise function, and the loop that computes it by package math.
type function struct {
	name       string
	ours, math func(x, y []float32)
}

var elementwise = []function{{"exp", vec.Exp, mathExp}, {"log", vec.Log, mathLog}, {"sigmoid", vec.Sigmoid, mathSigmoid}}

// The loops over package math are plain functions, as our kernels are: the same loops in a closure over variables of another loop were
// several times slower.

func mathExp(x, y []float32) {
	for i, v := range x {
		y[i] = float32(math.Exp(float64(v)))
	}
}

func mathLog(x, y []float32) {
	for i, v := range x {
		y[i] = float32(math.Log(float64(v)))
	}
}

func mathSigmoid(x, y []float32) {
	for i, v := range x {
		y[i] = float32(1 / (1 + math.Exp(-float64(v))))
	}
}

func functions(b *pair.Bench) {
	const n = 4096
	b.Section("elementwise functions against package math, 4,096 elements")
	for _, f := range elementwise {
		x, y := pair.Random(n, 3), make([]float32, n)
		for i := range x {
			x[i] = 8*x[i] + 8.5 // positive, so that log does real work
		}
		b.Race(pair.Row{Figure: f.name, Unit: "elements/s", Clock: pair.CPU, Target: 10},
			side(f.name, n, func() { f.ours(x, y) }), side("math", n, func() { f.math(x, y) }))
	}
}

// factors races a block of ratings in random order against the same ratings sorted into blocks that fit the cache: how
// much the order is worth.
func factors(b *pair.Bench) {
	const users, items, block = 100_000, 20_000, 256
	b.Section("matrix-factorisation step, 100,000 users x 20,000 items, blocks of 256 x 256 against random order (ratio: what blocking gains)")
	ranks := []int{32}
	if b.Full {
		ranks = []int{32, 64, 128}
	}
	for _, rank := range ranks {
		f := &vec.Factors{Rank: rank, Stride: rank, P: pair.Random(users*rank, 4), Q: pair.Random(items*rank, 5), Step: 1e-4, L2: 0.1}
		r := rand.New(rand.NewPCG(6, 7))
		const n = 1 << 18
		spread := ratings(n, func() (int, int) { return r.IntN(users), r.IntN(items) })
		tile, u0, i0 := 0, 0, 0
		tiled := ratings(n, func() (int, int) {
			if tile%4096 == 0 {
				u0, i0 = r.IntN(users-block), r.IntN(items-block)
			}
			tile++
			return u0 + r.IntN(block), i0 + r.IntN(block)
		})
		b.Race(pair.Row{Figure: fmt.Sprintf("rank %d", rank), Unit: "ratings/s", Clock: pair.CPU},
			side("blocked", n, func() { vec.FactorBlock(f, tiled.user, tiled.item, tiled.rating) }),
			side("random", n, func() { vec.FactorBlock(f, spread.user, spread.item, spread.rating) }))
	}
}

type triples struct {
	user, item []int32
	rating     []float32
}

func ratings(n int, at func() (user, item int)) triples {
	t := triples{make([]int32, n), make([]int32, n), pair.Random(n, 8)}
	for j := range n {
		u, i := at()
		t.user[j], t.item[j] = int32(u), int32(i)
	}
	return t
}
