package server_test

import (
	"slices"
	"testing"

	"bellows"
	"bellows/core/server"
	"bellows/link/wire"
)

// TestACopyEndsWithTheJob ends a job whose newest record, which moves a partition, has reached the lane that gets it and never comes to the one that had it: as where
// a controller cannot recover. Who waits for the last piece is told that none comes, and closes.
func TestACopyEndsWithTheJob(t *testing.T) {
	job := ferryJob(ferryLanes)
	var lanes [2]*server.Lane
	for i, a := range ferryLanes {
		l, err := server.NewLane(job, a, server.Options{})
		if err != nil {
			t.Fatal(err)
		}
		lanes[i] = l
	}
	var said []wire.Message // to the controller
	var give func(lane int, from wire.Address, m wire.Message)
	give = func(lane int, from wire.Address, m wire.Message) {
		var out wire.Outbox
		lanes[lane].Step([]wire.Envelope{{From: from, To: ferryLanes[lane], Message: m}}, &out)
		for _, e := range out.Envelopes {
			if to := slices.Index(ferryLanes, e.To); to >= 0 {
				give(to, e.From, e.Message)
			} else {
				said = append(said, e.Message)
			}
		}
	}
	closed := func() (n int) {
		for _, m := range said {
			if _, ok := m.(*wire.Closed); ok {
				n++
			}
		}
		return n
	}
	ref := bellows.PartitionRef{Table: 1}
	owner := job.Route.Owner(ref)
	from := slices.Index(ferryLanes, owner.Lane)
	to := 1 - from
	give(from, controller, &wire.Handoff{Term: 1, Number: 1, Pair: wire.Pair{Ref: ref, Generation: owner.Generation}, Node: ferryLanes[to].Node})
	if !slices.ContainsFunc(said, func(m wire.Message) bool { p, ok := m.(*wire.Prepared); return ok && p.Whole }) {
		t.Fatalf("the owner says %+v", said)
	}
	records := wire.New[wire.Records]()
	records.Term = 1
	records.AppendControl(1, job.Route.MovePartition(ref, ferryLanes[to]))
	give(to, controller, records)
	end := &wire.End{Term: 1, Commit: 1, Reason: "the job cannot be recovered", Kind: bellows.Lost, Gone: []bellows.NodeID{3, 4}}
	give(to, controller, end)
	if closed() != 0 {
		t.Fatal("who waits for the last piece has closed")
	}
	give(from, controller, end)
	if closed() != 2 {
		t.Errorf("%d of two lanes have closed", closed())
	}
}
