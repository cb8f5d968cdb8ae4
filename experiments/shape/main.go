// Command shape repeats the measurements of Cruise (Tables I and III, Figures 6 to 8) in the laboratory: jobs on 32
// machines train in every number of workers and servers. Each job measures itself in a few of these shapes, and predicts
// all of them by that. The predictions are held against what the shapes really take, and the shape that the job
// chooses against the best of all. Other parts are jobs that get nodes while they run, and machines of two kinds.
//
// Protocol, mathematics, meter and choice are the real ones; machines and links are virtual. The jobs are small, so that
// a grid takes minutes. Links and the costs of items and of row updates are such that workers, links or servers limit in
// turn.
package main

import (
	"flag"
	"fmt"
	"slices"
	"strings"

	"bellows/chart"
	"bellows/experiments/internal/processes"
	"bellows/experiments/internal/report"
)

// plan is what is run.
type plan struct {
	nodes, splits int
	step          int // of the grid, in workers
	only, parts   string
	files         map[string]*string // of data, by application
}

func main() {
	report.Play(processes.Roles)
	p, real := plan{files: map[string]*string{}}, processes.NewPlan()
	inProcesses := flag.Bool("real", false, "play a job of real processes on this machine instead, behind limited links")
	real.Flags(flag.CommandLine)
	flag.IntVar(&p.nodes, "nodes", 32, "machines, besides that of the controller")
	flag.IntVar(&p.splits, "splits", 128, "splits of a job")
	flag.StringVar(&p.only, "job", "", "comma-separated `names` of jobs (default: all)")
	flag.IntVar(&p.step, "step", 1, "workers from one shape of the grid to the next")
	flag.StringVar(&p.parts, "part", "grid,grow,unlike", "comma-separated `parts` of the experiment")
	for _, app := range []string{"mlr", "lda", "mf"} {
		p.files[app] = flag.String(app, "", "comma-separated `files` of data for "+app+" (default: generated)")
	}
	report.Main("shape", func(r *report.Run) (*report.Outcome, error) {
		if *inProcesses {
			return real.Run(r)
		}
		return p.run(r)
	})
}

// grid is the result of one job.
type grid struct {
	Job     string     `json:"job"`
	Nodes   int        `json:"nodes"`
	Link    float64    `json:"link_bytes_a_second"`
	Cells   []cell     `json:"shapes"`
	Best    counts     `json:"best"` // of the shapes in which no node does both
	BestAny counts     `json:"best_of_all"`
	Starts  []start    `json:"starts"`
	Errors  deviations `json:"errors"` // of all starts, without the shape that was measured
}

// cell is a shape and what an epoch takes in it.
type cell struct {
	counts
	Seconds float64 `json:"seconds"`
}

// start is a shape in which a job measures itself, and what it makes of that.
type start struct {
	From      counts     `json:"from"`
	Seconds   float64    `json:"seconds"`
	Predicted []float64  `json:"predicted"` // seconds, in the order of the shapes
	Limits    []string   `json:"limits"`
	Errors    deviations `json:"errors"`
	Apart     choice     `json:"choice_apart"` // if no node may do both
	Any       choice     `json:"choice"`
}

// choice is a shape that a job chooses.
type choice struct {
	counts
	Predicted float64 `json:"predicted"`
	Seconds   float64 `json:"seconds"`   // that it really takes
	OfBest    float64 `json:"of_best"`   // the best of the grid over that
	Shorter   float64 `json:"shorter"`   // than in the shape that was measured, as a part of that
	GainBest  float64 `json:"gain_best"` // the same of the best shape
}

// deviations are of predictions, as parts of what was measured, whatever their sign.
type deviations struct {
	Median     float64 `json:"median"`
	NineTenths float64 `json:"nine_tenths"`
	Count      int     `json:"count"`
}

func deviationsOf(list []float64) deviations {
	if len(list) == 0 {
		return deviations{}
	}
	s := slices.Sorted(slices.Values(list))
	return deviations{s[len(s)/2], s[min(len(s)-1, len(s)*9/10)], len(s)}
}

