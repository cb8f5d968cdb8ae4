package coord_test

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"bellows"
	"bellows/core/coord"
	"bellows/internal/require"
	"bellows/link/wire"
	"bellows/table"
)

var (
	freshLane   = wire.Address{Node: 3, Role: wire.Lane}
	freshClient = wire.Address{Node: 3}
)

// routes returns said, with what is said of the route.
func (d *desk) routes() []string {
	var lines []string
	kept := d.fx.Envelopes
	for i := range kept {
		switch m := kept[i].Message.(type) {
		case *wire.Route:
			line := fmt.Sprintf("%v: route %d", kept[i].To, m.Version)
			for _, c := range m.Changes {
				if m.Begin == nil {
					line += fmt.Sprintf(", %+v", c)
				}
			}
			if m.Begin != nil {
				line += fmt.Sprintf(" as a whole of %d, after record %d, clocks %v, staleness %v, flushes %v", len(m.Changes), m.Begin.Commit, m.Begin.Complete, m.Begin.Staleness, m.Begin.Recorded)
			}
			lines = append(lines, line)
			continue
		case *wire.Stale:
			lines = append(lines, fmt.Sprintf("%v: %v is stale by route %d: %v", kept[i].To, m.Flush, m.Route, m.Pairs))
			continue
		}
		d.fx.Envelopes = kept[i : i+1]
		lines = append(lines, d.said()...)
	}
	d.fx.Envelopes = kept[:0]
	return lines
}

// TestALaneBeginsBehindItsRecord adds a lane when a flush has been recorded and another has not left: the lanes
// that there were get all records, and the new one what it needs in their place.
func TestALaneBeginsBehindItsRecord(t *testing.T) {
	d := newDesk(&rounds{want: 2}, 0)
	d.Start(&d.fx)
	d.done(2, 0)
	d.routes()
	require.NoError(t, d.AddLane(freshLane, &d.fx))
	if d.fx.Route == nil || d.fx.Route.Version() != 1 {
		t.Error("the checker of node 0 is not told of the route")
	}
	add := "{Kind:4 Table:0 Clocks:0 Clock:0 Route:1 Node:3 Lane:0 Partition:0 Generation:0 Split:0 Heir:0 HeirLane:0}"
	expect(t, d.routes(),
		"lane 0 of node 0: record 2 route 1",
		"lane 0 of node 3: route 1 as a whole of 7, after record 2, clocks [-1 0], staleness [0], flushes [{2 1 1 []}]",
		"node 1: route 1, "+add,
		"node 2: route 1, "+add)
	d.done(1, 0)
	expect(t, d.routes(),
		"lane 0 of node 0: record 3 [split 0 clock 0 items [0,1)]",
		"lane 0 of node 3: record 3 [split 0 clock 0 items [0,1)]",
		"node 1: run split 0 clock 1 items [0,1) [1.5] after commit 3",
		"node 2: run split 1 clock 1 items [0,1) [2.5] after commit 3")
	d.doneBoth(1)
	d.routes()
	d.closeAll(lanes[0], clients[0], clients[1])
	if d.fx.Outcome != nil {
		t.Fatal("the job is over before the new lane has said its last word")
	}
	if d.closed(freshLane, 0, 0); d.fx.Outcome == nil {
		t.Error("the job is not over when all have")
	}
	if err := d.AddLane(wire.Address{Node: 4, Role: wire.Lane}, &d.fx); err == nil {
		t.Error("a lane takes part in a job that is over")
	}
}

