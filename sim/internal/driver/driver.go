// Package driver has the drivers of simulated jobs: each dispatches the clocks of all splits once, in a random order,
// and checks the completions. The schedule decides the order.
//
// Give a Driver to the controller of each attempt of a job. Some orders are its own; for others train.Clocks and
// train.Rounds dispatch, the drivers that applications use, and it observes. The package refuses to know what tasks do.
package driver

import (
	"fmt"
	"slices"

	"bellows"
	"bellows/core/coord"
	"bellows/sim/internal/model"
	"bellows/sim/internal/schedule"
	"bellows/table"
	"bellows/train"
)

// Driver dispatches a job's clocks and checks completions.
type Driver struct {
	*schedule.Schedule
	oracle   *model.Oracle
	violated func(string, ...any)
	inner    coord.Driver                   // dispatches; nil: this one does
	next     [model.SplitsMax]bellows.Clock // dispatched
	done     [model.SplitsMax]model.Step    // units committed

	Tasks    int                  // clocks of splits, each of one task or several
	Before   int                  // of these, in earlier attempts of the job
	Kept     bellows.CommitNumber // what the tables that it keeps show; 0: it keeps none
	Turned   bool                 // it has changed a table's staleness
	Finished bool                 // it has said that it is finished
	Ahead    int                  // the most clocks of a split that were dispatched and not committed
	epochs   int                  // clocks that all splits have committed
}

// New returns the driver of an attempt of a job (a life).
func New(s *schedule.Schedule, o *model.Oracle, violated func(string, ...any)) *Driver {
	d := &Driver{Schedule: s, oracle: o, violated: violated}
	switch s.Drive {
	case "clocks":
		d.inner = &train.Clocks{Splits: s.Job.Splits, Count: s.Job.Clocks}
	case "rounds":
		d.inner = &train.Rounds{Splits: s.Job.Splits, Each: d.round}
	}
	return d
}

// Follow copies what Save omits, the state of the checks, from the driver of the previous controller of the same life.
func (d *Driver) Follow(o *Driver) {
	d.Before, d.Kept, d.Turned, d.Ahead = o.Before, o.Kept, o.Turned, o.Ahead
}

// clocks returns how many clocks of a split are committed.
func (d *Driver) clocks(s bellows.SplitID) bellows.Clock { return d.Job.ClocksIn(int(s), d.done[s]) }

// Handed returns how many clocks of a split were handed out.
func (d *Driver) Handed(s bellows.SplitID) bellows.Clock { return d.next[s] }

// Args returns what the tasks of a split's clock are given.
func (d *Driver) Args(u bellows.Unit) []float64 {
	switch d.Drive {
	case "clocks":
		return []float64{float64(d.Job.Clocks)}
	case "rounds":
		return nil
	}
	return []float64{float64(u.Split), float64(u.Clock)}
}

// DispatchInitialTasks hands out the first clocks of every split.
func (d *Driver) DispatchInitialTasks(to *coord.Dispatcher) {
	if d.inner != nil {
		d.inner.DispatchInitialTasks(to)
		d.expectAll(0)
		return
	}
	for range d.Schedule.Ahead {
		d.dispatchAll(0, to)
	}
}

func (d *Driver) dispatchAll(known bellows.CommitNumber, to *coord.Dispatcher) {
	for s := range d.Job.Splits {
		d.dispatch(bellows.SplitID(s), known, to)
	}
}

// dispatch hands out a split's next clock, which must see every commit up to known.
func (d *Driver) dispatch(s bellows.SplitID, known bellows.CommitNumber, to *coord.Dispatcher) {
	if int(d.next[s]) < d.Job.Clocks {
		to.DispatchTask(s, d.Args(bellows.Unit{Split: s, Clock: d.next[s]})...)
		d.expect(s, known)
	}
}

// expect notes that a split's next clock has been handed out.
func (d *Driver) expect(s bellows.SplitID, known bellows.CommitNumber) {
	if int(d.next[s]) < d.Job.Clocks {
		d.oracle.Dispatched[s][d.next[s]] = known
		d.next[s]++
		d.Ahead = max(d.Ahead, int(d.next[s]-d.clocks(s)))
	}
}

func (d *Driver) expectAll(known bellows.CommitNumber) {
	for s := range d.Job.Splits {
		d.expect(bellows.SplitID(s), known)
	}
}

// HandleTaskCompletion checks what a task has signalled, and hands out what follows.
func (d *Driver) HandleTaskCompletion(c coord.Completion, to *coord.Dispatcher) {
	if step, fits := d.Job.Step(c.Unit); !fits || step != d.done[c.Split] {
		d.violated("P1: the driver receives %v; the split has committed %d units", c.Unit, d.done[c.Split])
	}
	if want := d.Job.Result(c.Unit); !slices.Equal(c.Result, want[:]) {
		d.violated("P1: %v signalled %v; the driver receives %v", c.Unit, want, c.Result)
	}
	d.done[c.Split]++
	if last := d.clocks(c.Split) > c.Clock; c.Last != last {
		d.violated("P1: the driver receives %v, the last of its clock: %v", c.Unit, c.Last)
	}
	if c.Last {
		d.clockDone(c, to)
	} else if d.inner != nil {
		d.inner.HandleTaskCompletion(c, to)
	}
}

