package machine

import (
	"context"
	"runtime"
	"slices"
	"time"

	"bellows"
	"bellows/app"
	"bellows/data/demo"
	"bellows/figures"
	"bellows/node"
	"bellows/train"
	"bellows/vec"
)

// Figure is one that was measured.
type Figure struct {
	Name  string  `json:"name"`
	Value float64 `json:"value"`
	Unit  string  `json:"unit"`
}

const (
	elements   = 1 << 14 // of a vector: three of them lie in the second level of the cache
	samples    = 7       // of each kernel; the best counts
	sampleTime = 5 * time.Millisecond
)

// Kernels measures each kernel on vectors that lie in the cache. The best of some samples counts: other work on the machine can only
// make one slower.
func Kernels() []Figure {
	x, y := make([]float32, elements), make([]float32, elements)
	for i := range x {
		x[i] = float32(i%97)/97 - 0.5
	}
	const n = 256
	a, b, m := make([]float32, n*n), make([]float32, n*n), make([]float32, n*n)
	copy(a, x)
	copy(b, x)
	// touched is what one call works on: bytes loaded and stored, elements, or operations.
	kernels := []struct {
		name    string
		unit    string
		touched float64
		call    func()
	}{
		{"axpy", "GB/s", 12 * elements, func() { vec.Axpy(1e-9, x, y) }},
		{"add", "GB/s", 12 * elements, func() { vec.Add(x, y) }},
		{"scale", "GB/s", 8 * elements, func() { vec.Scale(1, y) }},
		{"dot", "GB/s", 8 * elements, func() { vec.Dot(x, y) }},
		{"sum of squares", "GB/s", 4 * elements, func() { vec.SumSquares(x) }},
		{"abs-max", "GB/s", 4 * elements, func() { vec.AbsMax(x) }},
		{"exp", "G elements/s", elements, func() { vec.Exp(x, y) }},
		{"log", "G elements/s", elements, func() { vec.Log(x, y) }},
		{"sigmoid", "G elements/s", elements, func() { vec.Sigmoid(x, y) }},
		{"gemm 256x256x256", "GFLOP/s", 2 * n * n * n, func() { vec.GemmNN(n, n, n, 1, a, n, b, n, 0, m, n) }},
	}
	best := make([]float64, len(kernels))
	for range samples { // in turns, so that a slow moment of the machine hits all alike
		for i, k := range kernels {
			best[i] = max(best[i], perSecond(k.call)*k.touched/1e9)
		}
	}
	measured := make([]Figure, len(kernels))
	for i, k := range kernels {
		measured[i] = Figure{k.name, best[i], k.unit}
	}
	return measured
}

// perSecond calls f for about one sample's time.
func perSecond(f func()) float64 {
	start, calls := time.Now(), 0
	for batch := 1; ; batch *= 2 {
		for range batch {
			f()
		}
		calls += batch
		if took := time.Since(start); took >= sampleTime {
			return float64(calls) / took.Seconds()
		}
	}
}

const (
	epochs = 8
	runs   = 3 // of each number of slots; the best counts
)

// Application trains on the demo's data with 1, 2, 4, ... slots up to one per CPU.
func Application(ctx context.Context, a app.Application) ([]Figure, error) {
	d := a.Describe()
	set, err := demo.Named(d.Data, d.Demo, 1)
	if err != nil {
		return nil, bellows.Errorf(bellows.Bug, "bench", d.Name, "%w", err)
	}
	counts := []int{1}
	for n := 2; n < runtime.GOMAXPROCS(0); n *= 2 {
		counts = append(counts, n)
	}
	counts = slices.Compact(append(counts, runtime.GOMAXPROCS(0)))
	best := make([]float64, len(counts))
	for range runs { // in turns, so that a slow moment of the machine hits all alike
		for i, slots := range counts {
			perSecond, err := withSlots(ctx, a, app.Input{Data: set, Seed: 1, Epochs: epochs, Slots: slots})
			if err != nil {
				return nil, err
			}
			best[i] = max(best[i], perSecond)
		}
	}
	var list []Figure
	for i, slots := range counts {
		list = append(list, Figure{figures.Plural(slots, "slot"), best[i] / 1e6, "million " + d.Unit + "/s"})
	}
	return list, nil
}

// withSlots returns the items per second of training alone.
func withSlots(ctx context.Context, a app.Application, in app.Input) (float64, error) {
	made, err := a.NewRun(in)
	if err != nil {
		return 0, err
	}
	var items int64
	res, err := node.Train(ctx, made.Job, node.Options{Slots: in.Slots, OnEpoch: func(e train.Epoch, _ node.Spent) { items = e.Items }})
	switch {
	case err != nil:
		return 0, err
	case res.Image != nil:
		return 0, bellows.Errorf(bellows.Interrupted, "bench", a.Describe().Name, "interrupted")
	}
	return float64(items) / res.Trained.Seconds(), nil
}