// TestSplitMovesBetweenItsClocks moves a split with an open task to a node that begins while the job runs.
func TestSplitMovesBetweenItsClocks(t *testing.T) {
	d := newDesk(&rounds{want: 3}, 0)
	d.Start(&d.fx)
	expectError(t, d.MoveSplit(1, 3, &d.fx), "node 3 runs no tasks")
	require.NoError(t, d.AddClient(3, &d.fx))
	d.routes()
	require.NoError(t, d.MoveSplit(1, 3, &d.fx))
	d.done(1, 0)
	expect(t, d.routes(), "lane 0 of node 0: record 2 [split 0 clock 0 items [0,1)]") // the split goes only when it rests
	d.done(2, 0)
	move := "{Kind:7 Table:0 Clocks:0 Clock:0 Route:2 Node:3 Lane:0 Partition:0 Generation:0 Split:1 Heir:0 HeirLane:0}"
	expect(t, d.routes(),
		"lane 0 of node 0: record 3 [split 1 clock 0 items [0,1)]",
		"lane 0 of node 0: record 4 route 2",
		"node 1: route 2, "+move,
		"node 2: route 2, "+move,
		"node 3: route 2, "+move,
		"node 1: run split 0 clock 1 items [0,1) [1.5] after commit 3",
		"node 3: run split 1 clock 1 items [0,1) [2.5] after commit 4")
	unit := bellows.Unit{Split: 1, Clock: 1, Items: bellows.Range{End: 1}}
	d.deliver(freshClient, finished(flushID(3, 1), unit, []float64{7}))
	if err := d.MoveSplit(1, 2, &d.fx); err != nil { // at once: it rests
		t.Fatal(err)
	}
	d.done(1, 1)
	expect(t, d.routes()[3:], // the lane has two records, and three clients the route
		"node 2: route 3, {Kind:7 Table:0 Clocks:0 Clock:0 Route:3 Node:2 Lane:0 Partition:0 Generation:0 Split:1 Heir:0 HeirLane:0}",
		"node 3: route 3, {Kind:7 Table:0 Clocks:0 Clock:0 Route:3 Node:2 Lane:0 Partition:0 Generation:0 Split:1 Heir:0 HeirLane:0}",
		"lane 0 of node 0: record 7 [split 0 clock 1 items [0,1)]",
		"node 1: run split 0 clock 2 items [0,1) [1.5] after commit 7",
		"node 2: run split 1 clock 2 items [0,1) [2.5] after commit 7")
}

// TestNewActorsHearCurrentStaleness lets the driver change a table's staleness before a client begins. Lanes
// hear of it before any client.
func TestNewActorsHearCurrentStaleness(t *testing.T) {
	d := newRunning(&loosens{})
	require.NoError(t, d.AddClient(3, &d.fx))
	if got := d.routes(); len(got) != 4 || !strings.HasPrefix(got[0], "lane 0 of node 0: record 2 route 1") || !strings.Contains(got[3], "node 3: route 1 as a whole of 7, after record 2, clocks [-1 -1], staleness [4]") {
		t.Errorf("said %q", got)
	}
	if err := d.AddClient(3, &d.fx); err == nil {
		t.Error("a client begins twice")
	}
}

// loosens changes the staleness before it dispatches anything.
type loosens struct{ rounds }

func (d *loosens) DispatchInitialTasks(to *coord.Dispatcher) {
	to.SetStaleness(0, table.SSP(4))
	d.rounds.DispatchInitialTasks(to)
}

// TestDoneAtOldGenerationIsStale moves a partition while a flush that names it is on its way. Its client is answered,
// and the same flush counts when it names the current owner. A generation that does not exist yet ends the job.
func TestDoneAtOldGenerationIsStale(t *testing.T) {
	d := mover(&rounds{want: 2})
	moved := bellows.PartitionRef{}
	require.NoError(t, d.GivePartition(moved, freshLane, &d.fx))
	d.routes()
	flush := func(generation bellows.Generation) {
		m := wire.New[wire.Done]()
		m.Flush = bellows.FlushID{Client: 1, Incarnation: 1, Seq: 1 + uint64(generation)/3} // the first is sent again
		m.Pairs = append(m.Pairs, wire.Pair{Ref: moved, Generation: generation}, wire.Pair{Ref: bellows.PartitionRef{Partition: 1}, Generation: 1})
		m.Append(bellows.Unit{Split: 0, Clock: 0, Items: bellows.Range{End: 1}}, []float64{1})
		d.deliver(lanes[0], m)
	}
	flush(1)
	expect(t, d.routes(), "node 1: flush 1 of node 1 is stale by route 1: [{t0/p0 1}]")
	flush(2)
	expect(t, d.routes(),
		"lane 0 of node 0: record 2 [split 0 clock 0 items [0,1)]",
		"lane 0 of node 3: record 2 [split 0 clock 0 items [0,1)]")
	flush(3)
	if got := d.routes(); len(got) == 0 || !strings.Contains(got[0], "partition t0/p0 is at generation 2, not 3") {
		t.Errorf("said %q", got)
	}
}

