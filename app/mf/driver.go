package mf

import (
	"bellows"
	"bellows/train"
)

// driver dispatches the tasks of an epoch as their turns come, then the scoring clock, then asks
// the course whether to go on.
//
// Invariant: sent[k]-1 <= done[k] <= sent[k] under strata; no task is out while an epoch closes.
// Results are stored by (split, clock) and added up in that order, so that sums do not depend on
// the order of completions.
type driver struct {
	course
	sent, done []int     // by split: clocks of this epoch dispatched, and completed
	trained    []float64 // by (split, clock): squared errors of the visits
	held       []float64 // by split
	tested     []float64
	left       int // tasks of the phase still to complete: visits, or scoring
}

func newDriver(p *plan) *driver {
	return &driver{course: newCourse(p), sent: make([]int, p.splits), done: make([]int, p.splits),
		trained: make([]float64, p.splits*p.clocks), held: make([]float64, p.splits), tested: make([]float64, p.splits)}
}

// dispatcher is what the driver asks of the controller.
type dispatcher interface {
	DispatchTask(split bellows.SplitID, args ...float64)
	Report(train.Epoch)
	Keep()
	Finish()
}

// DispatchInitialTasks begins the first epoch.
func (v *driver) DispatchInitialTasks(d *train.Dispatcher) { v.begin(d) }

// HandleTaskCompletion stores a result and dispatches what it makes ready.
func (v *driver) HandleTaskCompletion(c train.Completion, d *train.Dispatcher) { v.complete(c, d) }

// begin starts an epoch.
func (v *driver) begin(d dispatcher) {
	clear(v.sent)
	clear(v.done)
	v.left = v.plan.splits * v.plan.clocks
	for k := range v.sent {
		v.release(k, d)
	}
}

// release dispatches what split k may do next.
func (v *driver) release(k int, d dispatcher) {
	for v.ready(k) {
		v.sent[k]++
		d.DispatchTask(bellows.SplitID(k), v.order[:]...)
	}
}

// ready says whether split k's next clock may go. Under strata two tasks must be done: the split's
// own before it, and that of the split which holds the part of the items before. Under SSP the
// gate of the table holds tasks back, so all clocks of an epoch may queue.
func (v *driver) ready(k int) bool {
	next := v.sent[k]
	if next == v.plan.clocks {
		return false
	}
	if v.plan.schedule == ssp {
		return true
	}
	holder, clocks := v.plan.rotation().before(k)
	return v.done[k] == next && v.done[holder] > next-clocks
}

func (v *driver) complete(c train.Completion, d dispatcher) {
	k, phase := int(c.Split), v.plan.phase(c.Clock)
	v.left--
	if phase == v.plan.clocks {
		v.held[k], v.tested[k] = c.Result[0], c.Result[1]
		if v.left == 0 {
			v.end(d)
		}
		return
	}
	v.trained[k*v.plan.clocks+phase] = c.Result[0]
	v.done[k]++
	if v.left == 0 {
		v.scoreAll(d)
		return
	}
	v.release(k, d)
	v.release(v.plan.rotation().after(k), d)
}

func (v *driver) scoreAll(d dispatcher) {
	v.left = v.plan.splits
	for k := range v.plan.splits {
		d.DispatchTask(bellows.SplitID(k))
	}
}

// end closes an epoch and begins the next, if there is one.
func (v *driver) end(d dispatcher) {
	if v.close(total(v.trained), total(v.held), total(v.tested), d) {
		v.begin(d)
		return
	}
	d.Finish()
}

func total(values []float64) float64 {
	var sum float64
	for _, x := range values {
		sum += x
	}
	return sum
}

// Save is the course, then the epoch's progress and results.
func (v *driver) Save() []float64 {
	s := append(v.save(), float64(v.left))
	for k := range v.sent {
		s = append(s, float64(v.sent[k]), float64(v.done[k]))
	}
	s = append(s, v.trained...)
	s = append(s, v.held...)
	return append(s, v.tested...)
}

// Restore takes what Save gave for the same plan.
func (v *driver) Restore(s []float64) error {
	n := len(v.sent)
	if want := courseNumbers + 1 + 4*n + len(v.trained); len(s) != want {
		return bellows.Errorf(bellows.BadData, "restore", "mf driver", "%d numbers, want %d: the state is of another run", len(s), want)
	}
	v.restore(s)
	v.left = int(s[courseNumbers])
	s = s[courseNumbers+1:]
	for k := range v.sent {
		v.sent[k], v.done[k] = int(s[2*k]), int(s[2*k+1])
	}
	s = s[2*n:]
	s = s[copy(v.trained, s):]
	s = s[copy(v.held, s):]
	copy(v.tested, s)
	return nil
}
