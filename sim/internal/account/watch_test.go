package account

import (
	"testing"

	"bellows"
	"bellows/core"
	"bellows/core/route"
	"bellows/core/server"
	"bellows/internal/require"
	"bellows/link/wire"
	"bellows/sim/internal/coverage"
	"bellows/sim/internal/lanewatch"
	"bellows/sim/internal/model"
	"bellows/sim/internal/nodestate"
	"bellows/sim/internal/schedule"
	"bellows/sim/internal/stages"
	"bellows/sim/internal/trace"
)

var testLane = wire.LaneAt(0, 0)

// newWatch returns the watch of a job with one lane, at node 0, and clients at nodes 1 and 2.
func newWatch(t *testing.T) *Watch {
	t.Helper()
	job := model.Jobs[0]()
	r := route.Spread(job.Schemas, job.Splits, []wire.Address{testLane}, []bellows.NodeID{1, 2})
	h := NewHistory(r)
	tr := &trace.Trace{Clock: new(int64)}
	w := &Watch{Ledger: NewLedger(r), Trace: tr, Coverage: new(coverage.Coverage), History: &h, Lanes: &lanewatch.Watch{Trace: tr}, Stages: new(stages.Watch),
		Nodes: &nodestate.Watch{Trace: tr}, Width: func(bellows.TableID) int { return 1 }}
	for n := range bellows.NodeID(3) {
		w.Stages.Add()
		w.Nodes.All = append(w.Nodes.All, &nodestate.Node{Number: n})
	}
	clients := []wire.Address{wire.ClientAt(1), wire.ClientAt(2)}
	of := core.Job{
		Controller: wire.ControllerAt(), Nodes: 3, Lanes: []wire.Address{testLane}, Clients: clients,
		Incarnations: []uint32{1, 1}, Tables: job.Schemas, Route: r, Items: job.Items, Units: job.Units,
	}
	l, err := server.NewLane(of, testLane, server.Options{})
	require.NoError(t, err)
	w.Lanes.Add(&lanewatch.Lane{Lane: l, Address: testLane})
	return w
}

func push(client bellows.NodeID, rows int) wire.Envelope {
	c := wire.Chunk{Values: make([]float32, rows)}
	return wire.Envelope{From: wire.ClientAt(client), To: testLane, Message: &wire.Push{Flush: bellows.FlushID{Client: client, Seq: 1}, Chunks: []wire.Chunk{c}}}
}

func TestFlushIsHeldUntilItsRecord(t *testing.T) {
	t.Parallel()
	w, e := newWatch(t), push(1, 3)
	id := e.Message.(*wire.Push).Flush
	w.Posted(e)
	w.Before(e)
	w.After(testLane, []wire.Envelope{{From: testLane, To: e.From, Message: &wire.Held{Flush: id}}})
	if !w.Stages.IsIn(1, schedule.FlushHeld) || w.SentRows[1] != 3 || w.LaneRows[testLane] != 3 {
		t.Errorf("held %v, %d rows sent, %d came", w.Stages.IsIn(1, schedule.FlushHeld), w.SentRows[1], w.LaneRows[testLane])
	}
	if !w.NumberedWithoutDone([]wire.Address{testLane}, id) {
		t.Error("the lane holds all of the flush")
	}
	w.Before(wire.Envelope{From: wire.ControllerAt(), To: testLane, Message: &wire.Records{List: []wire.Record{{Number: 1, Flush: id}}}})
	if w.Stages.IsIn(1, schedule.FlushHeld) {
		t.Error("the flush is recorded and still held")
	}
}

func TestFlushOfLostClientIsLate(t *testing.T) {
	t.Parallel()
	w, e := newWatch(t), push(1, 3)
	w.Posted(e)
	w.Before(e)
	lose := &wire.Records{List: []wire.Record{{Number: 1, Control: bellows.Control{Kind: bellows.LoseClient, Node: 1}}}}
	for range 2 { // the second one changes nothing
		w.Before(wire.Envelope{From: wire.ControllerAt(), To: testLane, Message: lose})
	}
	if w.LaneRows[testLane] != 0 || w.LateRows[testLane] != 3 {
		t.Errorf("%d rows came, %d are late", w.LaneRows[testLane], w.LateRows[testLane])
	}
}

func TestLeasesExcludeEachOther(t *testing.T) {
	t.Parallel()
	w := newWatch(t)
	grant := func(to bellows.NodeID, mode wire.Mode) {
		w.After(testLane, []wire.Envelope{{From: testLane, To: wire.ClientAt(to), Message: &wire.Granted{Mode: mode}}})
	}
	release := func(by bellows.NodeID) {
		w.Before(wire.Envelope{From: wire.ClientAt(by), To: testLane, Message: &wire.Release{}})
	}
	grant(1, wire.Shared)
	grant(2, wire.Shared)
	release(1)
	w.Before(wire.Envelope{From: wire.ControllerAt(), To: testLane, Message: &wire.Fence{Node: 2}})
	release(2) // its leases are over already
	if grant(1, wire.Exclusive); w.Violation != "" || !w.LeasedOut(bellows.PartitionRef{}) {
		t.Fatalf("leased out %v, %q", w.LeasedOut(bellows.PartitionRef{}), w.Violation)
	}
	if grant(2, wire.Shared); w.Violation == "" {
		t.Error("a shared lease was granted during an exclusive one")
	}
}
