// Command system shows the price of the system: what tables, leases, commits and the audit cost beside the same loop
// without them, what many executors to a core cost, and what a task allocates.
//
// It needs no peer: the other side is a bare loop in this program with the kernels, the order of visits, the precision and
// the threads of the application. Data are ml-1m-liked and MNIST below --data; without --data, the like made from a seed.
package main

import (
	"flag"
	"fmt"
	"os"
	"runtime"
	"strconv"

	"bellows/app"
	"bellows/app/mf"
	"bellows/app/mlr"
	"bellows/bench/internal/pair"
	"bellows/bench/internal/sets"
	"bellows/bench/internal/trial"
	"bellows/data"
	"bellows/vec"
)

// What is wanted: at most 5 % beside the bare loop, at most 1.1 times the time with 16 executors to a core instead of one,
// and no allocation in a task. One on a task's path would make at least one a task; what an epoch allocates for its
// report comes to less than half.
const (
	withinBare      = 1 / 1.05
	withinExecutors = 1 / 1.1
	mallocsMost     = 0.5
)

func main() {
	options := pair.Flags()
	dir := flag.String("data", "", "folder with ml-1m-liked and MNIST (default: made from a seed)")
	only := flag.String("only", "", "one application: mf or mlr")
	slots := flag.Int("slots", min(2, runtime.NumCPU()), "most compute slots")
	pair.Exit(options.Parse(5, 11))
	options.Header(os.Stdout, "system: embedded training beside the same loop without tables, commits and audit; kernels "+vec.Kernels())
	shelf, err := sets.Open(*dir)
	pair.Exit(err)
	defer shelf.Close()
	table := pair.NewTable(os.Stdout, options.JSON)
	defer table.Close()
	b := bench{table, options, *slots}
	for _, s := range subjects(shelf) {
		if *only != "" && *only != s.name {
			continue
		}
		if err := b.all(s); err != nil {
			shelf.Close()
			pair.Exit(err)
		}
	}
}

// bench is what every figure needs.
type bench struct {
	table   *pair.Table
	options *pair.Options
	slots   int
}

// loop is an application's work without the system.
type loop interface {
	// visit trains on every item once, on that many threads, and returns how many there are.
	visit(threads int) int
	// score does what the application does after an epoch.
	score(threads int)
}

// subject is an application on a set, and its bare loop.
type subject struct {
	name     string
	app      app.Application
	find     func() (sets.Pair, error)
	kind     data.Kind
	epochs   int
	settings map[string]string // of the comparison of executors
	bare     func(set *data.Set, run *app.Run) (loop, error)
}

func subjects(shelf *sets.Shelf) []subject {
	ratings := func() (sets.Pair, error) {
		if shelf.Generated() {
			return shelf.Ratings(6040, 3706, 900_000)
		}
		return shelf.Find("ml-1m-liked")
	}
	images := func() (sets.Pair, error) {
		if shelf.Generated() {
			return shelf.Images(60_000, 1, 28)
		}
		return shelf.Digits()
	}
	return []subject{
		{"mf", mf.App{}, ratings, data.Ratings, 10, nil, newFactorLoop},
		{"mlr", mlr.New(), images, data.Examples, 5, map[string]string{"batch": "64", "clocks": "10"}, newSoftmaxLoop},
	}
}

func (b bench) all(s subject) error {
	files, err := s.find()
	if err != nil {
		return err
	}
	set, _, err := files.Read(s.kind)
	if err != nil {
		return err
	}
	b.table.Section(s.name + " on " + files.Origin + ", " + set.Detected.String())
	for slots := 1; slots <= b.slots; slots++ {
		if err := b.price(s, set, slots); err != nil {
			return err
		}
	}
	for slots := 1; slots <= b.slots; slots++ {
		if err := b.executors(s, set, slots); err != nil {
			return err
		}
	}
	return b.allocations(s, set)
}

