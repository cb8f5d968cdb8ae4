// Package advising lets a simulated job choose its shape itself, as node/elastic does in production. The figures by
// which it chooses are false: they are random ones of the shape that the job has.
//
// Make a Run for a job. Lead it with each controller. It keeps what is remembered, as the log of a run does, and gives
// it to the next controller. It checks every advice against what the job has had. The package refuses to move
// anything.
package advising

import (
	"cmp"
	"encoding/json"
	"math"
	"math/rand/v2"
	"slices"

	"bellows"
	"bellows/policy/advise"
	"bellows/policy/choose"
	"bellows/policy/gauge"
	"bellows/policy/gauge/gaugetest"
	"bellows/policy/reshape"
	"bellows/policy/shape"
	"bellows/sim/internal/coverage"
	"bellows/sim/internal/reshaping"
	"bellows/sim/internal/trace"
)

// Run is a job that chooses its shape, also after it was interrupted.
type Run struct {
	*trace.Trace
	*coverage.Coverage
	rng     *rand.Rand
	ask     choose.Ask // of the user
	log     []byte     // what is remembered, as the log of the run has it
	history history
	figures map[bellows.NodeID]gauge.Node // of nodes, in the present state of the world
}

// New returns a Run. The user demands something of its shape in half of the jobs.
func New(t *trace.Trace, c *coverage.Coverage, rng *rand.Rand) *Run {
	r := &Run{Trace: t, Coverage: c, rng: rng, history: history{Trace: t}}
	bounds := func() (b choose.Bounds) {
		b.Low = rng.IntN(3)
		if rng.IntN(2) == 0 {
			b.High = max(1, b.Low) + rng.IntN(3)
		}
		return b
	}
	if rng.IntN(2) == 0 {
		r.ask = choose.Ask{Workers: bounds(), Servers: bounds(), Apart: rng.IntN(4) == 0}
	}
	if rng.IntN(8) == 0 {
		roles := []choose.Role{choose.Unused, choose.Worker, choose.Server, choose.Both}
		r.ask.Pins = map[bellows.NodeID]choose.Role{bellows.NodeID(1 + rng.IntN(4)): roles[rng.IntN(4)]}
		r.history.pins = r.ask.Pins
	}
	return r
}

// Job is what an advisor has of its job.
type Job struct {
	Facts func() (reshape.Facts, bool)
	Over  func() bool // the job is over, or another controller leads
	After func(millis int64, do func())
}

// advisor chooses while one controller leads.
type advisor struct {
	*Run
	Job
	shaper *reshaping.Shaper
	advice advise.Advisor
	said   map[string]bool // what was reported, by the shapes
	looks  int64
	scales int  // by persons
	busy   bool // a change was decided and has not begun
}

// Lead begins to advise a controller. It returns what is to be called when a person has scaled the job.
func (r *Run) Lead(j Job, s *reshaping.Shaper) (scaled func(*reshape.Scale, *reshape.Facts)) {
	d := &advisor{Run: r, Job: j, shaper: s, said: map[string]bool{}}
	d.advice.Ask = r.ask
	if r.log != nil {
		if err := json.Unmarshal(r.log, &d.advice.State); err != nil {
			r.Violated("advice: the log of the run cannot be read: %v", err)
		}
		r.HitAt("advice", "followed")
	}
	r.history.follow(&d.advice.State)
	j.After(r.rng.Int64N(40), d.begin)
	return d.scaled
}

// begin makes the job begin in the shape that is demanded.
func (d *advisor) begin() {
	if d.Over() {
		return
	}
	if _, known := d.Facts(); !known || d.shaper.Wanted() {
		d.After(10, d.begin)
		return
	}
	if p, demanded := d.advice.Begin(); demanded {
		d.shaper.AskIdle(reshape.Ask{Shape: func(now shape.Snapshot) (shape.Decision, error) {
			want, err := p(now)
			if before := now.Shape; err == nil && choose.Name(&want.Shape) != choose.Name(&before) {
				d.history.bounded(uses(&want.Shape))
				d.HitAt("advice", "begun")
			}
			return want, err
		}}, nil)
	}
	d.After(d.rng.Int64N(20), d.look)
}

// look measures the job at any time, and does what is advised, at once or a little later. It becomes rarer, since the
// search for a shape takes most of the time of a schedule.
func (d *advisor) look() {
	if d.Over() {
		return
	}
	d.looks++
	d.After(1+6*d.looks+d.rng.Int64N(1<<(1+d.rng.IntN(7))), d.look)
	if f, known := d.Facts(); known && !d.shaper.Wanted() {
		m := d.moment(&f)
		if d.rng.IntN(2) == 0 {
			d.After(d.rng.Int64N(30), func() { d.follow(m) })
			return
		}
		d.follow(m)
	}
}

