// Command system measures the cost of tables, leases, commits, the audit and many executors, compared with the same
// loop without them. It also measures what a task allocates.
//
// It needs no peer: the other side is a bare loop in this program with the kernels, the order of visits, the precision
// and the threads of the application. Data are ml-1m-liked and MNIST below --data; without --data, the like made from a
// seed.
package main

import (
	"flag"
	"fmt"
	"maps"
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

// What is wanted: at most 5 % compared with the bare loop, at most 1.1 times the time with 16 executors to a core
// instead of one, and no allocation in a task. One on a task's path would make at least one a task; what an epoch
// allocates for its report comes to less than half.
const (
	withinBare      = 1 / 1.05
	withinExecutors = 1 / 1.1
	mallocsMost     = 0.5
)

func main() {
	dir := flag.String("data", "", "folder with ml-1m-liked and MNIST (default: made from a seed)")
	only := flag.String("only", "", "one application: mf or mlr")
	slots := flag.Int("slots", min(2, runtime.NumCPU()), "most compute slots")
	pair.Main(5, 11, func(p *pair.Bench) {
		p.Header("system: embedded training beside the same loop without tables, commits and audit; kernels %s", vec.Kernels())
		shelf := sets.Open(*dir)
		defer shelf.Close()
		b := bench{p, *slots}
		var parts []pair.Part
		for _, s := range subjects(shelf) {
			parts = append(parts, pair.Part{Name: s.name, Run: func() { b.compare(s) }})
		}
		b.Parts(*only, parts...)
	})
}

// bench is what every figure needs.
type bench struct {
	*pair.Bench
	slots int
}

// loop is an application's work without the system.
type loop interface {
	// restart begins training again, as each turn of the job does: a model that improves no more is not copied.
	restart()
	// visit trains on every item once, on that many threads, and returns how many there are.
	visit(threads int) int
	// score does what the application does after an epoch.
	score(threads int)
}

// subject is an application on a set, and its bare loop.
type subject struct {
	name     string
	app      app.Application
	find     func() sets.Pair
	kind     data.Kind
	epochs   int
	settings map[string]string // of the comparison of executors
	bare     func(set *data.Set, run *app.Run) (loop, error)
}

func subjects(shelf *sets.Shelf) []subject {
	return []subject{
		{"mf", mf.New(), func() sets.Pair { return shelf.Rated("ml-1m-liked") }, data.Ratings, 10, nil, newFactorLoop},
		{"mlr", mlr.New(), func() sets.Pair { return shelf.Digits(1) }, data.Examples, 5, map[string]string{"batch": "64", "clocks": "10"}, newSoftmaxLoop},
	}
}

// chosen reads settings that a run has chosen for itself.
func chosen(run *app.Run, settings map[string]*int) (err error) {
	for name, into := range settings {
		if *into, err = strconv.Atoi(run.Settings[name]); err != nil {
			return fmt.Errorf("%s of the run: %w", name, err)
		}
	}
	return nil
}

func (b bench) compare(s subject) {
	files := s.find()
	set, _ := files.Read(s.kind)
	b.Section(s.name + " on " + files.Origin + ", " + set.Detected.String())
	for slots := 1; slots <= b.slots; slots++ {
		b.price(s, set, slots)
	}
	for slots := 1; slots <= b.slots; slots++ {
		b.executors(s, set, slots)
	}
	b.allocations(s, set)
}

// price races the job against the bare loop: the visits, and the whole with scoring after each epoch.
func (b bench) price(s subject, set *data.Set, slots int) {
	run := pair.Must(s.app.NewRun(app.Input{Data: set, Seed: 1, Epochs: s.epochs, Slots: slots}))
	bare := pair.Must(s.bare(set, run))
	if got := bare.visit(slots); int64(got) != run.Items {
		pair.Check(fmt.Errorf("the bare loop of %s visits %d items and the job %d: they are not the same work", s.name, got, run.Items))
	}
	setup := trial.Setup{App: s.app, Data: set, Slots: slots}
	whole, visiting := setup.Sides(s.name, s.epochs)
	bareWhole, bareVisits := bareSides(bare, slots, s.epochs)
	series := b.Interleave(whole, visiting, bareWhole, bareVisits)
	row := pair.Row{Figure: fmt.Sprintf("whole job, slots %d", slots), Unit: "items/s", Clock: pair.Wall, Target: withinBare,
		Ours: series[0], Peer: series[2]}
	if slots == 1 {
		row.Clock = pair.CPU
	}
	b.Add(row)
	row.Figure, row.Clock, row.Ours, row.Peer = fmt.Sprintf("visits, slots %d", slots), pair.Wall, series[1], series[3]
	b.Add(row)
}

// bareSides returns the two views of the same epochs of a bare loop: all of it, and the visits alone. Each turn begins
// with the epochs that the job trains before it is measured.
func bareSides(l loop, threads, epochs int) (whole, visits pair.Side) {
	var visiting pair.Turn
	whole = pair.Side{Name: "bare loop", Run: func() pair.Turn {
		visiting = pair.Turn{}
		l.restart()
		for range trial.Warm {
			l.visit(threads)
			l.score(threads)
		}
		return pair.Measure(func() float64 {
			for range epochs {
				t := pair.Measure(func() float64 { return float64(l.visit(threads)) })()
				visiting.Work += t.Work
				visiting.Wall += t.Wall
				l.score(threads)
			}
			return visiting.Work
		})()
	}}
	return whole, pair.Side{Name: "bare loop", Run: func() pair.Turn { return visiting }}
}

// executors races 16 executors a core against one, or the fewest that the application takes.
func (b bench) executors(s subject, set *data.Set, slots int) {
	side := func(perCore int) pair.Side {
		settings := map[string]string{"splits": strconv.Itoa(perCore * slots)}
		maps.Copy(settings, s.settings)
		setup := trial.Setup{App: s.app, Data: set, Slots: slots, Settings: settings}
		run := pair.Must(s.app.NewRun(app.Input{Data: set, Seed: 1, Epochs: 1, Slots: slots, Settings: settings}))
		whole, _ := setup.Sides(run.Settings["splits"]+" executors", s.epochs)
		return whole
	}
	many, few := side(16), side(1)
	b.Race(pair.Row{Figure: fmt.Sprintf("%s, slots %d", many.Name, slots), Unit: "items/s", Clock: pair.Wall, Target: withinExecutors}, many, few)
}

// allocations counts what a task allocates once a run is warm.
func (b bench) allocations(s subject, set *data.Set) {
	epochs := 4 * s.epochs
	out := trial.Setup{App: s.app, Data: set, Slots: 1, Epochs: trial.Warm + epochs}.Train()
	perTask, tasks := out.PerTask(trial.Warm, trial.Warm+epochs)
	b.AddFact(pair.Fact{Figure: "allocations a task, all of the job", Ours: perTask, Peer: "limit", Bound: mallocsMost, Exact: true})
	b.Note("over %d tasks of %d epochs", tasks, epochs)
}
