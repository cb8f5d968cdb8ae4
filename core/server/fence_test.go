package server_test

import (
	"fmt"
	"strings"
	"testing"

	"bellows"
	"bellows/core/server"
	"bellows/link/wire"
	"bellows/table"
)

// TestFence parts a lane from a node: what its client left unrecorded never counts, its shared lease ends, its reads and
// requests are gone, and nothing that it says later is taken.
func TestFence(t *testing.T) {
	s := newScript(t, 0)
	s.push(2, 1, 0, ref(1, 0), 2)
	s.push(1, 1, 0, ref(1, 0), 4)
	s.acquire(2, ref(1, 1), wire.Shared)
	s.acquire(1, ref(1, 1), wire.Exclusive)
	s.pull(2, ref(1, 0), wire.Need{Commit: 1, Clock: bellows.NoClock})
	s.note("node 1 gets the lease that waited for node 2's")
	s.send(controller, "fence node 2", &wire.Fence{Term: 1, Node: 2, Incarnation: 1})
	s.send(controller, "fence node 2 again", &wire.Fence{Term: 1, Node: 2, Incarnation: 1})
	s.note("nobody answers node 2")
	s.record(1, 1, 1, 0)
	s.push(2, 2, 1, ref(1, 0), 8)
	s.push(2, 2, 1, ref(1, 0), 8)
	s.push(2, 1, 0, ref(1, 0), 2)
	s.pull(2, ref(1, 0), wire.Need{Clock: bellows.NoClock})
	s.release(2, ref(1, 1))
	s.end(clients[1])
	s.end(clients[0])
	s.note("two of its row deltas are dropped, each once; node 1 died inside its lease")
	s.end(controller, 2)
	if im, err := s.lane.Partition(ref(1, 0).Ref); err != nil || im.Values[0] != 4 {
		t.Errorf("the partition is %v, %v", im.Values, err)
	}
	s.check()
}

// TestAFencedExclusiveLeaseTearsItsPartition fences a node that works in place on what it leased.
func TestAFencedExclusiveLeaseTearsItsPartition(t *testing.T) {
	s := newScript(t, 0)
	m := wire.New[wire.Acquire]()
	*m = wire.Acquire{Pair: ref(1, 0), Mode: wire.Exclusive, Need: wire.Need{Clock: bellows.NoClock}}
	s.send(wire.Address{}, "acquire t1/p0, exclusive", m)
	s.send(controller, "fence node 0", &wire.Fence{Term: 1, Node: 0, Incarnation: 1})
	s.pull(1, ref(1, 0), wire.Need{Clock: bellows.NoClock})
	if strings.Contains(s.text.String(), "rows for") {
		t.Error("a partition is read that its holder has left torn")
	}
	if _, err := s.lane.Partition(ref(1, 0).Ref); err == nil {
		t.Error("it is handed out")
	}
}

// TestALowerTermIsNotHeard sends a lane a message of a replaced controller.
func TestALowerTermIsNotHeard(t *testing.T) {
	s := newScript(t, 0)
	record := func(term bellows.Term, n bellows.CommitNumber) {
		r := wire.New[wire.Records]()
		r.Term = term
		r.AppendControl(n, bellows.Control{Kind: bellows.KeepTables})
		s.send(controller, fmt.Sprintf("record %d in term %d", n, term), r)
	}
	record(2, 1)
	record(1, 7)
	s.send(controller, "fence node 1 in term 1", &wire.Fence{Term: 1, Node: 1, Incarnation: 1})
	record(2, 2)
	if got := s.lane.Applied(); got != 2 || s.lane.Refused() != 2 {
		t.Errorf("applied %d, refused %d", got, s.lane.Refused())
	}
	s.push(1, 1, 0, ref(1, 0), 2)
	if !strings.Contains(s.text.String(), "done flush 1 of node 1") || strings.Contains(s.text.String(), "breach") {
		t.Error(s.text.String())
	}
}

// TestLaneWithoutControllerServesNoReads ticks a lane that the controller is silent to.
func TestLaneWithoutControllerServesNoReads(t *testing.T) {
	controller := wire.Address{Node: 3, Role: wire.Controller} // not in the lane's own process
	job := jobOf(table.Schema{Name: "free", Rows: 4, Width: 1, Partitions: 1, Consistency: table.Async})
	job.Controller, job.Times.Lease = controller, 3000
	l := newLane(t, job, laneAt, server.Options{})
	var out wire.Outbox
	take := func(from wire.Address, m wire.Message) (said []string) {
		l.Step([]wire.Envelope{{From: from, To: laneAt, Message: m}}, &out)
		for _, e := range out.Envelopes {
			switch m := e.Message.(type) {
			case *wire.Rows:
				said = append(said, "rows")
			case *wire.Notice:
				said = append(said, m.Sentence)
			}
		}
		out.Envelopes = out.Envelopes[:0]
		return said
	}
	tick := func(now int64, heard uint64) []string {
		return take(laneAt, &server.Tick{NowMillis: now, Heard: heard})
	}
	pull := func() []string {
		return take(clients[0], &wire.Pull{Request: 1, Incarnation: 1, Need: wire.Need{Clock: bellows.NoClock}, Parts: []wire.PullPart{{Pair: ref(0, 0)}}})
	}
	tick(100_000, 1) // whatever the clock shows
	tick(101_000, 1)
	tick(101_000, 2) // at some time since the tick before
	expect := func(what string, got []string, want ...string) {
		t.Helper()
		if strings.Join(got, ";") != strings.Join(want, ";") {
			t.Errorf("%s: said %q, not %q", what, got, want)
		}
	}
	expect("2 s", tick(103_000, 2))
	expect("2.5 s", tick(103_500, 2), "lane 0 of node 0 has not heard the controller for 2.5 s, and after 3.0 s serves no reads until it does")
	expect("3 s", tick(104_000, 2))
	expect("a read after 3 s", pull(), "rows")
	expect("3.5 s", tick(104_500, 2))
	expect("a read after 3.5 s", pull())
	expect("4 s", tick(105_000, 2))
	expect("bytes from its node", tick(105_000, 3), "rows")
	expect("silence again", append(tick(107_500, 3), tick(109_000, 3)...), "lane 0 of node 0 has not heard the controller for 2.5 s, and after 3.0 s serves no reads until it does")
	expect("a read", pull())
	expect("a word", take(controller, &wire.Records{}), "rows")
	expect("the tick after it", tick(109_500, 3))
	expect("a read then", pull(), "rows")
}

