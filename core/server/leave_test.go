package server_test

import (
	"slices"
	"strings"
	"testing"

	"bellows"
	"bellows/core/server"
	"bellows/link/wire"
)

// leaver returns a lane of a job with another, which owns all and takes over the counts of actors that leave.
func leaver(t *testing.T, self wire.Address) (*script, *roads) {
	r := firstRoads(routeTables)
	r.next(r.AddLane(addedLane))
	job := jobOf(routeTables...)
	job.Route = r.Route
	return newScriptOf(t, job, self, server.Options{}), r
}

// gives returns the final counts of an actor that a route has removed.
func gives(by bellows.RouteVersion, sent, dropped int64, adopted ...bellows.Control) *wire.Closed {
	return &wire.Closed{Counts: wire.Counts{Sent: sent, Dropped: dropped}, Route: by, Adopted: adopted}
}

// TestALaneLeavesWhenNothingMoreComes removes a lane. It answers clients with an old route until each client has sent
// its End or was removed itself. Its counts go to its successor; and to the controller, if the job ends then.
func TestALaneLeavesWhenNothingMoreComes(t *testing.T) {
	s, r := leaver(t, addedLane)
	s.send(clients[0], "push t1/p0 as at generation 0", pushBy(1, clients[0], 1, wire.Pair{Ref: bellows.PartitionRef{Table: 1}}, wire.Subtree{}, 1))
	s.change(1, r.next(r.RemoveLane(addedLane, laneAt)))
	if !s.lane.Removed() || s.lane.TakesPart() || s.lane.Ending() {
		t.Error("it does not leave, or takes the job for over")
	}
	s.send(clients[0], "push t1/p0 as at generation 0", pushBy(1, clients[0], 2, wire.Pair{Ref: bellows.PartitionRef{Table: 1}}, wire.Subtree{}, 1))
	s.send(clients[0], "pull t1/p0 as at generation 0 by a newer route", pullBy(7, 1, wire.Pair{Ref: bellows.PartitionRef{Table: 1}}))
	s.end(clients[0])
	s.note("the other one is not waited for: it has left")
	s.end(clients[1])
	s.note("the job ends, and ends again")
	s.send(controller, "the job is over", &wire.End{Term: 1})
	s.send(controller, "the job is over", &wire.End{Term: 2})
	if !s.lane.Ending() {
		t.Error("it has not heard the end")
	}
	s.check()
}

// TestLeavingLaneIgnoresLaterRecords lets another controller, which has not heard of the removal, send later records.
// A client that takes part from then on never heard of the lane, and is not waited for.
func TestLeavingLaneIgnoresLaterRecords(t *testing.T) {
	s, r := leaver(t, addedLane)
	both := wire.New[wire.Records]()
	both.Term = 2
	both.AppendControl(1, r.next(r.RemoveLane(addedLane, laneAt)))
	both.AppendControl(2, r.next(r.AddClient(4)))
	late := wire.New[wire.Records]()
	late.Term = 2
	late.AppendControl(3, r.next(r.AddClient(5)))
	var out wire.Outbox
	for _, m := range []wire.Message{both, late, &wire.Query{Term: 2}} {
		s.lane.Step([]wire.Envelope{{From: controller, To: addedLane, Message: m}}, &out)
	}
	if h := out.Envelopes[0].Message.(*wire.Holding); s.lane.Applied() != 1 || h.Last != 1 || h.Tail != 1 {
		t.Errorf("it is at record %d, and holds %+v", s.lane.Applied(), h)
	}
	out = wire.Outbox{}
	for _, c := range clients {
		s.lane.Step([]wire.Envelope{{From: c, To: addedLane, Message: &wire.End{Parts: true}}}, &out)
	}
	if n := len(out.Envelopes); n != 1 || out.Envelopes[0].To != laneAt {
		t.Errorf("after the final counts of all that it knew it sends %+v", out.Envelopes)
	}
}

// TestAnHeirTakesOverCounts gives a lane the counts of others: one before it has the record of the removal, one
// twice, one with counts that it has taken over itself. It reports to each controller which counts it has, and they
// are in its final counts.
func TestAnHeirTakesOverCounts(t *testing.T) {
	s, r := leaver(t, laneAt)
	s.change(1, r.next(r.AddClient(4)))
	of := r.RemoveClient(4, laneAt)
	s.note("ahead of the record")
	s.send(addedClient, "its counts, by route 3", gives(3, 5, 0))
	s.change(2, r.next(of))
	s.send(addedClient, "its counts, once more", gives(3, 5, 0))
	one := r.RemoveLane(addedLane, laneAt)
	s.change(3, r.next(one))
	s.note("with those of one whose heir it was")
	s.send(addedLane, "its counts, by route 4", gives(4, 2, 3, bellows.Control{Kind: bellows.RemoveClient, Route: 2, Node: 9, Heir: 3}))
	var out wire.Outbox
	s.lane.Step([]wire.Envelope{{From: controller, To: laneAt, Message: &wire.Query{Term: 1}}}, &out)
	if h := out.Envelopes[0].Message.(*wire.Holding); len(h.Adopted) != 3 || h.Adopted[0] != of || h.Adopted[2] != one || len(h.Added) != 1 {
		t.Errorf("it holds %+v", h)
	}
	s.send(controller, "the job is over", &wire.End{Term: 1})
	s.endClients()
	s.check()
}

