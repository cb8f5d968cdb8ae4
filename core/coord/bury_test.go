package coord_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"bellows"
	"bellows/core"
	"bellows/core/audit"
	"bellows/core/coord"
	"bellows/core/route"
	"bellows/internal/require"
	"bellows/link/wire"
	"bellows/table"
)

// mortalJob returns the job of newMortal.
func mortalJob() core.Job {
	job, nodes := jobOf(10_000, lanes, oneTable), []bellows.NodeID{1, 2, 3}
	job.Clients, job.Route = route.Clients(nodes), route.Spread(job.Tables, 3, lanes, nodes)
	return job
}

// newMortal returns a job of nodes 1 to 3, which run a split each and have no part of the model.
func newMortal(change func(*core.Job, *coord.Options)) *desk {
	job := mortalJob()
	opt := coord.Options{Driver: &three{}}
	if change != nil {
		change(&job, &opt)
	}
	d := newDeskOf(job, opt)
	d.ready(job.Clients...)
	d.Start(&d.fx)
	d.said()
	return d
}

// three dispatches a clock of each of three splits, and another behind each.
type three struct{ done int }

func (d *three) DispatchInitialTasks(to *coord.Dispatcher) {
	for s := range bellows.SplitID(3) {
		to.DispatchTask(s)
	}
}

func (d *three) HandleTaskCompletion(c coord.Completion, to *coord.Dispatcher) {
	if d.done++; c.Unit.Clock == 0 {
		to.DispatchTask(c.Unit.Split)
	} else if d.done == 6 {
		to.Finish()
	}
}

func (d *three) Save() []float64           { return []float64{float64(d.done)} }
func (d *three) Restore(s []float64) error { d.done = int(s[0]); return nil }

// sends lets a client say that a flush of one of its units is done, which had so many rows.
func (d *desk) sends(client, clock, seq int, rows int64) {
	m := wire.New[wire.Done]()
	m.Flush = bellows.FlushID{Client: bellows.NodeID(client), Incarnation: 1, Seq: uint64(seq)}
	u := bellows.Unit{Split: bellows.SplitID(client - 1), Clock: bellows.Clock(clock), Items: bellows.Range{End: 1}}
	m.Append(u, nil)
	m.Sent = append(m.Sent, audit.Sent{Rows: rows, Bits: audit.Sum(100 * rows)})
	d.deliver(wire.ClientAt(bellows.NodeID(client)), m)
}

// TestALostWorkerCostsItsUnits loses a node that only runs tasks: records move its split and part from it, in this
// order, and before others hear of the route and get what was out at it. Nothing that is said of it or by it later
// is heard.
func TestALostWorkerCostsItsUnits(t *testing.T) {
	d := newMortal(nil)
	d.sends(3, 0, 1, 7)
	d.said()
	d.deliver(wire.ClientAt(3), &wire.Complaint{Node: 1, Reason: "node 3 lost its connection to node 1: reset"})
	d.Lost(3, "node 3 died", &d.fx)
	var changes []bellows.Control
	for _, e := range d.fx.Envelopes {
		if m, is := e.Message.(*wire.Records); is {
			for i := range m.List {
				changes = append(changes, m.List[i].Control)
			}
		}
	}
	want := []bellows.Control{{Kind: bellows.MoveSplit, Route: 1, Split: 2, Node: 1}, {Kind: bellows.LoseClient, Route: 2, Node: 3}}
	if !slices.Equal(changes, want) {
		t.Errorf("recorded %+v", changes)
	}
	expect(t, d.said(), "lane 0 of node 0: record 2 route 1", "node 1: *wire.Route", "node 2: *wire.Route", "node 1: run split 2 clock 1 items [0,1) [] after commit 2")
	if b := d.fx.Buried; len(b) != 1 || fmt.Sprint(b[0]) != "{3 node 3 died [2] 1 [1] false}" || !d.Gone(3) {
		t.Errorf("lost %+v", b)
	}
	d.sends(3, 1, 2, 9) // which a lane had passed on
	d.Step([]wire.Envelope{{From: wire.LaneAt(0, 0), To: self, Message: &wire.Done{Flush: flushID(3, 2),
		Results: []wire.Result{{Unit: bellows.Unit{Split: 2, Clock: 1, Items: bellows.Range{End: 1}}}}}},
		{From: wire.ClientAt(3), To: self, Message: &wire.Failed{Reason: "it has lost node 0"}}}, &d.fx)
	d.Lost(3, "node 3 died again", &d.fx)
	for now := int64(500); now < 9000; now += 500 { // nor what it has said of others
		d.Tick(now, nil, &d.fx)
		d.beat(wire.ClientAt(1), wire.ClientAt(2))
	}
	expect(t, d.said())
	if err := d.AddClient(3, &d.fx); err == nil {
		t.Error("it takes part again")
	}
	d.sends(1, 0, 1, 1)
	d.sends(2, 0, 1, 1)
	d.sends(1, 1, 2, 1)
	d.sends(2, 1, 2, 1)
	unit := bellows.Unit{Split: 2, Clock: 1, Items: bellows.Range{End: 1}}
	d.deliver(wire.ClientAt(1), finished(flushID(1, 3), unit, nil))
	if said := strings.Join(d.said(), "\n"); strings.Contains(said, "node 3: end") || !strings.Contains(said, `lane 0 of node 0: end after commit 8: "" gone [3]`) {
		t.Errorf("at the end, said %s", said)
	}
	d.closed(lanes[0], 0, 20)
	d.closed(wire.ClientAt(1), 9, 0)
	d.closed(wire.ClientAt(2), 4, 0)
	if o := d.fx.Outcome; o == nil || o.Reason != "" || o.Counts.Sent != 20 || o.Counts.Ledgers[0].Sent != 700 {
		t.Errorf("outcome %+v", o)
	}
}