// clockDone hands out what follows a clock of a split.
func (d *Driver) clockDone(c coord.Completion, to *coord.Dispatcher) {
	d.Tasks++
	if n := d.slowest(); n > d.epochs {
		d.epochs = n
		to.ShowEpoch(coord.Epoch{Number: n})
	}
	d.Finished = d.Tasks == d.Job.Splits*d.Job.Clocks
	round := d.Tasks%d.Job.Splits == 0
	if round && (d.Drive == "strata" || d.Drive == "rounds") {
		d.between(c, to)
	}
	switch {
	case d.Drive == "clocks":
		d.inner.HandleTaskCompletion(c, to)
		d.expect(c.Split, c.Commit)
	case d.Drive == "rounds":
		d.inner.HandleTaskCompletion(c, to)
		if round {
			d.expectAll(c.Commit)
		}
	case d.Drive != "strata":
		d.dispatch(c.Split, c.Commit, to)
	case round:
		d.dispatchAll(c.Commit, to)
	}
	if d.Finished && d.inner == nil {
		to.Finish()
	}
}

// round checks the results of a round of train.Rounds, which must be in the order of splits, and reports whether
// another follows.
func (d *Driver) round(n int, results [][]float64, _ *coord.Dispatcher) bool {
	for s := range results {
		if want := d.Job.Results(bellows.SplitID(s), bellows.Clock(n)); !slices.Equal(results[s], want) {
			d.violated("P7: round %d has %v for split %d, which signalled %v", n, results[s], s, want)
		}
	}
	return n+1 < d.Job.Clocks
}

// between takes the actions that a driver may take only while no task is out.
func (d *Driver) between(c coord.Completion, to *coord.Dispatcher) {
	if c.Clock >= d.KeepFrom {
		d.Kept = c.Commit
		to.Keep()
	}
	if c.Clock == d.TurnAt {
		d.Turned = true
		to.SetStaleness(model.Counts, d.TurnTo)
		if d.TurnTo == table.BSP {
			d.oracle.Barrier, d.oracle.BarrierFrom = true, c.Commit
		}
	}
}

// slowest returns how many clocks all splits have committed.
func (d *Driver) slowest() int {
	least := d.Job.Clocks
	for s := range d.Job.Splits {
		least = min(least, int(d.clocks(bellows.SplitID(s))))
	}
	return least
}

// Save returns the driver's progress: the units dispatched and committed of each split, and then the state of the inner
// driver.
func (d *Driver) Save() []float64 {
	var state []float64
	for s := range d.Job.Splits {
		state = append(state, float64(d.next[s]), float64(d.done[s]))
	}
	if d.inner != nil {
		state = append(state, d.inner.Save()...)
	}
	return state
}

// Restore continues from a saved state. The controller remembers tasks that were dispatched and did not begin.
func (d *Driver) Restore(state []float64) error {
	own := 2 * d.Job.Splits
	if len(state) < own || d.inner == nil && len(state) > own {
		return fmt.Errorf("driver: the saved driver has %d numbers, not %d", len(state), own)
	}
	for s := range d.Job.Splits {
		d.next[s], d.done[s] = bellows.Clock(state[2*s]), model.Step(state[2*s+1])
		d.Tasks += int(d.clocks(bellows.SplitID(s)))
	}
	d.Before = d.Tasks
	d.epochs = d.slowest()
	if d.inner == nil {
		return nil
	}
	return d.inner.Restore(state[own:])
}

// Shown checks the epochs that a job reports to its user: each once and in order. An epoch may be missing if not all
// messages of its step were sent.
type Shown struct {
	last  int
	lost  bool
	again bool // epochs up to last may be shown again, which no node learns
}

// Shown returns the epochs that a job has shown before it continues where the driver is.
func (d *Driver) Shown() Shown { return Shown{last: d.epochs} }

// Lost notes that n epochs may never be shown.
func (s *Shown) Lost(n int) { s.lost = s.lost || n > 0 }

// Again notes that another process leads. It replays epochs that may have been shown already, and does not show those
// again.
func (s *Shown) Again() { s.again = true }

// See checks and notes an epoch that is shown.
func (s *Shown) See(n int) error {
	if s.again && n <= s.last {
		return nil
	}
	if n <= s.last || n > s.last+1 && !s.lost {
		return fmt.Errorf("epoch %d is shown after epoch %d", n, s.last)
	}
	s.last = n
	return nil
}