// TestAddedNodeIsWatched lets a node that was added fall silent.
func TestAddedNodeIsWatched(t *testing.T) {
	d := newDesk(&rounds{want: 2}, 3000)
	d.ready(clients...)
	d.ready(lanes...)
	d.Start(&d.fx)
	require.NoError(t, d.AddLane(freshLane, &d.fx))
	d.ticks(500, 8000, clients...)
	if want := []string{"node 3 has been silent for 3.5 s and is declared gone; nothing of its unfinished clock counts"}; !reflect.DeepEqual(d.fx.Losses, want) {
		t.Errorf("lost: %q, want %q", d.fx.Losses, want)
	}
	if err := d.AddClient(3, &d.fx); err == nil {
		t.Error("a node that is lost takes part")
	}
}

// newAhead returns a controller whose driver dispatches three clocks of split 0 at once. Node 3 takes part.
func newAhead(t *testing.T) *desk {
	d := newDesk(&eager{}, 0)
	d.Start(&d.fx)
	require.NoError(t, d.AddClient(3, &d.fx))
	d.routes()
	return d
}

// moveTo asks for a move of split 0.
func (d *desk) moveTo(t *testing.T, n bellows.NodeID) {
	t.Helper()
	require.NoError(t, d.MoveSplit(0, n, &d.fx))
}

// recalled returns the clocks after a given one.
func (d *desk) recalled(term bellows.Term, begun bellows.Clock) {
	d.deliver(clients[0], &wire.Recalled{Term: term, Split: 0, Clock: begun})
}

// TestSplitFarAheadMovesAtOnce moves a split with three dispatched clocks, one of them begun. Its new node runs the
// other two, after the record of the move.
func TestSplitFarAheadMovesAtOnce(t *testing.T) {
	d := newAhead(t)
	d.moveTo(t, 3)
	d.moveTo(t, 3) // asks once
	expect(t, d.routes(), "node 1: *wire.Recall")
	d.recalled(7, -1) // says who was asked by another controller
	d.recalled(1, 0)
	expect(t, d.routes()) // clock 0 is under way
	d.done(1, 0)
	move := "{Kind:7 Table:0 Clocks:0 Clock:0 Route:2 Node:3 Lane:0 Partition:0 Generation:0 Split:0 Heir:0 HeirLane:0}"
	expect(t, d.routes(),
		"lane 0 of node 0: record 2 [split 0 clock 0 items [0,1)]",
		"lane 0 of node 0: record 3 route 2",
		"node 1: route 2, "+move, "node 2: route 2, "+move, "node 3: route 2, "+move,
		"node 3: run split 0 clock 1 items [0,1) [] after commit 3",
		"node 3: run split 0 clock 2 items [0,1) [] after commit 3")
	d.recalled(1, 0) // is past
	expect(t, d.routes())
}

// TestReturnedTasksGoToSplitsNewNode recalls, and has the split stay. A job that is over dispatches
// nothing.
func TestReturnedTasksGoToSplitsNewNode(t *testing.T) {
	d := newAhead(t)
	d.moveTo(t, 3)
	d.moveTo(t, 1)
	d.done(1, 0)
	d.routes()
	d.recalled(1, 0)
	expect(t, d.routes(),
		"node 1: run split 0 clock 1 items [0,1) [] after commit 0",
		"node 1: run split 0 clock 2 items [0,1) [] after commit 0")
	d.moveTo(t, 3)
	d.Lost(3, "it died", &d.fx)
	d.recalled(1, 0) // of a job that is over
	if said := strings.Join(d.said(), "; "); !strings.Contains(said, "it died") || strings.Contains(said, "run") {
		t.Errorf("said %s", said)
	}
}

// TestTheTargetOfASplitStays removes a client while a split is on its way to it, and after the split has another target.
func TestTheTargetOfASplitStays(t *testing.T) {
	d := newAhead(t)
	d.moveTo(t, 3)
	expectError(t, d.Remove(wire.ClientAt(3), &d.fx), "a split is on its way to node 3")
	d.moveTo(t, 2)
	require.NoError(t, d.Remove(wire.ClientAt(3), &d.fx))
}