// TestLossOfNeededNodeEndsJob loses nodes that have more than tasks, or that nobody can stand in for.
func TestLossOfNeededNodeEndsJob(t *testing.T) {
	lost := func(d *desk) { d.Lost(3, "node 3 died", &d.fx) }
	laneLeaves := func(d *desk) []bellows.Control {
		lane := wire.LaneAt(3, 0)
		require.NoError(t, errors.Join(d.AddLane(lane, &d.fx), d.Remove(lane, &d.fx)))
		return d.removals()
	}
	for name, c := range map[string]struct {
		change func(*core.Job, *coord.Options)
		lose   func(*desk)
		goesOn bool
	}{
		"a worker": {nil, lost, true},
		"with a lane": {func(job *core.Job, _ *coord.Options) {
			job.Lanes = append(slices.Clone(lanes), wire.LaneAt(3, 0))
			job.Route = route.Spread(job.Tables, 3, job.Lanes, []bellows.NodeID{1, 2, 3})
		}, lost, false},
		"its lane is leaving": {nil, func(d *desk) { laneLeaves(d); lost(d) }, false},
		"its lane has left":   {nil, func(d *desk) { d.adopted(lanes[0], laneLeaves(d)...); d.said(); lost(d) }, true},
		"splits stay":         {func(_ *core.Job, opt *coord.Options) { opt.Stays = stays }, lost, false},
		"it was refused":      {nil, func(d *desk) { d.Mistrust(3, "node 3 sends what cannot be", &d.fx) }, false},
		"so others say": {nil, func(d *desk) {
			d.deliver(wire.ClientAt(1), &wire.Complaint{Node: 3, Breach: true, Reason: "node 3 sends what cannot be"})
		}, false},
		"the last": {nil, func(d *desk) {
			d.Lost(1, "node 1 died", &d.fx)
			d.Lost(2, "node 2 died", &d.fx)
			d.said()
			lost(d)
		}, false},
		"the last but one": {nil, func(d *desk) {
			d.Lost(1, "node 1 died", &d.fx)
			d.said()
			lost(d)
		}, true},
		"half of a clock": {func(job *core.Job, _ *coord.Options) {
			job.Items = func(bellows.SplitID, bellows.Clock) bellows.Range { return bellows.Range{End: 2} }
			job.Units = func(bellows.SplitID, bellows.Clock) int { return 2 }
		}, func(d *desk) { d.sends(3, 0, 1, 1); d.said(); lost(d) }, true},
		"half of a clock of no barrier": {func(job *core.Job, _ *coord.Options) {
			job.Tables = []table.Schema{{Name: "w", Rows: 1, Width: 1, Consistency: table.Async}}
			job.Items = func(bellows.SplitID, bellows.Clock) bellows.Range { return bellows.Range{End: 2} }
			job.Units = func(bellows.SplitID, bellows.Clock) int { return 2 }
		}, func(d *desk) { d.sends(3, 0, 1, 1); d.said(); lost(d) }, true},
	} {
		d := newMortal(c.change)
		c.lose(d)
		if said := strings.Join(d.said(), "\n"); strings.Contains(said, "end after") == c.goesOn || strings.Contains(said, "run split 2") != c.goesOn {
			t.Errorf("%s: said %s", name, said)
		}
	}
	d := newDeskOf(jobOf(10_000, lanes, oneTable), coord.Options{Driver: &rounds{want: 2}})
	d.Start(&d.fx)
	d.ready(clients[0])
	d.Lost(2, "node 2 died", &d.fx)
	if said := strings.Join(d.said(), "\n"); !strings.Contains(said, "node 2 died") {
		t.Errorf("before the job has begun: said %s", said)
	}
}

