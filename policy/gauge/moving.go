package gauge

import (
	"slices"
	"time"
)

// movesKept is the number of changes of shape with a kept cost.
const movesKept = 8

// moving measures what changes of shape cost a job: the seconds of their clocks beyond those of the clocks before.
type moving struct {
	open   bool
	over   bool // the change is complete
	change Change
	clock  float64 // seconds of a clock before; 0: unknown
	lost   float64 // seconds beyond that
	costs  [movesKept]costs
	n      int // changes that were measured
}

// costs is a change, and the seconds that it has cost.
type costs struct {
	Change
	seconds float64
}

func (c *moving) begin(m *Meter) {
	if !c.open {
		clock, _ := m.laps.median(m.now.epoch)
		c.open, c.over, c.clock, c.lost = true, false, clock.Value, 0
	}
}

// add adds clocks that do not count.
func (c *moving) add(took time.Duration, clocks int) {
	if c.open {
		c.lost += took.Seconds() - float64(clocks)*c.clock
	}
}

// end ends a change with the first clock that counts again.
func (c *moving) end() {
	if c.open && c.over && c.clock > 0 && c.change.Steps > 0 {
		c.costs[c.n%movesKept] = costs{c.change, max(0, c.lost)}
		c.n++
	}
	c.open = false
}

// void drops a change that a rollback has interrupted.
func (c *moving) void() { c.open = false }

// moved returns what a byte and a step cost, or nil if no change was measured. Nothing tells how much of the cost of a
// change is due to its bytes: half of it is likely, and none or all of it are the bounds.
func (c *moving) moved(rate Interval) *Moved {
	n := min(c.n, movesKept)
	if n == 0 {
		return nil
	}
	var bytes, steps []float64
	for _, d := range c.costs[:n] {
		steps = append(steps, d.seconds/float64(d.Steps))
		if d.Bytes > 0 {
			bytes = append(bytes, d.seconds/float64(d.Bytes))
		}
	}
	slices.Sort(steps)
	half := func(sorted []float64) Interval {
		n := len(sorted)
		mid := (sorted[(n-1)/2] + sorted[n/2]) / 2
		return Interval{mid / 2, 0, sorted[n-1]}
	}
	moved := &Moved{Step: half(steps)}
	if len(bytes) == 0 { // only roles were switched
		moved.Byte = Interval{1 / rate.Value, 0, 1 / rate.Low}
		return moved
	}
	slices.Sort(bytes)
	moved.Byte = half(bytes)
	return moved
}
