package main

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"bellows/chart"
	"bellows/core/visits"
	"bellows/experiments/internal/processes"
	"bellows/experiments/internal/report"
	"bellows/experiments/internal/subject"
	"bellows/policy/choose"
	"bellows/policy/cost"
	"bellows/policy/gauge"
	"bellows/policy/reshape"
	"bellows/policy/shape"
	"bellows/sim/lab"
	"bellows/table"
)

type counts = processes.Counts

// rolesOf returns the role of each node of a site. Node 0 leads.
func rolesOf(c counts) []lab.Role {
	roles := []lab.Role{0}
	for _, of := range []struct {
		role  lab.Role
		count int
	}{{reshape.Both, c.Both}, {reshape.Worker, c.Workers}, {reshape.Server, c.Servers}} {
		for range of.count {
			roles = append(roles, of.role)
		}
	}
	return roles
}

// job is a job on machines of one kind.
type job struct {
	name  string
	order subject.Order
	// pull is how long the link of a node takes for all rows that the splits share, in parts of clock. It sets the links.
	pull float64
	// apply is how long a server would take to apply one change of all these rows, in the same parts.
	apply float64
}

// names are those of all jobs.
var names = []string{"mlr", "mlr-rows", "lda", "lda-topics", "mf"}

// jobs returns the jobs of the experiment. They are limited by workers; by row updates of servers; by links, less and
// more; and by links.
func (p *plan) jobs(quick bool) (list []job) {
	all := []job{
		{names[0], order("mlr", 1, 2560, "clocks", "4", "batch", "16"), 0.01, 0},
		{names[1], order("mlr", 1, 2560, "clocks", "4", "batch", "16"), 0.01, 0.02},
		{names[2], order("lda", 0, 1, "topics", "20"), 0.03, 0},
		{names[3], order("lda", 0, 1, "topics", "200"), 0.10, 0},
		{names[4], order("mf", 0, 1, "clocks", "4", "schedule", "ssp", "rank", "20"), 0.15, 0},
	}
	for _, j := range all {
		if files := *p.files[j.order.App]; files != "" {
			j.order.Files = strings.Split(files, ",")
		} else if quick && j.order.App == "mlr" {
			j.order.Size = 640
		}
		if p.only == "" || slices.Contains(strings.Split(p.only, ","), j.name) {
			list = append(list, j)
		}
	}
	return list
}

func order(app string, staleness, size int, settings ...string) subject.Order {
	o := subject.Order{App: app, Size: size, Staleness: staleness, Settings: map[string]string{}}
	for i := 0; i < len(settings); i += 2 {
		o.Settings[settings[i]] = settings[i+1]
	}
	return o
}

// warm is how many epochs do not count, and least how many clocks count at least. With staleness the end of an epoch is
// not sharp, so that more do. A job that measures itself needs more clocks.
const (
	warm       = 1
	least      = 4
	leastLoose = 15
)

// clock is the virtual time of the items of a clock if a quarter of the nodes works.
const clock = time.Second

// made is a job in the laboratory, without a first shape.
type made struct {
	lab.Config
	link float64 // bytes a second
}

// make makes a job that trains for so many clocks at least.
func (p *plan) make(j *job, clocks int) (*made, error) {
	o := j.order
	o.Epochs = 1
	o.Settings = map[string]string{"splits": strconv.Itoa(p.splits)}
	for k, v := range j.order.Settings {
		o.Settings[k] = v
	}
	run, err := o.Make()
	if err != nil {
		return nil, err
	}
	_, each := run.Job.Driver.(visits.Cycler).Cycle()
	counted := least
	if o.Staleness != 0 {
		counted = leastLoose
	}
	o.Epochs = max(warm+(counted+each-1)/each, (clocks+each-1)/each)
	if run, err = o.Make(); err != nil {
		return nil, err
	}
	shared := 0.0
	for i := range run.Job.Tables {
		if t := &run.Job.Tables[i]; !t.BySplit {
			t.Bounds, t.Partitions = nil, min(t.Rows, 2*p.nodes)
			shared += bytesOf(t)
		}
	}
	whole := float64(clock) * float64(p.nodes) / 4 // nanoseconds of all items of a clock
	m := &made{link: shared / (j.pull * clock.Seconds())}
	m.Seed, m.Job, m.Jitter, m.Tick = 1, run.Job, 0.02, clock
	m.Costs.Item = whole * float64(max(1, each-1)) / float64(run.Items)
	m.Costs.ApplyByte = j.apply * float64(clock) / shared
	m.Site = lab.Cluster(p.nodes, p.nodes, lab.Machine{Cores: 1, Up: m.link, Down: m.link})
	m.Site.Latency, m.Site.Packet = 100*time.Microsecond, packet
	return m, nil
}

// packet is what a connection has of a link in one turn. The tables are about a thousandth of the paper's.
const packet = 1 << 10

func bytesOf(t *table.Schema) float64 { return 4 * float64(t.Rows) * float64(t.Width) }

// begin runs a job in a shape and returns the seconds of an epoch.
func (m *made) begin(first *shape.Shape) (float64, *lab.Result, error) {
	m.Shape = first
	r, err := lab.Run(m.Config)
	if err != nil {
		return 0, nil, err
	}
	n := len(r.Epochs)
	return (r.Epochs[n-1].Time - r.Epochs[warm-1].Time).Seconds() / float64(n-warm), r, nil
}

