package server_test

import (
	"slices"
	"testing"

	"bellows"
	"bellows/core"
	"bellows/core/route"
	"bellows/core/server"
	"bellows/internal/require"
	"bellows/link/wire"
	"bellows/table"
)

// TestTornCopyHasWaitingDeltas moves a partition of a BSP table under an exclusive lease, while a delta waits for the end of its clock. The
// rows are copied one by one after the lease, and the delta after the last of them; also where the lease ends in the step in which the copy begins.
func TestTornCopyHasWaitingDeltas(t *testing.T) {
	for _, atOnce := range []bool{false, true} {
		tables := []table.Schema{{Name: "barrier", Rows: 4, Width: 1, Partitions: 1}}
		job := core.Job{Controller: controller, Nodes: 5, Lanes: ferryLanes, Clients: ferryClients, Tables: tables, Route: route.Spread(tables, 2, ferryLanes, []bellows.NodeID{3, 4}),
			Items: func(bellows.SplitID, bellows.Clock) bellows.Range { return bellows.Range{End: 1} }}
		m := &halfMoved{t: t}
		for i, a := range ferryLanes {
			l, err := server.NewLane(job, a, server.Options{Limits: server.Limits{Slab: 1, Window: 1}})
			require.NoError(t, err)
			m.lanes[i] = l
		}
		m.moveTorn(job.Route.MovePartition(ref(0, 0).Ref, ferryLanes[1]), atOnce)
		im, err := m.lanes[1].Partition(ref(0, 0).Ref)
		if want := []float32{11, 22, 33, 44}; err != nil || !slices.Equal(im.Values, want) {
			t.Errorf("lease over as the copy begins: %v: the partition is %v, want %v; %v", atOnce, im.Values, want, err)
		}
	}
}

// moveTorn moves the partition from the first lane to the second: with a delta of a clock that is not complete, and a lease that ends after the copy has begun,
// or in the same step.
func (m *halfMoved) moveTorn(move bellows.Control, atOnce bool) {
	pair := ref(0, 0)
	flush := func(client, seq int) bellows.FlushID {
		return bellows.FlushID{Client: ferryClients[client].Node, Incarnation: 1, Seq: uint64(seq)}
	}
	records := func(fill func(*wire.Records)) *wire.Records {
		r := wire.New[wire.Records]()
		r.Term = 1
		fill(r)
		return r
	}
	record := func(fill func(*wire.Records)) {
		for i := range m.lanes {
			m.give(i, controller, records(fill))
		}
	}
	unit := func(split bellows.SplitID) []wire.Result {
		return []wire.Result{{Unit: bellows.Unit{Split: split, Items: bellows.Range{End: 1}}}}
	}
	m.give(0, ferryClients[0], &wire.Push{Flush: flush(0, 1), Pairs: []wire.Pair{pair},
		Chunks: []wire.Chunk{{Pair: pair, Rows: []uint32{0, 1, 2, 3}, Values: []float32{1, 2, 3, 4}}}})
	record(func(r *wire.Records) { r.Append(1, &wire.Done{Flush: flush(0, 1), Results: unit(0)}) })
	m.give(0, ferryClients[1], &wire.Acquire{Request: 1, Pair: pair, Mode: wire.Exclusive, Need: wire.Need{Clock: bellows.NoClock}})
	m.give(0, ferryClients[1], &wire.Push{Flush: flush(1, 1), Pairs: []wire.Pair{pair}, Leases: []wire.LeaseEnd{{Pair: pair, Values: []float32{10, 20, 30, 40}}}})
	var out wire.Outbox
	begin := wire.Envelope{From: controller, To: ferryLanes[0], Message: &wire.Handoff{Term: 1, Number: 1, Pair: pair, Node: ferryLanes[1].Node}}
	for i := range m.lanes { // the offer, and that it is taken
		m.lanes[i].Step([]wire.Envelope{begin}, &out)
		if len(out.Envelopes) != 1 {
			m.t.Fatalf("lane %d says %+v", i, out.Envelopes)
		}
		begin = out.Envelopes[0]
		out.Envelopes = nil
	}
	ends := func(r *wire.Records) { r.Append(2, &wire.Done{Flush: flush(1, 1)}) }
	ended := wire.Envelope{From: controller, To: ferryLanes[0], Message: records(ends)}
	if atOnce {
		m.step(0, begin, ended)
	} else {
		m.step(0, begin)
		m.step(0, ended)
	}
	m.give(1, controller, records(ends))
	if !slices.ContainsFunc(m.said, func(said wire.Message) bool { p, ok := said.(*wire.Prepared); return ok && p.Whole }) {
		m.t.Fatalf("the copy is not ready: %+v", m.said)
	}
	record(func(r *wire.Records) { r.AppendControl(3, move) })
	record(func(r *wire.Records) { r.Append(4, &wire.Done{Flush: flush(1, 2), Results: unit(1)}) })
}
