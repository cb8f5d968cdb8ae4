package train

import (
	"fmt"

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

// HandleTaskCompletion dispatches the split's next clock.
func (d *Clocks) HandleTaskCompletion(c Completion, to *Dispatcher) {
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

// Restore is Save's way back.
func (d *Clocks) Restore(state []float64) error {
	if len(state) != 1 {
		return fmt.Errorf("train: %d numbers of state, not 1", len(state))
	}
	d.done = int(state[0])
	return nil
}

// Rounds is a driver that runs all splits a clock at a time: the next round begins when every split
// has finished the one before.
type Rounds struct {
	Splits int
	// Each is told the results of a round in the order of splits, whatever order they came in, and
	// says whether there is another round. The results are valid during the call.
	Each    func(round int, results [][]float64, to *Dispatcher) bool
	results [][]float64
	round   int
	done    int
}

// DispatchInitialTasks dispatches the first round.
func (d *Rounds) DispatchInitialTasks(to *Dispatcher) {
	d.results = make([][]float64, d.Splits)
	d.dispatch(to)
}

func (d *Rounds) dispatch(to *Dispatcher) {
	for s := range d.Splits {
		to.DispatchTask(bellows.SplitID(s))
	}
}

// HandleTaskCompletion waits for a round's last result.
func (d *Rounds) HandleTaskCompletion(c Completion, to *Dispatcher) {
	d.results[c.Split] = append(d.results[c.Split][:0], c.Result...)
	if d.done++; d.done < d.Splits {
		return
	}
	d.done = 0
	d.round++
	if d.Each(d.round-1, d.results, to) {
		d.dispatch(to)
		return
	}
	to.Finish()
}

// Save is the number of rounds done. A run is saved between rounds.
func (d *Rounds) Save() []float64 { return []float64{float64(d.round)} }

// Restore is Save's way back.
func (d *Rounds) Restore(state []float64) error {
	if len(state) != 1 {
		return fmt.Errorf("train: %d numbers of state, not 1", len(state))
	}
	d.round, d.results = int(state[0]), make([][]float64, d.Splits)
	return nil
}
