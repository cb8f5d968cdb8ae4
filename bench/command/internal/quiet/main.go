// Package quiet compares the speed of jobs without changes or faults between this build and another one. It runs
// bench/protocol --only clock, bench/system and `bellows train mlr --processes N` of both trees, in turns.
//
// It builds both, the other one from a checkout that --before names, with the other's own defaults. Each turn runs this build, the other one, and this one again: the ratio of the last to the first is
// what the machine does by itself. What counts is the upper end of the interval in which the median of the ratios lies in 95 of 100 cases; for that there are to be 15
// turns, as in the full form.
package quiet

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strconv"

	"bellows/bench/internal/pair"
	"bellows/bench/internal/sets"
)

// most is the largest ratio of a figure to that of the other build.
const most = 1.02

// Program is the measurement.
var Program = pair.Program{Name: "quiet", Turns: [2]int{5, 15}, Define: define}

func define(flags *flag.FlagSet) func(b *pair.Bench) {
	before := flags.String("before", "", "`folder` with a checkout of the other build")
	data := flags.String("data", "", "folder with MNIST and ml-1m-liked; without it data are generated")
	epochs := flags.Int("epochs", 20, "of the job in processes")
	return func(b *pair.Bench) {
		if *before == "" {
			pair.Check(fmt.Errorf("--before is needed: a folder with a checkout of the build to be held against this one, as `git worktree add FOLDER COMMIT` makes it"))
		}
		b.Header("quiet: the cost of a job without changes, compared with the build of %s", *before)
		shelf := sets.Open(*data)
		defer shelf.Close()
		q := &quiet{b, shelf, *data, [2]string{".", *before}}
		b.Parts(b.Part,
			pair.Part{Name: "clock", Run: func() { q.figures("clock", "") }},
			pair.Part{Name: "system", Run: func() {
				q.figures("system", "mf")
				q.figures("system", "mlr")
			}},
			pair.Part{Name: "processes", Run: func() { q.processes(*epochs) }})
	}
}

// quiet is what every comparison needs.
type quiet struct {
	*pair.Bench
	shelf *sets.Shelf
	data  string
	trees [2]string // this one and the other
}

// costs are seconds for a unit of work, by figure, in the order in which they were printed.
type costs struct {
	names []string
	of    map[string]float64
}

func (c *costs) add(name string, cost float64) {
	if c.of == nil {
		c.of = map[string]float64{}
	}
	c.names = append(c.names, name)
	c.of[name] = cost
}

// build builds a program of a tree.
func (q *quiet) build(number int, tree, room string) (program string) {
	program = q.shelf.Path(fmt.Sprint("build-", number))
	pair.RunProgram("go build", "go", nil, "build", "-C", filepath.Join(tree, room), "-trimpath", "-o", program, ".")
	return program
}

// compare runs both builds in turns, and shows each figure.
func (q *quiet) compare(title string, run func(build int) costs) {
	q.Section(title)
	var names []string
	over, again := map[string][]float64{}, map[string][]float64{}
	for turn := range q.Turns + 1 {
		now, other, twice := run(0), run(1), run(0)
		if turn == 0 {
			continue // caches
		}
		names = now.names
		for _, n := range names {
			if other.of[n] > 0 {
				over[n] = append(over[n], now.of[n]/other.of[n])
			}
			again[n] = append(again[n], twice.of[n]/now.of[n])
		}
	}
	for _, n := range names {
		if len(over[n]) == 0 {
			q.Note("%s: the other build does not tell it", n)
			continue
		}
		r, a := pair.Median(over[n]), pair.Median(again[n])
		q.AddFact(pair.Fact{Figure: n + ", relative to before: end of the interval", Ours: r.High, Peer: "limit", Bound: most, Exact: true})
		q.Note("%s: %v relative to before; again relative to itself %v", n, r, a)
	}
}

// figures compares what a benchmark of both trees prints, or one part of it.
func (q *quiet) figures(name, part string) {
	programs, commons := [2]string{}, [2][]string{}
	for i, tree := range q.trees {
		room, arguments := "bench/"+name, []string{"--json", "--turns", "1"}
		if _, err := os.Stat(filepath.Join(tree, room, "main.go")); err != nil { // a program of bench/protocol
			room, arguments = "bench/protocol", append(arguments, "--only", name)
		}
		programs[i], commons[i] = q.build(i, tree, room), arguments
	}
	var args []string
	title := name
	if part != "" {
		args, title = append(args, "--only", part), title+" --only "+part
		if q.data != "" {
			args = append(args, "--data", q.data)
		}
	}
	q.compare(title, func(build int) (c costs) {
		text, _ := pair.RunProgram(name, programs[build], nil, append(commons[build], args...)...)
		for line := range bytes.Lines(text) {
			var row struct {
				Figure, Unit string
				Ours         json.RawMessage
			}
			pair.Check(json.Unmarshal(line, &row))
			if row.Figure == "" || row.Unit == "" { // a note, a count
				continue
			}
			if cost := costOf(row.Unit, row.Ours); cost > 0 {
				c.add(row.Figure, cost)
			}
		}
		return c
	})
}

// costOf returns the time that a unit of work takes, from a row that has a time or a rate; 0: it has none.
func costOf(unit string, ours json.RawMessage) float64 {
	var value float64
	if json.Unmarshal(ours, &value) != nil {
		var s pair.Spread
		if json.Unmarshal(ours, &s) != nil {
			return 0
		}
		value = s.Median
	}
	if unit == "s" || value <= 0 {
		return value
	}
	return 1 / value
}

// processes compares training in one, two and four processes, as the command tells its time.
func (q *quiet) processes(epochs int) {
	var programs [2]string
	for i, tree := range q.trees {
		programs[i] = q.build(i, tree, "cmd/bellows")
	}
	set := q.shelf.Digits(10_000)
	run := func(build, processes int) float64 {
		last, _, _ := q.shelf.Train(programs[build], nil, "mlr", set.Train, "--test", set.Test, "--set", "clocks=10", "--set", "early_stop=false",
			"--epochs", strconv.Itoa(epochs), "--processes", strconv.Itoa(processes), "--cache", q.shelf.Path(fmt.Sprint("cache-", build)))
		return last.Seconds / last.Examples
	}
	q.compare("mlr on "+set.Origin, func(build int) (c costs) {
		for _, n := range []int{0, 2, 4} {
			c.add(fmt.Sprintf("mlr in %d processes", max(1, n)), run(build, n))
		}
		return c
	})
}
