package client_test

import (
	"math"
	"slices"
	"strings"
	"testing"

	"bellows"
	"bellows/core/client"
	"bellows/link/wire"
	"bellows/table"
)

// clockOf runs both splits in clock 0. The tasks lease a partition of the async table each, and stay to be ended.
func (d *desk) clockOf() {
	d.start(0, 0, 0, 1)
	for s := range bellows.SplitID(2) {
		d.leases(s, bellows.PartitionRef{Table: 1, Partition: bellows.PartitionID(1 - s)}, wire.Need{Clock: bellows.NoClock})
	}
}

// TestLeasedTasksOfClockAreOneSum ends two tasks with leases that have added to the same BSP row: they are one flush
// with one sum, both leases in the order of partitions. A task leaves at once if its updates show sooner, or if it
// has added nothing.
func TestLeasedTasksOfClockAreOneSum(t *testing.T) {
	d := newDesk(t)
	d.clockOf()
	for s := range bellows.SplitID(2) {
		d.tasks[s].AddRow(0, 2, []float32{1 + 2*float32(s)})
		if d.finish(s); s == 0 {
			d.expect()
		}
	}
	d.said()
	if len(d.sent) != 2 || len(d.sent[0].Chunks) != 1 || d.sent[0].Chunks[0].Values[0] != 4 || d.sent[0].Chunks[0].Subtree != (wire.Subtree{Level: 1}) {
		t.Fatalf("%d pushes, the first has %+v", len(d.sent), d.sent[0].Chunks)
	}
	if l := append(d.sent[0].Leases, d.sent[1].Leases...); len(l) != 2 || l[0].Ref.Partition != 0 || l[1].Ref.Partition != 1 {
		t.Errorf("the leases that end are %+v", l)
	}
	for _, adds := range []bellows.TableID{1, 0} {
		d := newDesk(t)
		d.clockOf()
		if adds == 1 {
			d.tasks[0].AddRow(0, 2, []float32{1})
			d.tasks[0].AddRow(1, 0, []float32{1})
		}
		if d.finish(0); !strings.Contains(d.said(), "push") {
			t.Error("others wait for what shows at once, and for a lease alone")
		}
	}
}

// TestLeasesDoNotWaitForWaitingClock lets the second task of a clock wait, perhaps for the first one's lease: what the first has done leaves.
func TestLeasesDoNotWaitForWaitingClock(t *testing.T) {
	d := newDesk(t, table.Schema{Name: "s", Rows: 4, Width: 1, Partitions: 1, Consistency: table.Async})
	d.clockOf()
	d.tasks[0].AddRow(0, 2, []float32{1})
	d.finish(0)
	d.expect()
	d.lease(1, bellows.PartitionRef{Table: 2}, wire.Exclusive)
	if said := d.said(); strings.Count(said, "push") != 2 || len(d.sent[1].Leases) != 1 {
		t.Errorf("said:\n%s", said)
	}
}

// TestGatheredLeaseCopiesAreBounded ends tasks with leases of another node: only a bounded number of their values
// waits for the clock.
func TestGatheredLeaseCopiesAreBounded(t *testing.T) {
	for most, want := range map[int]int{3: 1, 4: 0, 7: 0} {
		d := newDeskWithin(t, client.Limits{LeasedValues: most})
		d.clockOf()
		d.tasks[0].AddRow(0, 2, []float32{1})
		d.finish(0)
		if d.said(); min(1, len(d.sent)) != want {
			t.Errorf("of %d values, four of them leased, %d pushes have left", most, len(d.sent))
		}
		d.tasks[1].AddRow(0, 2, []float32{1})
		d.end(1)
		if flushes := int(d.sent[len(d.sent)-1].Flush.Seq); flushes != 2 {
			t.Errorf("of %d values, four of them leased twice, %d flushes have left", most, flushes)
		}
	}
}

// TestCountsAreOneSum ends tasks of four splits out of order, which add to counts and to floats. Counts are one sum
// at once, so that they do not wait for a sibling, and floats are summed along the tree. A flush before the end of
// the clock leaves the rest of it as it is.
func TestCountsAreOneSum(t *testing.T) {
	counts := func(n ...int32) []float32 {
		v := make([]float32, len(n))
		copy(table.Counts(v), n)
		return v
	}
	d := newDesk(t, table.Schema{Name: "c", Rows: 4, Width: 2, Partitions: 1, DType: table.Int32})
	d.start(0, 0, 0, 1)
	d.tasks[1].AddRow(2, 3, counts(math.MaxInt32, 1))
	d.tasks[1].AddRow(0, 2, []float32{1})
	d.finish(1)
	d.tasks[0].AddRow(2, 3, counts(1, 5))
	d.tasks[0].AddRow(2, 0, counts(7, 7))
	d.tasks[0].AddRow(0, 2, []float32{2})
	d.end(0)
	var got []wire.Chunk
	for _, p := range d.sent {
		for _, c := range p.Chunks {
			if c.Ref.Table == 2 {
				got = append(got, c)
			}
		}
	}
	if len(got) != 1 || !slices.Equal(got[0].Rows, []uint32{3, 0}) || !slices.Equal(table.Counts(got[0].Values), []int32{math.MinInt32, 6, 7, 7}) {
		t.Errorf("counts leave as %+v", got)
	}
}

// TestALeaseDoesNotGoBack lets a split lease a partition in a newer version than the one in the cache: what it reads afterwards is no older than what the
// lease showed, nor, when the lease was exclusive and has been committed, than what that left. A split that has not seen it may read the cache.
func TestALeaseDoesNotGoBack(t *testing.T) {
	for _, mode := range []wire.Mode{wire.Shared, wire.Exclusive} {
		d := newDesk(t)
		ref := bellows.PartitionRef{Table: 1}
		d.start(2, 0, 0)
		d.ask(0, 1, 0, 4)
		d.answer(2, 7, bellows.NoClock)
		d.end(0)
		d.start(3, 0, 0)
		a := d.lease(0, ref, mode)
		d.said()
		granted := bellows.CommitNumber(7)
		if mode == wire.Shared {
			granted = 9
		}
		d.deliver(lanes[0], &wire.Granted{Request: a.Request, Pair: a.Pair, Mode: mode, Commit: granted, Complete: bellows.NoClock, Values: make([]float32, 4)})
		if v := d.tasks[0].Version(ref); v.Commit != granted {
			t.Errorf("the lease is of version %+v", v)
		}
		d.end(0)
		if mode == wire.Exclusive {
			d.deliver(lanes[0], committed(wire.Commitment{Flush: flushID(d.sent[len(d.sent)-1].Flush.Seq), Commit: 9}))
		}
		d.dispatch(4, 0, 0)
		d.start(3, 0, 1)
		if !d.read(1, 1, 0, 4) {
			t.Error("another split does not read the cache")
		}
		if d.read(0, 1, 0, 4) {
			t.Errorf("after a lease, mode %d, its split reads version %+v", mode, d.tasks[0].Version(ref))
		}
	}
}
