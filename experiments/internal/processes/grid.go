// Package processes plays a job of real processes in every shape, each with a link of a limited rate. The job
// measures itself in each shape, and predicts all of them by that; predictions are held against what the shapes take, and
// the shape that it chooses against the best one. Then the job begins in the best shape and in the worst, and chooses.
//
// The caller's duties: give Roles to report.Play, since processes run the same program; Run a Plan.
//
// Tasks sleep, or use a processor. Sleeping ones show what the choice is worth on a machine with fewer processors than
// the job has nodes.
package processes

import (
	"flag"
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
	"time"

	"bellows"
	"bellows/chart"
	"bellows/experiments/internal/netns"
	"bellows/experiments/internal/report"
	"bellows/policy/choose"
	"bellows/policy/cost"
	"bellows/policy/gauge"
	"bellows/policy/shape"
)

// Serves is the first argument of a process that is started for another. The second is its Job.
const Serves = "--serve-shape"

// Roles are those of processes that are started for others.
var Roles = map[string]func(args []string) error{Serves: serve}

// Plan is what is run.
type Plan struct {
	Job    Job
	Nodes  int
	Link   string // rate, as tc has it
	Turns  int    // grids
	Autos  int    // runs from the best shape, and from the worst
	Apart  bool   // no node may work and serve
	spaces netns.Spaces
}

// NewPlan returns the plan with the default sizes.
func NewPlan() *Plan {
	return &Plan{Nodes: 6, Link: "100mbit", Turns: 15, Autos: 50, Job: Job{
		Splits: 30, Partitions: 30, Rows: 2000, Clocks: 5, Item: 10 * time.Millisecond}}
}

// Turn is one grid.
type Turn struct {
	Cells  []Cell  `json:"shapes"`
	Best   Counts  `json:"best"`
	Worst  Counts  `json:"worst"`
	Starts []Start `json:"starts"`
}

// Cell is a shape, and the seconds that an epoch takes in it.
type Cell struct {
	Counts
	Seconds float64 `json:"seconds"`
}

// Start is a shape in which the job measures itself, and what it makes of that.
type Start struct {
	From      Counts           `json:"from"`
	Predicted []gauge.Interval `json:"predicted"` // in the order of the shapes
	Errors    []float64        `json:"errors"`
	Chosen    Counts           `json:"chosen"`
	Figures   *gauge.Figures   `json:"figures"`
	Over      float64          `json:"over_best"` // seconds of the chosen shape over those of the best
}

// Auto is a run in which the job chooses its shape.
type Auto struct {
	From    Counts   `json:"from"`
	End     Counts   `json:"end"`
	Seconds float64  `json:"seconds"`   // of an epoch in the end
	Over    float64  `json:"over_best"` // as a multiple of the best of the grid
	Changes int      `json:"changes"`
	Decided []string `json:"decided"`
}

// Figures are all results.
type Figures struct {
	Turns []Turn          `json:"turns"`
	Over  report.Interval `json:"over_best"`
	Error report.Interval `json:"error"`
	Autos []Auto          `json:"autos"`
}

// enter gives the processes their links. The program runs again in the namespace of the first, and then ends.
func (p *Plan) enter() (err error) {
	if p.Link == "" {
		return nil
	}
	rates := slices.Repeat([]string{p.Link}, p.Nodes)
	if p.spaces, err = netns.Enter("shape", rates); err == nil && p.spaces == nil {
		os.Exit(0)
	}
	return err
}

// shapes returns those of the grid.
func (p *Plan) shapes() (list []Counts) {
	for w := 1; w < p.Nodes; w++ {
		list = append(list, Counts{Workers: w, Servers: p.Nodes - w})
	}
	if !p.Apart {
		list = append(list, Counts{Both: p.Nodes})
	}
	return list
}

