package server_test

import (
	"strings"
	"testing"

	"bellows"
	"bellows/core/rowstore"
	"bellows/internal/require"
	"bellows/link/wire"
)

// twoParts returns a push of both partitions of the free table, by a route.
func twoParts(v bellows.RouteVersion, from wire.Address, seq int) *wire.Push {
	m := pushBy(v, from, seq, ref(1, 0), wire.Subtree{}, 1)
	m.Pairs = append(m.Pairs, ref(1, 1))
	m.Chunks = append(m.Chunks, wire.Chunk{Pair: ref(1, 1), Rows: []uint32{0}, Values: []float32{8}})
	return m
}

// TestClientLearnsWhichPartsToResend moves a partition of a held flush that its lane has passed on as done. Its
// client learns which part to send again, and that the rest is held. The flush counts here once, whichever lane
// receives the part.
func TestClientLearnsWhichPartsToResend(t *testing.T) {
	s, r := newGrown(t, 0)
	m := twoParts(1, clients[0], 1)
	m.Done = &wire.Done{Flush: m.Flush, Pairs: m.Pairs}
	s.mark()
	s.send(clients[0], "push both", m)
	s.expect("to the controller: done flush 1 of node 1")
	s.change(2, r.next(r.MovePartition(ref(1, 0).Ref, addedLane)))
	s.expect("flush 1 of node 1 is stale by route 2: [{t1/p0 1}]\n    to node 1: held flush 1 of node 1 [{t1/p1 1}]")
}

// TestACountedFlushIsKnown pushes a flush once more that has a number, to a lane that its partition has left: it is nothing new.
func TestACountedFlushIsKnown(t *testing.T) {
	s, r := newGrown(t, 0)
	s.push(1, 1, 0, ref(1, 0), 1)
	s.record(2, 1, 1, 0)
	s.change(3, r.next(r.MovePartition(ref(1, 0).Ref, addedLane)))
	at := s.text.Len()
	s.send(clients[0], "push flush 1 once more", pushBy(1, clients[0], 1, ref(1, 0), wire.Subtree{}, 1))
	if got := s.text.String()[at:]; strings.Contains(got, "to node") {
		t.Errorf("says %s", got)
	}
}

// TestRefusedPartWaitsAtNewOwner lets a part wait for room at the current owner while a copy comes that names the
// former owner. The copy is refused, and the part is asked for when there is room.
func TestRefusedPartWaitsAtNewOwner(t *testing.T) {
	s, r := newGrown(t, 1)
	s.change(2, r.next(r.MovePartition(ref(1, 0).Ref, addedLane)))
	s.change(3, r.next(r.MovePartition(ref(1, 0).Ref, laneAt)))
	s.come()
	s.push(1, 1, 0, ref(1, 1), 8)
	back := wire.Pair{Ref: ref(1, 0).Ref, Generation: 3}
	s.mark()
	s.send(clients[1], "push t1/p0 at generation 3, again", again(pushBy(3, clients[1], 1, back, wire.Subtree{}, 1)))
	s.expect("full, flush 1 of node 2 must wait [{t1/p0 3}]")
	s.send(clients[1], "push t1/p0 at generation 1", pushBy(1, clients[1], 1, ref(1, 0), wire.Subtree{}, 1))
	s.expect("stale by route 3: [{t1/p0 1}]")
	s.record(4, 1, 1, 0)
	s.expect("room for flush 1 of node 2 [{t1/p0 3}]")
}

// TestResentPartIsDroppedOnce ends the job when a part was refused and came again, when one was forgotten, and when one waited: each is dropped where it came first.
func TestResentPartIsDroppedOnce(t *testing.T) {
	s, r := newGrown(t, 0)
	s.send(clients[0], "push both", twoParts(1, clients[0], 1))
	s.change(2, r.next(r.MovePartition(ref(1, 0).Ref, addedLane)))
	s.send(clients[1], "push both", twoParts(1, clients[1], 1)) // refused
	s.send(clients[1], "push both", twoParts(1, clients[1], 1)) // once more
	s.change(3, r.next(r.MovePartition(ref(1, 0).Ref, laneAt)))
	s.come()
	back := wire.Pair{Ref: ref(1, 0).Ref, Generation: 3}
	for i, c := range clients {
		s.send(c, "push t1/p0, again", again(pushBy(3, c, 1, back, wire.Subtree{}, 1)))
		if i == 1 {
			s.send(c, "push t1/p1, again", again(pushBy(3, c, 1, ref(1, 1), wire.Subtree{}, 8)))
		}
	}
	s.expectEnd(0, 4)
}

// come brings the state of a partition of the free table that has come back.
func (s *script) come() {
	s.t.Helper()
	require.NoError(s.t, s.lane.Load(ref(1, 0).Ref, &rowstore.Image{Values: []float32{5, 6}}))
}

// TestWaitingPartSentAgain sends a part again that waited for room, and ends the job before the flush gets a number. The part counts as
// dropped once.
func TestWaitingPartSentAgain(t *testing.T) {
	s := newScript(t, 8)
	s.push(2, 1, 0, ref(1, 0), 1)
	s.push(1, 1, 3, ref(1, 0), 1)
	s.mark()
	s.record(1, 2, 1, 0)
	s.expect("room for flush 1 of node 1")
	m := again(pushBy(0, clients[0], 1, ref(1, 0), wire.Subtree{}, 1))
	m.Clock = 3
	s.send(clients[0], "push t1/p0, again", m)
	s.expect("held flush 1 of node 1 [{t1/p0 1}]")
	s.expectEnd(1, 1)
}
