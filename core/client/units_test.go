package client_test

import (
	"fmt"
	"strings"
	"testing"

	"bellows"
	"bellows/core"
	"bellows/core/client"
	"bellows/link/wire"
)

// newUnitDesk returns a desk of a job with clocks of three items and up to three units.
func newUnitDesk(t *testing.T) *desk {
	return newDeskOf(t, core.Job{Tables: deskTables(),
		Items: func(bellows.SplitID, bellows.Clock) bellows.Range { return bellows.Range{End: 3} },
		Units: func(bellows.SplitID, bellows.Clock) int { return 3 }}, client.Options{})
}

// dispatchUnits dispatches the first units of a split's clock, of one item each.
func (d *desk) dispatchUnits(s bellows.SplitID, clock bellows.Clock, n int) {
	m := wire.New[wire.Dispatch]()
	for i := range n {
		m.Append(bellows.Unit{Split: s, Clock: clock, Items: bellows.Range{Begin: i, End: i + 1}}, nil)
	}
	d.deliver(controller, m)
}

// startUnits works as dispatchUnits, and drops the client's messages.
func (d *desk) startUnits(s bellows.SplitID, clock bellows.Clock, n int) {
	d.dispatchUnits(s, clock, n)
	d.said()
}

// leases lets the task of a split take an exclusive lease on a partition.
func (d *desk) leases(s bellows.SplitID, ref bellows.PartitionRef, at wire.Need) {
	d.t.Helper()
	a := d.lease(s, ref, wire.Exclusive)
	d.deliver(lanes[0], &wire.Granted{Request: a.Request, Pair: a.Pair, Mode: wire.Exclusive, Commit: at.Commit, Complete: at.Clock, Values: make([]float32, 4)})
	d.said()
}

// TestUnitLeavesWithItsSum lets three units of a clock add to the same row of a BSP table, each in a flush of
// its own. The sum of each leaves with it, under its items. Later units do not see it: they see the rows that the clock
// before has left. Additions to an async table are seen by later units.
func TestUnitLeavesWithItsSum(t *testing.T) {
	d := newUnitDesk(t)
	d.startUnits(0, 0, 3)
	d.ask(0, 0, 0, 4)
	d.answer(10, 0, bellows.NoClock)
	d.said()
	for i := range 3 {
		if !d.read(0, 0, 0, 4) {
			t.Fatalf("unit %d does not find the rows in the cache", i)
		}
		// so that it leaves in a separate flush
		d.leases(0, bellows.PartitionRef{Table: 1, Partition: 1}, wire.Need{Clock: bellows.NoClock})
		d.tasks[0].AddRow(0, 1, []float32{float32(i + 1)})
		d.tasks[0].AddRow(1, 2, []float32{1})
		if v := d.tasks[0].View(0, 0, 4); v[1] != 10+float32(i+1) || v[0] != 10 {
			t.Errorf("unit %d sees %v", i, v)
		}
		d.finish(0)
		d.said()
		var sums []wire.Chunk
		for _, m := range d.sent {
			for _, c := range m.Chunks {
				if c.Ref.Table == 0 && m.Flush.Seq == uint64(i+1) {
					sums = append(sums, c)
				}
			}
		}
		want := wire.Subtree{Items: bellows.Range{Begin: i, End: i + 1}}
		if len(sums) != 1 || sums[0].Subtree != want || sums[0].Values[0] != float32(i+1) {
			t.Errorf("unit %d sends %+v, want its own part %v", i, sums, want)
		}
	}
}

// TestFlushAddsItsUnits lets the units of a clock leave in one flush, and in two. All of them are one sum
// under the name of the split, as of a clock that is not divided; the first ones are one part, and later ones are parts
// of their own.
func TestFlushAddsItsUnits(t *testing.T) {
	for _, c := range []struct {
		first int // units in the first flush
		want  string
	}{
		{3, "[0,0)=7"},
		{2, "[0,2)=3 [2,3)=4"},
		{1, "[0,1)=1 [1,2)=2 [2,3)=4"},
	} {
		d := newUnitDesk(t)
		d.startUnits(0, 0, 3)
		for i, v := range []float32{1, 2, 4} {
			if i == c.first { // the units before it leave, and a unit that ends a lease is a flush of its own
				d.leases(0, bellows.PartitionRef{Table: 1, Partition: 1}, wire.Need{Clock: bellows.NoClock})
			}
			d.tasks[0].AddRow(0, 1, []float32{v})
			d.finish(0)
		}
		d.said()
		var got []string
		for _, m := range d.sent {
			for _, s := range m.Chunks {
				if s.Ref.Table == 0 {
					got = append(got, fmt.Sprintf("%v=%v", s.Subtree.Items, s.Values[0]))
				}
			}
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("after %d units: sent %v, want %v", c.first, got, c.want)
		}
	}
}

// TestALeasedUnitPassesNone lets the second of three units take an exclusive lease, so that it leaves at once. The first, which waits for another split to end, leaves before
// it: the controller counts it first.
func TestALeasedUnitPassesNone(t *testing.T) {
	d := newUnitDesk(t)
	d.dispatchUnits(0, 0, 3)
	d.startUnits(1, 0, 1)
	d.finish(0)
	d.expect("run split 0 clock 0 items [1,2)")
	d.leases(0, bellows.PartitionRef{Table: 1, Partition: 1}, wire.Need{Clock: bellows.NoClock})
	d.end(0)
	if len(d.sent) != 2 || d.sent[0].Flush.Seq != 1 || d.sent[0].Done.Results[0].Unit.Items.Begin != 0 || d.sent[1].Done.Results[0].Unit.Items.Begin != 1 {
		t.Fatalf("%d flushes have left; want that of the first unit, and that of the second", len(d.sent))
	}
	d.finish(0)
	d.finish(1)
	if d.said(); len(d.sent) != 3 || len(d.sent[2].Done.Results) != 2 {
		t.Errorf("%d flushes have left; want the third of two units", len(d.sent))
	}
}

// TestUnitSeesPreviousUnitsLease lets a unit change a BSP partition under a lease, which its split is subscribed to. The next unit of the clock must see
// that: it asks, since what comes unasked comes with the clock's end, and waits for this unit.
func TestUnitSeesPreviousUnitsLease(t *testing.T) {
	d := newUnitDesk(t)
	for c := range bellows.Clock(2) {
		d.startUnits(0, c, 2)
		d.ask(0, 0, 0, 4)
		d.answer(1, 5*bellows.CommitNumber(c), c-1)
		d.said()
		if c == 0 {
			d.end(0)
			d.finish(0)
		}
	}
	if !d.pulls[1].Parts[0].Subscribe {
		t.Fatal("it is not subscribed")
	}
	d.leases(0, bellows.PartitionRef{}, wire.Need{Commit: 5})
	d.end(0)
	d.deliver(lanes[0], &wire.Committed{List: []wire.Commitment{{Flush: d.sent[len(d.sent)-1].Flush, Commit: 7}}})
	d.said()
	d.miss(0, 0, 0, 4)
	d.expect("lane 0 of node 0: pull t0/p0 [] after commit 0 clock 0")
}
