package claim_test

import (
	"slices"
	"testing"

	"bellows"
	"bellows/core/claim"
	"bellows/link/wire"
)

// queue is a Queue of node 1, which runs split 0.
type queue struct {
	*claim.Queue
	t *testing.T
}

func newQueue(t *testing.T) queue {
	job := jobOf()
	q := queue{claim.NewQueue(&job, 1), t}
	if q.Contains(0) || q.Runs(0) || q.Ready(0) || q.Running() != 0 {
		t.Error("a new queue has a split")
	}
	q.Join(0)
	return q
}

// add queues units, and compares which of them are new.
func (q queue) add(want bool, units ...bellows.Unit) {
	q.t.Helper()
	for _, u := range units {
		if q.Add(&wire.Task{Unit: u, Args: []float64{float64(u.Clock)}}, bellows.CommitNumber(u.Clock)+5) != want {
			q.t.Errorf("%v: new %v", u, !want)
		}
	}
}

// begin begins the oldest unit.
func (q queue) begin(want bellows.Unit) {
	q.t.Helper()
	if !q.Ready(0) {
		q.t.Fatalf("nothing can begin; want %v", want)
	}
	c := q.Begin(0)
	commit := bellows.CommitNumber(want.Clock) + 5
	if c.Unit != want || c.Commit != commit || c.Args[0] != float64(want.Clock) || c.Holder != 1 {
		q.t.Errorf("begins %+v, want %v", c, want)
	}
}

// run begins the oldest unit and ends it.
func (q queue) run(want bellows.Unit) {
	q.t.Helper()
	q.begin(want)
	q.End(0)
}

// giveBack recalls split 0.
func (q queue) giveBack(kept bellows.Clock, removed ...bellows.Clock) {
	q.t.Helper()
	if r, k := q.GiveBack(0); k != kept || !slices.Equal(r, removed) {
		q.t.Errorf("keeps clock %d and removes %v; want %d and %v", k, r, kept, removed)
	}
}

// clock1 is the units of clock 1.
var clock1 = []bellows.Unit{third(0, 1, 0), third(0, 1, 1), third(0, 1, 2)}

// TestUnitsRunInTheOrderOfDispatch runs four units, one at a time.
func TestUnitsRunInTheOrderOfDispatch(t *testing.T) {
	q := newQueue(t)
	if q.Contains(1) || q.Contains(7) || !q.Contains(0) || q.Ready(0) || q.Busy(0) {
		t.Error("it has other splits, or work")
	}
	q.add(true, unit(0, 0))
	q.add(true, clock1...)
	if !q.Ready(0) || !q.Busy(0) || q.Runs(0) || q.Running() != 0 {
		t.Error("a unit that waits is not ready, or runs")
	}
	q.begin(unit(0, 0))
	if q.Ready(0) || !q.Runs(0) || q.Running() != 1 || !q.Busy(0) {
		t.Error("two units may run")
	}
	q.End(0)
	q.run(clock1[0])
	q.run(clock1[1])
	q.begin(clock1[2])
	if !q.Busy(0) {
		t.Error("a split is not busy while its last unit runs")
	}
	q.End(0)
	if q.Busy(0) || q.Runs(0) || q.Running() != 0 || q.Ready(0) {
		t.Error("something runs, or waits")
	}
	q.Leave(0)
	if q.Contains(0) || q.Runs(0) {
		t.Error("a split is there that has left")
	}
}

// TestAUnitIsQueuedOnce dispatches units again: while they wait, run, and have run.
func TestAUnitIsQueuedOnce(t *testing.T) {
	q := newQueue(t)
	q.add(true, unit(0, 0))
	q.add(false, unit(0, 0))
	q.add(true, clock1[:2]...)
	q.add(false, unit(0, 0), clock1[0], clock1[1])
	q.run(unit(0, 0))
	q.begin(clock1[0])
	q.add(false, unit(0, 0), clock1[0])
	q.add(true, clock1[2])
	q.End(0)
	q.run(clock1[1])
	q.run(clock1[2])
	q.add(false, clock1...)
	q.add(true, unit(0, 2))
	q.add(false, clock1...)
	if q.run(unit(0, 2)); q.Busy(0) {
		t.Error("a unit is queued twice")
	}
}

// TestGiveBack recalls a split while a unit of one clock runs, and dispatches the rest again.
func TestGiveBack(t *testing.T) {
	q := newQueue(t)
	q.giveBack(0) // of what was never dispatched
	q.add(true, unit(0, 0))
	q.add(true, clock1...)
	q.add(true, unit(0, 2))
	q.giveBack(bellows.NoClock, 0, 1, 1, 1, 2)
	if q.Busy(0) {
		t.Error("what was given back waits")
	}
	q.add(true, unit(0, 0))
	q.add(true, clock1...)
	q.begin(unit(0, 0))
	q.giveBack(0, 1, 1, 1)
	q.giveBack(0)
	q.add(false, unit(0, 0))
	q.add(true, clock1...)
	q.End(0)
	q.giveBack(0, 1, 1, 1)
	q.add(true, clock1...)
	q.add(true, unit(0, 2))
	q.run(clock1[0])
	q.giveBack(1, 2) // a unit of clock 1 was begun
	q.add(false, clock1...)
	q.run(clock1[1])
	q.begin(clock1[2])
	q.giveBack(1)
	q.add(true, unit(0, 2))
	q.End(0)
	q.run(unit(0, 2))
	q.giveBack(2)
}

// TestQueueingAllocatesNothing dispatches and runs units again and again.
func TestQueueingAllocatesNothing(t *testing.T) {
	q := newQueue(t)
	task := wire.Task{Unit: unit(0, 0), Args: []float64{1, 2}}
	run := func() {
		task.Unit.Clock += 2
		for range 2 {
			task.Unit.Clock++
			q.Add(&task, 1)
		}
		for q.Ready(0) {
			q.Begin(0)
			q.End(0)
		}
	}
	run()
	if n := testing.AllocsPerRun(100, run); n > 0 {
		t.Errorf("%v allocations", n)
	}
}
