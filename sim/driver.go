package sim

import (
	"fmt"

	"bellows"
	"bellows/coord"
	"bellows/sim/internal/model"
	"bellows/sim/internal/schedule"
	"bellows/table"
)

// driver dispatches every split's clocks once, and checks what it is told.
type driver struct {
	*schedule.Schedule
	oracle   *model.Oracle
	violated func(string, ...any)
	happened *[events]bool
	next     [model.SplitsMax]bellows.Clock
	done     [model.SplitsMax]bellows.Clock // clocks committed
	finished int                            // tasks
	before   int                            // of these, in earlier lives of the job
	kept     bellows.CommitNumber           // 0: none
	finish   bool
}

func (d *driver) DispatchInitialTasks(to *coord.Dispatcher) {
	for range d.Ahead {
		for s := range d.Job.Splits {
			d.dispatch(bellows.SplitID(s), 0, to)
		}
	}
}

// dispatch hands out a split's next clock, which must see every commit up to known.
func (d *driver) dispatch(s bellows.SplitID, known bellows.CommitNumber, to *coord.Dispatcher) {
	if int(d.next[s]) < d.Job.Clocks {
		d.oracle.Dispatched[s][d.next[s]] = known
		to.DispatchTask(s, float64(s), float64(d.next[s]))
		d.next[s]++
	}
}

func (d *driver) HandleTaskCompletion(c coord.Completion, to *coord.Dispatcher) {
	if c.Clock != d.done[c.Split] {
		d.violated("P1: the driver is told of %v; the split's next is clock %d", c.Unit, d.done[c.Split])
	}
	if want := d.Job.Result(c.Split, c.Clock); len(c.Result) != 2 || [2]float64(c.Result) != want {
		d.violated("P1: %v signalled %v; the driver is told %v", c.Unit, want, c.Result)
	}
	d.done[c.Split]++
	d.finished++
	switch {
	case d.Drive != schedule.Strata:
		d.dispatch(c.Split, c.Commit, to)
	case d.finished%d.Job.Splits == 0:
		d.betweenStrata(c, to)
		for s := range d.Job.Splits {
			d.dispatch(bellows.SplitID(s), c.Commit, to)
		}
	}
	if d.finished == d.Job.Splits*d.Job.Clocks {
		d.finish = true
		to.Finish()
	}
}

// betweenStrata does what a driver may do only while no task is out.
func (d *driver) betweenStrata(c coord.Completion, to *coord.Dispatcher) {
	if c.Clock >= d.KeepFrom {
		d.kept = c.Commit
		to.Keep()
	}
	if c.Clock == d.TurnAt {
		d.happened[stalenessTurned] = true
		to.SetStaleness(model.Counts, d.TurnTo)
		if d.TurnTo == table.BSP {
			d.oracle.Barrier, d.oracle.BarrierFrom = true, c.Commit
		}
	}
}

// Save is how far the driver is: what it has dispatched and what has been committed, split by split.
func (d *driver) Save() []float64 {
	var state []float64
	for s := range d.Job.Splits {
		state = append(state, float64(d.next[s]), float64(d.done[s]))
	}
	return state
}

// Restore goes on from there. Tasks that were dispatched and did not begin are the controller's to remember.
func (d *driver) Restore(state []float64) error {
	if len(state) != 2*d.Job.Splits {
		return fmt.Errorf("sim: the saved driver has %d numbers, not %d", len(state), 2*d.Job.Splits)
	}
	for s := range d.Job.Splits {
		d.next[s], d.done[s] = bellows.Clock(state[2*s]), bellows.Clock(state[2*s+1])
		d.finished += int(d.done[s])
	}
	d.before = d.finished
	return nil
}