// Run plays the grids.
func (p *Plan) Run(r *report.Run) (*report.Outcome, error) {
	if r.Quick {
		p.Nodes, p.Turns, p.Autos, p.Job.Item, p.Job.Rows = 3, 1, 1, 4*time.Millisecond, 200
	}
	if p.Nodes < 2 || p.Turns < 1 || p.Autos < 0 {
		return nil, fmt.Errorf("%d nodes, %d turns and %d runs: there must be 2 nodes and a turn at least", p.Nodes, p.Turns, p.Autos)
	}
	if err := p.enter(); err != nil {
		return nil, err
	}
	var f Figures
	var over, wrong []float64
	for range p.Turns {
		t, err := p.turn(r)
		if err != nil {
			return nil, err
		}
		f.Turns = append(f.Turns, *t)
		for i := range t.Starts {
			over, wrong = append(over, t.Starts[i].Over), append(wrong, t.Starts[i].Errors...)
		}
	}
	f.Over, f.Error = report.IntervalOf(over), report.IntervalOf(wrong)
	r.Say("chosen shape over the best: %v; errors of predictions: %v", f.Over, f.Error)
	last := &f.Turns[len(f.Turns)-1]
	for range p.Autos {
		for _, from := range []Counts{last.Best, last.Worst} {
			a, err := p.auto(from)
			if err != nil {
				return nil, fmt.Errorf("from %v: %w", from, err)
			}
			a.Over = a.Seconds / last.seconds(last.Best)
			r.Say("from %v: ends at %v, %.3f of the best, after %d changes: %q", from, a.End, a.Over, a.Changes, a.Decided)
			f.Autos = append(f.Autos, *a)
		}
	}
	return &report.Outcome{Figures: f, Pictures: []report.Picture{{Lines: last.draw()}}}, nil
}

// seconds returns what an epoch takes in a shape of the grid, or NaN.
func (t *Turn) seconds(c Counts) float64 {
	for i := range t.Cells {
		if t.Cells[i].Counts == c {
			return t.Cells[i].Seconds
		}
	}
	return math.NaN()
}

// turn plays all shapes.
func (p *Plan) turn(r *report.Run) (*Turn, error) {
	t := &Turn{}
	list := p.shapes()
	var all []measured
	for _, c := range list {
		m, err := p.measure(p.shape(c))
		if err != nil {
			return nil, fmt.Errorf("%v: %w", c, err)
		}
		r.Say("%v: %.3f s an epoch; it measures %.3f s, from %.3f to %.3f", c, m.seconds, m.epoch.Value, m.epoch.Low, m.epoch.High)
		all = append(all, m)
		t.Cells = append(t.Cells, Cell{c, m.seconds})
	}
	t.Best = slices.MinFunc(t.Cells, bySeconds).Counts
	t.Worst = slices.MaxFunc(t.Cells, bySeconds).Counts
	for i, m := range all {
		s, err := p.judge(r, t, list[i], m.figures)
		if err != nil {
			return nil, fmt.Errorf("from %v: %w", list[i], err)
		}
		t.Starts = append(t.Starts, *s)
	}
	return t, nil
}

func bySeconds(a, b Cell) int {
	if a.Seconds < b.Seconds {
		return -1
	}
	return 1
}

// judge predicts all shapes by the figures of one, and chooses.
func (p *Plan) judge(r *report.Run, t *Turn, from Counts, f *gauge.Figures) (*Start, error) {
	s := &Start{From: from, Figures: f}
	line := ""
	m := cost.New(f)
	for i := range t.Cells {
		c := t.Cells[i].Counts
		predicted := m.Predict(m.Loads(p.shape(c)))
		s.Predicted = append(s.Predicted, predicted.Epoch)
		if c != from {
			s.Errors = append(s.Errors, math.Abs(predicted.Epoch.Value/t.Cells[i].Seconds-1))
		}
		line += fmt.Sprintf("  %v %.3f (%.3f to %.3f), by %s, is %.3f\n", c, predicted.Epoch.Value, predicted.Epoch.Low,
			predicted.Epoch.High, predicted.Limit.OfAny(), t.Cells[i].Seconds)
	}
	found, err := choose.Find(f, choose.Ask{Apart: p.Apart})
	if err != nil {
		return nil, err
	}
	s.Chosen = Counts{found.Workers, found.Servers, found.Both}
	seconds := t.seconds(s.Chosen)
	if same := p.shape(s.Chosen); math.IsNaN(seconds) || choose.Name(same) != choose.Name(&found.Shape) {
		other, err := p.measure(&found.Shape) // it is none of the grid
		if err != nil {
			return nil, fmt.Errorf("%v: %w", s.Chosen, err)
		}
		seconds = other.seconds
	}
	s.Over = seconds / t.seconds(t.Best)
	r.Say("measured in %v, it chooses %v (%s), predicted %.3f s, is %.3f s, %.3f of the best %v; predicted\n%s",
		from, s.Chosen, choose.Name(&found.Shape), found.Epoch.Value, seconds, s.Over, t.Best, line)
	return s, nil
}

