package claim

import (
	"slices"

	"bellows"
	"bellows/core"
	"bellows/core/planted"
	"bellows/link/wire"
)

// Queue is a node's end: what it was given to run, what of that it has begun, and what it has run.
//
// Units of a split run in the order in which they were dispatched, one at a time. Where the job divides clocks, the
// units of a clock are dispatched together. A unit may be dispatched twice, since another controller dispatches again
// whatever has no number. It is run once: its flush, which has left or will leave, counts for any controller.
//
// Invariants, and what holds them:
//
//   - A unit runs once, however often it is dispatched: TestAUnitIsQueuedOnce.
//   - A split runs one unit at a time, in the order of their dispatch: TestUnitsRunInTheOrderOfDispatch.
//   - What is given back was not begun, nor was another unit of its clock. It may be dispatched here again:
//     TestGiveBack.
type Queue struct {
	job     *core.Job
	self    bellows.NodeID
	splits  []*work // by split; nil: another node runs it
	running int     // units that run
}

// work is one split's place in the queue.
type work struct {
	clock   bellows.Clock   // of the last unit that was dispatched
	units   []bellows.Range // the units of that clock that were
	current bellows.Unit    // that runs, or ran last
	running bool
	queue   list
}

// NewQueue returns the empty queue of a node that runs no split.
func NewQueue(job *core.Job, self bellows.NodeID) *Queue {
	return &Queue{job: job, self: self, splits: make([]*work, job.Route.Splits())}
}

// Join makes a place for a split that the node runs from now on.
func (q *Queue) Join(s bellows.SplitID) { q.splits[s] = &work{} }

// Leave forgets a split that another node runs from now on.
func (q *Queue) Leave(s bellows.SplitID) { q.splits[s] = nil }

// Contains reports whether the node runs a split.
func (q *Queue) Contains(s bellows.SplitID) bool { return int(s) < len(q.splits) && q.splits[s] != nil }

// Busy reports whether a unit of a split runs or waits.
func (q *Queue) Busy(s bellows.SplitID) bool {
	return q.splits[s].running || len(q.splits[s].queue) > 0
}

// Runs reports whether a unit of a split runs.
func (q *Queue) Runs(s bellows.SplitID) bool { return q.Contains(s) && q.splits[s].running }

// Running returns how many units run.
func (q *Queue) Running() int { return q.running }

// Add queues a unit of a split that the node runs, and reports whether it was not dispatched before.
func (q *Queue) Add(t *wire.Task, commit bellows.CommitNumber) bool {
	w := q.splits[t.Unit.Split]
	if !w.first(&t.Unit) && !planted.On("unit-run-twice") {
		return false
	}
	w.queue.add(t.Unit, t.Args, commit, q.self)
	return true
}

// first takes note of a unit, and reports whether it was not dispatched before. The units of a split come in the order
// of clocks, so that only the last clock has to be remembered.
func (w *work) first(u *bellows.Unit) bool {
	switch {
	case u.Clock < w.clock:
		return false
	case u.Clock > w.clock:
		w.clock, w.units = u.Clock, w.units[:0]
	case slices.Contains(w.units, u.Items), len(w.units) > 0 && planted.On("second-unit-ignored"):
		return false
	}
	w.units = append(w.units, u.Items)
	return true
}

// Ready reports whether a unit of a split waits, and none runs.
func (q *Queue) Ready(s bellows.SplitID) bool {
	w := q.splits[s]
	return w != nil && !w.running && len(w.queue) > 0
}

// Begin removes the oldest unit of a split that is Ready from the queue, and returns it: it runs now. Its arguments are
// valid until the next Add.
func (q *Queue) Begin(s bellows.SplitID) Claim {
	w := q.splits[s]
	c := w.queue.remove(0)
	w.current, w.running = c.Unit, true
	q.running++
	return c
}

// End takes note that the running unit of a split has run.
func (q *Queue) End(s bellows.SplitID) {
	q.splits[s].running = false
	q.running--
}

// GiveBack removes what is not begun of a split that is to move. It keeps all units of a clock if one of them was
// begun. The others may be dispatched here again, by another controller or because the split stays. It returns the
// clocks of the removed units, one for each unit, and the last clock that the node keeps.
func (q *Queue) GiveBack(s bellows.SplitID) (removed []bellows.Clock, kept bellows.Clock) {
	w := q.splits[s]
	kept = w.begun(q.job)
	rest := w.queue[:0]
	for i := range w.queue {
		if c := &w.queue[i]; c.Unit.Clock <= kept {
			rest = append(rest, *c)
		} else {
			removed = append(removed, c.Unit.Clock)
		}
	}
	if len(removed) > 0 {
		clear(w.queue[len(rest):]) // those that are left have the memory of their arguments
		w.queue = rest
		w.clock, w.units = kept, unitsOf(q.job, s, kept, w.units[:0])
	}
	return removed, kept
}

// begun returns the last clock that was begun, of those that were dispatched here.
func (w *work) begun(job *core.Job) bellows.Clock {
	switch {
	case len(w.queue) == 0:
		return w.clock
	case w.running:
		return w.current.Clock
	}
	next := &w.queue[0].Unit
	if next.Items.Begin > job.Items(next.Split, next.Clock).Begin {
		return next.Clock
	}
	return next.Clock - 1
}

// unitsOf appends the units of a clock of a split, which are dispatched together.
func unitsOf(job *core.Job, s bellows.SplitID, clock bellows.Clock, to []bellows.Range) []bellows.Range {
	if clock == bellows.NoClock {
		return to
	}
	all, n := job.Items(s, clock), job.UnitsOf(s, clock)
	for i := range n {
		to = append(to, all.Part(i, n))
	}
	return to
}
