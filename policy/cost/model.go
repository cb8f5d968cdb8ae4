// Package cost predicts how long an epoch takes in a shape, from the figures of a job.
//
// It has the cost model of Cruise (§III.A, §III.B, eq. 1 to 4) with terms that the paper leaves out. These are the
// computing of servers, nodes that work and serve, and the traffic of a node with several splits, which pulls a part
// of the model. Partitions that are with their splits cost nothing; overlap is measured; budgets and memory limit. A
// prediction is an interval, and has the term that limits it.
//
// The package does not choose a shape, and does not know how one comes about.
package cost

import (
	"math"
	"slices"

	"bellows"
	"bellows/policy/gauge"
	"bellows/policy/shape"
)

// end is where figures are taken in their intervals.
type end int

// The ends of intervals. The cost is monotone in each figure.
const (
	likely end = iota
	best
	worst
	ends
)

// sort is figures that are wrong together.
type sort int

// The sorts of figures. A fit (gauge.Meter) finds those of two sorts: a wait that is not hidden is no latency.
const (
	processors sort = iota
	links
	traffic
	overlap
	latency
	sorts
)

// doubts are ends of figures, by their sorts.
type doubts [sorts]end

// cost returns a figure that is better if it is less.
func (e end) cost(v gauge.Interval) float64 {
	return [ends]float64{v.Value, v.Low, v.High}[e]
}

// rate returns a figure that is better if it is more.
func (e end) rate(v gauge.Interval) float64 {
	return [ends]float64{v.Value, v.High, v.Low}[e]
}

// speed is a node's figures at one end.
type speed struct {
	item, row float64 // seconds, with the share that others take of the processor
	in, out   float64 // bytes a second, within the budget
}

// condition is everything at one end.
type condition struct {
	nodes                   []speed
	pulled, pushed, rows    curve
	pullWait, pushWait, lag float64 // shares of pulls, pushes and applying that compute does not hide
	pairs                   []float64
	latency                 float64 // seconds of a clock
}

// Model predicts the cost of shapes of one job. It keeps the amounts that it has computed, so that it is for one
// goroutine at a time.
type Model struct {
	f     *gauge.Figures
	at    condition               // all figures are likely
	one   [ends][sorts]*condition // those of one sort at that end, the others likely; nil: not made yet
	work  float64                 // items of a split in a clock
	free  float64                 // bytes of partitions that are near no split
	index map[bellows.NodeID]int
}

// New returns the model of a job. The figures are valid, and stay as they are.
func New(f *gauge.Figures) *Model {
	m := &Model{f: f, index: make(map[bellows.NodeID]int, len(f.Nodes))}
	m.work = float64(f.Items) / float64(f.Clocks.Epoch) / float64(len(f.Splits))
	for i := range f.Partitions {
		if p := &f.Partitions[i]; p.Near == nil {
			m.free += float64(p.Bytes)
		}
	}
	for i := range f.Nodes {
		m.index[f.Nodes[i].ID] = i
	}
	m.at = newCondition(f, doubts{})
	return m
}

// doubtful returns the figures with those of one sort at an end.
func (m *Model) doubtful(e end, s sort) *condition {
	if m.one[e][s] == nil {
		var d doubts
		d[s] = e
		c := newCondition(m.f, d)
		m.one[e][s] = &c
	}
	return m.one[e][s]
}

func newCondition(f *gauge.Figures, d doubts) condition {
	c := condition{nodes: make([]speed, len(f.Nodes)), latency: d[latency].cost(f.Clocks.Latency)}
	limit := math.Inf(1)
	if f.Budget > 0 {
		limit = f.Budget
	}
	for i := range f.Nodes {
		n := &f.Nodes[i]
		own := 1 - d[processors].cost(n.Others)
		c.nodes[i] = speed{
			item: d[processors].cost(n.Item) / own, row: d[processors].cost(n.Row) / own,
			in: min(d[links].rate(n.In), limit), out: min(d[links].rate(n.Out), limit),
		}
	}
	c.pulled = newCurve(f, func(t *gauge.Traffic) float64 { return d[traffic].cost(t.Pulled) })
	c.pushed = newCurve(f, func(t *gauge.Traffic) float64 { return d[traffic].cost(t.Pushed) })
	c.rows = newCurve(f, func(t *gauge.Traffic) float64 { return d[traffic].cost(t.Rows) })
	e := d[overlap]
	c.pullWait, c.pushWait, c.lag = 1-e.rate(f.Hidden.Pulled), 1-e.rate(f.Hidden.Pushed), 1-e.rate(f.Hidden.Applied)
	for i := range f.Pairs {
		c.pairs = append(c.pairs, d[links].rate(f.Pairs[i].Rate))
	}
	return c
}