// shape returns the shape with the counts: each node has splits and partitions that follow each other.
func (p *Plan) shape(c Counts) *shape.Shape {
	s := &shape.Shape{Nodes: []shape.Node{{}}} // the one that leads
	var works, serves []bellows.NodeID
	for i := range p.Nodes {
		n := shape.Node{ID: bellows.NodeID(i + 1)}
		if i < c.Both+c.Workers {
			n.Slots, works = 1, append(works, n.ID)
		}
		if i < c.Both || i >= c.Both+c.Workers {
			n.Lanes, serves = 1, append(serves, n.ID)
		}
		s.Nodes = append(s.Nodes, n)
	}
	for i := range p.Job.Splits {
		s.Splits = append(s.Splits, works[i*len(works)/p.Job.Splits])
	}
	for i := range p.Job.Partitions {
		s.Partitions = append(s.Partitions, shape.Place{Node: serves[i*len(serves)/p.Job.Partitions]})
	}
	return s
}

// changesOf counts the decisions to change the shape.
func changesOf(decided []string) (n int) {
	for _, d := range decided {
		if strings.Contains(d, " are faster: ") && strings.HasSuffix(d, "moved") {
			n++
		}
	}
	return n
}

// draw returns the picture of a grid: seconds of an epoch by workers, measured and predicted from the ends and the middle.
func (t *Turn) draw() *chart.Lines {
	l := &chart.Lines{Title: "seconds of an epoch by workers, the other processes serve", X: "workers", Zero: true}
	add := func(name string, seconds func(i int) float64) {
		line := chart.Line{Name: name}
		for i := range t.Cells {
			if c := &t.Cells[i]; c.Both == 0 && i < len(t.Starts[0].Predicted) {
				line.Points = append(line.Points, chart.Point{X: float64(c.Workers), Y: seconds(i)})
			}
		}
		l.Lines = append(l.Lines, line)
	}
	add("measured", func(i int) float64 { return t.Cells[i].Seconds })
	for _, at := range []int{0, len(t.Starts) / 2} {
		s := &t.Starts[at]
		add("predicted from "+s.From.String(), func(i int) float64 { return s.Predicted[i].Value })
	}
	return l
}

// Flags defines the flags of a plan.
func (p *Plan) Flags(f *flag.FlagSet) {
	f.IntVar(&p.Nodes, "processes", p.Nodes, "real: processes of the job")
	f.StringVar(&p.Link, "link", p.Link, "real: `rate` of each process's link, as tc has it; empty: Unix sockets")
	f.IntVar(&p.Turns, "turns", p.Turns, "real: grids")
	f.IntVar(&p.Autos, "autos", p.Autos, "real: runs from the best shape, and from the worst")
	f.BoolVar(&p.Apart, "apart", p.Apart, "real: no process works and serves")
	f.DurationVar(&p.Job.Item, "item", p.Job.Item, "real: time of a split in a clock")
	f.IntVar(&p.Job.Rows, "rows", p.Job.Rows, "real: rows of the model, of 256 bytes")
	f.IntVar(&p.Job.Splits, "parts", p.Job.Splits, "real: splits of the job")
	f.IntVar(&p.Job.Staleness, "staleness", p.Job.Staleness, "real: clocks that a read may lag")
	f.BoolVar(&p.Job.Spin, "spin", p.Job.Spin, "real: tasks use a processor, else they sleep")
}
