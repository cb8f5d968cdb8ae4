package server_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"bellows"
	"bellows/core/checkpoint"
	"bellows/core/server"
	"bellows/internal/require"
	"bellows/link/wire"
	"bellows/table"
)

// cut numbers a cut.
func (s *script) cut(n int) {
	m := wire.New[wire.Records]()
	m.AppendControl(bellows.CommitNumber(n), bellows.Control{Kind: bellows.CutTables})
	s.send(controller, fmt.Sprintf("record %d is a cut", n), m)
}

// arm arms the lane, and wants what it says to that.
func (s *script) arm(attempt uint64, want ...string) {
	s.t.Helper()
	s.shards(&wire.Cut{Term: 1, Attempt: attempt}, want...)
}

// shards gives the lane a word, and wants what it says of cuts.
func (s *script) shards(m wire.Message, want ...string) {
	s.t.Helper()
	s.lane.Step([]wire.Envelope{{From: controller, To: laneAt, Message: m}}, &s.out)
	s.wants(want...)
}

func (s *script) wants(want ...string) {
	s.t.Helper()
	var got []string
	for _, e := range s.out.Envelopes {
		if m, is := e.Message.(*wire.Shard); is {
			got = append(got, fmt.Sprintf("attempt %d, cut %d, %v, unchanged %d: %s%s", m.Attempt, m.Commit, m.Ref, m.Unchanged, m.Name, m.Reason))
		}
	}
	s.out.Envelopes = s.out.Envelopes[:0]
	if !slices.Equal(got, want) {
		s.t.Errorf("said %q, want %q", got, want)
	}
}

// takes asks for all pieces of a partition, and says that it is stored.
func (s *script) takes(n bellows.CommitNumber, of wire.Pair) []float32 {
	s.t.Helper()
	var all []float32
	for p := (&checkpoint.Piece{}); !p.Last; {
		require.NoError(s.t, s.lane.CutPiece(n, of.Ref, p))
		all = append(all, p.Values...)
	}
	return all
}

// TestCutHasStateAtItsRecord cuts a BSP and an async table between two updates, and takes the pieces after the
// second.
func TestCutHasStateAtItsRecord(t *testing.T) {
	s := newScript(t, 0)
	s.clock(0, 3)
	s.push(1, 2, 1, ref(1, 0), 5)
	s.record(3, 1, 2, 1)
	s.arm(1, "attempt 1, cut 0, t0/p0, unchanged 0: ")
	s.cut(4)
	s.push(1, 3, 2, ref(1, 0), 7)
	s.record(5, 1, 3, 2)
	for of, want := range map[wire.Pair][]float32{ref(0, 0): {6, 0}, ref(1, 0): {5, 0}} {
		if got := s.takes(4, of); !slices.Equal(got, want) {
			t.Errorf("%v is %v at the cut, want %v", of.Ref, got, want)
		}
	}
	if news := s.lane.CutNews(); len(news) != 4 || news[2].Ref != ref(1, 0).Ref || news[2].Commit != 4 {
		t.Errorf("news: %v", news)
	}
	s.shards(&checkpoint.Stored{Commit: 4, Ref: ref(1, 0).Ref, Name: "a"}, "attempt 1, cut 4, t1/p0, unchanged 0: a")
	s.shards(&checkpoint.Stored{Commit: 4, Ref: ref(1, 0).Ref, Name: "b"}) // of which it knows
	if err := s.lane.CutPiece(4, ref(1, 0).Ref, &checkpoint.Piece{}); bellows.KindOf(err) != bellows.Unavailable {
		t.Errorf("a partition that is stored is given again: %v", err)
	}
}

// TestUnchangedStateIsNotStoredAgain takes a second cut: what is as it was in the first, which is whole, is only named; after one that was given up nothing is.
func TestUnchangedStateIsNotStoredAgain(t *testing.T) {
	for _, whole := range []bool{true, false} {
		s := newScript(t, 0)
		s.arm(1, "attempt 1, cut 0, t0/p0, unchanged 0: ")
		s.cut(1)
		s.shards(&wire.Cut{Term: 1, Attempt: 1, Commit: 1, Whole: whole})
		s.push(1, 1, 0, ref(1, 0), 5)
		s.record(2, 1, 1, 0)
		s.arm(2, "attempt 2, cut 0, t0/p0, unchanged 0: ")
		s.lane.CutNews()
		m := wire.New[wire.Records]()
		m.AppendControl(3, bellows.Control{Kind: bellows.CutTables})
		var want []string
		for _, p := range []wire.Pair{ref(0, 0), ref(0, 1), ref(1, 1)} {
			if whole {
				want = append(want, fmt.Sprintf("attempt 2, cut 3, %v, unchanged 1: ", p.Ref))
			}
		}
		s.shards(m, want...)
		if news := s.lane.CutNews(); len(news) != 4 || (news[0].Unchanged == 1) != whole || news[2].Unchanged != 0 {
			t.Errorf("whole %v, news: %v", whole, news)
		}
	}
}

