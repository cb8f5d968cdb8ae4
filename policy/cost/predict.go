package cost

import (
	"fmt"
	"math"

	"bellows"
	"bellows/core/planted"
	"bellows/policy/gauge"
)

// Term is what limits a shape.
type Term uint8

// The terms of the cost.
const (
	Processor Term = iota // of a node that runs tasks
	Applying              // of changes to rows, by a server
	LinkIn
	LinkOut
	BudgetIn
	BudgetOut
	PairLink
)

// Limit is the largest term of the cost, and its node.
type Limit struct {
	Term          Term
	Node          bellows.NodeID
	To            bellows.NodeID // of a pair
	Works, Serves bool           // what the node does
}

// String names the limit.
func (l Limit) String() string {
	if l.Term == PairLink {
		return fmt.Sprintf("link from node-%d to node-%d", l.Node, l.To)
	}
	return l.name(fmt.Sprintf("node-%d", l.Node))
}

// OfAny names the limit of a shape in which no node is named.
func (l Limit) OfAny() string {
	switch {
	case l.Works && l.Serves:
		return l.name("a node")
	case l.Works:
		return l.name("a worker")
	}
	return l.name("a server")
}

func (l Limit) name(node string) string {
	switch l.Term {
	case Applying:
		return "row updates at " + node
	case LinkIn:
		return "link of " + node + " in"
	case LinkOut:
		return "link of " + node + " out"
	case BudgetIn:
		return "budget of " + node + " in"
	case BudgetOut:
		return "budget of " + node + " out"
	}
	return "processor of " + node
}

// Prediction is the seconds of an epoch in a shape, and what limits it.
type Prediction struct {
	Epoch gauge.Interval
	Limit Limit
}

// Predict returns the cost of a shape. Figures of different sorts are not all at their worst together: what each adds
// to the likely cost, alone, adds up like independent errors.
func (m *Model) Predict(groups []Group) Prediction {
	var p Prediction
	p.Epoch.Value, p.Limit = m.seconds(&m.at, groups)
	p.Epoch.Low = max(0, p.Epoch.Value-m.error(best, groups, p.Epoch.Value))
	p.Epoch.High = p.Epoch.Value + m.error(worst, groups, p.Epoch.Value)
	return p
}

// error returns how far the cost is from the likely one if figures are at an end.
func (m *Model) error(e end, groups []Group, value float64) float64 {
	squares := 0.0
	for s := range sorts {
		seconds, _ := m.seconds(m.doubtful(e, s), groups)
		squares += (seconds - value) * (seconds - value)
	}
	return math.Sqrt(squares)
}

// Seconds returns the likely seconds of an epoch in a shape.
func (m *Model) Seconds(groups []Group) float64 {
	s, _ := m.seconds(&m.at, groups)
	return s
}

// Likely returns the likely seconds of an epoch in a shape, and what limits them.
func (m *Model) Likely(groups []Group) Prediction {
	s, limit := m.seconds(&m.at, groups)
	return Prediction{gauge.Exactly(s), limit}
}

// duration is a term of the cost in seconds of a clock, and its place.
type duration struct {
	seconds float64
	limit   Limit
}

// longer keeps the longer of two.
func (d *duration) longer(seconds float64, term Term, node bellows.NodeID, g *Group) {
	if seconds > d.seconds {
		*d = duration{seconds, Limit{Term: term, Node: node, Works: g.Splits > 0, Serves: g.Lanes > 0}}
	}
}

// totals are what all nodes of a shape pull, push and change in a clock.
type totals struct{ pulled, pushed, rows float64 }

// amounts are those of one node.
type amounts struct{ pulled, pushed, rows, share float64 }

// seconds returns the seconds of an epoch, and what limits them. Eq. 1 of Cruise: the slowest worker takes as long as
// all. The mini-batches of the paper are clocks. Their number does not depend on how many splits a worker has:
// ceil(d_i/B) of eq. 4 is the same for each.
func (m *Model) seconds(c *condition, groups []Group) (float64, Limit) {
	all, pull, push, apply := m.servers(c, groups)
	var slowest duration
	for i := range groups {
		g := &groups[i]
		m.busy(c, g, all, &slowest)
		if g.Splits == 0 {
			continue
		}
		if s := m.worker(c, g, groups, pull, push, apply); s.seconds > slowest.seconds {
			slowest = s
		}
	}
	return (slowest.seconds + c.latency) * float64(m.f.Clocks.Epoch), m.budgeted(slowest.limit)
}

// servers returns what all nodes move, and how long the slowest server needs for it.
func (m *Model) servers(c *condition, groups []Group) (all totals, pull, push, apply duration) {
	for i := range groups {
		g := &groups[i]
		a, n := m.amounts(c, g), float64(g.Count)
		all.pulled, all.pushed, all.rows = all.pulled+n*a.pulled, all.pushed+n*a.pushed, all.rows+n*a.rows
	}
	for i := range groups {
		if g := &groups[i]; g.Lanes > 0 {
			m.serve(c, g, all, &pull, &push, &apply)
		}
	}
	return all, pull, push, apply
}

