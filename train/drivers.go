package train

import (
	"fmt"
	"math"
	"slices"

	"bellows"
)

// Clocks is a driver that runs every split for a number of clocks, each as soon as the split's previous one has been
// committed. The tables' consistency bounds how far splits drift apart.
type Clocks struct {
	Splits, Count int
	// Each is called once for each clock in order, when every split has finished it, with the results in the order of
	// splits. It returns the metrics of the epoch that is then shown, and whether the job continues. If not, every
	// split runs to the furthest clock that has begun, so that none waits for another. If a clock is divided into
	// units, its result is the results of the units in order. Results are valid during the call. nil: no epochs are
	// shown.
	Each    func(clock int, results [][]float64) (metrics []Metric, more bool)
	done    int           // splits that have run all their clocks
	shown   int           // clocks that every split has finished
	end     int           // total number of clocks once Each has ended the job; 0: Count
	visited int64         // number of items
	clocks  []int         // by split: number of clocks finished
	waiting [][][]float64 // by split: the results of clock shown and later ones; the last may lack units
}

// DispatchInitialTasks dispatches the first clock of every split.
func (d *Clocks) DispatchInitialTasks(to *Dispatcher) {
	d.begin()
	for s := range d.Splits {
		to.DispatchTask(bellows.SplitID(s), float64(d.Count))
	}
}

func (d *Clocks) begin() {
	d.clocks, d.waiting = make([]int, d.Splits), make([][][]float64, d.Splits)
}

// limit returns the number of clocks that each split runs.
func (d *Clocks) limit() int {
	if d.end > 0 {
		return d.end
	}
	return d.Count
}

// HandleTaskCompletion dispatches the split's next clock when all units of this one are committed.
func (d *Clocks) HandleTaskCompletion(c Completion, to *Dispatcher) {
	if d.Each != nil {
		d.take(c)
	}
	if !c.Last {
		return
	}
	if d.Each != nil {
		d.clocks[c.Split] = int(c.Clock) + 1
		d.show(c.Split, to)
	}
	if int(c.Clock) < d.limit()-1 {
		to.DispatchTask(c.Split, float64(d.Count))
		return
	}
	if d.done++; d.done == d.Splits {
		to.Finish()
	}
}

// take keeps the result of a task until every split has finished its clock.
func (d *Clocks) take(c Completion) {
	d.visited += int64(c.Items.Len())
	of, at := d.waiting[c.Split], int(c.Clock)-d.shown
	if at == len(of) {
		of = append(of, nil)
	}
	of[at] = append(of[at], c.Result...)
	d.waiting[c.Split] = of
}

// show shows the epochs of the clocks that every split has finished. Split by has just finished a clock and has no task
// dispatched.
func (d *Clocks) show(by bellows.SplitID, to *Dispatcher) {
	for d.shown < slices.Min(d.clocks) {
		results := make([][]float64, d.Splits)
		for s := range results {
			results[s], d.waiting[s] = d.waiting[s][0], d.waiting[s][1:]
		}
		metrics, more := d.Each(d.shown, results)
		d.shown++
		if !more && d.end == 0 {
			for s, n := range d.clocks {
				if bellows.SplitID(s) != by {
					n = min(n+1, d.Count)
				}
				d.end = max(d.end, n)
			}
		}
		to.ShowEpoch(Epoch{Number: d.shown, Expected: d.limit(), Items: d.visited, Metrics: metrics})
	}
}

// Save returns the number of splits that have run all their clocks. With Each, it also returns the clocks shown, the
// clocks at the end and the items; then for each split its clocks, and each waiting result after its length. It does
// not include state of Each.
func (d *Clocks) Save() []float64 {
	state := []float64{float64(d.done)}
	if d.Each == nil {
		return state
	}
	state = append(state, float64(d.shown), float64(d.end), float64(d.visited))
	for s, n := range d.clocks {
		state = append(state, float64(n), float64(len(d.waiting[s])))
		for _, r := range d.waiting[s] {
			state = append(append(state, float64(len(r))), r...)
		}
	}
	return state
}

// Cycle declares each clock an epoch (visits.Cycler).
func (d *Clocks) Cycle() (opens, clocks int) { return 0, 1 }

// Restore restores the numbers of Save.
func (d *Clocks) Restore(state []float64) error {
	if len(state) == 0 || d.Each == nil && len(state) != 1 {
		return otherRun("clocks", "%d numbers", len(state))
	}
	next := func(most int) (n int) {
		if len(state) == 0 || !isCount(state[0]) || state[0] > float64(most) {
			state = nil
			return -1
		}
		n, state = int(state[0]), state[1:]
		return n
	}
	if d.done = next(d.Splits); d.done < 0 {
		return otherRun("clocks", "it has no number of %d splits that are done", d.Splits)
	}
	if d.Each == nil {
		return nil
	}
	d.begin()
	d.shown, d.end, d.visited = next(d.Count), next(d.Count), int64(next(1<<53))
	for s := range d.clocks {
		d.clocks[s] = next(d.Count)
		for range next(d.Count + 1) {
			n := next(len(state))
			if n < 0 || n > len(state) {
				return otherRun("clocks", "a result of split %d is missing", s)
			}
			d.waiting[s] = append(d.waiting[s], slices.Clone(state[:n]))
			state = state[n:]
		}
		if n := len(d.waiting[s]); d.clocks[s] < d.shown || n < d.clocks[s]-d.shown || n > d.clocks[s]-d.shown+1 {
			return otherRun("clocks", "split %d has done %d clocks of %d, and %d results wait", s, d.clocks[s], d.Count,
				n)
		}
	}
	if len(state) > 0 || d.visited < 0 || d.end < 0 || d.Splits > 0 && slices.Min(d.clocks) != d.shown {
		return otherRun("clocks", "%d clocks are shown, and %d numbers are left", d.shown, len(state))
	}
	return nil
}

// otherRun returns the error for numbers that the driver has not saved.
func otherRun(driver, format string, args ...any) error {
	return bellows.Errorf(bellows.BadData, "restore driver", driver, "%s: the state is of another run",
		fmt.Sprintf(format, args...))
}

// isCount reports whether a saved number counts something.
func isCount(x float64) bool { return x >= 0 && x <= 1<<53 && x == math.Trunc(x) }

// Rounds is a driver that runs all splits one clock at a time: the next round begins when every split has finished the
// previous one.
type Rounds struct {
	Splits int
	// Each gets the results of a round in the order of splits, whatever order they arrived in, and returns whether
	// there is another round. The result of a split whose clock is divided is the concatenation of its units' results.
	// The results are valid during the call.
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

// Cycle declares each clock an epoch (visits.Cycler).
func (d *Rounds) Cycle() (opens, clocks int) { return 0, 1 }

// Save returns the number of rounds done and, in the middle of a round, its results so far: for each split the length
// of its result and the result. The length is -1 if there is no result yet, and -1 less the number of values that
// follow if only some units have arrived. State of Each is not included.
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

// Restore restores the numbers of Save.
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