// TestALaneWithoutLeaseWaitsForNobody ticks a lane of a job in one process for an hour: it names no silence, and serves reads.
func TestALaneWithoutLeaseWaitsForNobody(t *testing.T) {
	s := newScript(t, 0)
	for now := int64(0); now < 3_600_000; now += 1000 {
		s.lane.Step([]wire.Envelope{{From: laneAt, To: laneAt, Message: &server.Tick{NowMillis: now}}}, &s.out)
		if len(s.out.Envelopes) > 0 {
			t.Fatalf("after %d ms: %s", now, describe(s.out.Envelopes[0].Message))
		}
	}
	s.pull(1, ref(1, 0), wire.Need{Clock: bellows.NoClock})
	if !strings.Contains(s.text.String(), "rows") {
		t.Errorf("a read is not served: %s", s.text.String())
	}
}

// TestFenceReleasesHeldBytes fences a node at a lane that holds at most 16 bytes. The 8 bytes of the node's flush are free
// again for a flush of another node.
func TestFenceReleasesHeldBytes(t *testing.T) {
	s := newScript(t, 16)
	s.push(2, 1, 5, ref(1, 0), 1)
	s.push(1, 1, 0, ref(1, 0), 1)
	s.mark()
	s.push(1, 2, 1, ref(1, 0), 1)
	s.expect("full, flush 2 of node 1 must wait")
	s.push(1, 3, 2, ref(1, 0), 1)
	s.mark()
	s.send(controller, "fence node 2", &wire.Fence{Term: 1, Node: 2, Incarnation: 1})
	s.expect("to node 1: room for flush 2 of node 1")
	s.send(controller, "fence node 2 again", &wire.Fence{Term: 1, Node: 2, Incarnation: 1})
	s.expect("") // the room is promised to flush 2
	s.mark()
	s.push(1, 2, 1, ref(1, 0), 1)
	s.expect("done flush 2 of node 1")
	s.push(1, 4, 3, ref(1, 0), 1)
	s.expect("full, flush 4 of node 1 must wait")
}

// TestOtherErasAreNothing gives a lane of era 0, which its answers name, a push of era 1. It is ignored, and the push
// of era 0 is not taken for a duplicate.
func TestOtherErasAreNothing(t *testing.T) {
	s := newScript(t, 0)
	for era, want := range []string{1: "", 0: "held flush 1 of node 1"} {
		e := wire.Envelope{From: clients[0], To: laneAt, Message: lifePush(1, ref(1, 0), 1), Era: bellows.Era(era)}
		s.lane.Step([]wire.Envelope{e}, &s.out)
		got := ""
		for _, e := range s.out.Envelopes {
			got += describe(e.Message)
		}
		s.out.Envelopes = s.out.Envelopes[:0]
		if got != want {
			t.Errorf("a push of era %d: says %q, want %q", era, got, want)
		}
	}
}

// lifePush returns the first flush of a life of client 1.
func lifePush(incarnation uint32, to wire.Pair, v float32) *wire.Push {
	m := wire.New[wire.Push]()
	m.Flush = bellows.FlushID{Client: 1, Incarnation: incarnation, Seq: 1}
	m.Pairs = append(m.Pairs, to)
	m.Chunks = append(m.Chunks, wire.Chunk{Pair: to, Rows: []uint32{0}, Values: []float32{v}})
	return m
}

// TestAWorkerStartedAgainIsNotKnown numbers the first flush of a client's second process like that of its first: it
// is held and counts. Later messages of the first process are ignored, and its subscriptions have ended.
func TestAWorkerStartedAgainIsNotKnown(t *testing.T) {
	s := newScript(t, 0)
	s.subscribe(1, ref(1, 0))
	s.push(1, 1, 0, ref(1, 0), 1)
	s.record(1, 1, 1, 0)
	if got := s.said(clients[0], lifePush(2, ref(1, 0), 10)); got != "to node 1: held flush 1 of node 1, incarnation 2" {
		t.Errorf("the first push of the second process: %q", got)
	}
	if got := s.said(clients[0], lifePush(1, ref(1, 1), 5)); got != "" {
		t.Errorf("a late push of the first process: %q", got)
	}
	r := wire.New[wire.Records]()
	r.Append(2, &wire.Done{Flush: bellows.FlushID{Client: 1, Incarnation: 2, Seq: 1}})
	if got := s.said(controller, r); got != "to node 1: flush 1 of node 1, incarnation 2 is commit 2" {
		t.Errorf("the record: %q", got)
	}
	late := wire.New[wire.Pull]()
	late.Incarnation = 1
	late.Request, late.Need, late.Parts = 9, wire.Need{Clock: bellows.NoClock}, append(late.Parts, wire.PullPart{Pair: ref(1, 0)})
	if got := s.said(clients[0], late); got != "" {
		t.Errorf("a late pull of the first process: %q", got)
	}
}
