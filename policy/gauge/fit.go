package gauge

import "math"

// findings are figures that outlive a change of shape.
type findings struct {
	traffic []Traffic // of former shapes
	hidden  Hidden
	latency Interval
	fitted  bool // hidden and latency are set
}

// Figures returns the figures of the job. The caller has filled in what is not measured: items, clocks of an epoch and
// those expected, tables, parts, the nodes with their roles, and the budget. An error says how many clocks more it
// takes.
func (m *Meter) Figures(f Figures) (*Figures, error) {
	m.Shape(&f)
	clock, n := m.laps.median(m.now.epoch)
	if n < ClocksLeast && (!m.found.fitted || m.counted < ClocksLeast) {
		return nil, few(n, ClocksLeast-n)
	}
	of := make([]estimate, len(m.nodes))
	works := false
	for i, n := range m.nodes {
		of[i] = n.estimate(m.shape)
		works = works || of[i].works
	}
	if !works {
		return nil, few(n, m.missing())
	}
	f.Nodes = append([]Node(nil), f.Nodes...)
	fill(f.Nodes, of)
	suspended(f.Nodes, of)
	m.links(f.Nodes, of, f.Budget, clock.Value)
	f.Traffic = m.traffic(of)
	f.Clocks.Passed = max(f.Clocks.Passed, m.passed)
	f.Clocks.Measured = min(m.counted, f.Clocks.Passed)
	for i, n := range m.nodes {
		if p := &m.now.places[i]; n.spare > 0 {
			f.Nodes[i].Memory = n.spare + p.held + p.borrowed
			if p.splits > 0 { // it holds a copy of the rows that it pulls
				f.Nodes[i].Memory += int64(f.Traffic[nearest(f.Traffic, p.splits)].Pulled.Value * (1 - p.own))
			}
		}
	}
	rate := Interval{math.Inf(1), math.Inf(1), 0}
	for i := range f.Nodes {
		for _, v := range []Interval{f.Nodes[i].In, f.Nodes[i].Out} {
			rate.Value, rate.Low = min(rate.Value, v.Value), min(rate.Low, v.Low)
		}
	}
	f.Moved = m.moving.moved(rate)
	if n >= ClocksLeast {
		m.fit(&f, clock, of)
	}
	if !m.found.fitted {
		return nil, few(n, m.missing())
	}
	f.Hidden, f.Clocks.Latency = m.found.hidden, m.found.latency
	if err := f.Validate(); err != nil {
		return nil, err
	}
	return &f, nil
}

// missing returns how many clocks it takes until a worker has enough samples of the present shape.
func (m *Meter) missing() int {
	least := math.Inf(1)
	for i, n := range m.nodes {
		have, each := 0, 1.0
		for j := range n.n {
			if d := n.get(j); d.shape == m.shape {
				have, each = have+1, d.clocks
			}
		}
		if m.now.places[i].splits > 0 {
			least = min(least, float64(samplesLeast-have)*each)
		}
	}
	return int(math.Ceil(max(1, min(least, clocksMost))))
}

// fit finds which shares of communication are hidden, and the latency of a clock, so that the model predicts for the
// present shape what was measured. The shares are those of the worker that waits least. If the model has a shorter
// clock than was measured, the rest is latency: it is due to nothing that a shape changes.
func (m *Meter) fit(f *Figures, clock Interval, of []estimate) {
	f.Hidden, f.Clocks.Latency = Hidden{}, Interval{}
	times := m.model(f)
	slowest := -1
	var own Times
	for _, t := range times {
		at := m.now.find(t.Node)
		if at >= 0 && t.Works && of[at].waits && (slowest < 0 || of[at].waited() < of[slowest].waited()) {
			slowest, own = at, t
		}
	}
	if slowest < 0 {
		return
	}
	e := &of[slowest]
	// A read of the next clock waits until the servers have all pushes and have applied them. So what a wait has above
	// the time of its cause is given to the next one, and in the end to pulls.
	pushWait := e.pushWait.plus(above(e.pullWait, own.Pull))
	push := shareOf(pushWait, own.Push, 0)
	held := e.held.plus(above(pushWait, own.Push))
	apply := shareOf(held, own.Apply, 0)
	pull := shareOf(e.pullWait.plus(above(held, own.Apply)), own.Pull, 1)
	seconds := func(part float64) (clock float64) {
		for _, t := range times {
			if clock = max(clock, t.Busy); t.Works {
				wait := pull.Value*t.Pull + push.Value*t.Push + apply.Value*t.Apply
				clock = max(clock, t.Compute+part*wait)
			}
		}
		return clock
	}
	part := 1.0
	if seconds(1) > clock.Value {
		low, high := 0.0, 1.0
		for range 50 {
			if part = (low + high) / 2; seconds(part) > clock.Value {
				high = part
			} else {
				low = part
			}
		}
	}
	hidden := func(wait Interval) Interval {
		wait = wait.scaled(part)
		return Interval{1 - wait.Value, 1 - wait.High, 1 - wait.Low}
	}
	m.found.hidden = Hidden{Pulled: hidden(pull), Pushed: hidden(push), Applied: hidden(apply)}
	explained := seconds(part)
	m.found.latency = Interval{
		clock.Value - explained, clock.Low - explained, clock.High - explained,
	}.within(0, math.Inf(1))
	m.found.fitted = true
}

// fitted is how much the times of a model may be wrong, since they are made of the values of figures.
const fitted = 0.02

// above returns what a wait has above a time.
func above(wait Interval, of float64) Interval {
	return Interval{wait.Value - of, wait.Low - of, wait.High - of}.within(0, math.Inf(1))
}

// waited returns the seconds of a clock in which a node waited for anything.
func (e *estimate) waited() float64 { return e.idle + e.pullWait.Value + e.pushWait.Value }

// shareOf returns the share of a time that a worker waits. Of no time it is what the paper assumes (§III.A), tasks
// wait for pulls alone, with open bounds.
func shareOf(wait Interval, of, without float64) Interval {
	if of <= 0 {
		return Interval{without, 0, 1}
	}
	share := wait.scaled(1 / of)
	return Interval{share.Value, share.Low * (1 - fitted), share.High * (1 + fitted)}.within(0, 1)
}