// TestCutExcludesOpenExclusiveLease gives an exclusive lease to a task of the lane's own node, after the arming, and
// another to one elsewhere. Their writes are in no cut before the end of the leases; the updates that they delay are.
func TestCutExcludesOpenExclusiveLease(t *testing.T) {
	s := newScript(t, 0)
	s.arm(1, "attempt 1, cut 0, t0/p0, unchanged 0: ")
	local := wire.Address{Node: 0}
	s.send(local, "acquire", &wire.Acquire{Request: 1, Pair: ref(1, 0), Mode: wire.Exclusive, Need: wire.Need{Clock: bellows.NoClock}})
	s.acquire(1, ref(1, 1), wire.Exclusive)
	s.push(2, 1, 0, ref(1, 0), 5)
	s.record(1, 2, 1, 0)
	s.cut(2)
	for p, want := range []float32{5, 0} {
		if got := s.takes(2, ref(1, bellows.PartitionID(p))); got[0] != want {
			t.Errorf("partition %d is %v at the cut, want %v", p, got, want)
		}
	}
}

// TestALeaseFromBeforeIsAwaited arms a lane while a task of its node has an exclusive lease: it is armed when that has ended, and a cut that comes sooner is given up by name.
func TestALeaseFromBeforeIsAwaited(t *testing.T) {
	for _, early := range []bool{false, true} {
		s := newScript(t, 0)
		local := wire.Address{Node: 0}
		s.send(local, "acquire", &wire.Acquire{Request: 1, Pair: ref(1, 0), Mode: wire.Exclusive, Need: wire.Need{Clock: bellows.NoClock}})
		s.arm(1)
		if early {
			m := wire.New[wire.Records]()
			m.AppendControl(1, bellows.Control{Kind: bellows.CutTables})
			s.shards(m, "attempt 1, cut 1, t0/p0, unchanged 0: an exclusive lease on t1/p0 was given before the lane was armed")
			continue
		}
		m := wire.New[wire.Push]()
		m.Flush, m.Pairs = bellows.FlushID{Incarnation: 1, Seq: 1}, append(m.Pairs, ref(1, 0))
		m.Leases = append(m.Leases, wire.LeaseEnd{Pair: ref(1, 0), Values: []float32{8, 9}})
		s.send(local, "push: the lease ends", m)
		records := wire.New[wire.Records]()
		records.Append(1, &wire.Done{Flush: m.Flush})
		s.shards(records, "attempt 1, cut 0, t0/p0, unchanged 0: ")
	}
}

// TestACutOfAnotherControllerIsOver lets a lane hear of another controller: it forgets the previous controller's cut,
// and reports nothing about it.
func TestACutOfAnotherControllerIsOver(t *testing.T) {
	s := newScript(t, 0)
	s.arm(1, "attempt 1, cut 0, t0/p0, unchanged 0: ")
	s.cut(1)
	s.lane.CutNews()
	s.send(controller, "query", &wire.Query{Term: 2})
	if news := s.lane.CutNews(); len(news) != 1 || !news[0].Over || news[0].Whole || news[0].Commit != 1 {
		t.Errorf("news: %v", news)
	}
	s.shards(&checkpoint.Stored{Commit: 1, Ref: ref(0, 0).Ref})
	if err := s.lane.CutPiece(1, ref(0, 0).Ref, &checkpoint.Piece{}); err == nil {
		t.Error("it is given away")
	}
}

// TestCopiesOfACutAreBounded lets a dense partition change as a whole after a cut, with a lower limit of copies: the
// cut is given up by name, and nothing else.
func TestCopiesOfACutAreBounded(t *testing.T) {
	one := table.Schema{Name: "free", Rows: 1 << 12, Width: 1, Partitions: 1, Consistency: table.Async}
	s := newScriptOf(t, jobOf(one), laneAt, server.Options{Limits: server.Limits{Copies: 1 << 10}})
	s.arm(1, "attempt 1, cut 0, t0/p0, unchanged 0: ")
	s.cut(1)
	s.push(1, 1, 0, ref(0, 0), 5)
	s.out.Envelopes = nil
	m := wire.New[wire.Records]()
	m.Append(2, &wire.Done{Flush: bellows.FlushID{Client: 1, Incarnation: 1, Seq: 1}, Results: []wire.Result{{Unit: bellows.Unit{Items: bellows.Range{End: 1}}}}})
	s.lane.Step([]wire.Envelope{{From: controller, To: laneAt, Message: m}}, &s.out)
	var reason string
	for _, e := range s.out.Envelopes {
		if m, is := e.Message.(*wire.Shard); is {
			reason = m.Reason
		}
	}
	if !strings.Contains(reason, "more than the 0 MiB that copies may take") {
		t.Errorf("it says %q", reason)
	}
	if im, err := s.lane.Partition(ref(0, 0).Ref); err != nil || im.Values[0] != 5 {
		t.Errorf("the update is lost: %v", err)
	}
}