// Times returns the times of the nodes in the present shape of figures. A gauge.Meter chooses by them how much of
// communication is hidden.
func Times(f *gauge.Figures) []gauge.Times {
	m, s := New(f), f.Shape()
	c, groups := &m.at, m.Loads(&s)
	all, pull, push, apply := m.servers(c, groups)
	times := make([]gauge.Times, len(groups))
	for i := range groups {
		g := &groups[i]
		var busy duration
		m.busy(c, g, all, &busy)
		times[i] = gauge.Times{Node: f.Nodes[g.Node].ID, Works: g.Splits > 0, Busy: busy.seconds}
		if t := &times[i]; t.Works {
			p := m.parts(c, g, groups, pull, push, apply)
			t.Compute, t.Pull, t.Push, t.Apply = p.compute, p.pull.seconds, p.push.seconds, p.apply.seconds
		}
	}
	return times
}

// amounts returns what a node of a group moves in a clock: nothing if all partitions are near splits.
func (m *Model) amounts(c *condition, g *Group) amounts {
	if m.free == 0 {
		return amounts{}
	}
	k := g.Splits
	if k > 0 && planted.On("whole-model-pulled") {
		k = len(m.f.Splits)
	}
	return amounts{c.pulled.amount(k), c.pushed.amount(k), c.rows.amount(k), float64(g.Free) / m.free}
}

// serve returns how long a server needs for all workers: the first case of eq. 4 (§III.B), m_j·w/b_ij. Ours has the
// bytes of all workers in place of m_j·w, since a node pulls what its splits read and not the whole model, without
// what a node that also works pulls of itself. b_ij is a rate for each node and direction. The time of applying
// changes, which the paper leaves out, is that of the lane with the most partitions.
func (m *Model) serve(c *condition, g *Group, all totals, pull, push, apply *duration) {
	a, s, id := m.amounts(c, g), &c.nodes[g.Node], m.f.Nodes[g.Node].ID
	lent := float64(g.Lent)
	pull.longer(((all.pulled-a.pulled)*a.share+lent)/s.out, LinkOut, id, g)
	push.longer(((all.pushed-a.pushed)*a.share+lent)/s.in, LinkIn, id, g)
	if g.Parts > 0 && !planted.On("server-compute-forgotten") {
		apply.longer(all.rows*a.share*s.row*laneShare(g), Applying, id, g)
	}
}

// laneShare returns the share of a node's partitions that its fullest lane has.
func laneShare(g *Group) float64 {
	return math.Ceil(float64(g.Parts)/float64(g.Lanes)) / float64(g.Parts)
}

// parts are what a worker does in a clock.
type parts struct {
	compute           float64
	pull, push, apply duration
}

// parts returns what a worker does, with servers that need so long.
func (m *Model) parts(c *condition, g *Group, groups []Group, pull, push, apply duration) parts {
	a, s, id := m.amounts(c, g), &c.nodes[g.Node], m.f.Nodes[g.Node].ID
	// The second case of eq. 4: Σ_j m_j/b_ij, without what the node has itself.
	borrowed := float64(g.Borrowed)
	pull.longer((a.pulled*(1-a.share)+borrowed)/s.in, LinkIn, id, g)
	push.longer((a.pushed*(1-a.share)+borrowed)/s.out, LinkOut, id, g)
	m.pairs(c, g, a, groups, &pull, &push)
	return parts{m.compute(c, g), pull, push, apply}
}

// worker returns the seconds of a clock of a worker, eq. 2: computing, and the communication that computing does not
// hide. The paper takes pushes as hidden and pulls as not (§III.A); ours are measured. Servers apply after the push.
func (m *Model) worker(c *condition, g *Group, groups []Group, pull, push, apply duration) duration {
	p := m.parts(c, g, groups, pull, push, apply)
	id := m.f.Nodes[g.Node].ID
	total := duration{p.compute, Limit{Term: Processor, Node: id, Works: true, Serves: g.Lanes > 0}}
	longest := p.compute
	for _, d := range []duration{
		{p.pull.seconds * c.pullWait, p.pull.limit},
		{p.push.seconds * c.pushWait, p.push.limit},
		{p.apply.seconds * c.lag, p.apply.limit},
	} {
		total.seconds += d.seconds
		if d.seconds > longest {
			longest, total.limit = d.seconds, d.limit
		}
	}
	return total
}

// compute returns the seconds that a node computes in a clock: eq. 3, C_w.proc·d_i, with its splits on its slots. A
// slot runs one split at a time.
func (m *Model) compute(c *condition, g *Group) float64 {
	slots := max(1, m.f.Nodes[g.Node].Slots)
	return math.Ceil(float64(g.Splits)/float64(slots)) * m.work * c.nodes[g.Node].item
}

