package gauge

import (
	"fmt"
	"math"
	"reflect"

	"bellows"
)

// Limits of figures, checked before they are used.
const (
	TextMost    = 16 << 20 // bytes of JSON
	nodesMost   = 4096
	partsMost   = 1 << 16 // partitions, and splits
	slotsMost   = 4096
	pairsMost   = 1 << 16
	pointsMost  = 64 // of the traffic
	clocksMost  = math.MaxInt32
	sizeMost    = 1 << 45 // bytes of one part, or of a node
	itemsMost   = 1 << 50
	secondsMost = 1e6  // of an item, a row, a byte or a step
	amountMost  = 1e15 // bytes or rows of a clock, bytes a second
)

// Read reads the figures of a job from JSON.
func Read(text []byte) (*Figures, error) {
	if len(text) > TextMost {
		return nil, fmt.Errorf("the text has more than %d MiB", TextMost>>20)
	}
	v, err := parse(text)
	if err != nil {
		return nil, err
	}
	f := &Figures{}
	if err := decode(v, reflect.ValueOf(f).Elem()); err != nil {
		return nil, err
	}
	if err := f.Validate(); err != nil {
		return nil, err
	}
	return f, nil
}

// validation keeps the first thing that is wrong.
type validation struct{ err error }

// refuse says what is wrong with a field, unless it is right or another was wrong before.
func (c *validation) refuse(wrong bool, path, format string, args ...any) {
	if wrong && c.err == nil {
		c.err = fmt.Errorf("%s: "+format, append([]any{path}, args...)...)
	}
}

// whole refuses a whole number outside its bounds.
func (c *validation) whole(path string, v, least, most int64) {
	c.refuse(v < least || v > most, path, "%d is out of range; it must be from %d to %d", v, least, most)
}

// count refuses a list with too few or too many elements.
func (c *validation) count(path string, n, least, most int) {
	c.refuse(n < least || n > most, path, "there are %d; there must be from %d to %d", n, least, most)
}

// interval refuses bounds in a wrong order, and figures outside [least, most]. An upper bound may be missing if
// open is set.
func (c *validation) interval(path string, v Interval, least, most float64, open bool) {
	c.refuse(!(v.Low <= v.Value && v.Value <= v.High), path,
		"value %g is not between low %g and high %g; correct the bounds", v.Value, v.Low, v.High)
	high := v.High
	if math.IsInf(high, 1) {
		c.refuse(!open, path, "there is no high; add one, since only the rate of a link may have none")
		high = v.Value
	}
	c.refuse(v.Low < least || high > most, path, "%g to %g is out of range; it must be from %g to %g",
		v.Low, high, least, most)
}

// Validate refuses figures that cannot be a job's, and says which field is wrong.
func (f *Figures) Validate() error {
	c := &validation{}
	c.whole("items", f.Items, 1, itemsMost)
	c.whole("clocks.epoch", int64(f.Clocks.Epoch), 1, clocksMost)
	c.whole("clocks.measured", int64(f.Clocks.Measured), 0, clocksMost)
	c.whole("clocks.passed", int64(f.Clocks.Passed), int64(f.Clocks.Measured), clocksMost)
	c.whole("clocks.expected", int64(f.Clocks.Expected), 0, clocksMost)
	c.interval("clocks.latency_seconds", f.Clocks.Latency, 0, secondsMost, false)
	c.count("nodes", len(f.Nodes), 1, nodesMost)
	c.count("partitions", len(f.Partitions), 1, partsMost)
	c.count("splits", len(f.Splits), 1, partsMost)
	c.count("pairs", len(f.Pairs), 0, pairsMost)
	c.count("traffic", len(f.Traffic), 1, pointsMost)
	c.interval("budget", Exactly(f.Budget), 0, amountMost, false)
	if c.err == nil {
		f.checkNodes(c)
		f.checkParts(c)
		f.checkTraffic(c)
	}
	if c.err == nil {
		s := f.Shape()
		if err := s.Validate(); err != nil {
			c.err = fmt.Errorf("nodes: works and serves, with the places of all parts, are no shape: %w", err)
		}
	}
	return c.err
}

