package server_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"bellows"
	"bellows/link/wire"
)

// TestWhatDescendsHasABound sends a lane that is full flushes of which each is below all before, as no client does that keeps to the protocol: of
// a client with one split three are taken above the cap, besides three below it. Another client's are taken all the same, and what is recorded makes room again.
func TestWhatDescendsHasABound(t *testing.T) {
	s := newScript(t, 4*8)
	taken := func(client, seq int, clock bellows.Clock) bool {
		at := s.text.Len()
		s.push(client, seq, clock, ref(1, 0), 1)
		said := s.saidSince(at)
		held := strings.Contains(said, "done flush")
		if full := strings.Contains(said, "full,"); held == full {
			t.Fatal(said)
		}
		return held
	}
	s.push(2, 1, 1000, ref(1, 0), 1)
	for i := range 50 {
		if got, want := taken(1, i+1, bellows.Clock(100-i)), i < 6; got != want {
			t.Fatalf("flush %d of clock %d is taken: %v", i+1, 100-i, got)
		}
	}
	if !taken(2, 2, 20) {
		t.Error("the other client has to wait for the first")
	}
	r := wire.New[wire.Records]()
	r.Append(1, &wire.Done{Flush: bellows.FlushID{Client: 1, Incarnation: 1, Seq: 4}})
	s.send(controller, "commit 1 is flush 4 of node 1", r)
	if !taken(1, 51, 10) || taken(1, 52, 9) {
		t.Error("one that is recorded makes room for one")
	}
}

// TestNoFlushPassesAnotherOfItsClient wants a flush that finds room for itself, being below all that are held, to wait behind a lower one that does not
// know yet that there is room.
func TestNoFlushPassesAnotherOfItsClient(t *testing.T) {
	s := newScript(t, 4)
	s.push(2, 1, 0, ref(1, 0), 1)
	s.push(1, 1, 1, ref(1, 0), 1)
	s.record(1, 2, 1, 0)
	s.push(2, 2, 9, ref(1, 0), 1)
	at := s.text.Len()
	s.push(1, 2, 2, ref(1, 0), 1)
	if !strings.Contains(s.saidSince(at), "full, flush 2 of node 1 must wait") {
		t.Errorf("it is taken:\n%s", s.text.String())
	}
	at = s.text.Len()
	s.push(1, 1, 1, ref(1, 0), 1)
	if !strings.Contains(s.saidSince(at), "done flush 1 of node 1") {
		t.Errorf("the lower one is not taken:\n%s", s.text.String())
	}
}

// TestFlushesThatWaitAreBounded sends a full lane one flush after the other.
func TestFlushesThatWaitAreBounded(t *testing.T) {
	s := newScript(t, 4)
	s.push(1, 1, 0, ref(1, 0), 1)
	batch := make([]wire.Envelope, 1<<16)
	for i := range batch {
		m := &wire.Push{Flush: bellows.FlushID{Client: 2, Incarnation: 1, Seq: uint64(i + 1)}, Clock: 1}
		m.Chunks = append(m.Chunks, wire.Chunk{Pair: ref(1, 0), Rows: []uint32{0}, Values: []float32{1}})
		batch[i] = wire.Envelope{From: clients[1], To: laneAt, Message: m}
	}
	s.lane.Step(batch, &s.out)
	if n := len(s.out.Envelopes); n != 1<<16 || slices.ContainsFunc(s.out.Envelopes, func(e wire.Envelope) bool { return describe(e.Message)[:4] != "full" }) {
		t.Fatalf("of as many as may wait %d are told to", n)
	}
	s.out.Envelopes = s.out.Envelopes[:0]
	batch[0].Message.(*wire.Push).Flush.Seq = 1 << 20
	s.lane.Step(batch[:1], &s.out)
	if want := "65536 flushes wait for room already"; len(s.out.Envelopes) != 1 || !strings.Contains(describe(s.out.Envelopes[0].Message), want) {
		t.Errorf("says %v, want %q", fmt.Sprint(s.out.Envelopes), want)
	}
}
