package coord_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"bellows"
	"bellows/core"
	"bellows/core/coord"
	"bellows/core/route"
	"bellows/internal/require"
	"bellows/link/wire"
	"bellows/table"
)

// units dispatches two clocks of split 0, and another when one is complete, up to a number of clocks. It notes its
// calls.
type units struct {
	want int
	sent int
	told []string
}

func (d *units) DispatchInitialTasks(to *coord.Dispatcher) {
	d.dispatch(to)
	d.dispatch(to)
}

func (d *units) dispatch(to *coord.Dispatcher) {
	if d.sent < d.want {
		d.sent++
		to.DispatchTask(0, float64(d.sent))
	}
}

func (d *units) HandleTaskCompletion(c coord.Completion, to *coord.Dispatcher) {
	line := fmt.Sprintf("clock %d items %v", c.Clock, c.Items)
	if c.Last {
		line += ", the last"
		d.dispatch(to)
	}
	if d.told = append(d.told, line); c.Last && int(c.Clock) == d.want-1 {
		to.Finish()
	}
}

func (d *units) Save() []float64           { return []float64{float64(d.sent)} }
func (d *units) Restore(s []float64) error { d.sent = int(s[0]); return nil }

// dividedJob returns a job with one split on node 1. Its clocks have ten items in three units, except clock 1, which
// is one unit, and clock 2, which has two items.
func dividedJob() core.Job {
	tables := []table.Schema{{Name: "w", Rows: 1, Width: 1}}
	return core.Job{Controller: self, Lanes: lanes, Clients: clients[:1], Tables: tables, Route: route.Spread(tables, 1, lanes, []bellows.NodeID{1}),
		Items: func(_ bellows.SplitID, c bellows.Clock) bellows.Range {
			if c == 2 {
				return bellows.Range{Begin: 5, End: 7}
			}
			return bellows.Range{End: 10}
		},
		Units: func(_ bellows.SplitID, c bellows.Clock) int { return []int{3, 0, 9, 3}[c] }}
}

// doneUnits sends a Done for a flush of node 1 with units of a clock of split 0.
func (d *desk) doneUnits(seq int, clock bellows.Clock, items ...bellows.Range) {
	d.fx.Outcome = nil
	m := wire.New[wire.Done]()
	m.Flush = bellows.FlushID{Client: 1, Incarnation: 1, Seq: uint64(seq)}
	for _, r := range items {
		m.Append(bellows.Unit{Clock: clock, Items: r}, nil)
	}
	d.deliver(clients[0], m)
}

// The units of the clocks of ten items.
var first, second, third = bellows.Range{End: 3}, bellows.Range{Begin: 3, End: 6}, bellows.Range{Begin: 6, End: 10}

// TestAClockIsDividedIntoUnits dispatches clocks of three units, of one, and of as many as there are items. The
// units of a clock see the same commit, have the same arguments, and are each told; what follows a clock follows
// its last.
func TestAClockIsDividedIntoUnits(t *testing.T) {
	driver := &units{want: 3}
	d := newDeskOf(dividedJob(), coord.Options{Driver: driver})
	d.Start(&d.fx)
	expect(t, d.said(), "node 1: run split 0 clock 0 items [0,3) [1] after commit 0", "node 1: run split 0 clock 0 items [3,6) [1] after commit 0",
		"node 1: run split 0 clock 0 items [6,10) [1] after commit 0", "node 1: run split 0 clock 1 items [0,10) [2] after commit 0")
	d.doneUnits(1, 0, first)
	expect(t, d.said(), "lane 0 of node 0: record 1 [split 0 clock 0 items [0,3)]")
	d.doneUnits(2, 0, second, third)
	expect(t, d.said(), "lane 0 of node 0: record 2 [split 0 clock 0 items [3,6) split 0 clock 0 items [6,10)]",
		"node 1: run split 0 clock 2 items [5,6) [3] after commit 2", "node 1: run split 0 clock 2 items [6,7) [3] after commit 2")
	d.doneUnits(3, 1, bellows.Range{End: 10})
	d.doneUnits(4, 2, bellows.Range{Begin: 5, End: 6}, bellows.Range{Begin: 6, End: 7})
	d.said()
	want := []string{"clock 0 items [0,3)", "clock 0 items [3,6)", "clock 0 items [6,10), the last", "clock 1 items [0,10), the last", "clock 2 items [5,6)",
		"clock 2 items [6,7), the last"}
	if !slices.Equal(driver.told, want) {
		t.Errorf("the driver receives %q; want %q", driver.told, want)
	}
	if complete, furthest, commit := d.Progress(); complete != 2 || furthest != 2 || commit != 4 {
		t.Errorf("at clocks %d and %d, commit %d", complete, furthest, commit)
	}
}

// TestUnitsCountInTheOrderOfDispatch reports the units of a clock, and of the next clock, in other orders: early ones
// wait.
func TestUnitsCountInTheOrderOfDispatch(t *testing.T) {
	driver := &units{want: 2}
	d := newDeskOf(dividedJob(), coord.Options{Driver: driver})
	d.Start(&d.fx)
	d.said()
	d.doneUnits(4, 1, bellows.Range{End: 10})
	d.doneUnits(3, 0, third)
	d.doneUnits(2, 0, second)
	if expect(t, d.said()); len(driver.told) > 0 {
		t.Fatalf("the driver is told %q", driver.told)
	}
	d.doneUnits(1, 0, first)
	want := []string{"clock 0 items [0,3)", "clock 0 items [3,6)", "clock 0 items [6,10), the last", "clock 1 items [0,10), the last"}
	if !slices.Equal(driver.told, want) {
		t.Errorf("the driver receives %q; want %q", driver.told, want)
	}
}

