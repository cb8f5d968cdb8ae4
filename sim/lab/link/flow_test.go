package link

import (
	"testing"
	"time"

	"bellows"
)

// sentBy wants bytes and busy time of a flow.
func (s *site) sentBy(t *testing.T, from, to int, bytes int64, busy int64) {
	t.Helper()
	if b, d := s.net.Flow(bellows.NodeID(from), bellows.NodeID(to)).Sent(s.agenda.Time()); b != bytes || d != time.Duration(busy) {
		t.Errorf("from %d to %d: %d bytes in %d ns, not %d in %d", from, to, b, d, bytes, busy)
	}
}

// TestFlowIsBusyUntilItsSenderKnows sends on slow links, on shared ones and on one without a rate. A flow that waits for
// another one is busy.
func TestFlowIsBusyUntilItsSenderKnows(t *testing.T) {
	t.Parallel()
	s := newSite(Config{Ports: ports(3, 1e6), Latency: 500})
	s.data("long", 0, 1, packets)
	s.data("short", 0, 2, packets/2)
	s.message("push", push(0, 10), 1000) // on another connection of the same nodes, at the same time
	s.sentBy(t, 0, 1, 0, 0)
	s.run(t, map[string]int64{"short": 17*onePlace + 1_000_500, "long": 24*onePlace + 1_000_500})
	for _, now := range []int64{50 * onePlace, 100 * onePlace} {
		bytes, busy := s.net.Flow(0, 1).Sent(now)
		if bytes != packets+1000 || int64(busy) != s.at["long"]+500 {
			t.Errorf("%d bytes in %v, which is not until %d", bytes, busy, s.at["long"]+500)
		}
	}
	s.sentBy(t, 0, 2, packets/2, s.at["short"]+500)
	s.sentBy(t, 1, 0, 0, 0)

	s = newSite(Config{Ports: make([]Port, 2), Latency: 500})
	s.data("quick", 0, 1, packets)
	s.run(t, map[string]int64{"quick": 500})
	s.sentBy(t, 0, 1, packets, 500) // the answer is on its way
	if _, busy := s.net.Flow(0, 1).Sent(5000); busy != 1000 {
		t.Errorf("busy for %v", busy)
	}
}

// TestFlowAddsUpBusyTimes posts again before and after the sender knows that all has arrived.
func TestFlowAddsUpBusyTimes(t *testing.T) {
	t.Parallel()
	var f Flow
	f.Post(100, 5)
	f.Arrive(150, 5, 10)
	f.Post(155, 7)
	f.Arrive(170, 3, 10)
	f.Arrive(180, 4, 10)
	f.Post(1000, 1)
	for now, want := range map[int64]time.Duration{1000: 90, 1005: 95} {
		if bytes, busy := f.Sent(now); bytes != 12 || busy != want {
			t.Errorf("at %d: %d bytes in %d", now, bytes, busy)
		}
	}
	f.Arrive(1010, 1, 10)
	for now, want := range map[int64]time.Duration{1010: 100, 1020: 110, 2000: 110} {
		if bytes, busy := f.Sent(now); bytes != 13 || busy != want {
			t.Errorf("at %d: %d bytes in %d", now, bytes, busy)
		}
	}
}

// TestDropEndsFlow drops a node in the midst of a frame: what has left arrives, and nothing is busy from then on.
func TestDropEndsFlow(t *testing.T) {
	t.Parallel()
	s := newSite(Config{Ports: ports(3, 1e6), Latency: 500})
	s.data("lost", 0, 1, packets)
	s.net.Drop(1)
	s.run(t, nil)
	if bytes, busy := s.net.Flow(0, 1).Sent(100 * onePlace); bytes != PacketMost || busy != onePlace+1000 {
		t.Errorf("%d bytes in %v", bytes, busy)
	}
	s.data("none", 0, 2, 5) // all of it arrives
	s.run(t, nil)
	s.net.Drop(2)
	s.sentBy(t, 0, 2, 5, 5000+2*500)
}