// TestLostWorkerLeavesRestOfClock loses a node after one of three units of its clock counts, of a job with a BSP
// table: another node runs the other two, and their flushes complete the clock.
func TestLostWorkerLeavesRestOfClock(t *testing.T) {
	d := newMortal(func(job *core.Job, _ *coord.Options) {
		job.Items = func(bellows.SplitID, bellows.Clock) bellows.Range { return bellows.Range{End: 3} }
		job.Units = func(bellows.SplitID, bellows.Clock) int { return 3 }
	})
	d.sends(3, 0, 1, 7)
	d.said()
	d.Lost(3, "node 3 died", &d.fx)
	if said := strings.Join(d.said(), "\n"); strings.Contains(said, "run split 2 clock 0 items [0,1)") ||
		!strings.Contains(said, "node 1: run split 2 clock 0 items [1,2)") ||
		!strings.Contains(said, "node 1: run split 2 clock 0 items [2,3)") || strings.Contains(said, "end after") {
		t.Fatalf("said %s", said)
	}
	rest := finished(flushID(1, 1), bellows.Unit{Split: 2, Items: bellows.Range{Begin: 1, End: 2}}, nil)
	rest.Append(bellows.Unit{Split: 2, Items: bellows.Range{Begin: 2, End: 3}}, nil)
	d.deliver(wire.ClientAt(1), rest)
	want := "record 4 [split 2 clock 0 items [1,2) split 2 clock 0 items [2,3)]"
	if said := strings.Join(d.said(), "\n"); !strings.Contains(said, want) {
		t.Errorf("the rest of the clock does not count: said %s", said)
	}
}

// TestSplitMoveToLostNode loses the destination of a split's move before the split rests. The split stays where it
// is, and its next clock runs there.
func TestSplitMoveToLostNode(t *testing.T) {
	d := newMortal(nil)
	require.NoError(t, d.MoveSplit(0, 3, &d.fx))
	d.Lost(3, "node 3 died", &d.fx)
	d.said()
	d.sends(1, 0, 1, 1)
	expect(t, d.said(), "lane 0 of node 0: record 3 [split 0 clock 0 items [0,1)]", "node 1: run split 0 clock 1 items [0,1) [] after commit 3")
	if at := d.Route().Node(0); at != 1 {
		t.Errorf("split 0 is at node %d", at)
	}
}

// TestAnotherControllerKnowsWhoIsLost follows one that has lost a node, by its records or from a state that was
// saved: the node is not waited for, is parted from once more, and what counts of it is in the total.
func TestAnotherControllerKnowsWhoIsLost(t *testing.T) {
	for _, fromSaved := range []bool{false, true} {
		d := newMortal(nil)
		d.sends(3, 0, 1, 7)
		d.Lost(3, "node 3 died", &d.fx)
		var tail []wire.Record
		for _, e := range d.fx.Envelopes {
			if m, is := e.Message.(*wire.Records); is {
				tail = append(tail, m.List...)
			}
		}
		saved, ok := d.Save()
		if !fromSaved {
			saved = coord.Saved{}
		}
		if !ok {
			t.Fatal("it is not saved")
		}
		d = recovered(t, mortalJob(), coord.Options{Driver: &three{}, Term: 2}, saved)
		d.ready(wire.ClientAt(1), wire.ClientAt(2))
		d.Tick(500, nil, &d.fx)
		d.said()
		d.Step([]wire.Envelope{{From: lanes[0], To: self, Message: &wire.Holding{Term: 2, Last: 3, Tail: 1, Adopted: []bellows.Control{{Kind: bellows.LoseClient, Route: 2, Node: 3}},
			Gone: []wire.Fence{{Node: 3, Incarnation: 1}}}}}, &d.fx)
		if !fromSaved {
			d.said()
			d.deliver(lanes[0], &wire.Records{Term: 2, List: tail})
		}
		if said := strings.Join(d.said(), "\n"); !strings.Contains(said, "node 1: run split 2 clock 1 items [0,1) [] after commit 2") || strings.Contains(said, "node 3") || strings.Contains(said, "end after") {
			t.Errorf("saved %v: said %s", fromSaved, said)
		}
		if b := d.fx.Buried; len(b) != 1 || !b[0].Again || b[0].Node != 3 {
			t.Errorf("saved %v: lost %+v", fromSaved, b)
		}
		d.deliver(wire.ClientAt(1), &wire.Failed{Reason: "enough"})
		d.closed(lanes[0], 0, 7)
		d.closed(wire.ClientAt(1), 0, 0)
		d.closed(wire.ClientAt(2), 0, 0)
		if o := d.fx.Outcome; o == nil || o.Counts.Sent != 7 {
			t.Errorf("saved %v: outcome %+v", fromSaved, o)
		}
	}
}
