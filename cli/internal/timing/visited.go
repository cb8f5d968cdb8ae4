package timing

import (
	"sync/atomic"

	"bellows/core/visits"
	"bellows/progress"
	"bellows/train"
)

// Driver tells a meter how many items the tasks of a job have visited.
type Driver struct {
	train.Driver
	meter   *progress.Meter
	visited int64        // by this process's tasks; of the controller's step
	first   atomic.Int64 // how many of them before the first task that scored, -1: none yet
}

// NewDriver returns a driver around that of an application, which it does not change. A job that is rolled back needs
// another.
func NewDriver(d train.Driver, m *progress.Meter) *Driver {
	c := &Driver{Driver: d, meter: m}
	c.first.Store(-1)
	return c
}

// First returns how many items were visited before the first task that scored; -1: none yet.
func (d *Driver) First() int64 { return d.first.Load() }

// Cycle returns what the application's driver states of its clocks (visits.Cycler); zeros if it states nothing.
func (d *Driver) Cycle() (opens, clocks int) {
	if c, ok := d.Driver.(visits.Cycler); ok {
		return c.Cycle()
	}
	return 0, 0
}

// HandleTaskCompletion implements train.Driver.
func (d *Driver) HandleTaskCompletion(c train.Completion, to *train.Dispatcher) {
	if n := int64(c.Items.Len()); n > 0 {
		d.visited += n
		_ = d.meter.Add(n) // the job ends with the same context
	} else if d.first.Load() < 0 {
		d.first.Store(d.visited)
	}
	d.Driver.HandleTaskCompletion(c, to)
}
