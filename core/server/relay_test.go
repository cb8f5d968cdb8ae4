package server

import (
	"testing"

	"bellows"
	"bellows/core"
	"bellows/core/handoff"
	"bellows/core/route"
	"bellows/internal/require"
	"bellows/link/wire"
	"bellows/table"
)

// TestReplacedSubscribersAreForgotten lets process after process of a node subscribe and be sent rows: the lane keeps
// nothing of replaced ones.
func TestReplacedSubscribersAreForgotten(t *testing.T) {
	tables := []table.Schema{{Name: "free", Rows: 4, Width: 1, Partitions: 1, Consistency: table.Async}}
	at, client, controller := wire.LaneAt(0, 0), wire.ClientAt(1), wire.Address{Role: wire.Controller}
	l, err := NewLane(core.Job{Controller: controller, Clients: []wire.Address{client}, Tables: tables, Route: route.Spread(tables, 1, []wire.Address{at}, []bellows.NodeID{1}),
		Items: func(bellows.SplitID, bellows.Clock) bellows.Range { return bellows.Range{End: 1} }}, at, Options{})
	require.NoError(t, err)
	var out wire.Outbox
	step := func(from wire.Address, m wire.Message) {
		l.Step([]wire.Envelope{{From: from, To: at, Message: m}}, &out)
	}
	pair := wire.Pair{Generation: 1}
	sent := 0
	for life := uint32(1); life <= 20; life++ {
		id := bellows.FlushID{Client: 1, Incarnation: life, Seq: 1}
		step(client, &wire.Pull{Incarnation: life, Request: 1, Need: wire.Need{Clock: bellows.NoClock}, Parts: []wire.PullPart{{Pair: pair, Subscribe: true}}})
		step(client, &wire.Push{Flush: id, Pairs: []wire.Pair{pair}, Chunks: []wire.Chunk{{Pair: pair, Rows: []uint32{0}, Values: []float32{1}}}})
		out.Envelopes = nil
		r := &wire.Records{}
		r.Append(bellows.CommitNumber(life), &wire.Done{Flush: id})
		step(controller, r)
		for _, e := range out.Envelopes {
			if m, ok := e.Message.(*wire.Rows); ok && m.Incarnation == life {
				sent++
			}
		}
		if l.reads.Filling() > 0 || len(l.state.Owned()[0].Subscribers.List()) != 1 {
			t.Fatalf("in life %d it fills %d messages, and has %d subscribers", life, l.reads.Filling(), len(l.state.Owned()[0].Subscribers.List()))
		}
	}
	if sent != 20 {
		t.Errorf("%d of 20 processes were sent rows", sent)
	}
}

// TestAbandonedCopyTakesNoMemory offers a lane a copy of a partition of another, and gives it up.
func TestAbandonedCopyTakesNoMemory(t *testing.T) {
	tables := []table.Schema{{Name: "rows", Rows: 6, Width: 3, Partitions: 1, Consistency: table.Async}}
	from, at, client := wire.LaneAt(0, 0), wire.LaneAt(1, 0), wire.ClientAt(1)
	l, err := NewLane(core.Job{Nodes: 2, Clients: []wire.Address{client}, Lanes: []wire.Address{from, at}, Tables: tables, Route: route.Spread(tables, 1, []wire.Address{from, at}, []bellows.NodeID{1})}, at, Options{})
	require.NoError(t, err)
	s := handoff.NewSource(&wire.Handoff{Term: 1, Number: 1, Pair: wire.Pair{Generation: 1}, Node: 1}, 1, handoff.Limits{Slab: 4, Window: 150, Behind: 1000})
	var out wire.Outbox
	l.Step([]wire.Envelope{{From: from, To: at, Message: s.Offer(0)}}, &out)
	if l.moves.Incoming() != 1 {
		t.Fatalf("it has %d copies of what it was offered: %v", l.moves.Incoming(), out.Envelopes)
	}
	s.Begin(false)
	l.Step([]wire.Envelope{{From: from, To: at, Message: s.Void()}}, &out)
	if l.moves.Incoming() != 0 {
		t.Error("it keeps a copy that was given up")
	}
}
