// Command lab trains on a simulated cluster (package sim/lab) in virtual time, and prints how long each epoch would
// take and what it would wait for. The protocol and the mathematics are the real ones.
//
// What work costs is taken from --costs, a file that --calibrate has saved; without it, it is measured on this machine
// first. --calibrate runs the same training for real, in one process and in several, fits the costs to some of the runs,
// predicts all of them, and prints predicted against measured. --scale runs 64 and 1,024 nodes. --losses lays deaths over the job.
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"bellows/bench/internal/cluster"
	"bellows/bench/internal/pair"
	"bellows/bench/internal/sets"
	"bellows/bench/lab/internal/jobs"
	"bellows/bench/lab/internal/validation"
	"bellows/sim/lab"
	"bellows/sim/lab/script"
	"bellows/vec"
)

// bench is one run of the command.
type bench struct {
	*pair.Bench
	shelf     *sets.Shelf
	calibrate bool
	scale     bool
	costsFile string
	save      string
	only      string // --only
	losses    string // file; "": no deaths
	picture   string
	hours     float64
	world     world

	order  jobs.Order
	site   site
	slow   string
	seed   uint64
	chance float64
}

// world is the flags that say what happens to the job, and to its machines.
type world struct {
	script   []script.Event
	load     string
	cuts     lab.Cuts
	store    float64 // MB/s
	recovery lab.Recovery
}

// site is the flags that describe a cluster.
type site struct {
	nodes, servers, cores int
	bandwidth, down       float64 // Mbit/s; 0: unlimited, and as up
	budget                float64 // Mbit/s that a node may send
	slice                 time.Duration
	latency               time.Duration
}

func main() {
	b := new(bench)
	pair.Play(pair.Program{Roles: map[string]func([]string){"lab": cluster.Role(jobOf), validation.RoleName: validation.Role, validation.BurnName: validation.BurnRole}})
	data := flag.String("data", "", "`folder` with MNIST's image files, or with --files what they are relative to (default: images made from a seed)")
	files := flag.String("files", "", "comma-separated `files` to train on, for apps other than mlr")
	b.flags()
	pair.Main(3, 7, func(p *pair.Bench) {
		b.Bench = p
		if b.only != "" {
			b.validate()
			return
		}
		if b.order.Kernels != "" {
			pair.Check(vec.Use(b.order.Kernels))
		}
		b.shelf = sets.Open(*data)
		defer b.shelf.Close()
		b.order.Cache, b.order.Slots = b.shelf.Path("cache"), b.site.cores
		b.order.Files = b.find(*files)
		switch {
		case b.calibrate:
			b.compare()
		case b.scale:
			b.grow()
		case b.losses != "":
			b.die()
		default:
			b.experiment()
		}
	})
}

