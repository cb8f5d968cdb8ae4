package server_test

import (
	"strings"
	"testing"

	"bellows"
	"bellows/core/rowstore"
	"bellows/core/server"
	"bellows/internal/require"
	"bellows/link/wire"
	"bellows/table"
)

// moved returns a partition of the free table at its second owner.
func moved(p bellows.PartitionID) wire.Pair { return wire.Pair{Ref: ref(1, p).Ref, Generation: 2} }

// TestMoveKeepsRestOfFlush gives a partition away while a flush is held that has a delta for it, and ends a lease on another: the lease ends with the
// record, with the values that the flush brought.
func TestMoveKeepsRestOfFlush(t *testing.T) {
	s, r := newScript(t, 0), firstRoads(routeTables)
	s.acquire(1, ref(1, 1), wire.Exclusive)
	m := pushBy(0, clients[0], 1, ref(1, 0), wire.Subtree{}, 1)
	m.Pairs = append(m.Pairs, ref(1, 1))
	m.Leases = append(m.Leases, wire.LeaseEnd{Pair: ref(1, 1), Values: []float32{7, 8}})
	s.send(clients[0], "push t1/p0, and the lease on t1/p1 ends", m)
	r.next(r.AddLane(addedLane))
	s.change(1, r.lastAddsLane())
	s.change(2, r.next(r.MovePartition(ref(1, 0).Ref, addedLane)))
	s.record(3, 1, 1, 0)
	s.mark()
	s.pull(2, ref(1, 1), wire.Need{Clock: bellows.NoClock})
	s.expect("rows for request 2 t1/p1 all [7 8]")
}

// TestMoveReleasesRoomOfHeldPart moves a partition of which half a flush is held, at a lane that holds 16 bytes at
// most. The half makes room once, and neither less nor more when the rest is recorded.
func TestMoveReleasesRoomOfHeldPart(t *testing.T) {
	s, r := newGrown(t, 16)
	s.send(clients[0], "push of 16 bytes, half of it for t1/p0", twoParts(1, clients[0], 1))
	s.mark()
	s.push(2, 1, 5, ref(1, 1), 1)
	s.expect("full, flush 1 of node 2")
	s.change(2, r.next(r.MovePartition(ref(1, 0).Ref, addedLane)))
	s.expect("room for flush 1 of node 2")
	s.push(2, 1, 5, ref(1, 1), 1)
	s.expect("done flush 1 of node 2")
	s.record(3, 1, 1, 0)
	s.push(2, 2, 6, ref(1, 1), 1)
	s.mark()
	s.push(2, 3, 7, ref(1, 1), 1)
	s.expect("full, flush 3 of node 2")
}

// TestAMoveLetsWaitersIn moves the partition of the flush for which others wait: no part of it is held here any more,
// so that no record of it would ever make room.
func TestAMoveLetsWaitersIn(t *testing.T) {
	s, r := newGrown(t, 4)
	s.push(1, 1, 0, ref(1, 0), 1)
	s.push(2, 1, 5, ref(1, 1), 1)
	s.mark()
	s.change(2, r.next(r.MovePartition(ref(1, 0).Ref, addedLane)))
	s.expect("room for flush 1 of node 2")
}

// TestRefusedPushLeavesQueue lets a push wait for room while its partition moves to another lane. Its client is
// answered at once, and the next push in the queue gets its place. It delays no later flush of its client, and since
// it came here first, it is dropped here.
func TestRefusedPushLeavesQueue(t *testing.T) {
	s, r := newGrown(t, 8)
	s.push(2, 1, 0, ref(1, 1), 1)
	s.push(1, 1, 1, ref(1, 0), 1)
	s.push(2, 2, 9, ref(1, 1), 1)
	s.mark()
	s.change(2, r.next(r.MovePartition(ref(1, 0).Ref, addedLane)))
	s.expect("flush 1 of node 1 is stale by route 2: [{t1/p0 1}]\n    to node 2: room for flush 2 of node 2")
	s.push(1, 1, 1, ref(1, 0), 1)
	s.expect("flush 1 of node 1 is stale by route 2: [{t1/p0 1}]")
	s.record(3, 2, 1, 0)
	s.push(2, 2, 9, ref(1, 1), 1)
	s.mark()
	s.push(1, 2, 3, ref(1, 1), 1)
	s.expect("done flush 2 of node 1")
	s.record(4, 2, 2, 1)
	s.record(5, 1, 2, 0)
	s.endClients()
	s.end(controller)
	s.expect("closed: applied 3 dropped 1")
}

