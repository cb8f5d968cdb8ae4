package server_test

import (
	"slices"
	"strings"
	"testing"

	"bellows"
	"bellows/core/route"
	"bellows/core/server"
	"bellows/link/wire"
	"bellows/table"
)

// TestImpossibleMessagesAreNamed sends a lane messages that a correct client or controller never sends. Every line
// uses another lane.
func TestImpossibleMessagesAreNamed(t *testing.T) {
	now := wire.Need{Clock: bellows.NoClock}
	all := newScript(t, 0)
	for _, c := range []struct {
		note string
		do   func(s *script)
	}{
		{"a lease is released by who never had it", func(s *script) { s.release(2, ref(1, 0)) }},
		{"a lease is released twice", func(s *script) {
			s.acquire(1, ref(1, 0), wire.Shared)
			s.release(1, ref(1, 0))
			s.release(1, ref(1, 0))
		}},
		{"an exclusive lease is released", func(s *script) {
			s.acquire(1, ref(1, 0), wire.Exclusive)
			s.release(1, ref(1, 0))
		}},
		{"a flush ends the lease of another client", func(s *script) {
			s.acquire(1, ref(1, 0), wire.Exclusive)
			s.endLease(2, 1, ref(1, 0))
		}},
		{"two flushes end one lease", func(s *script) {
			s.acquire(1, ref(1, 0), wire.Exclusive)
			s.endLease(1, 1, ref(1, 0))
			s.endLease(1, 2, ref(1, 0))
		}},
		{"a sum has a split of another client", func(s *script) {
			m := &wire.Push{Flush: bellows.FlushID{Client: 1, Incarnation: 1, Seq: 1}}
			m.Chunks = append(m.Chunks, wire.Chunk{Pair: ref(0, 0), Subtree: wire.Subtree{Level: 1}, Rows: []uint32{0}, Values: []float32{1}})
			s.send(clients[0], "push of splits 0 and 1, of which it runs one", m)
		}},
		{"two sums of a clock have the same split", func(s *script) {
			s.push(1, 1, 0, ref(0, 0), 1)
			s.push(1, 2, 0, ref(0, 0), 1)
			s.record(1, 1, 1, 0)
			r := wire.New[wire.Records]()
			r.Append(2, &wire.Done{Flush: bellows.FlushID{Client: 1, Incarnation: 1, Seq: 2}})
			s.send(controller, "commit 2 is flush 2 of node 1, without a unit", r)
			s.record(3, 2, 1, 0)
		}},
		{"a record is missing", func(s *script) { s.record(2, 1, 1, 0) }},
		{"a record has a unit that is not the split's next", func(s *script) { s.record(1, 1, 1, 4) }},
		{"after it only the end counts", func(s *script) {
			s.release(2, ref(1, 0))
			s.release(2, ref(1, 0))
			s.pull(1, ref(1, 0), now)
			s.record(7, 1, 1, 0)
			s.end(controller)
			s.endClients()
		}},
	} {
		s := newScript(t, 0)
		s.note(c.note)
		c.do(s)
		all.text.WriteString(s.text.String())
	}
	all.check()
}

// endLease sends a flush of one client that ends an exclusive lease.
func (s *script) endLease(client, seq int, of wire.Pair) {
	m := &wire.Push{Flush: bellows.FlushID{Client: bellows.NodeID(client), Incarnation: 1, Seq: uint64(seq)}}
	m.Leases = append(m.Leases, wire.LeaseEnd{Pair: of, Values: []float32{1, 2}})
	s.send(clients[client-1], "push that ends the exclusive lease on "+of.Ref.String(), m)
}

// TestReadsThatWaitAreBounded wants a lane to keep only so many questions that it cannot answer.
func TestReadsThatWaitAreBounded(t *testing.T) {
	never := wire.Need{Clock: 1 << 20}
	for want, m := range map[string]wire.Message{
		"65536 reads wait already":                        &wire.Pull{Incarnation: 1, Need: never, Parts: []wire.PullPart{{Pair: ref(1, 0)}}},
		"65536 requests for leases on t1/p0 wait already": &wire.Acquire{Need: never, Pair: ref(1, 0)},
	} {
		s := newScript(t, 0)
		batch := slices.Repeat([]wire.Envelope{{From: clients[1], To: laneAt, Message: m}}, 1<<16)
		s.lane.Step(batch, &s.out)
		if len(s.out.Envelopes) > 0 {
			t.Errorf("%s, although they are as many as may", describe(s.out.Envelopes[0].Message))
		}
		s.lane.Step(batch[:1], &s.out)
		if len(s.out.Envelopes) != 1 || !strings.Contains(describe(s.out.Envelopes[0].Message), want) {
			t.Errorf("says %v, want %q", s.out.Envelopes, want)
		}
	}
}

// TestOneLaneDoesNotCompleteSharedFlush sends one of two lanes a push with what its flush has finished, which names a
// partition of the other: the lane keeps that, and does not pass it on.
func TestOneLaneDoesNotCompleteSharedFlush(t *testing.T) {
	job := jobOf(table.Schema{Name: "free", Rows: 4, Width: 1, Partitions: 2, Consistency: table.Async})
	job.Route = route.Spread(job.Tables, 2, []wire.Address{laneAt, {Role: wire.Lane, Index: 1}}, []bellows.NodeID{1, 2})
	s := newScriptOf(t, job, laneAt, server.Options{})
	m := &wire.Push{Flush: bellows.FlushID{Client: 1, Incarnation: 1, Seq: 1}, Pairs: []wire.Pair{ref(0, 0), ref(0, 1)}, Done: &wire.Done{}}
	s.send(clients[0], "half of a flush, with its done", m)
	if got := s.text.String(); !strings.HasSuffix(got, "    to node 1: held flush 1 of node 1\n") {
		t.Error(got)
	}
}