func (b *bench) flags() {
	flag.BoolVar(&b.calibrate, "calibrate", false, "run for real, fit the costs, and print predicted against measured")
	flag.BoolVar(&b.scale, "scale", false, "run 64 and 1,024 nodes")
	flag.StringVar(&b.costsFile, "costs", "", "`file` of costs and runs that --save has written (default: measured now)")
	flag.StringVar(&b.only, "only", "", "`real` or real,KIND,…: hold the laboratory against real processes, by all kinds of events or some; takes root and iproute2")
	flag.StringVar(&b.losses, "losses", "", "`file` that bench/protocol --only detection has written: lay deaths over the job, and say how long it takes to the same objective by what is done about them")
	flag.StringVar(&b.picture, "picture", "", "with --losses, a `file` for the picture")
	flag.Float64Var(&b.hours, "hours", 1, "with --losses, how long the job takes without deaths")
	flag.StringVar(&b.save, "save", "", "`file` to write costs and runs to")
	flag.StringVar(&b.order.Kernels, "kernels", "", "pin the kernel `set`: "+strings.Join(vec.Sets(), ", "))
	flag.StringVar(&b.order.App, "app", "mlr", "what to train: mf, mlr or lda")
	flag.IntVar(&b.order.Epochs, "epochs", 5, "passes over the data")
	flag.IntVar(&b.order.Staleness, "staleness", 0, "clocks that a read may lag; 0 is BSP, -1 is async")
	flag.Func("set", "set a hyperparameter, as `key=value`; may be given again", b.set)
	flag.IntVar(&b.site.nodes, "nodes", 8, "machines with a node each, besides that of the controller")
	flag.IntVar(&b.site.servers, "servers", 0, "how many of the nodes hold tables; 0 is all")
	flag.IntVar(&b.site.cores, "slots", 1, "cores of a machine: compute slots of its node")
	flag.Float64Var(&b.site.bandwidth, "bandwidth", 1000, "of a machine's link, in each direction, in `Mbit/s`; 0 is unlimited")
	flag.DurationVar(&b.site.latency, "latency", 100*time.Microsecond, "from machine to machine, one way")
	flag.StringVar(&b.slow, "slow", "", "`pattern` of slow nodes: constant:F:N, rotating:F:PERIOD, worker:ITERATION:DELAY, disrupted:PERIOD:DELAY, power:ITERATION:ALPHA, persistent")
	flag.Float64Var(&b.site.down, "down", 0, "of a machine's downlink in `Mbit/s`, if it is not that of the uplink; 0: --bandwidth")
	flag.Float64Var(&b.site.budget, "budget", 0, "what each node may send in `Mbit/s`; 0 is unlimited")
	flag.DurationVar(&b.site.slice, "slice", 0, "how long a core has one job while others wait; 0: all share the cores evenly")
	flag.StringVar(&b.world.load, "load", "", "other work on all machines, as `SHARE:PERIOD:PART`: share of the machine, for a part (0 to 1) of each period")
	flag.Func("event", "something that happens to the job, as `EVENT`: "+script.Form+"; may be given again", func(text string) error {
		e, err := script.Parse(text)
		b.world.script = append(b.world.script, e)
		return err
	})
	flag.DurationVar(&b.world.cuts.Every, "cuts", 0, "time from one cut to the next; 0: only those of --event")
	flag.Float64Var(&b.world.store, "store", 0, "what a node stores of cuts in `MB/s`; 0 is unlimited")
	flag.DurationVar(&b.world.recovery.Detect, "detect", 0, "time until a death is noticed")
	flag.DurationVar(&b.world.recovery.Restart, "restart", time.Second, "time to start all processes again after a rollback")
	flag.Uint64Var(&b.seed, "seed", 1, "decides what is left to chance")
	flag.Float64Var(&b.chance, "jitter", 0.02, "how much the cost of a task varies")
}

// set adds one setting.
func (b *bench) set(text string) error {
	key, value, ok := strings.Cut(text, "=")
	if !ok {
		return fmt.Errorf("it must be key=value")
	}
	if b.order.Settings == nil {
		b.order.Settings = map[string]string{}
	}
	b.order.Settings[key] = value
	return nil
}

// find returns the data of the job, or makes some.
func (b *bench) find(files string) []string {
	switch {
	case files != "":
		return strings.Split(files, ",")
	case b.order.App == "mlr":
		return []string{b.shelf.Digits(1).Train}
	case b.order.App == "mf":
		return []string{b.shelf.Ratings(3000, 2000, 500_000).Train}
	}
	pair.Check(fmt.Errorf("--app %s needs --files", b.order.App))
	return nil
}

// costs returns those of --costs, or fitted to runs that are made now: to all, or to those alone that costs need.
func (b *bench) costs(all bool) fitted {
	if b.costsFile != "" {
		return b.load()
	}
	list := append(exchanges(), b.trainings()...)
	if !all {
		list = slices.DeleteFunc(list, func(m measured) bool { return !m.Shape.Fitted })
	}
	b.gather(list)
	f := fit(list)
	f.Runs = list
	if b.save != "" {
		text := pair.Must(json.MarshalIndent(f, "", "  "))
		pair.Check(os.WriteFile(b.save, append(text, '\n'), 0o600))
	}
	return f
}

// load reads the file of --costs. Its runs need the data that this command was given.
func (b *bench) load() (f fitted) {
	if err := json.Unmarshal(pair.Must(os.ReadFile(b.costsFile)), &f); err != nil {
		pair.Check(fmt.Errorf("--costs: %w", err))
	}
	for i := range f.Runs {
		if m := &f.Runs[i]; m.Order.App != jobs.ClockApp {
			m.Order.Files, m.Order.Cache = b.order.Files, b.order.Cache
		}
	}
	return f
}

// say prints a line for people.
func (b *bench) say(format string, args ...any) {
	if !b.JSON {
		fmt.Printf(format+"\n", args...)
	}
}

// figures prints an object for programs.
func (b *bench) figures(o map[string]any) {
	if b.JSON {
		b.Object(o)
	}
}
