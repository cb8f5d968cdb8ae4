package link

import (
	"slices"
	"testing"

	"bellows"
	"bellows/link/wire"
	"bellows/sim/internal/virtual"
)

// sent is a frame of the tests.
type sent struct {
	name     string
	envelope wire.Envelope
	parts    []int
}

func (s *sent) Envelope() (wire.Envelope, bool) { return s.envelope, s.envelope.Message != nil }
func (s *sent) Parts() []int                    { return s.parts }

// site is machines with a node each, and what has arrived.
type site struct {
	agenda virtual.Agenda[Event[*sent]]
	net    *Net[*sent]
	order  []string
	at     map[string]int64
}

// newSite makes a node on each of some machines.
func newSite(cfg Config) *site {
	s := &site{at: map[string]int64{}}
	s.net = New(cfg, s.agenda.Time, s.agenda.After, func(f *sent) {
		s.order = append(s.order, f.name)
		s.at[f.name] = s.agenda.Time()
	})
	for i := range cfg.Ports {
		s.net.AddNode(i, Budget{})
	}
	return s
}

// data sends bytes that are no message.
func (s *site) data(name string, from, to, bytes int) {
	s.net.Send(s.net.Conn(bellows.NodeID(from), bellows.NodeID(to), true), &sent{name: name, parts: []int{bytes}})
}

// message sends a message, in parts.
func (s *site) message(name string, e wire.Envelope, parts ...int) {
	s.net.Send(s.net.Conn(e.From.Node, e.To.Node, false), &sent{name, e, parts})
}

// run lets everything happen, and holds the times of arrival against those wanted.
func (s *site) run(t *testing.T, want map[string]int64) {
	t.Helper()
	for e, some := s.agenda.Next(); some; e, some = s.agenda.Next() {
		s.net.Happen(e)
	}
	for name, at := range want {
		if s.at[name] != at {
			t.Errorf("%s arrives at %d, not %d ns (%v)", name, s.at[name], at, s.at)
		}
	}
}

// ports returns links of one rate.
func ports(n int, rate float64) []Port { return slices.Repeat([]Port{{rate, rate}}, n) }

// packets are bytes in whole packets, and the nanoseconds of one at 1 MB/s.
const (
	packets  = 16 * PacketMost
	onePlace = PacketMost * 1000
)

func TestSlowerEndDecides(t *testing.T) {
	t.Parallel()
	for _, p := range [][2]Port{{{Up: 1e6}, {Down: 4e6}}, {{Up: 4e6}, {Down: 1e6}}, {{Up: 1e6}, {}}} {
		s := newSite(Config{Ports: p[:], Latency: 500})
		s.data("all", 0, 1, packets)
		s.run(t, map[string]int64{"all": 16*onePlace + 500})
	}
}

func TestFlowsShareUplink(t *testing.T) {
	t.Parallel()
	s := newSite(Config{Ports: ports(3, 1e6)})
	s.data("long", 0, 1, packets)
	s.data("short", 0, 2, packets/2)
	// The first packet leaves before the short one is there; then they take turns.
	s.run(t, map[string]int64{"short": 17 * onePlace, "long": 24 * onePlace})
}

// TestSmallPacketsTakeShorterTurns sends two flows by packets of half the size.
func TestSmallPacketsTakeShorterTurns(t *testing.T) {
	t.Parallel()
	s := newSite(Config{Ports: ports(3, 1e6), Packet: PacketMost / 2})
	s.data("long", 0, 1, packets)
	s.data("short", 0, 2, packets/2)
	s.run(t, map[string]int64{"short": 16*onePlace + onePlace/2, "long": 24 * onePlace})
}

func TestFlowsShareDownlink(t *testing.T) {
	t.Parallel()
	s := newSite(Config{Ports: ports(3, 1e6)})
	s.data("one", 1, 0, packets)
	s.data("other", 2, 0, packets)
	s.run(t, map[string]int64{"one": 31 * onePlace, "other": 32 * onePlace})
}

func TestLinkIsFullDuplex(t *testing.T) {
	t.Parallel()
	s := newSite(Config{Ports: ports(2, 1e6)})
	s.data("there", 0, 1, packets)
	s.data("back", 1, 0, packets)
	s.run(t, map[string]int64{"there": 16 * onePlace, "back": 16 * onePlace})
}