// price races the job against the bare loop: the visits, and the whole with scoring after each epoch.
func (b bench) price(s subject, set *data.Set, slots int) error {
	run, err := s.app.NewRun(app.Input{Data: set, Seed: 1, Epochs: s.epochs, Slots: slots})
	if err != nil {
		return err
	}
	bare, err := s.bare(set, run)
	if err != nil {
		return err
	}
	if got := bare.visit(slots); int64(got) != run.Items {
		return fmt.Errorf("the bare loop of %s visits %d items and the job %d: they are not the same work", s.name, got, run.Items)
	}
	setup := trial.Setup{App: s.app, Data: set, Slots: slots}
	whole, visiting := setup.Sides(s.name, s.epochs)
	bareWhole, bareVisits := bareSides(bare, slots, s.epochs)
	series, err := pair.Interleave(b.options.Turns, whole, visiting, bareWhole, bareVisits)
	if err != nil {
		return err
	}
	row := pair.Row{Figure: fmt.Sprintf("whole job, slots %d", slots), Unit: "items/s", Clock: pair.Wall, Target: withinBare,
		Ours: series[0], Peer: series[2]}
	if slots == 1 {
		row.Clock = pair.CPU
	}
	b.table.Add(row)
	row.Figure, row.Clock, row.Ours, row.Peer = fmt.Sprintf("visits, slots %d", slots), pair.Wall, series[1], series[3]
	b.table.Add(row)
	return nil
}

// bareSides are the two views of the same epochs of a bare loop: all of it, and the visits alone.
func bareSides(l loop, threads, epochs int) (whole, visits pair.Side) {
	var visiting pair.Turn
	whole = pair.Side{Name: "bare loop", Run: func() (pair.Turn, error) {
		visiting = pair.Turn{}
		return pair.Measure(func() (float64, error) {
			for range epochs {
				// The measure of a function that cannot fail.
				t, err := pair.Measure(func() (float64, error) { return float64(l.visit(threads)), nil })()
				if err != nil {
					return 0, err
				}
				visiting.Work += t.Work
				visiting.Wall += t.Wall
				l.score(threads)
			}
			return visiting.Work, nil
		})()
	}}
	return whole, pair.Side{Name: "bare loop", Run: func() (pair.Turn, error) { return visiting, nil }}
}

// executors races 16 executors a core against one, or the fewest that the application takes.
func (b bench) executors(s subject, set *data.Set, slots int) error {
	side := func(perCore int) (pair.Side, error) {
		settings := map[string]string{"splits": strconv.Itoa(perCore * slots)}
		for k, v := range s.settings {
			settings[k] = v
		}
		setup := trial.Setup{App: s.app, Data: set, Slots: slots, Settings: settings}
		run, err := s.app.NewRun(app.Input{Data: set, Seed: 1, Epochs: 1, Slots: slots, Settings: settings})
		if err != nil {
			return pair.Side{}, err
		}
		whole, _ := setup.Sides(run.Settings["splits"]+" executors", s.epochs)
		return whole, nil
	}
	many, err := side(16)
	if err != nil {
		return err
	}
	few, err := side(1)
	if err != nil {
		return err
	}
	series, err := pair.Interleave(b.options.Turns, many, few)
	if err != nil {
		return err
	}
	b.table.Add(pair.Row{Figure: fmt.Sprintf("%s, slots %d", many.Name, slots), Unit: "items/s", Clock: pair.Wall,
		Target: withinExecutors, Ours: series[0], Peer: series[1]})
	return nil
}

// allocations counts what a task allocates once a run is warm.
func (b bench) allocations(s subject, set *data.Set) error {
	epochs := 4 * s.epochs
	out, err := trial.Setup{App: s.app, Data: set, Slots: 1, Epochs: trial.Warm + epochs}.Train()
	if err != nil {
		return err
	}
	perTask, tasks, err := out.PerTask(trial.Warm, trial.Warm+epochs)
	if err != nil {
		return err
	}
	b.table.AddFact(pair.Fact{Figure: "allocations a task, all of the job", Ours: perTask, Peer: "limit", Bound: mallocsMost, Exact: true})
	b.table.Note("over %d tasks of %d epochs", tasks, epochs)
	return nil
}