// TestNewLaneKnowsClientsAndConsistency begins a lane after a record that added a client, and one that removed a
// table's barrier. The client's push is taken, each client is awaited once at the end, and recorded updates are
// visible at once.
func TestNewLaneKnowsClientsAndConsistency(t *testing.T) {
	s, r := beginner(t)
	r.next(r.AddClient(addedClient.Node))
	r.next(r.AddLane(addedLane))
	r.next(r.MovePartition(ref(0, 0).Ref, addedLane))
	m := r.begin(17, 2, 1)
	m.Begin.Staleness[0] = int32(table.Async)
	s.send(controller, "begin behind record 17", m)
	require.NoError(t, s.lane.Load(ref(0, 0).Ref, &rowstore.Image{Values: []float32{5, 6}}))
	to := wire.Pair{Ref: ref(0, 0).Ref, Generation: 2}
	s.mark()
	s.send(addedClient, "pull t0/p0, and subscribe", pullBy(3, 1, to))
	s.send(addedClient, "push t0/p0", pushBy(3, addedClient, 1, to, wire.Subtree{}, 10))
	s.expect("held flush 1 of node 4")
	rec := wire.New[wire.Records]()
	rec.Append(18, &wire.Done{Flush: bellows.FlushID{Client: addedClient.Node, Incarnation: 1, Seq: 1}})
	s.send(controller, "commit 18 is flush 1 of node 4", rec)
	s.expect("to node 4: rows for request 0 t0/p0 [0] [15] after commit 18")
	s.end(controller)
	s.endClients()
	s.mark()
	s.expect("")
	if strings.Contains(s.text.String(), "closed") {
		t.Error("it closes without the word of a client")
	}
	s.end(addedClient)
	s.expect("closed: applied 1 dropped 0")
}

// limited returns a lane like newScript's, with other limits, before a partition of t1 comes to it.
func limited(t *testing.T, limits server.Limits) (*script, *roads) {
	r := firstRoads(routeTables)
	s := newScriptOf(t, jobOf(routeTables...), addedLane, server.Options{Limits: limits})
	r.next(r.AddLane(addedLane))
	s.send(controller, "begin behind record 17", r.begin(17, 2, 1))
	s.change(18, r.next(r.MovePartition(ref(1, 0).Ref, addedLane)))
	return s, r
}

// load delivers the state of a partition of the free table, and an unrelated message, after which waiting messages
// are looked at.
func (s *script) load(p bellows.PartitionID) {
	s.t.Helper()
	require.NoError(s.t, s.lane.Load(ref(1, p).Ref, &rowstore.Image{Values: []float32{5, 6}}))
	s.send(clients[1], "nothing in particular", &wire.Release{Pair: ref(0, 1)})
}

// TestArrivedPartitionIsServedWhileOthersMove lets the state of one partition come, and of another not: a read of the
// first is answered.
func TestArrivedPartitionIsServedWhileOthersMove(t *testing.T) {
	s, r := limited(t, server.Limits{})
	s.load(0)
	s.change(19, r.next(r.MovePartition(ref(1, 1).Ref, addedLane)))
	s.mark()
	s.pull(1, moved(0), wire.Need{Clock: bellows.NoClock})
	s.expect("rows for request 2 t1/p0 all [5 6]")
	s.pull(2, moved(1), wire.Need{Clock: bellows.NoClock})
	s.expect("")
	s.load(1)
	s.expect("to node 2: rows for request 2 t1/p1 all [5 6]")
}

