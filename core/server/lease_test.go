package server_test

import (
	"strings"
	"testing"

	"bellows"
	"bellows/core/server"
	"bellows/link/wire"
	"bellows/table"
)

// TestAnExclusiveRequestIsNotPassed sends shared requests after one for an exclusive lease that waits for a shared
// one.
func TestAnExclusiveRequestIsNotPassed(t *testing.T) {
	s := newScript(t, 0)
	s.acquire(1, ref(1, 0), wire.Shared)
	s.acquire(2, ref(1, 0), wire.Exclusive)
	s.mark()
	s.acquire(1, ref(1, 0), wire.Shared)
	s.expect("")
	s.release(1, ref(1, 0))
	if said := s.expect("to node 2: granted t1/p0"); strings.Contains(said, "to node 1") {
		t.Errorf("a shared lease in addition to an exclusive one:\n%s", s.text.String())
	}
}

// TestSubscriptionUnderLeaseGetsClockLater subscribes to a BSP partition while a lease keeps out a clock that is complete: the rows come when the lease
// ends.
func TestSubscriptionUnderLeaseGetsClockLater(t *testing.T) {
	s := newScript(t, 0)
	s.acquire(1, ref(0, 0), wire.Shared)
	s.clock(0, 3)
	s.mark()
	s.subscribe(2, ref(0, 0))
	s.expect("to node 2: rows for request 1 t0/p0 all [0 0] after commit 1, clock -1")
	s.release(1, ref(0, 0))
	s.expect("to node 2: rows for request 0 t0/p0 [0] [6] after commit 2, clock 0")
}

// TestALeaseEndsInANewVersion changes a BSP partition under an exclusive lease, by a unit of an incomplete clock. A
// reader is shown that change, as newer than the previous state, though no clock is complete. A task that has seen the
// lease, or its end, can tell the two apart.
func TestALeaseEndsInANewVersion(t *testing.T) {
	s := newScript(t, 0)
	s.clock(0, 3)
	s.acquire(1, ref(0, 0), wire.Exclusive)
	m := wire.New[wire.Push]()
	m.Flush, m.Clock, m.Pairs = bellows.FlushID{Client: 1, Incarnation: 1, Seq: 2}, 1, append(m.Pairs, ref(0, 0))
	m.Leases = append(m.Leases, wire.LeaseEnd{Pair: ref(0, 0), Values: []float32{8, 9}})
	s.send(clients[0], "push: the lease ends", m)
	records := wire.New[wire.Records]()
	records.Append(3, &wire.Done{Flush: m.Flush})
	s.mark()
	s.send(controller, "commit 3 is of a unit whose clock goes on", records)
	s.pull(2, ref(0, 0), wire.Need{Clock: 0})
	s.expect("to node 2: rows for request 2 t0/p0 all [8 9] after commit 3, clock 0")
	s.acquire(2, ref(0, 0), wire.Shared)
	s.expect("granted t0/p0 [8 9] after commit 3, clock 0")
}

// TestClocksDelayedByLeaseCountAtEnd ends a job while a lease delays complete clocks, more than one of them. The
// state has them when it is asked for, and nothing of the next clock. The lane's final counts come before, when
// nothing is written yet, and include them.
func TestClocksDelayedByLeaseCountAtEnd(t *testing.T) {
	for clocks := range bellows.Clock(3) {
		s := newScript(t, 0)
		s.acquire(1, ref(0, 0), wire.Shared)
		for c := range clocks {
			s.clock(c, 3)
		}
		s.push(1, int(clocks)+1, clocks, ref(0, 0), 100)
		s.record(2*int(clocks)+1, 1, int(clocks)+1, clocks)
		s.endClients()
		s.mark()
		s.end(controller)
		s.expect([]string{"closed: applied 0 dropped 1", "closed: applied 0 dropped 3", "closed: applied 0 dropped 5"}[clocks])
		if im, err := s.lane.Partition(ref(0, 0).Ref); err != nil || im.Values[0] != 6*float32(clocks) {
			t.Errorf("after %d clocks the state is %v, %v", clocks, im.Values, err)
		}
	}
}

// TestUnreadLeasesWaitForCredit lets a client ask for a partition again and again and read nothing: it is granted as much as its credit is, and one
// more, and the rest when it has read.
func TestUnreadLeasesWaitForCredit(t *testing.T) {
	one := table.Schema{Name: "free", Rows: 4, Width: 1, Partitions: 1, Consistency: table.Async}
	l := newLane(t, jobOf(one), laneAt, server.Options{Limits: server.Limits{Unread: 16}})
	var out wire.Outbox
	var marks []*wire.Mark
	granted := 0
	take := func(m wire.Message) {
		l.Step([]wire.Envelope{{From: clients[0], To: laneAt, Message: m}}, &out)
		for _, e := range out.Envelopes {
			switch m := e.Message.(type) {
			case *wire.Granted:
				granted++
			case *wire.Mark:
				marks = append(marks, m)
			}
		}
		out.Envelopes = out.Envelopes[:0]
	}
	for range 9 {
		take(&wire.Acquire{Pair: ref(0, 0), Mode: wire.Shared, Need: wire.Need{Clock: bellows.NoClock}})
	}
	if granted != 5 { // of four values each
		t.Errorf("%d of 9 are granted to a node that reads nothing, want 5", granted)
	}
	for len(marks) > 0 {
		m := marks[0]
		marks = marks[1:]
		take(m)
	}
	if granted != 9 {
		t.Errorf("%d of 9 are granted to a node that has read all", granted)
	}
}