// follow takes the advice, unless the job changes already.
func (d *advisor) follow(m *advise.Moment) {
	if d.Over() || d.busy || d.shaper.Wanted() || m.Clocks < gauge.ClocksLeast {
		return
	}
	before := d.advice.State.Clone()
	a, err := d.advice.Step(m)
	if err != nil {
		d.HitAt("advice", "impossible")
		return
	}
	if a.Change || a.Judged != "" || !d.said[a.Now] {
		d.keep()
	}
	d.said[a.Now] = d.said[a.Now] || !a.Change
	d.history.look(m.Figures.Nodes, &before, &d.advice.State)
	d.history.measured(a.Now, m.Epoch.Value)
	if a.Change {
		d.change(m, &a)
	}
}

// keep reports what is remembered.
func (d *advisor) keep() {
	text, err := json.Marshal(&d.advice.State)
	d.Must(err)
	d.log = text
}

// change makes the change that is advised, at once or a little later.
func (d *advisor) change(m *advise.Moment, a *advise.Advice) {
	d.Note("advice: %s, from %s to %s", a.Sentence(), a.Now, a.To)
	back, scales := d.history.changes(a), d.scales
	if back {
		d.HitAt("advice", "back")
	}
	withdraw := func() {
		d.HitAt("advice", "withdrawn")
		d.advice.State.Withdraw(a.To)
		d.history.withdrawn(a.To, back, &d.advice.State)
	}
	d.busy = true
	begin := func() {
		d.busy = false
		if d.Over() {
			return
		}
		if d.scales != scales || !d.take(m, a, withdraw) {
			withdraw()
		}
	}
	if d.rng.IntN(2) == 0 {
		d.After(d.rng.Int64N(30), begin)
		return
	}
	begin()
}

// take asks for the shape, and reports whether it could be asked for.
func (d *advisor) take(m *advise.Moment, a *advise.Advice, withdraw func()) bool {
	policy := a.Policy(m.Figures)
	return d.shaper.AskIdle(reshape.Ask{Shape: func(now shape.Snapshot) (shape.Decision, error) {
		want, err := policy(now)
		if err == nil {
			d.history.bounded(a.Shape.Counts())
		}
		return want, err
	}}, func(o *reshape.Outcome) {
		f, _ := d.Facts()
		switch now := shapeOf(&f); {
		case o.Bad:
			withdraw()
		case o.Superseded:
			d.HitAt("advice", "superseded")
		case o.Err == "" && choose.Name(&now) == a.To:
			d.HitAt("advice", "reached")
		}
	})
}

// scaled notes the bounds of a person.
func (d *advisor) scaled(s *reshape.Scale, before *reshape.Facts) {
	now := shapeOf(before)
	workers, servers := uses(&now)
	d.scales++
	d.advice.State.Scaled(s.Workers, s.Servers, workers, servers)
	d.keep()
	d.history.scaled(s, workers, servers)
	d.HitAt("advice", "scaled")
}

// shapeOf returns the shape that a job has.
func shapeOf(f *reshape.Facts) shape.Shape {
	s := shape.Shape{Nodes: f.Nodes, Splits: f.Splits}
	for _, n := range f.Partitions {
		s.Partitions = append(s.Partitions, shape.Place{Node: n})
	}
	return s
}

// moment returns false figures of a job. Those of its nodes stay for a while.
func (r *Run) moment(f *reshape.Facts) *advise.Moment {
	if r.figures == nil || r.rng.IntN(12) == 0 {
		r.figures = map[bellows.NodeID]gauge.Node{}
	}
	nodes := slices.Clone(f.Nodes)
	if !slices.ContainsFunc(nodes, func(n shape.Node) bool { return n.ID == reshape.Leader }) {
		nodes = append(nodes, shape.Node{ID: reshape.Leader})
	}
	slices.SortFunc(nodes, func(a, b shape.Node) int { return cmp.Compare(a.ID, b.ID) })
	size := gaugetest.Size{Nodes: len(nodes), Splits: len(f.Splits), Partitions: len(f.Partitions)}
	g := gaugetest.Random(r.rng, size, 1+r.rng.IntN(3))
	g.Leads, g.Tables = reshape.Leader, f.Tables
	for i := range nodes {
		n := nodes[i]
		of, known := r.figures[n.ID]
		if !known {
			of = g.Nodes[i]
			r.figures[n.ID] = of
		}
		of.ID, of.Slots, of.Lanes = n.ID, n.Slots, n.Lanes
		of.Works, of.Serves = slices.Contains(f.Splits, n.ID), slices.Contains(f.Partitions, n.ID)
		g.Nodes[i] = of
	}
	for i, n := range f.Splits {
		g.Splits[i].Node = n
	}
	for i, n := range f.Partitions {
		g.Partitions[i].Node, g.Partitions[i].Bytes = n, f.Sizes.Partitions[i]
	}
	g.Clocks.Expected = []int{0, 1 << 8, 1 << 30}[r.rng.IntN(3)]
	clocks := gauge.ClocksLeast - 1 + r.rng.IntN(8)
	r.Must(g.Validate())
	return &advise.Moment{Figures: g, Epoch: gauge.Exactly(math.Pow(10, 6*r.rng.Float64()-2)), Clocks: clocks}
}