// TestLeavingSuccessorWaitsForCounts removes a lane that is a successor: it leaves when it has the counts.
func TestLeavingSuccessorWaitsForCounts(t *testing.T) {
	s, r := leaver(t, addedLane)
	s.change(1, r.next(r.AddClient(4)))
	s.change(2, r.next(r.RemoveClient(4, addedLane)))
	s.change(3, r.next(r.RemoveLane(addedLane, laneAt)))
	s.endClients()
	s.note("it has heard all clients")
	s.send(addedClient, "its counts, by route 3", gives(3, 5, 0))
	s.check()
}

// TestUnresentPushesCountAsDropped refuses a push for want of room after the route, and others that are ahead. The
// job ends before they come again, or after the record. A push that comes twice counts once, and one of an earlier
// process not at all.
func TestUnresentPushesCountAsDropped(t *testing.T) {
	r, job := firstRoads(routeTables), jobOf(routeTables...)
	job.Incarnations = []uint32{0, 2, 2}
	s := newScriptOf(t, job, laneAt, server.Options{Limits: server.Limits{Ahead: 1}})
	push := func(seq int, incarnation uint32, to wire.Pair) *wire.Push {
		m := pushBy(1, clients[0], seq, to, wire.Subtree{}, 1)
		m.Flush.Incarnation = incarnation
		return m
	}
	s.send(clients[0], "push t1/p0, which is kept", push(1, 2, ref(1, 0)))
	s.send(clients[0], "the same", push(1, 2, ref(1, 0)))
	s.send(clients[0], "push t1/p1, for which there is no room", push(2, 2, ref(1, 1)))
	s.send(clients[0], "push t1/p0 of the process before", push(1, 1, ref(1, 0)))
	s.change(1, r.next(r.AddClient(4)))
	s.send(clients[0], "push t1/p1, once more", push(3, 2, ref(1, 1)))
	s.send(controller, "the job is over", &wire.End{Term: 1})
	s.send(clients[0], "the first again", push(1, 2, ref(1, 0)))
	s.endClients()
	s.end(wire.ClientAt(4))
	s.check()
}

// TestSuccessorTakesOverMissedPushes removes a lane that has refused pushes to others. It cannot know whether their
// flushes get numbers, but its successor can: those that have one by then, or get one later, are not dropped.
func TestSuccessorTakesOverMissedPushes(t *testing.T) {
	s, r := leaver(t, laneAt)
	s.change(1, r.next(r.RemoveLane(addedLane, laneAt)))
	s.record(2, 1, 1, 0)
	m := gives(2, 0, 0)
	for seq := range uint64(3) {
		m.Missed = append(m.Missed, wire.Missed{Flush: bellows.FlushID{Client: 1, Incarnation: 1, Seq: seq + 1}, Ref: bellows.PartitionRef{Table: 1}, Rows: 1 << seq})
	}
	s.send(addedLane, "its counts: it has missed three flushes, of which the first counts", m)
	s.record(3, 1, 2, 1)
	s.send(controller, "the job is over", &wire.End{Term: 1})
	s.endClients()
	s.check()
}

// TestLeavingLaneReportsMissedParts removes a lane that has refused pushes of a client, of an earlier
// process of that client, and of a node that is not the job's. The job ends, and ends again for another controller. Each
// time the lane reports only the push of the client's newest process, since the account has nothing of the others.
func TestLeavingLaneReportsMissedParts(t *testing.T) {
	s, r := leaver(t, addedLane)
	s.change(1, r.next(r.RemoveLane(addedLane, laneAt)))
	old := wire.Pair{Ref: bellows.PartitionRef{Table: 1}}
	for _, incarnation := range []uint32{1, 2} {
		m := pushBy(1, clients[0], 1, old, wire.Subtree{}, 1)
		m.Flush.Incarnation = incarnation
		s.send(clients[0], "push t1/p0 as at generation 0", m)
	}
	stranger := wire.ClientAt(99)
	s.send(stranger, "push t1/p0 as at generation 0", pushBy(0, stranger, 1, old, wire.Subtree{}, 1))
	var out wire.Outbox
	for _, from := range []wire.Address{controller, clients[0], clients[1], controller} {
		m := &wire.End{}
		if from == controller {
			m.Term = bellows.Term(len(out.Envelopes) + 1)
		}
		s.lane.Step([]wire.Envelope{{From: from, To: addedLane, Message: m}}, &out)
	}
	if len(out.Envelopes) != 2 {
		t.Fatalf("the lane sends %+v, and not its counts to each controller", out.Envelopes)
	}
	for _, e := range out.Envelopes {
		list := e.Message.(*wire.Closed).Missed
		if len(list) != 1 || list[0].Flush != (bellows.FlushID{Client: 1, Incarnation: 2, Seq: 1}) {
			t.Errorf("it reports that it has missed %+v", list)
		}
	}
}

