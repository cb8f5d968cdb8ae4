package choose

import (
	"math"

	"bellows/policy/cost"
	"bellows/policy/gauge"
)

// Find returns the best shape for a job.
func Find(f *gauge.Figures, ask Ask) (*Choice, error) {
	if err := check(f, &ask); err != nil {
		return nil, err
	}
	list, err := places(f, ask)
	if err != nil {
		return nil, err
	}
	bare := *f
	bare.Clocks.Latency = gauge.Interval{} // it is the same in every shape
	c, err := find(&bare, ask, list)
	if err == nil {
		c.delay(f)
		c.keep(f, ask, list)
		c.known = f.Nodes
	}
	return c, err
}

// delay adds the latency of the clocks to all times, and its error as cost.Predict adds errors.
func (c *Choice) delay(f *gauge.Figures) {
	l, n := f.Clocks.Latency, float64(f.Clocks.Epoch)
	c.Bound += n * l.Value
	for i := range c.Rows {
		c.Rows[i].Seconds += n * l.Value
	}
	add := func(p cost.Prediction) cost.Prediction {
		e, v := p.Epoch, p.Epoch.Value+n*l.Value
		low, high := math.Hypot(e.Value-e.Low, n*(l.Value-l.Low)), math.Hypot(e.High-e.Value, n*(l.High-l.Value))
		p.Epoch = gauge.Interval{Value: v, Low: max(0, v-low), High: v + high}
		return p
	}
	c.Prediction = add(c.Prediction)
	bare := c.predict
	c.predict = func(counts Counts) cost.Prediction { return add(bare(counts)) }
}

// keep takes the present shape if it may be kept, and the one that was found is not faster and has no fewer nodes.
func (c *Choice) keep(f *gauge.Figures, ask Ask, list []place) {
	now, m := f.Shape(), cost.New(f)
	groups := m.Loads(&now)
	var counts Counts
	for i := range list {
		role := roleOf(&f.Nodes[i])
		if !list[i].allows(role) || ask.Apart && role == Both {
			return
		}
		counts.add(role, 1)
	}
	p := m.Predict(groups)
	found := Row{Counts: c.Counts, Seconds: c.Epoch.Value}
	present := Row{Counts: counts, Seconds: p.Epoch.Value}
	if counts.within(&ask, f) && m.CheckMemory(groups) == nil && !found.better(&present) {
		c.Counts, c.Shape, c.Prediction = counts, now, p
		c.Bound = min(c.Bound, p.Epoch.Value)
	}
}

// find returns the best shape that it finds, whatever the present one is.
func find(f *gauge.Figures, ask Ask, list []place) (*Choice, error) {
	if len(f.Pairs) > 0 || !oneKind(f, list) {
		return findUnlike(f, ask, list)
	}
	c, err := findAlike(f, ask, list)
	if err != nil || len(f.Nodes) > searchMost || c.Epoch.Value <= c.Bound*(1+gapMost) {
		return c, err
	}
	// Uneven shares may be better where parts are few.
	if other, err := findUnlike(f, ask, list); err == nil && other.Epoch.Value < c.Epoch.Value*(1-gapMost) {
		other.Rows, other.predict = c.Rows, c.predict
		return other, nil
	}
	return c, nil
}

// alikePart is the part of the work that the bound may take if machines are alike.
const alikePart = 3

// Machines that are alike get even shares, unless there are few of them and the bound is this much lower.
const (
	searchMost = 64
	gapMost    = 0.01
)

// oneKind reports whether all machines with a role are alike, and able to work and to serve if their role is free.
func oneKind(f *gauge.Figures, list []place) bool {
	first := -1
	for i := range list {
		p := &list[i]
		switch {
		case p.fixed && p.role == Unused:
			continue
		case !p.fixed && !(p.work && p.serve):
			return false
		case first < 0:
			first = i
		}
		if distance(&f.Nodes[first], &f.Nodes[i]) > 0 {
			return false
		}
	}
	return true
}

// findAlike finds the best shape of machines that are alike.
func findAlike(f *gauge.Figures, ask Ask, list []place) (*Choice, error) {
	var fixed Counts
	free := 0
	for i := range list {
		if p := &list[i]; p.fixed {
			fixed.add(p.role, 1)
		} else {
			free++
		}
	}
	if fixed == (Counts{}) && free == 0 {
		return nil, refuse(nil)
	}
	pooled, node := pool(f, list)
	u := newUniform(pooled, cost.New(pooled), node)
	c := &Choice{Rows: u.rows(&ask, fixed, free)}
	c.predict = func(c Counts) cost.Prediction { return u.model.Predict(u.deal(c)) }
	m := cost.New(f)
	found := false
	for _, both := range families(ask) { // the best of either family, as its parts are really dealt
		best := fastest(c.Rows, both)
		if best == nil {
			continue
		}
		counts := u.trim(&ask, fixed, *best).Counts
		s, p, err := realize(f, m, list, counts)
		if err != nil {
			return nil, err
		}
		if !found || p.Epoch.Value < c.Epoch.Value*(1-same) {
			c.Counts, c.Shape, c.Prediction, found = counts, s, p, true
		}
	}
	if !found {
		return nil, refuse(c.Rows)
	}
	s := newSearcher(f, &ask, list)
	s.left /= alikePart
	c.Bound = s.prove(c.Epoch.Value, nil)
	return c, nil
}