func (f *Figures) checkNodes(c *validation) {
	seen := make(map[bellows.NodeID]bool, len(f.Nodes))
	for i := range f.Nodes {
		n, at := &f.Nodes[i], fmt.Sprintf("nodes[%d]", i)
		c.whole(at+".id", int64(n.ID), 0, math.MaxUint16-1)
		c.refuse(i > 0 && f.Nodes[i-1].ID >= n.ID, at+".id",
			"%d comes after %d; give nodes in the order of their numbers", n.ID, f.Nodes[max(0, i-1)].ID)
		c.refuse(len(n.Machine) > 255, at+".machine",
			"the name has %d bytes; it must have at most 255", len(n.Machine))
		c.whole(at+".slots", int64(n.Slots), 0, slotsMost)
		c.whole(at+".lanes", int64(n.Lanes), 0, slotsMost)
		c.whole(at+".memory", n.Memory, 0, sizeMost)
		c.refuse(n.Works && n.Slots == 0, at+".works", "the node runs tasks and has no slots; give its slots")
		c.refuse(n.Serves && n.Lanes == 0, at+".serves",
			"the node holds partitions and has no lanes; give its lanes")
		c.interval(at+".item_seconds", n.Item, 0, secondsMost, false)
		c.interval(at+".row_seconds", n.Row, 0, secondsMost, false)
		c.interval(at+".others", n.Others, 0, 0.99, false)
		c.interval(at+".in", n.In, 1, amountMost, true)
		c.interval(at+".out", n.Out, 1, amountMost, true)
		seen[n.ID] = true
	}
	c.refuse(!seen[f.Leads], "leads", "node %d is not among the nodes; name one of them", f.Leads)
	pairs := make(map[[2]bellows.NodeID]bool, len(f.Pairs))
	for i := range f.Pairs {
		p, at := &f.Pairs[i], fmt.Sprintf("pairs[%d]", i)
		c.refuse(!seen[p.From], at+".from", "node %d is not among the nodes; name one of them", p.From)
		c.refuse(!seen[p.To] || p.From == p.To, at+".to",
			"node %d is not another of the nodes; name one of them", p.To)
		c.refuse(pairs[[2]bellows.NodeID{p.From, p.To}], at, "the pair is there twice; remove one")
		c.interval(at+".rate", p.Rate, 1, amountMost, true)
		pairs[[2]bellows.NodeID{p.From, p.To}] = true
	}
}

func (f *Figures) checkParts(c *validation) {
	all := 0
	for i, n := range f.Tables {
		c.whole(fmt.Sprintf("tables[%d]", i), int64(n), 1, partsMost)
		if c.err != nil {
			return
		}
		all += n
	}
	c.refuse(all != len(f.Partitions), "tables", "they have %d partitions, and %d are listed; correct one of them",
		all, len(f.Partitions))
	for i := range f.Partitions {
		p, at := &f.Partitions[i], fmt.Sprintf("partitions[%d]", i)
		c.whole(at+".bytes", p.Bytes, 0, sizeMost)
		if p.Near != nil {
			c.whole(at+".near", int64(*p.Near), 0, int64(len(f.Splits)-1))
		}
	}
	for i := range f.Splits {
		c.whole(fmt.Sprintf("splits[%d].bytes", i), f.Splits[i].Bytes, 0, sizeMost)
		c.whole(fmt.Sprintf("splits[%d].moved", i), f.Splits[i].Moved, 0, sizeMost)
	}
}

func (f *Figures) checkTraffic(c *validation) {
	for i := range f.Traffic {
		t, at := &f.Traffic[i], fmt.Sprintf("traffic[%d]", i)
		c.whole(at+".splits", int64(t.Splits), 1, partsMost)
		c.refuse(i > 0 && f.Traffic[i-1].Splits >= t.Splits, at+".splits",
			"%d comes after %d; give points in ascending order", t.Splits, f.Traffic[max(0, i-1)].Splits)
		c.interval(at+".pulled", t.Pulled, 0, amountMost, false)
		c.interval(at+".pushed", t.Pushed, 0, amountMost, false)
		c.interval(at+".rows", t.Rows, 0, amountMost, false)
	}
	c.interval("hidden.pulled", f.Hidden.Pulled, 0, 1, false)
	c.interval("hidden.pushed", f.Hidden.Pushed, 0, 1, false)
	c.interval("hidden.applied", f.Hidden.Applied, 0, 1, false)
	if f.Moved != nil {
		c.interval("moved.byte_seconds", f.Moved.Byte, 0, secondsMost, false)
		c.interval("moved.step_seconds", f.Moved.Step, 0, secondsMost, false)
	}
}