// Load is what a shape gives a node.
type Load struct {
	Splits int   // that it runs; 0: it does not work
	Lanes  int   // with partitions; 0: it does not serve
	Parts  int   // partitions that it holds
	Free   int64 // bytes of those that are near no split
	// Lent is the bytes of its partitions that are near splits of other nodes, and Borrowed of the partitions of other
	// nodes that are near its splits. They travel whole in each clock, forth and back.
	Lent, Borrowed int64
	Held           int64 // bytes of memory that its partitions and splits take
}

// Group is nodes with the same figures and the same load.
type Group struct {
	Node  int // one of them, by its place in the figures
	Count int
	Load
}

// Loads returns the load of each node of a shape with a role.
func (m *Model) Loads(s *shape.Shape) []Group {
	groups := make([]Group, len(s.Nodes))
	at := make(map[bellows.NodeID]*Group, len(s.Nodes))
	for i := range s.Nodes {
		groups[i] = Group{Node: m.index[s.Nodes[i].ID], Count: 1}
		at[s.Nodes[i].ID] = &groups[i]
	}
	for i, n := range s.Splits {
		at[n].Splits++
		at[n].Held += m.f.Splits[i].Bytes
	}
	for i, place := range s.Partitions {
		p, g := &m.f.Partitions[i], at[place.Node]
		g.Parts++
		g.Held += p.Bytes
		switch {
		case p.Near == nil:
			g.Free += p.Bytes
		case s.Splits[*p.Near] != place.Node:
			g.Lent += p.Bytes
			at[s.Splits[*p.Near]].Borrowed += p.Bytes
		}
	}
	for i := range groups {
		if g := &groups[i]; g.Parts > 0 {
			g.Lanes = m.f.Nodes[g.Node].Lanes
		}
	}
	return groups
}

// curve is what a node with so many splits pulls or pushes: a power of their number between measured points. It never
// falls, and never grows faster than the number: rows that splits have in common travel once.
type curve struct {
	points []point
	known  []float64 // amounts that were computed, by splits
}

type point struct{ splits, amount, power float64 } // power holds from this point to the next

func newCurve(f *gauge.Figures, amount func(*gauge.Traffic) float64) curve {
	traffic := f.Traffic
	c := make([]point, len(traffic))
	for i := range traffic {
		c[i] = point{float64(traffic[i].Splits), amount(&traffic[i]), 0}
		if i > 0 {
			last, ratio := &c[i-1], c[i].splits/c[i-1].splits
			c[i].amount = min(max(c[i].amount, last.amount), last.amount*ratio)
			if last.amount > 0 {
				last.power = math.Log(c[i].amount/last.amount) / math.Log(ratio)
			}
		}
	}
	n := len(c)
	outside := singlePower
	if ratio := c[n-1].splits / c[0].splits; ratio >= farApart && c[0].amount > 0 {
		outside = math.Log(c[n-1].amount/c[0].amount) / math.Log(ratio)
	}
	c[n-1].power = outside
	c = slices.Insert(c, 0, point{1, c[0].amount * math.Pow(1/c[0].splits, outside), outside})
	return curve{c, make([]float64, len(f.Splits)+1)}
}

// farApart is the ratio of two numbers of splits from which they tell the power outside of what was measured. The slope
// between closer ones is mostly noise: some splits have more in common than others.
const farApart = 2

// singlePower is the power if no two numbers of splits that are far apart were measured. It is between 0, where all
// splits of a node have all rows in common, and 1, where they have none.
const singlePower = 0.5

// amount returns what is moved by a node with so many splits.
func (c *curve) amount(splits int) float64 {
	if splits == 0 || c.known[splits] > 0 {
		return c.known[splits]
	}
	n, i := float64(splits), 0
	for i+1 < len(c.points) && c.points[i+1].splits <= n {
		i++
	}
	at := &c.points[i]
	c.known[splits] = at.amount * math.Pow(n/at.splits, at.power)
	return c.known[splits]
}
