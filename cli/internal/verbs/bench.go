package verbs

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"time"

	"bellows"
	"bellows/app"
	"bellows/cli/internal/figures"
	"bellows/cli/internal/line"
	"bellows/data/demo"
	"bellows/node"
	"bellows/train"
	"bellows/vec"

	"github.com/klauspost/cpuid/v2"
	"github.com/spf13/cobra"
)

// benchReport is what `bench --json` prints.
type benchReport struct {
	Bench   string       `json:"bench"`
	Machine benchMachine `json:"machine"`
	Figures []figure     `json:"figures"`
}

type benchMachine struct {
	CPU      string `json:"cpu"`
	CPUs     int    `json:"cpus"`
	Kernels  string `json:"kernels"`
	Platform string `json:"platform"`
	Go       string `json:"go"`
}

type figure struct {
	Name  string  `json:"name"`
	Value float64 `json:"value"`
	Unit  string  `json:"unit"`
}

func thisMachine() benchMachine {
	v := currentVersion()
	return benchMachine{cpuid.CPU.BrandName, runtime.NumCPU(), v.Kernels, v.Platform, v.Go}
}

func (c *Tool) benchCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "bench",
		Short: "Measure this machine for a few seconds, on generated data",
		Long: "Measure this machine for a few seconds, on generated data. A figure holds for this machine and\n" +
			"this moment; compare two only from one run.",
		Example: "bench kernels\nbench " + c.sample(0).Name + " --json",
	}
	line.Choose(cmd, "bench")
	cmd.AddCommand(&cobra.Command{
		Use:     "kernels",
		Short:   "The kernels on one thread: bytes, elements and operations a second",
		Example: "bench kernels\nbench kernels --kernels go",
		Args:    line.Exactly(),
		RunE: func(*cobra.Command, []string) error {
			return c.showBench(benchReport{"kernels", thisMachine(), benchKernels()})
		},
	})
	for _, a := range c.apps {
		d := a.Describe()
		cmd.AddCommand(&cobra.Command{
			Use:     d.Name,
			Short:   fmt.Sprintf("Training by %s: %s a second, by compute slots", d.Title, d.Unit),
			Example: "bench " + d.Name,
			Args:    line.Exactly(),
			RunE: func(cmd *cobra.Command, _ []string) error {
				figures, err := benchApplication(cmd.Context(), a)
				if err != nil {
					return err
				}
				return c.showBench(benchReport{d.Name, thisMachine(), figures})
			},
		})
	}
	return cmd
}

func (c *Tool) showBench(r benchReport) error {
	c.Printf("%s, %s, kernels %s, %s, %s\n", r.Machine.CPU, figures.Plural(r.Machine.CPUs, "CPU"), r.Machine.Kernels, r.Machine.Platform, r.Machine.Go)
	for _, f := range r.Figures {
		c.Printf("%-24s %10.2f %s\n", f.Name, f.Value, f.Unit)
	}
	return c.Object(r)
}

const (
	benchElements = 1 << 14 // of a vector: three of them lie in the second level of the cache
	benchSamples  = 7       // of each kernel, of which the best counts
	benchSample   = 5 * time.Millisecond
)

// benchKernels measures each kernel on vectors that lie in the cache. The best of some samples counts: other work on the machine can only
// make one slower.
func benchKernels() []figure {
	x, y := make([]float32, benchElements), make([]float32, benchElements)
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
		{"axpy", "GB/s", 12 * benchElements, func() { vec.Axpy(1e-9, x, y) }},
		{"add", "GB/s", 12 * benchElements, func() { vec.Add(x, y) }},
		{"scale", "GB/s", 8 * benchElements, func() { vec.Scale(1, y) }},
		{"dot", "GB/s", 8 * benchElements, func() { vec.Dot(x, y) }},
		{"sum of squares", "GB/s", 4 * benchElements, func() { vec.SumSquares(x) }},
		{"abs-max", "GB/s", 4 * benchElements, func() { vec.AbsMax(x) }},
		{"exp", "G elements/s", benchElements, func() { vec.Exp(x, y) }},
		{"log", "G elements/s", benchElements, func() { vec.Log(x, y) }},
		{"sigmoid", "G elements/s", benchElements, func() { vec.Sigmoid(x, y) }},
		{"gemm 256x256x256", "GFLOP/s", 2 * n * n * n, func() { vec.GemmNN(n, n, n, 1, a, n, b, n, 0, m, n) }},
	}
	best := make([]float64, len(kernels))
	for range benchSamples { // in turns, so that a slow moment of the machine hits all alike
		for i, k := range kernels {
			best[i] = max(best[i], perSecond(k.call)*k.touched/1e9)
		}
	}
	figures := make([]figure, len(kernels))
	for i, k := range kernels {
		figures[i] = figure{k.name, best[i], k.unit}
	}
	return figures
}

// perSecond calls f for about one sample's time.
func perSecond(f func()) float64 {
	start, calls := time.Now(), 0
	for batch := 1; ; batch *= 2 {
		for range batch {
			f()
		}
		calls += batch
		if took := time.Since(start); took >= benchSample {
			return float64(calls) / took.Seconds()
		}
	}
}

const (
	benchEpochs = 8
	benchRuns   = 3 // of each number of slots, of which the best counts
)

// benchApplication trains on the demo's data with 1, 2, 4, ... slots up to one per CPU.
func benchApplication(ctx context.Context, a app.Application) ([]figure, error) {
	d := a.Describe()
	set, err := demo.Make(d.Data, 1)
	if err != nil {
		return nil, bellows.Errorf(bellows.Bug, "bench", d.Name, "%w", err)
	}
	counts := []int{1}
	for n := 2; n < runtime.GOMAXPROCS(0); n *= 2 {
		counts = append(counts, n)
	}
	counts = slices.Compact(append(counts, runtime.GOMAXPROCS(0)))
	best := make([]float64, len(counts))
	for range benchRuns { // in turns, so that a slow moment of the machine hits all alike
		for i, slots := range counts {
			perSecond, err := benchSlots(ctx, a, app.Input{Data: set, Seed: 1, Epochs: benchEpochs, Slots: slots})
			if err != nil {
				return nil, err
			}
			best[i] = max(best[i], perSecond)
		}
	}
	var list []figure
	for i, slots := range counts {
		list = append(list, figure{figures.Plural(slots, "slot"), best[i] / 1e6, "million " + d.Unit + "/s"})
	}
	return list, nil
}

// benchSlots is the items a second of training alone.
func benchSlots(ctx context.Context, a app.Application, in app.Input) (float64, error) {
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