// push returns a push from a client to a lane, of so many values.
func push(index, values int) wire.Envelope {
	return wire.Envelope{From: wire.ClientAt(0), To: wire.LaneAt(1, index), Message: &wire.Push{Chunks: []wire.Chunk{{Values: make([]float32, values)}}}}
}

// beat returns a sign of life.
func beat() wire.Envelope {
	return wire.Envelope{From: wire.ClientAt(0), To: wire.ControllerAt(), Message: &wire.Beat{}}
}

// TestControlLeavesFirst posts control after pushes: it waits for what has begun to leave, and for no more.
func TestControlLeavesFirst(t *testing.T) {
	t.Parallel()
	s := newSite(Config{Ports: ports(2, 1e6)})
	for i, name := range []string{"first", "second", "third"} {
		s.message(name, push(i, 10), PacketMost)
	}
	e := beat()
	e.To.Node = 1
	s.message("beat", e, 100)
	s.run(t, map[string]int64{"first": onePlace, "beat": onePlace + 100_000, "second": 2*onePlace + 100_000, "third": 3*onePlace + 100_000})
}

// TestPartsLetOthersPass sends a long push in parts: control and a short push of another pair leave between two of them, and a
// short push of the same pair after them.
func TestPartsLetOthersPass(t *testing.T) {
	t.Parallel()
	s := newSite(Config{Ports: ports(2, 1e6)})
	s.message("long", push(0, 1<<18), 2*PacketMost, 2*PacketMost)
	s.message("same", push(0, 10), 1000)
	s.message("other", push(1, 10), 2000)
	e := beat()
	e.To.Node = 1
	s.message("beat", e, 100)
	s.run(t, map[string]int64{"beat": 2*onePlace + 100_000, "other": 2*onePlace + 2_100_000, "long": 4*onePlace + 2_100_000, "same": 4*onePlace + 3_100_000})
}

func TestBudgetOfNode(t *testing.T) {
	t.Parallel()
	// The link takes 10 MB/s, the node 1 MB/s: all but the packets of the burst and the last one are paced.
	for burst, paced := range map[int]int64{0: 15, 4 * PacketMost: 11} {
		s := newSite(Config{Ports: ports(2, 10e6)})
		s.net.nodes[0] = &Budget{Rate: 1e6, Burst: burst}
		s.data("all", 0, 1, packets)
		s.run(t, map[string]int64{"all": paced*onePlace + onePlace/10})
	}
}

// TestBudgetOfTwoMachines bounds one way alone.
func TestBudgetOfTwoMachines(t *testing.T) {
	t.Parallel()
	s := newSite(Config{Ports: ports(3, 10e6), Pairs: []Pair{{0, 1, Budget{Rate: 1e6}}}})
	s.data("bound", 0, 1, packets)
	s.data("other", 0, 2, packets)
	s.data("back", 1, 0, packets)
	s.run(t, map[string]int64{"bound": 15*onePlace + onePlace/10, "back": 16 * onePlace / 10})
	if s.at["other"] > 17*onePlace/10+onePlace/10 {
		t.Errorf("what has no budget takes %d ns", s.at["other"])
	}
}

// TestWindowStopsSender lets control pass what waits for a slow downlink, except what is under way.
func TestWindowStopsSender(t *testing.T) {
	t.Parallel()
	s := newSite(Config{Ports: []Port{{Up: 100e6}, {Down: 1e6}}, Window: 2 * PacketMost})
	for i := range 10 {
		s.message("push", push(i, 10), PacketMost)
	}
	for s.agenda.Time() < 10_000_000 { // when all would have left a link without a window
		e, _ := s.agenda.Next()
		s.net.Happen(e)
	}
	e := beat()
	e.To.Node = 1
	s.message("beat", e, 100)
	s.run(t, map[string]int64{"push": 10*onePlace + 100_000})
	if at := slices.Index(s.order, "beat"); at != 2 {
		t.Errorf("control arrives after %d pushes: %v", at, s.order)
	}
}

// TestDropLosesFrames drops a node in the midst of a frame.
func TestDropLosesFrames(t *testing.T) {
	t.Parallel()
	s := newSite(Config{Ports: ports(3, 1e6)})
	s.data("lost", 0, 1, packets)
	s.data("kept", 0, 2, PacketMost)
	s.net.Drop(1)
	s.run(t, map[string]int64{"kept": 2 * onePlace})
	if _, some := s.at["lost"]; some {
		t.Error("a frame arrives at a node that is no more")
	}
}
