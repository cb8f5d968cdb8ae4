// Package driver dispatches the clocks of the simulation's jobs, in one of three ways, and sees that it is told of every
// task once, in order and with its result (P1). The caller gives a Schedule and an Oracle before the job begins.
package driver

import (
	"fmt"

	"bellows"
	"bellows/coord"
	"bellows/sim/internal/model"
	"bellows/sim/internal/schedule"
	"bellows/table"
)

// Driver dispatches every split's clocks once, and checks what it is told. It can be saved after every record.
type Driver struct {
	*schedule.Schedule
	Oracle   *model.Oracle
	Violated func(string, ...any)
	Turned   func()               // is called when it changes a staleness
	Tasks    int                  // committed
	Before   int                  // of these, in earlier lives of the job
	Kept     bellows.CommitNumber // 0: none
	Finished bool
	next     [model.SplitsMax]bellows.Clock
	done     [model.SplitsMax]bellows.Clock // clocks committed
}

// DispatchInitialTasks implements coord.Driver.
func (d *Driver) DispatchInitialTasks(to *coord.Dispatcher) {
	for range d.Ahead {
		for s := range d.Job.Splits {
			d.dispatch(bellows.SplitID(s), 0, to)
		}
	}
}

// dispatch hands out a split's next clock, which must see every commit up to known.
func (d *Driver) dispatch(s bellows.SplitID, known bellows.CommitNumber, to *coord.Dispatcher) {
	if int(d.next[s]) < d.Job.Clocks {
		d.Oracle.Dispatched[s][d.next[s]] = known
		to.DispatchTask(s, float64(s), float64(d.next[s]))
		d.next[s]++
	}
}

// HandleTaskCompletion implements coord.Driver.
func (d *Driver) HandleTaskCompletion(c coord.Completion, to *coord.Dispatcher) {
	if c.Clock != d.done[c.Split] {
		d.Violated("P1: the driver is told of %v; the split's next is clock %d", c.Unit, d.done[c.Split])
	}
	if want := d.Job.Result(c.Split, c.Clock); len(c.Result) != 2 || [2]float64(c.Result) != want {
		d.Violated("P1: %v signalled %v; the driver is told %v", c.Unit, want, c.Result)
	}
	d.done[c.Split]++
	d.Tasks++
	switch {
	case d.Drive != schedule.Strata:
		d.dispatch(c.Split, c.Commit, to)
	case d.Tasks%d.Job.Splits == 0:
		d.betweenStrata(c, to)
		for s := range d.Job.Splits {
			d.dispatch(bellows.SplitID(s), c.Commit, to)
		}
	}
	if d.Tasks == d.Job.Splits*d.Job.Clocks {
		d.Finished = true
		to.Finish()
	}
}

// betweenStrata does what a driver may do only while no task is out.
func (d *Driver) betweenStrata(c coord.Completion, to *coord.Dispatcher) {
	if c.Clock >= d.KeepFrom {
		d.Kept = c.Commit
		to.Keep()
	}
	if c.Clock == d.TurnAt {
		d.Turned()
		to.SetStaleness(model.Counts, d.TurnTo)
		if d.TurnTo == table.BSP {
			d.Oracle.Barrier, d.Oracle.BarrierFrom = true, c.Commit
		}
	}
}

// Save is how far the driver is: what it has dispatched and what has been committed, split by split.
func (d *Driver) Save() []float64 {
	var state []float64
	for s := range d.Job.Splits {
		state = append(state, float64(d.next[s]), float64(d.done[s]))
	}
	return state
}

// Restore goes on from there. Tasks that were dispatched and did not begin are the controller's to remember.
func (d *Driver) Restore(state []float64) error {
	if len(state) != 2*d.Job.Splits {
		return fmt.Errorf("sim: the saved driver has %d numbers, not %d", len(state), 2*d.Job.Splits)
	}
	for s := range d.Job.Splits {
		d.next[s], d.done[s] = bellows.Clock(state[2*s]), bellows.Clock(state[2*s+1])
		d.Tasks += int(d.done[s])
	}
	d.Before = d.Tasks
	return nil
}