// play runs a job in a shape by its numbers of nodes, which are dealt as in production.
func (p *plan) play(j *job, c counts) (float64, error) {
	m, err := p.make(j, 0)
	if err != nil {
		return 0, err
	}
	first := m.Deal(rolesOf(c))
	seconds, _, err := m.begin(&first)
	return seconds, err
}

// shapes returns those of the grid: every number of workers with all others as servers, then all nodes do both.
func (p *plan) shapes(quick bool) (list []counts) {
	each := p.step
	if quick {
		each = max(1, p.nodes/4)
	}
	for w := each; w < p.nodes; w += each {
		list = append(list, counts{Workers: w, Servers: p.nodes - w})
	}
	return append(list, counts{Both: p.nodes})
}

// study plays the grid of a job, and lets it measure itself in some of the shapes.
func (p *plan) study(r *report.Run, j *job) (*grid, *chart.Lines, error) {
	g := &grid{Job: j.name, Nodes: p.nodes}
	apart, any := math.Inf(1), math.Inf(1)
	for _, c := range p.shapes(r.Quick) {
		seconds, err := p.play(j, c)
		if err != nil {
			return nil, nil, fmt.Errorf("%v: %w", c, err)
		}
		g.Cells = append(g.Cells, cell{c, seconds})
		if c.Both == 0 && seconds < apart {
			apart, g.Best = seconds, c
		}
		if seconds < any {
			any, g.BestAny = seconds, c
		}
	}
	r.Say("%s: best %v, %.3f s an epoch; of all %v, %.3f s", j.name, g.Best, apart, g.BestAny, any)
	var errors []float64
	for _, c := range []counts{{Workers: p.nodes / 2, Servers: p.nodes - p.nodes/2}, {Workers: p.nodes - p.nodes/4, Servers: p.nodes / 4}, {Both: p.nodes}} {
		s, list, err := p.measure(j, g, c)
		if err != nil {
			return nil, nil, fmt.Errorf("measured in %v: %w", c, err)
		}
		g.Starts, errors = append(g.Starts, *s), append(errors, list...)
		r.Say("%s, measured in %v: errors %.1f %% (nine tenths %.1f %%); apart it chooses %v, %.3f of the best; any %v, %.3f of the best, epochs %.0f %% shorter",
			j.name, c, 100*s.Errors.Median, 100*s.Errors.NineTenths, s.Apart.counts, s.Apart.OfBest, s.Any.counts, s.Any.OfBest, 100*s.Any.Shorter)
	}
	g.Errors = deviationsOf(errors)
	return g, g.draw(), nil
}

// measure lets a job measure itself in a shape, predicts all shapes of the grid, and plays what it chooses.
func (p *plan) measure(j *job, g *grid, c counts) (*start, []float64, error) {
	m, err := p.make(j, gauge.ClocksLeast+12)
	if err != nil {
		return nil, nil, err
	}
	g.Link = m.link
	first := m.Deal(rolesOf(c))
	m.Measure = true
	seconds, r, err := m.begin(&first)
	if err == nil {
		err = r.Missing
	}
	if err != nil {
		return nil, nil, err
	}
	s := &start{From: c, Seconds: seconds}
	model := cost.New(r.Figures)
	var errors []float64
	for _, x := range g.Cells {
		other := m.Deal(rolesOf(x.counts))
		predicted := model.Likely(model.Loads(&other))
		s.Predicted, s.Limits = append(s.Predicted, predicted.Epoch.Value), append(s.Limits, predicted.Limit.OfAny())
		if x.counts != c {
			errors = append(errors, math.Abs(predicted.Epoch.Value/x.Seconds-1))
		}
	}
	s.Errors = deviationsOf(errors)
	if s.Apart, err = p.choose(j, r.Figures, choose.Ask{Apart: true}, seconds, g.seconds(g.Best)); err == nil {
		s.Any, err = p.choose(j, r.Figures, choose.Ask{}, seconds, g.seconds(g.BestAny))
	}
	return s, errors, err
}

// choose plays the shape that is chosen by figures.
func (p *plan) choose(j *job, f *gauge.Figures, ask choose.Ask, now, best float64) (choice, error) {
	found, err := choose.Find(f, ask)
	if err != nil {
		return choice{}, err
	}
	m, err := p.make(j, 0)
	if err != nil {
		return choice{}, err
	}
	seconds, _, err := m.begin(&found.Shape)
	c := counts{Workers: found.Workers, Servers: found.Servers, Both: found.Both}
	return choice{c, found.Epoch.Value, seconds, best / seconds, 1 - seconds/now, 1 - best/now}, err
}

// countsOf returns the numbers of nodes of a shape.
func countsOf(s *shape.Shape) (c counts) {
	for _, n := range s.Nodes {
		works := slices.Contains(s.Splits, n.ID)
		serves := slices.ContainsFunc(s.Partitions, func(p shape.Place) bool { return p.Node == n.ID })
		switch {
		case works && serves:
			c.Both++
		case works:
			c.Workers++
		case serves:
			c.Servers++
		}
	}
	return c
}