// TestExcessPushIsResentAfterStateArrives pushes more to a partition that is awaited than may wait: the first waits, the second is to be sent again when
// the first is held, by the same route.
func TestExcessPushIsResentAfterStateArrives(t *testing.T) {
	s, _ := limited(t, server.Limits{Ahead: 8})
	s.mark()
	s.send(clients[0], "push 5", pushBy(2, clients[0], 5, moved(0), wire.Subtree{}, 1))
	s.send(clients[0], "push 6", pushBy(2, clients[0], 6, moved(0), wire.Subtree{}, 1))
	s.expect("")
	s.load(0)
	s.expect("held flush 5 of node 1\n    to node 1: flush 6 of node 1 is stale by route 2: [{t1/p0 2}]")
}

// TestLeaseEndsInPushTakeRoom leaves no room for more that is ahead: a push with only chunks or only lease ends has
// to come again, like any push that brings something.
func TestLeaseEndsInPushTakeRoom(t *testing.T) {
	s, _ := limited(t, server.Limits{Ahead: 8})
	s.send(clients[0], "push 5", pushBy(2, clients[0], 5, moved(0), wire.Subtree{}, 1))
	m := pushBy(2, clients[0], 6, moved(0), wire.Subtree{}, 1)
	m.Leases = append(m.Leases, wire.LeaseEnd{Pair: moved(0), Values: []float32{7, 8}})
	s.send(clients[0], "push 6", m)
	s.mark()
	s.load(0)
	s.expect("flush 6 of node 1 is stale by route 2: [{t1/p0 2}]")
}

// TestRequestsTooFarAheadAreRefusedOnce leaves no place for messages that are ahead of a lane. A push, a question and
// a request are refused at once, and are not answered again when the lane has caught up.
func TestRequestsTooFarAheadAreRefusedOnce(t *testing.T) {
	for what, m := range map[string]wire.Message{
		"flush 6 of node 1 is stale by route 2: [{t1/p0 2}]": pushBy(2, clients[0], 6, moved(0), wire.Subtree{}, 1),
		"request 9 is stale by route 2":                      pullBy(2, 9, moved(0)),
		"request 8 is stale by route 2":                      &wire.Acquire{Request: 8, Route: 2, Pair: moved(0), Mode: wire.Shared, Need: wire.Need{Clock: bellows.NoClock}},
	} {
		s, _ := limited(t, server.Limits{Parked: 1})
		s.send(clients[0], "push 5", pushBy(2, clients[0], 5, moved(0), wire.Subtree{}, 1))
		if got := s.said(clients[0], m); got != "to node 1: "+what {
			t.Errorf("says %q, want %q", got, what)
		}
		at := s.text.Len()
		s.load(0)
		if got := strings.Count(s.saidSince(at), "    to "); got != 1 {
			t.Errorf("caught up, it says %d words:\n%s", got, s.saidSince(at))
		}
	}
}

// TestPushOfReplacedProcessDoesNotWait makes a newer process of a client known. A push of the previous process, by a
// route that the lane does not know, does not make the newer one wait.
func TestPushOfReplacedProcessDoesNotWait(t *testing.T) {
	for client, at := range clients {
		s := newScript(t, 0)
		pull := func() string {
			m := pullOf(0)
			m.Incarnation = 2
			return s.said(at, m)
		}
		pull()
		s.send(at, "a push of the first process", pushBy(5, at, 1, ref(1, 0), wire.Subtree{}, 1))
		if got := pull(); !strings.Contains(got, "rows for request 2") {
			t.Errorf("the second process of node %d is told %q", client+1, got)
		}
	}
}

// TestPushForPartitionNeverSeenIsDropped ends a job while a push waits for a route that brings a partition here, and
// the client's End waits after it. Both count, though the controller's message comes last.
func TestPushForPartitionNeverSeenIsDropped(t *testing.T) {
	s := newScript(t, 0)
	s.send(clients[0], "push by route 2", pushBy(2, clients[0], 1, moved(0), wire.Subtree{}, 1))
	s.endClients()
	s.mark()
	s.end(controller)
	if said := s.expect("closed: applied 0 dropped 1"); strings.Contains(said, "refused") {
		t.Error(said)
	}
}
