// Command executors repeats Litz's Figure 2: the time of an epoch with 1 to 16 executors on each compute slot, compared
// with that with one. A job that is to spread over more machines later is cut into more splits than it has slots at
// first, so that this is what elasticity costs a job that never uses it.
//
// Every turn trains once with each number, one after the other, in one process; the first number once more at the end
// of the turn, so that the noise of the measurement stands next to the figures. An epoch's figure is processor time,
// since the machine may have other work, with wall time next to it.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"bellows/chart"
	"bellows/experiments/internal/report"
	"bellows/experiments/internal/subject"
	"bellows/node"
	"bellows/train"
)

// counts are the executors of a slot. The first is what others are held against, and is measured again as the last.
var counts = []int{1, 2, 4, 8, 16, 1}

// slotsLeast is how many slots lda has at least. It begins a run with some of its splits, if there are four: of fewer, topics are
// still at random when others' have settled, and a sweep takes three times as long, whatever splits cost.
const slotsLeast = 4

// plan is what is measured.
type plan struct {
	slots, turns int
	only         string
	files        map[string][]string // of an application; none: made
}

func main() {
	p := plan{files: map[string][]string{}}
	flag.IntVar(&p.slots, "slots", runtime.NumCPU(), "compute slots of the process; lda has 4 at least")
	flag.IntVar(&p.turns, "turns", 15, "how often each number is measured")
	flag.StringVar(&p.only, "app", "", "mlr or lda alone")
	for _, app := range []string{"mlr", "lda"} {
		flag.Func(app, "comma-separated `files` that "+app+" trains on (default: made from a seed)", func(text string) error {
			p.files[app] = strings.Split(text, ",")
			return nil
		})
	}
	report.Main("executors", p.run)
}

// warm is how many epochs of a run are not measured.
const warm = 1

// orders returns the jobs. Clocks and batches are given, so that the same work is done however it is cut.
func (p *plan) orders(quick bool) []subject.Order {
	list := []subject.Order{
		{App: "mlr", Size: 60_000, Epochs: warm + 8, Settings: map[string]string{"clocks": "10", "batch": "32"}},
		{App: "lda", Size: 6, Epochs: warm + 3, Settings: map[string]string{"clocks": "1", "topics": "100", "alpha": "0.1"}},
	}
	if quick {
		list[0].Size, list[1].Size = 2000, 1
		list[1].Settings["topics"] = "10"
	}
	for i := range list {
		list[i].Files, list[i].Slots = p.files[list[i].App], p.slots
	}
	list[1].Slots = max(p.slots, slotsLeast)
	return slices.DeleteFunc(list, func(o subject.Order) bool { return p.only != "" && p.only != o.App })
}

// wanted is how much longer an epoch may take with the most executors.
var wanted = map[string]float64{"mlr": 1.1, "lda": 1.2}

// row is a number of executors on a slot compared with one.
type row struct {
	App       string          `json:"app"`
	Executors int             `json:"executors_per_slot"`
	Again     bool            `json:"again"`       // the first number, once more
	CPU       report.Interval `json:"cpu_ratio"`   // processor time of an epoch over that of the same turn with the first number
	Wall      report.Interval `json:"wall_ratio"`  // wall time in the same ratio
	Seconds   float64         `json:"cpu_seconds"` // of an epoch, the median
	Wanted    float64         `json:"wanted_at_most,omitempty"`
}

// pace is what an epoch takes.
type pace struct{ cpu, wall float64 }

func (p *plan) run(r *report.Run) (*report.Outcome, error) {
	orders := p.orders(r.Quick)
	if p.slots < 1 || p.turns < 1 || len(orders) == 0 {
		return nil, fmt.Errorf("%d slots, %d turns and app %q: there must be one of each, and the app mlr or lda", p.slots, p.turns, p.only)
	}
	picture := &chart.Lines{Title: "processor time of an epoch over that with one executor on a slot", X: "executors on a slot", Zero: true}
	var rows []row
	for _, o := range orders {
		of, err := p.measure(o)
		if err != nil {
			return nil, err
		}
		line := chart.Line{Name: o.App}
		for _, x := range of {
			again := ""
			if x.Again {
				again = ", again"
			} else {
				line.Points = append(line.Points, chart.Point{X: float64(x.Executors), Y: x.CPU.Median})
			}
			r.Say("%s, %2d executors on a slot%s: processor time %v, wall time %v of that with one; %.4f s an epoch", o.App, x.Executors, again, x.CPU, x.Wall, x.Seconds)
		}
		rows = append(rows, of...)
		picture.Lines = append(picture.Lines, line)
	}
	return &report.Outcome{Figures: rows, Pictures: []report.Picture{{Lines: picture}}}, nil
}

// measure returns the rows of a job.
func (p *plan) measure(o subject.Order) ([]row, error) {
	paces := make([][]pace, len(counts))
	for range p.turns {
		for i, each := range counts {
			o.Settings["splits"] = strconv.Itoa(each * o.Slots)
			t, err := epoch(o)
			if err != nil {
				return nil, fmt.Errorf("%s with %d executors: %w", o.App, each*o.Slots, err)
			}
			paces[i] = append(paces[i], t)
		}
	}
	var rows []row
	for i, each := range counts {
		x := row{App: o.App, Executors: each, Again: i == len(counts)-1}
		if each == slices.Max(counts) {
			x.Wanted = wanted[o.App]
		}
		var cpu, wall, seconds []float64
		for turn, t := range paces[i] {
			cpu, wall, seconds = append(cpu, t.cpu/paces[0][turn].cpu), append(wall, t.wall/paces[0][turn].wall), append(seconds, t.cpu)
		}
		x.CPU, x.Wall, x.Seconds = report.IntervalOf(cpu), report.IntervalOf(wall), report.IntervalOf(seconds).Median
		rows = append(rows, x)
	}
	return rows, nil
}

// epoch trains, and returns the cost of an epoch after the first.
func epoch(o subject.Order) (pace, error) {
	run, err := o.Make()
	if err != nil {
		return pace{}, err
	}
	type mark struct {
		at  time.Time
		cpu time.Duration
	}
	var marks []mark
	var failed error
	runtime.GC() // what was made before is not this run's to clean up
	_, err = node.Train(context.Background(), run.Job, node.Options{Slots: o.Slots, OnEpoch: func(train.Epoch, node.Spent) {
		cpu, err := report.CPUTime()
		failed = errors.Join(failed, err)
		marks = append(marks, mark{time.Now(), cpu})
	}})
	if err := errors.Join(err, failed); err != nil {
		return pace{}, err
	}
	if len(marks) != o.Epochs {
		return pace{}, fmt.Errorf("%d epochs of %d", len(marks), o.Epochs)
	}
	a, z := marks[warm-1], marks[len(marks)-1]
	n := float64(o.Epochs - warm)
	return pace{cpu: (z.cpu - a.cpu).Seconds() / n, wall: z.at.Sub(a.at).Seconds() / n}, nil
}
