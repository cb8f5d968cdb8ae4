// Command lab trains on a cluster that does not exist, in virtual time, with the real protocol and the real mathematics, and says
// how long each epoch would take and what it would wait for.
//
// What work costs is taken from --costs, a file that --calibrate has saved; without it, it is measured on this machine
// first. --calibrate runs the same training for real, in one process and in several, fits the costs to some of the runs,
// predicts all of them, and prints predicted against measured. --scale runs 64 and 1,024 nodes.
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"bellows/bench/internal/pair"
	"bellows/bench/internal/sets"
	"bellows/bench/lab/internal/jobs"
	"bellows/vec"
)

// bench is one run of the command.
type bench struct {
	options   *pair.Options
	out       io.Writer
	shelf     *sets.Shelf
	calibrate bool
	scale     bool
	costsFile string
	save      string
	kernels   string

	order  jobs.Order
	site   site
	slow   string
	seed   uint64
	chance float64
}

// site is the flags that describe a cluster.
type site struct {
	nodes, servers, cores int
	bandwidth             float64 // Mbit/s; 0: unlimited
	latency               time.Duration
}

func main() {
	b := &bench{options: pair.Flags(), out: os.Stdout}
	seat := flag.String("seat", "", "run a part of another's job; for internal use")
	data := flag.String("data", "", "`folder` with MNIST's image files, or with --files what they are relative to (default: images made from a seed)")
	files := flag.String("files", "", "comma-separated `files` to train on, for apps other than mlr")
	b.flags()
	pair.Exit(b.options.Parse(3, 7))
	pair.Exit(b.pin())
	if *seat != "" {
		pair.Exit(sit(*seat))
		return
	}
	pair.Exit(b.open(*data, *files))
	err := b.run()
	b.shelf.Close()
	pair.Exit(err)
}

func (b *bench) flags() {
	flag.BoolVar(&b.calibrate, "calibrate", false, "run for real, fit the costs, and print predicted against measured")
	flag.BoolVar(&b.scale, "scale", false, "run 64 and 1,024 nodes")
	flag.StringVar(&b.costsFile, "costs", "", "`file` of costs and runs that --save has written (default: measured now)")
	flag.StringVar(&b.save, "save", "", "`file` to write costs and runs to")
	flag.StringVar(&b.kernels, "kernels", "", "pin the kernel `set`: "+strings.Join(vec.Sets(), ", "))
	flag.StringVar(&b.order.App, "app", "mlr", "what to train: mf, mlr or lda")
	flag.IntVar(&b.order.Epochs, "epochs", 5, "passes over the data")
	flag.IntVar(&b.order.Staleness, "staleness", 0, "clocks that a read may lag; 0 is BSP, -1 is async")
	flag.Var(settings{&b.order}, "set", "set a hyperparameter, as `key=value`; may be given again")
	flag.IntVar(&b.site.nodes, "nodes", 8, "machines with a node each, beside that of the controller")
	flag.IntVar(&b.site.servers, "servers", 0, "how many of the nodes hold tables; 0 is all")
	flag.IntVar(&b.site.cores, "slots", 1, "cores of a machine: compute slots of its node")
	flag.Float64Var(&b.site.bandwidth, "bandwidth", 1000, "of a machine's link, in each direction, in `Mbit/s`; 0 is unlimited")
	flag.DurationVar(&b.site.latency, "latency", 100*time.Microsecond, "from machine to machine, one way")
	flag.StringVar(&b.slow, "slow", "", "`pattern` of slow nodes: constant:F:N, rotating:F:PERIOD, worker:ITERATION:DELAY, disrupted:PERIOD:DELAY, power:ITERATION:ALPHA, persistent")
	flag.Uint64Var(&b.seed, "seed", 1, "decides what is left to chance")
	flag.Float64Var(&b.chance, "jitter", 0.02, "how much the cost of a task varies")
}

// settings collects --set.
type settings struct{ order *jobs.Order }

func (s settings) String() string { return "" }

// Set adds one setting.
func (s settings) Set(text string) error {
	key, value, ok := strings.Cut(text, "=")
	if !ok {
		return fmt.Errorf("it must be key=value")
	}
	if s.order.Settings == nil {
		s.order.Settings = map[string]string{}
	}
	s.order.Settings[key] = value
	return nil
}

func (b *bench) pin() error {
	if b.kernels == "" {
		return nil
	}
	b.order.Kernels = b.kernels
	return vec.Use(b.kernels)
}

// open finds the data of the job, or makes it.
func (b *bench) open(folder, files string) error {
	var err error
	if b.shelf, err = sets.Open(folder); err != nil {
		return err
	}
	b.order.Cache, b.order.Slots = b.shelf.Path("cache"), b.site.cores
	if b.order.Files, err = b.find(files); err != nil {
		b.shelf.Close()
	}
	return err
}

func (b *bench) find(files string) ([]string, error) {
	if files != "" {
		return strings.Split(files, ","), nil
	}
	var p sets.Pair
	var err error
	switch {
	case b.order.App == "mlr" && b.shelf.Generated():
		p, err = b.shelf.Images(60_000, 1, 28)
	case b.order.App == "mlr":
		p, err = b.shelf.Digits()
	case b.order.App == "mf":
		p, err = b.shelf.Ratings(3000, 2000, 500_000)
	default:
		err = fmt.Errorf("--app %s needs --files", b.order.App)
	}
	return []string{p.Train}, err
}

func (b *bench) run() error {
	switch {
	case b.calibrate:
		return b.compare()
	case b.scale:
		return b.grow()
	}
	return b.experiment()
}

// costs are those of the file, or fitted to runs that are made now.
func (b *bench) costs() (fitted, error) {
	if b.costsFile != "" {
		return b.load()
	}
	list := slices.DeleteFunc(append(exchanges(), b.trainings()...), func(m measured) bool { return !m.Shape.Fitted })
	if err := b.gather(list); err != nil {
		return fitted{}, err
	}
	return b.settle(list)
}

// load reads the file of --costs. Its runs need the data that this command was given.
func (b *bench) load() (fitted, error) {
	var f fitted
	text, err := os.ReadFile(b.costsFile)
	if err == nil {
		err = json.Unmarshal(text, &f)
	}
	if err != nil {
		return f, fmt.Errorf("--costs: %w", err)
	}
	for i := range f.Runs {
		if m := &f.Runs[i]; m.Order.App != jobs.ClockApp {
			m.Order.Files, m.Order.Cache = b.order.Files, b.order.Cache
		}
	}
	return f, nil
}

// keep writes costs to the file of --save.
func (b *bench) keep(f fitted) error {
	if b.save == "" {
		return nil
	}
	text, err := json.MarshalIndent(f, "", "  ")
	if err == nil {
		err = os.WriteFile(b.save, append(text, '\n'), 0o600)
	}
	if err != nil {
		return fmt.Errorf("--save: %w", err)
	}
	return nil
}