// TestAUnitCountsOnce refuses a unit that counts already, in another flush, and one that counts in part.
func TestAUnitCountsOnce(t *testing.T) {
	for name, again := range map[string]bellows.Range{"counted": first, "not dispatched": {Begin: 3, End: 4}} {
		d := newDeskOf(dividedJob(), coord.Options{Driver: &units{want: 2}})
		d.Start(&d.fx)
		d.doneUnits(1, 0, first)
		d.said()
		d.doneUnits(2, 0, again)
		if said := fmt.Sprint(d.said()); !slices.ContainsFunc([]string{"are committed already", "was not dispatched"}, func(s string) bool { return strings.Contains(said, s) }) {
			t.Errorf("%s: said %s", name, said)
		}
	}
}

// TestASavedControllerKnowsItsUnits saves a controller when one unit of a clock counts. Another continues with the
// two open ones.
func TestASavedControllerKnowsItsUnits(t *testing.T) {
	d := newDeskOf(dividedJob(), coord.Options{Driver: &units{want: 2}})
	d.Start(&d.fx)
	d.doneUnits(1, 0, first)
	d.said()
	saved, ok := d.Save()
	if want := []bellows.Unit{{Items: first}}; !ok || !slices.Equal(saved.Open, want) || len(saved.Out) != 3 {
		t.Fatalf("saved: %v, %v of clocks that are not complete, %d out", ok, saved.Open, len(saved.Out))
	}
	driver := &units{want: 2}
	d = recovered(t, dividedJob(), coord.Options{Driver: driver, Term: 2}, saved)
	d.ready(clients[0])
	d.said()
	d.deliver(lanes[0], &wire.Holding{Term: 2, Last: 1, Tail: 2})
	expect(t, d.said(), "node 1: *wire.Route", "node 1: run split 0 clock 0 items [3,6) [1] after commit 0",
		"node 1: run split 0 clock 0 items [6,10) [1] after commit 0", "node 1: run split 0 clock 1 items [0,10) [2] after commit 0")
	d.doneUnits(2, 0, second, third)
	if want := []string{"clock 0 items [3,6)", "clock 0 items [6,10), the last"}; !slices.Equal(driver.told, want) {
		t.Errorf("the driver receives %q; want %q", driver.told, want)
	}
	if complete, _, _ := d.Progress(); complete != 0 {
		t.Errorf("clock %d is complete", complete)
	}
}

// TestLaneBeginsInMiddleOfClock adds a lane when one unit of a clock counts: the lane receives that unit.
func TestLaneBeginsInMiddleOfClock(t *testing.T) {
	d := newDeskOf(dividedJob(), coord.Options{Driver: &units{want: 2}})
	d.Start(&d.fx)
	d.doneUnits(1, 0, first)
	d.said()
	require.NoError(t, d.AddLane(freshLane, &d.fx))
	for _, e := range d.fx.Envelopes {
		if m, is := e.Message.(*wire.Route); is && e.To == freshLane {
			if want := []bellows.Unit{{Items: first}}; !slices.Equal(m.Begin.Open, want) || m.Begin.Complete[0] != bellows.NoClock {
				t.Errorf("it receives clock %d, and %v after it; want %v", m.Begin.Complete[0], m.Begin.Open, want)
			}
			return
		}
	}
	t.Error("it is told nothing")
}

// TestDrainFinishesOpenClock interrupts a job in the middle of a clock: its units are finished, and
// what the driver dispatches then is queued as a clock.
func TestDrainFinishesOpenClock(t *testing.T) {
	driver := &units{want: 4}
	d := newDeskOf(dividedJob(), coord.Options{Driver: driver})
	d.Start(&d.fx)
	d.doneUnits(1, 0, first)
	d.Interrupt(&d.fx)
	d.doneUnits(2, 0, second, third)
	d.doneUnits(3, 1, bellows.Range{End: 10})
	d.said()
	d.closeAll(lanes[0], clients[0])
	o := d.fx.Outcome
	if o == nil || !o.Interrupted || !slices.Equal(o.State.Complete, []bellows.Clock{1}) || len(o.State.Queue) != 2 {
		t.Fatalf("outcome %+v", o)
	}
	d = newDeskOf(dividedJob(), coord.Options{Driver: &units{want: 4}})
	require.NoError(t, d.Resume(o.State))
	d.Start(&d.fx)
	expect(t, d.said(), "node 1: run split 0 clock 2 items [5,6) [3] after commit 0", "node 1: run split 0 clock 2 items [6,7) [3] after commit 0",
		"node 1: run split 0 clock 3 items [0,3) [4] after commit 0", "node 1: run split 0 clock 3 items [3,6) [4] after commit 0",
		"node 1: run split 0 clock 3 items [6,10) [4] after commit 0")
}