// TestLeaseOfRemovedClientEnds removes a client before its last message comes, which gives a shared lease back. The
// lease ends with the record, so that another client gets the partition. If the message comes later, it changes nothing.
func TestLeaseOfRemovedClientEnds(t *testing.T) {
	s, r := leaver(t, laneAt)
	s.change(1, r.next(r.AddClient(4)))
	of := ref(1, 0)
	s.send(addedClient, "acquire t1/p0, shared", &wire.Acquire{Request: 3, Pair: of, Mode: wire.Shared, Need: wire.Need{Clock: bellows.NoClock}})
	s.acquire(1, of, wire.Exclusive)
	s.mark()
	s.change(2, r.next(r.RemoveClient(4, laneAt)))
	s.expect("to node 1: granted t1/p0")
	s.mark()
	s.send(addedClient, "release t1/p0", &wire.Release{Pair: of})
	s.acquire(2, of, wire.Shared)
	if said := s.saidSince(s.at); strings.Contains(said, "granted") || strings.Contains(said, "breach") {
		t.Errorf("a late message ends another lease, or the job: %s", said)
	}
}

// TestRemovedLaneAfterItsClients ends all clients of a lane before the lane gets the record of its removal. The lane closes with that
// record, since nothing more can arrive.
func TestRemovedLaneAfterItsClients(t *testing.T) {
	s, r := leaver(t, addedLane)
	s.endClients()
	s.mark()
	s.change(1, r.next(r.RemoveLane(addedLane, laneAt)))
	s.expect("to lane 0 of node 0: closed: applied 0 dropped 0")
}

// TestALaneBuriesByARecord loses a client while the job continues, which has a copy of a partition under an exclusive
// lease and a part of a held flush. The lease ends, nothing of it counts anywhere, others are served, and neither a
// lane nor another controller waits for it.
func TestALaneBuriesByARecord(t *testing.T) {
	s := newScript(t, 0)
	s.push(2, 1, 0, ref(1, 0), 2)
	s.record(1, 2, 1, 0)
	s.acquire(2, ref(1, 1), wire.Exclusive)
	s.acquire(1, ref(1, 1), wire.Exclusive)
	s.push(2, 2, 1, ref(1, 0), 8)
	s.change(2, bellows.Control{Kind: bellows.MoveSplit, Route: 1, Split: 1, Node: 1})
	s.mark()
	s.change(3, bellows.Control{Kind: bellows.LoseClient, Route: 2, Node: 2})
	s.expect("to node 1: granted t1/p1")
	s.push(2, 3, 2, ref(1, 0), 16)
	s.pull(2, ref(1, 0), wire.Need{Clock: bellows.NoClock})
	if said := s.saidSince(s.at); strings.Contains(said, "to node 2") {
		t.Errorf("the lost is answered: %s", said)
	}
	h, _ := s.holds(1, 0)
	if len(h.Flushes) != 0 || len(h.Adopted) != 1 || h.Adopted[0] != (bellows.Control{Kind: bellows.LoseClient, Route: 2, Node: 2}) {
		t.Errorf("it holds %+v, and reports that no actor waits for %+v", h.Flushes, h.Adopted)
	}
	s.end(clients[0])
	s.mark()
	s.end(controller)
	s.expect("closed: applied 1 dropped 0")
}

// TestLaneBeginsAfterALoss begins a lane in a job that has added a client and lost it. The lane never had that client, and still reports
// the loss to a later controller.
func TestLaneBeginsAfterALoss(t *testing.T) {
	s, r := beginner(t)
	r.next(r.AddLane(addedLane))
	added := r.AddClient(4)
	lost := bellows.Control{Kind: bellows.LoseClient, Route: r.Version(), Node: 4}
	m := r.begin(17, 2, 1)
	m.Changes = append(m.Changes, added, lost)
	s.send(controller, "begin behind record 17", m)
	var out wire.Outbox
	s.lane.Step([]wire.Envelope{{From: controller, To: addedLane, Message: &wire.Query{Term: 1}}}, &out)
	if h, ok := out.Envelopes[0].Message.(*wire.Holding); !ok || !slices.Equal(h.Adopted, []bellows.Control{lost}) {
		t.Errorf("it holds %+v", out.Envelopes[0].Message)
	}
	s.expectEnd(0, 0)
}