// wrong is a shape that is the best of one job, for another one.
type wrong struct {
	Job    string  `json:"job"`
	BestOf string  `json:"best_of"`
	Shape  counts  `json:"shape"`
	Times  float64 `json:"times"` // the epoch of the job's own best shape
}

// figures are all results.
type figures struct {
	Grids []grid  `json:"grids"`
	Wrong []wrong `json:"wrong_shapes"` // Table I
	// Grown are jobs that get nodes while they run, and Unlike those on machines of two kinds.
	Grown  []growth `json:"grown"`
	Unlike []unlike `json:"unlike"`
}

func (p *plan) run(r *report.Run) (*report.Outcome, error) {
	jobs := p.jobs(r.Quick)
	if len(jobs) == 0 || p.nodes < 4 || p.step < 1 || p.splits < p.nodes {
		return nil, fmt.Errorf("job %q with %d splits on %d nodes: there must be 4 nodes at least, no fewer splits, and one of the jobs %s",
			p.only, p.splits, p.nodes, strings.Join(names, ", "))
	}
	var all figures
	o := &report.Outcome{}
	for i := range jobs {
		if err := p.each(r, &jobs[i], &all, o); err != nil {
			return nil, fmt.Errorf("%s: %w", jobs[i].name, err)
		}
	}
	all.Wrong = wrongShapes(all.Grids)
	for _, w := range all.Wrong {
		r.Say("%s in the best shape of %s, %v: %.2f times its own best", w.Job, w.BestOf, w.Shape, w.Times)
	}
	o.Figures = all
	return o, nil
}

// each plays all parts of the experiment with one job.
func (p *plan) each(r *report.Run, j *job, all *figures, o *report.Outcome) error {
	parts := strings.Split(p.parts, ",")
	if slices.Contains(parts, "grid") {
		g, picture, err := p.study(r, j)
		if err != nil {
			return err
		}
		all.Grids = append(all.Grids, *g)
		o.Pictures = append(o.Pictures, report.Picture{Name: j.name, Lines: picture})
	}
	if slices.Contains(parts, "grow") {
		for _, apart := range []bool{true, false} {
			g, err := p.grow(r, j, apart)
			if err != nil {
				return fmt.Errorf("nodes that come: %w", err)
			}
			all.Grown = append(all.Grown, *g)
		}
	}
	if slices.Contains(parts, "unlike") {
		plays := playsMost
		if r.Quick {
			plays = 6
		}
		u, err := p.compare(r, j, plays)
		if err != nil {
			return fmt.Errorf("machines of two kinds: %w", err)
		}
		all.Unlike = append(all.Unlike, *u)
	}
	return nil
}

// playsMost bounds the search on machines of two kinds.
const playsMost = 48

// wrongShapes returns what the best shape of each job costs the others.
func wrongShapes(grids []grid) (list []wrong) {
	for i := range grids {
		for j := range grids {
			if g := &grids[i]; i != j && grids[j].Best != g.Best {
				s := grids[j].Best
				list = append(list, wrong{g.Job, grids[j].Job, s, g.seconds(s) / g.seconds(g.Best)})
			}
		}
	}
	return list
}

// seconds returns what an epoch takes in a shape of the grid.
func (g *grid) seconds(c counts) float64 {
	i := slices.IndexFunc(g.Cells, func(x cell) bool { return x.counts == c })
	return g.Cells[i].Seconds
}

// draw returns the picture of a grid: seconds of an epoch by workers, measured and predicted.
func (g *grid) draw() *chart.Lines {
	l := &chart.Lines{Title: g.Job + ": seconds of an epoch by workers, the other nodes serve", X: "workers", Zero: true}
	add := func(name string, seconds func(i int) float64) {
		line := chart.Line{Name: name}
		for i := range g.Cells {
			if c := &g.Cells[i]; c.Both == 0 && c.Workers > 1 && c.Servers > 1 {
				line.Points = append(line.Points, chart.Point{X: float64(c.Workers), Y: seconds(i)})
			}
		}
		l.Lines = append(l.Lines, line)
	}
	add("measured", func(i int) float64 { return g.Cells[i].Seconds })
	for i := range g.Starts {
		s := &g.Starts[i]
		add("predicted from "+s.From.String(), func(i int) float64 { return s.Predicted[i] })
	}
	return l
}
