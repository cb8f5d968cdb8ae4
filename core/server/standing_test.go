package server_test

import (
	"testing"

	"bellows"
	"bellows/core/pending"
	"bellows/link/wire"
)

// stands returns the lane's word about one wait of a client.
func (s *script) stands(client int, incarnation uint32, w pending.Wait) (pending.Behind, uint32) {
	s.t.Helper()
	s.lane.Step([]wire.Envelope{{From: clients[client-1], To: laneAt, Message: &wire.Inquiry{Incarnation: incarnation, List: []pending.Wait{w}}}}, &s.out)
	defer func() { s.out.Envelopes = s.out.Envelopes[:0] }()
	if len(s.out.Envelopes) != 1 {
		s.t.Fatalf("%d messages answer an inquiry", len(s.out.Envelopes))
	}
	said := s.out.Envelopes[0].Message.(*wire.Standing).List[0]
	return said.Behind, said.Who
}

// TestLaneReportsWhatDelaysQuestion asks about questions: of the client that asked, and no other's; a lease that waits behind another, or for a clock.
func TestLaneReportsWhatDelaysQuestion(t *testing.T) {
	s := newScript(t, 0)
	of := func(number uint64) pending.Wait { return pending.Wait{Of: pending.Answer, Number: number} }
	expect := func(when string, client int, number uint64, behind pending.Behind, who uint32) {
		t.Helper()
		if b, w := s.stands(client, 1, of(number)); b != behind || w != who {
			t.Errorf("%s: node %d's question %d waits for %d of %d, not %d of %d", when, client, number, b, w, behind, who)
		}
	}
	expect("before it has asked", 1, 2, pending.Nothing, 0)
	s.pull(1, ref(0, 0), wire.Need{Clock: 0})
	expect("a read of clock 0", 1, 2, pending.Clock, 0)
	expect("of another client", 2, 2, pending.Nothing, 0)
	expect("of another number", 1, 7, pending.Nothing, 0)
	s.acquire(1, ref(1, 0), wire.Exclusive)
	s.acquire(2, ref(1, 0), wire.Exclusive)
	expect("the lease that it has", 1, 3, pending.Nothing, 0)
	expect("a lease behind another", 2, 3, pending.Lease, 1)
	m := wire.New[wire.Acquire]()
	*m = wire.Acquire{Request: 9, Pair: ref(1, 1), Mode: wire.Exclusive, Need: wire.Need{Clock: 0}}
	s.send(clients[1], "a lease of clock 0", m)
	expect("a lease that nobody has, of a clock that is not complete", 2, 9, pending.Clock, 0)
}

// TestLaneReportsWhatDelaysFlush asks about a flush by one of its parts: one that is held, one that waits for room, one that waits for its clock, and one that is not here.
func TestLaneReportsWhatDelaysFlush(t *testing.T) {
	s := newScript(t, 1)
	expect := func(when string, of wire.Pair, seq uint64, behind pending.Behind, who uint32) {
		t.Helper()
		if b, w := s.stands(1, 1, pending.Wait{Of: pending.Flush, Number: seq, Ref: of.Ref, Generation: of.Generation}); b != behind || w != who {
			t.Errorf("%s: it waits for %d of %d, not %d of %d", when, b, w, behind, who)
		}
	}
	expect("nothing was sent", ref(0, 0), 1, pending.Nothing, 0)
	half := func(of wire.Pair) *wire.Push {
		m := wire.New[wire.Push]()
		m.Flush, m.Clock = bellows.FlushID{Client: 1, Incarnation: 1, Seq: 1}, 0
		m.Pairs = append(m.Pairs, ref(0, 0), ref(0, 1))
		m.Chunks = append(m.Chunks, wire.Chunk{Pair: of, Rows: []uint32{0}, Values: []float32{1}})
		return m
	}
	s.send(clients[0], "one half", half(ref(0, 0)))
	expect("it is held", ref(0, 0), 1, pending.Record, 0)
	expect("the other has not come", ref(0, 1), 1, pending.Nothing, 0)
	s.send(clients[0], "the other", half(ref(0, 1)))
	expect("the first is still held", ref(0, 0), 1, pending.Record, 0)
	expect("and so is the other", ref(0, 1), 1, pending.Record, 0)
	s.push(2, 1, 3, ref(0, 0), 1)
	if b, _ := s.stands(2, 1, pending.Wait{Of: pending.Flush, Number: 1, Ref: ref(0, 0).Ref, Generation: 1}); b != pending.Room {
		t.Errorf("a flush of a later clock above the cap waits for %d", b)
	}
	s.record(1, 1, 1, 0)
	expect("it is recorded, and its clock is not complete", ref(0, 0), 1, pending.Clock, 1)
}

// TestPushesAheadAtEndAreDropped: what waits for a route when the job ends is accounted for.
func TestPushesAheadAtEndAreDropped(t *testing.T) {
	s := newScript(t, 0)
	s.send(clients[0], "a push by route 1", pushBy(1, clients[0], 1, ref(1, 0), wire.Subtree{}, 1))
	var closed *wire.Closed
	for _, from := range []wire.Address{controller, clients[0], clients[1]} {
		s.lane.Step([]wire.Envelope{{From: from, To: laneAt, Message: &wire.End{}}}, &s.out)
	}
	for _, e := range s.out.Envelopes {
		if m, ok := e.Message.(*wire.Closed); ok {
			closed = m
		}
	}
	if closed == nil || closed.Counts.Dropped != 1 {
		t.Errorf("the last word is %+v", closed)
	}
}

// TestLaneWithOldConsistencyLostNothing subscribes to a table that the controller gives a barrier. The client has
// heard of that and the lane has not: the client waits for the number of a clock, and the lane does not claim to have
// sent that clock. The reverse case is the same.
func TestLaneWithOldConsistencyLostNothing(t *testing.T) {
	s := newScript(t, 0)
	expect := func(when string, of wire.Pair, w pending.Of, number uint64, want pending.Behind) {
		t.Helper()
		if b, _ := s.stands(1, 1, pending.Wait{Of: w, Number: number, Ref: of.Ref, Generation: of.Generation}); b != want {
			t.Errorf("%s: it waits for %d, not %d", when, b, want)
		}
	}
	stream, barrier := ref(1, 0), ref(0, 0)
	for _, of := range []wire.Pair{stream, barrier} {
		s.subscribe(1, of)
	}
	s.record(1, 1, 1, 0)
	expect("a commit of a table without a barrier, which it has", stream, pending.Relay, 1, pending.Nothing)
	expect("a clock of it", stream, pending.Clocks, 1, pending.Record)
	expect("a clock of a table with one", barrier, pending.Clocks, 1, pending.Clock)
	expect("a commit of it", barrier, pending.Relay, 1, pending.Record)
	expect("what nobody has subscribed to", ref(1, 1), pending.Clocks, 1, pending.Nothing)
}
