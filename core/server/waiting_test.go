package server_test

import (
	"strings"
	"testing"

	"bellows"
	"bellows/core/server"
	"bellows/link/wire"
	"bellows/table"
)

// TestRepeatedPushIsAnsweredInFull holds one part of a flush and has no room for the other: sent again, both are named, the one as held, the other as waiting.
func TestRepeatedPushIsAnsweredInFull(t *testing.T) {
	s := newScript(t, 8)
	if got, want := s.said(clients[0], partsPush(false, 3, 0)), "to node 1: held flush 1 of node 1"; got != want {
		t.Fatalf("says %q, want %q", got, want)
	}
	s.push(2, 1, 1, ref(1, 0), 1)
	for range 2 {
		if got, want := s.said(clients[0], partsPush(true, 3, 0, 1)), "to node 1: held flush 1 of node 1 [{t1/p0 1}]\n    to node 1: full, flush 1 of node 1 must wait [{t1/p1 1}]"; got != want {
			t.Errorf("says %q, want %q", got, want)
		}
	}
}

// TestPartsThatWaitAreAskedForOnce asks for two parts of a flush in one word, and not again when the next record makes room, though they have not come.
func TestPartsThatWaitAreAskedForOnce(t *testing.T) {
	s := newScript(t, 16)
	s.push(2, 1, 0, ref(1, 0), 8)
	s.push(2, 2, 1, ref(1, 0), 8)
	s.send(clients[0], "one part", partsPush(true, 3, 0))
	s.send(clients[0], "the other", partsPush(true, 3, 1))
	s.mark()
	s.record(1, 2, 1, 0)
	s.expect("room for flush 1 of node 1 [{t1/p0 1} {t1/p1 1}]")
	s.record(2, 2, 2, 1)
	if said := s.saidSince(s.at); strings.Contains(said, "room for") {
		t.Errorf("asked again: %s", said)
	}
}

// TestLeaseWaitsForUpdatesDelayedByLeases lets one update wait for a shared lease to end: the next request for a
// lease waits after it, and sees it.
func TestLeaseWaitsForUpdatesDelayedByLeases(t *testing.T) {
	s := newScript(t, 0)
	s.acquire(1, ref(1, 0), wire.Shared)
	s.push(1, 1, 0, ref(1, 0), 2)
	s.record(1, 1, 1, 0)
	s.mark()
	s.acquire(2, ref(1, 0), wire.Shared)
	s.expect("")
	s.release(1, ref(1, 0))
	s.expect("to node 2: granted t1/p0 [2 0] after commit 1")
}

// TestRowsComeForWhatIsOnesOwn subscribes two clients to a table without a barrier. Each is sent rows when a flush of
// its own counts, including the other's changes; and not when the other's flush counts.
func TestRowsComeForWhatIsOnesOwn(t *testing.T) {
	s := newScript(t, 0)
	s.subscribe(1, ref(1, 0))
	s.subscribe(2, ref(1, 0))
	stranger := wire.ClientAt(7)
	s.send(stranger, "pull t1/p0, and subscribe", pullBy(0, 1, ref(1, 0)))
	s.push(1, 1, 0, ref(1, 0), 2)
	s.mark()
	s.record(1, 1, 1, 0)
	if said := s.expect("to node 1: rows for request 0 t1/p0 [0] [2]"); strings.Count(said, "rows for") != 1 {
		t.Error(said)
	}
	s.push(2, 1, 0, ref(1, 0), 3)
	s.mark()
	s.record(2, 2, 1, 0)
	if said := s.expect("to node 2: rows for request 0 t1/p0 [0] [5]"); strings.Count(said, "rows for") != 1 {
		t.Error(said)
	}
}

// TestNonClientGetsNoSubscription answers a question of an address that is no client of the job, and does not take its subscription, of rows or of keys.
func TestNonClientGetsNoSubscription(t *testing.T) {
	s := newScript(t, 0, table.Schema{Name: "keys", Rows: 4, Width: 1, Sparse: true, Partitions: 1})
	stranger := wire.ClientAt(7)
	s.send(stranger, "pull t0/p0, and subscribe", pullBy(0, 1, ref(0, 0)))
	keys := pullBy(0, 1, ref(2, 0))
	keys.Parts[0].Keys = []bellows.Key{4}
	s.send(stranger, "pull keys, and subscribe", keys)
	if strings.Count(s.text.String(), "to node 7: rows for request 1") != 2 {
		t.Errorf("it is not answered: %s", s.text.String())
	}
	at := s.text.Len()
	s.clock(0, 3)
	if said := s.saidSince(at); strings.Contains(said, "node 7") {
		t.Errorf("it is sent rows unasked: %s", said)
	}
}

// TestALaneKnowsThatTheJobEnds hears of the end from a client first, or from the controller: a node without a client knows it by its lanes.
func TestALaneKnowsThatTheJobEnds(t *testing.T) {
	for _, from := range []wire.Address{clients[1], controller} {
		s := newScript(t, 0)
		if s.lane.Ending() {
			t.Error("it ends before anybody has said so")
		}
		if s.end(from); !s.lane.Ending() {
			t.Errorf("%v has said so, and it does not know", from)
		}
	}
}