// pairs takes links between two nodes that are slower than the rest: b_ij of eq. 4.
func (m *Model) pairs(c *condition, g *Group, a amounts, groups []Group, pull, push *duration) {
	if len(c.pairs) == 0 || m.free == 0 {
		return
	}
	id := m.f.Nodes[g.Node].ID
	share := make(map[bellows.NodeID]float64, len(groups))
	for i := range groups {
		share[m.f.Nodes[groups[i].Node].ID] = float64(groups[i].Free) / m.free
	}
	for i, rate := range c.pairs {
		p := &m.f.Pairs[i]
		if t := a.pulled * share[p.From] / rate; p.To == id && t > pull.seconds {
			*pull = duration{t, Limit{Term: PairLink, Node: p.From, To: p.To}}
		}
		if t := a.pushed * share[p.To] / rate; p.From == id && t > push.seconds {
			*push = duration{t, Limit{Term: PairLink, Node: p.From, To: p.To}}
		}
	}
}

// busy takes what a node is busy with in a clock, whatever passes while it computes: each direction of its link, and
// its processors if it works and serves.
func (m *Model) busy(c *condition, g *Group, all totals, slowest *duration) {
	a, n := m.amounts(c, g), &m.f.Nodes[g.Node]
	s := &c.nodes[g.Node]
	pulled, pushed := a.pulled*(1-a.share)+float64(g.Borrowed), a.pushed*(1-a.share)+float64(g.Borrowed)
	given, taken := (all.pulled-a.pulled)*a.share+float64(g.Lent), (all.pushed-a.pushed)*a.share+float64(g.Lent)
	slowest.longer((pulled+taken)/s.in, LinkIn, n.ID, g)
	slowest.longer((pushed+given)/s.out, LinkOut, n.ID, g)
	seconds := float64(g.Splits)*m.work*s.item + all.rows*a.share*s.row
	term := Processor
	if g.Splits == 0 {
		term = Applying
	}
	slowest.longer(seconds/float64(max(n.Slots, n.Lanes, 1)), term, n.ID, g)
}

// budgeted names the budget if it is below what the link takes.
func (m *Model) budgeted(l Limit) Limit {
	if m.f.Budget <= 0 {
		return l
	}
	n := &m.f.Nodes[m.index[l.Node]]
	switch {
	case l.Term == LinkIn && n.In.Value > m.f.Budget:
		l.Term = BudgetIn
	case l.Term == LinkOut && n.Out.Value > m.f.Budget:
		l.Term = BudgetOut
	}
	return l
}

// Moving returns the seconds that a job loses by a change, from what changes have cost it so far. If nothing has moved,
// the bytes take the slowest link, and at worst each round of steps takes a clock.
func (m *Model) Moving(bytes int64, steps, rounds int, epoch gauge.Interval) gauge.Interval {
	if steps == 0 {
		return gauge.Interval{}
	}
	b, n := float64(bytes), float64(steps)
	if t := m.f.Moved; t != nil {
		return gauge.Interval{
			Value: b*t.Byte.Value + n*t.Step.Value,
			Low:   b*t.Byte.Low + n*t.Step.Low,
			High:  b*t.Byte.High + n*t.Step.High,
		}
	}
	slowest := func(c *condition) float64 {
		rate := math.Inf(1)
		for i := range c.nodes {
			rate = min(rate, c.nodes[i].in, c.nodes[i].out)
		}
		return b / rate
	}
	clock := epoch.High / float64(m.f.Clocks.Epoch)
	return gauge.Interval{Value: slowest(&m.at), High: slowest(m.doubtful(worst, links)) + float64(rounds)*clock}
}

// MemoryError says that a node has too little memory for a shape.
type MemoryError struct {
	Node   bellows.NodeID
	Needed float64
	Have   int64
}

func (e *MemoryError) Error() string {
	return fmt.Sprintf("node-%d needs %.0f bytes of memory and has %d", e.Node, e.Needed, e.Have)
}

// CheckMemory returns an error if a node has too little memory: for its partitions, its splits, and a copy of the rows
// that it pulls.
func (m *Model) CheckMemory(groups []Group) error {
	for i := range groups {
		g := &groups[i]
		n := &m.f.Nodes[g.Node]
		a := m.amounts(&m.at, g)
		needed := float64(g.Held) + float64(g.Borrowed) + a.pulled*(1-a.share)
		if n.Memory > 0 && !planted.On("memory-forgotten") && needed > float64(n.Memory) {
			return &MemoryError{n.ID, needed, n.Memory}
		}
	}
	return nil
}

// Speed is the likely figures of a node.
type Speed struct {
	Split, Row float64 // seconds for a split in a clock, and for a row applied
	In, Out    float64 // bytes a second
}

// Speed returns the figures of a node, by its place.
func (m *Model) Speed(node int) Speed {
	s := &m.at.nodes[node]
	return Speed{s.item * m.work, s.row, s.in, s.out}
}

// Traffic returns what a node with so many splits pulls, pushes and changes in a clock.
func (m *Model) Traffic(splits int) (pulled, pushed, rows float64) {
	a := m.amounts(&m.at, &Group{Load: Load{Splits: splits}})
	return a.pulled, a.pushed, a.rows
}

// Waits returns the shares of the time of pulls, pushes and applying that compute does not hide.
func (m *Model) Waits() (pull, push, apply float64) {
	c := &m.at
	return c.pullWait, c.pushWait, c.lag
}
