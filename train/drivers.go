package train

import (
	"fmt"
	"math"
	"slices"

	"bellows"
)

// Clocks is a driver that runs every split for a number of clocks, each as soon as its own last one
// has been committed; how far apart they drift is for the tables' consistency to bound.
type Clocks struct {
	Splits, Count int
	done          int
}

// DispatchInitialTasks dispatches the first clock of every split.
func (d *Clocks) DispatchInitialTasks(to *Dispatcher) {
	for s := range d.Splits {
		to.DispatchTask(bellows.SplitID(s), float64(d.Count))
	}
}

// HandleTaskCompletion dispatches the split's next clock, when all units of this one are committed.
func (d *Clocks) HandleTaskCompletion(c Completion, to *Dispatcher) {
	if !c.Last {
		return
	}
	if int(c.Clock) < d.Count-1 {
		to.DispatchTask(c.Split, float64(d.Count))
		return
	}
	if d.done++; d.done == d.Splits {
		to.Finish()
	}
}

// Save is the number of splits that have run all their clocks.
func (d *Clocks) Save() []float64 { return []float64{float64(d.done)} }

// Cycle says that each clock is an epoch (visits.Cycler).
func (d *Clocks) Cycle() (opens, clocks int) { return 0, 1 }

// Restore is Save's way back.
func (d *Clocks) Restore(state []float64) error {
	if len(state) != 1 {
		return otherRun("clocks", "%d numbers", len(state))
	}
	if !isCount(state[0]) || state[0] > float64(d.Splits) {
		return otherRun("clocks", "%v of %d splits are done", state[0], d.Splits)
	}
	d.done = int(state[0])
	return nil
}

// otherRun is the error of a driver that is given numbers which it has not saved.
func otherRun(driver, format string, args ...any) error {
	return bellows.Errorf(bellows.BadData, "restore driver", driver, "%s: the state is of another run", fmt.Sprintf(format, args...))
}

// isCount reports whether a saved number counts something.
func isCount(x float64) bool { return x >= 0 && x <= 1<<53 && x == math.Trunc(x) }

// Rounds is a driver that runs all splits a clock at a time: the next round begins when every split
// has finished the one before.
type Rounds struct {
	Splits int
	// Each is told the results of a round in the order of splits, whatever order they came in, and
	// says whether there is another round. The result of a split whose clock is divided is that of its
	// units, one behind the other. The results are valid during the call.
	Each    func(round int, results [][]float64, to *Dispatcher) bool
	results [][]float64
	came    []bool // of this round, with all units
	round   int
	done    int
}

// DispatchInitialTasks dispatches the first round.
func (d *Rounds) DispatchInitialTasks(to *Dispatcher) {
	d.begin()
	d.dispatch(to)
}

// begin makes room for a round's results.
func (d *Rounds) begin() {
	d.results, d.came, d.done = make([][]float64, d.Splits), make([]bool, d.Splits), 0
}

// dispatch dispatches a round.
func (d *Rounds) dispatch(to *Dispatcher) {
	for s := range d.Splits {
		to.DispatchTask(bellows.SplitID(s))
	}
}

// HandleTaskCompletion waits for a round's last result.
func (d *Rounds) HandleTaskCompletion(c Completion, to *Dispatcher) {
	d.results[c.Split] = append(d.results[c.Split], c.Result...)
	if d.came[c.Split] = c.Last; !c.Last {
		return
	}
	if d.done++; d.done < d.Splits {
		return
	}
	d.done = 0
	clear(d.came)
	d.round++
	more := d.Each(d.round-1, d.results, to)
	for s := range d.results {
		d.results[s] = d.results[s][:0]
	}
	if more {
		d.dispatch(to)
		return
	}
	to.Finish()
}

// Cycle says that each round is an epoch (visits.Cycler).
func (d *Rounds) Cycle() (opens, clocks int) { return 0, 1 }

// Save is the number of rounds done and, in the middle of one, what has come of it: split after
// split the length of its result and the result; -1 where none has come, and as much less as
// numbers follow where some units have. What Each remembers of its own is not in it.
func (d *Rounds) Save() []float64 {
	state := []float64{float64(d.round)}
	if d.done == 0 && !slices.ContainsFunc(d.results, func(r []float64) bool { return len(r) > 0 }) {
		return state
	}
	for s, r := range d.results {
		n := float64(len(r))
		if !d.came[s] {
			n = -1 - n
		}
		state = append(append(state, n), r...)
	}
	return state
}

// Restore is Save's way back.
func (d *Rounds) Restore(state []float64) error {
	if len(state) == 0 || !isCount(state[0]) {
		return otherRun("rounds", "%v are no rounds", state)
	}
	d.begin()
	d.round = int(state[0])
	state = state[1:]
	if len(state) == 0 { // between two rounds
		return nil
	}
	some := false
	for s := range d.results {
		if len(state) == 0 {
			return otherRun("rounds", "no result for split %d of %d", s, d.Splits)
		}
		n := state[0]
		state = state[1:]
		came := !(n < 0)
		if !came {
			n = -1 - n
		}
		if !isCount(n) || n > float64(len(state)) {
			return otherRun("rounds", "a result of %v numbers for split %d", n, s)
		}
		d.results[s], d.came[s] = slices.Clone(state[:int(n)]), came
		some = some || came || n > 0
		if came {
			d.done++
		}
		state = state[int(n):]
	}
	if len(state) > 0 || !some || d.done == d.Splits {
		return otherRun("rounds", "results of %d of %d splits, and %d numbers more", d.done, d.Splits, len(state))
	}
	return nil
}