// TestStateIsSentWhenNoTaskRuns collects from a lane that has closed: nothing leaves before the shell has said that no task of the node works on what it leased.
func TestStateIsSentWhenNoTaskRuns(t *testing.T) {
	s := newScript(t, 0)
	s.endClients()
	s.end(controller)
	if got := s.said(controller, &wire.Collect{Slabs: 1}); got != "" {
		t.Errorf("tasks may run, and it says %q", got)
	}
	if got := s.said(laneAt, &server.TasksEnded{}); !strings.Contains(got, "to the controller: ") {
		t.Errorf("no task runs any more, and it says %q", got)
	}
}

// TestEachMarkIsItsOwn returns marks late. Marks under way at a time differ, so that what a client has read is
// counted once, and in the end it owes nothing.
func TestEachMarkIsItsOwn(t *testing.T) {
	one := table.Schema{Name: "free", Rows: 8, Width: 1, Partitions: 1, Consistency: table.Async}
	l := newLane(t, jobOf(one), laneAt, server.Options{Limits: server.Limits{Unread: 16}})
	var out wire.Outbox
	var under []*wire.Mark // way
	answers := 0
	take := func(m wire.Message) {
		l.Step([]wire.Envelope{{From: clients[0], To: laneAt, Message: m}}, &out)
		for _, e := range out.Envelopes {
			switch m := e.Message.(type) {
			case *wire.Rows:
				answers++
			case *wire.Mark:
				for _, o := range under {
					if o == m {
						t.Fatal("a mark is under way twice")
					}
				}
				under = append(under, m)
			}
		}
		out.Envelopes = out.Envelopes[:0]
	}
	ask := func() {
		m := wire.New[wire.Pull]()
		m.Incarnation, m.Request, m.Need, m.Parts = 1, 1, wire.Need{Clock: bellows.NoClock}, append(m.Parts, wire.PullPart{Pair: ref(0, 0)})
		take(m)
	}
	for round := range 20 {
		for range 3 {
			ask()
		}
		for len(under) > round%2 {
			m := under[0]
			under = under[1:]
			take(m)
		}
	}
	if answers != 60 {
		t.Errorf("%d of 60 questions are answered", answers)
	}
}

// TestAPushThatComesTwiceWaitsOnce lets a push wait behind one of a lower clock: the same again is not answered again.
func TestAPushThatComesTwiceWaitsOnce(t *testing.T) {
	s := newScript(t, 8)
	s.push(2, 1, 0, ref(1, 0), 1)
	s.push(1, 1, 1, ref(1, 0), 1)
	for i, want := range []string{"full, flush 2 of node 2 must wait", ""} {
		s.mark()
		s.push(2, 2, 2, ref(1, 0), 1)
		if s.expect(want); t.Failed() {
			t.Fatalf("time %d", i)
		}
	}
}

// TestUpdateDelayedByLeaseIsInImage lets the state be kept while a shared lease keeps an update out: the image is made when the lease ends, and has it.
func TestUpdateDelayedByLeaseIsInImage(t *testing.T) {
	s := newScript(t, 0)
	s.acquire(1, ref(1, 0), wire.Shared)
	s.push(1, 1, 0, ref(1, 0), 2)
	s.record(1, 1, 1, 0)
	s.keep(2)
	if kept := s.lane.Kept(ref(1, 0).Ref); kept != nil {
		t.Errorf("kept while the lease is out: %v", kept)
	}
	s.release(1, ref(1, 0))
	if kept := s.lane.Kept(ref(1, 0).Ref); kept == nil || kept.Values[0] != 2 {
		t.Errorf("kept when it has ended: %v", kept)
	}
}

// TestImageHasUpdateOfLostLeaseHolder ends a job whose state is kept twice, the second time while a shared lease
// delays an update and the lease's end is under way. Its holder dies before that arrives: the collected image is
// still that of the second time.
func TestImageHasUpdateOfLostLeaseHolder(t *testing.T) {
	s := newScript(t, 0)
	s.keep(1)
	s.acquire(1, ref(1, 0), wire.Shared)
	s.push(1, 1, 0, ref(1, 0), 2)
	s.record(2, 1, 1, 0)
	s.keep(3)
	s.end(clients[1])
	s.end(controller, 1)
	s.lane.Step([]wire.Envelope{{From: laneAt, To: laneAt, Message: &server.TasksEnded{}}, {From: controller, To: laneAt, Message: &wire.Collect{Slabs: 64}}}, &s.out)
	found := false
	for _, e := range s.out.Envelopes {
		if m, ok := e.Message.(*wire.Slab); ok && m.Ref == ref(1, 0).Ref {
			found = true
			if !m.Kept || len(m.Values) != 2 || m.Values[0] != 2 {
				t.Errorf("collected as kept (%v): %v", m.Kept, m.Values)
			}
		}
	}
	if !found {
		t.Error("nothing is collected of the partition")
	}
}
