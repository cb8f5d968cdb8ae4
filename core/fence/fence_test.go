package fence_test

import (
	"slices"
	"testing"

	"bellows"
	"bellows/core/fence"
	"bellows/link/wire"
)

// TestTermsDropOlderControllers hears controllers in some order. A message without a term is of any controller.
func TestTermsDropOlderControllers(t *testing.T) {
	var terms fence.Terms
	for i, c := range []struct {
		term  bellows.Term
		older bool
		want  fence.Succession
	}{
		{0, false, fence.SameController},
		{2, false, fence.FirstController},
		{2, false, fence.SameController},
		{1, true, 0},
		{0, false, fence.SameController},
		{3, false, fence.NewController},
		{2, true, 0},
		{5, false, fence.NewController},
		{5, false, fence.SameController},
	} {
		if got := terms.Older(c.term); got != c.older {
			t.Errorf("message %d, of term %d: older %v, want %v", i, c.term, got, c.older)
		}
		if c.older {
			terms.Drop()
			continue
		}
		if got := terms.Hear(c.term); got != c.want {
			t.Errorf("message %d, of term %d: %v, want %v", i, c.term, got, c.want)
		}
	}
	if terms.Highest() != 5 || terms.Dropped() != 2 {
		t.Errorf("the highest term is %d, and %d messages were dropped", terms.Highest(), terms.Dropped())
	}
}

// TestTermNeverFalls hears a lower term that the caller did not drop.
func TestTermNeverFalls(t *testing.T) {
	var terms fence.Terms
	terms.Hear(4)
	if got := terms.Hear(3); got != fence.SameController || terms.Highest() != 4 {
		t.Errorf("term 3 after 4: %v, the highest is %d", got, terms.Highest())
	}
}

var (
	one = wire.ClientAt(1)
	two = wire.ClientAt(2)
)

// newClients returns two clients, the second in its third process.
func newClients() *fence.Clients {
	c := &fence.Clients{}
	c.Add(one, 1)
	c.Add(two, 3)
	return c
}

// TestNewestIncarnationNeverFalls meets processes of a client out of order.
func TestNewestIncarnationNeverFalls(t *testing.T) {
	c := newClients()
	for i, m := range []struct {
		of          wire.Address
		incarnation uint32
		want        fence.Encounter
		newest      uint32
	}{
		{two, 3, fence.Current, 3},
		{two, 2, fence.Outlived, 3},
		{two, 5, fence.Newer, 5},
		{two, 5, fence.Current, 5},
		{two, 4, fence.Outlived, 5},
		{one, 1, fence.Current, 1},
		{one, 2, fence.Newer, 2},
		{one, 1, fence.Outlived, 2},
		{wire.ClientAt(7), 9, fence.Current, 0},
		{wire.LaneAt(2, 0), 9, fence.Current, 0},
	} {
		if outlived := c.Outlived(m.of, m.incarnation); outlived != (m.want == fence.Outlived) {
			t.Errorf("process %d: outlived %v", i, outlived)
		}
		if got := c.Meet(m.of, m.incarnation); got != m.want || c.Newest(m.of) != m.newest {
			t.Errorf("process %d: %v and newest %d, want %v and %d", i, got, c.Newest(m.of), m.want, m.newest)
		}
	}
	c.Add(two, 1)
	if c.Newest(two) != 5 {
		t.Errorf("added again, its newest process is %d", c.Newest(two))
	}
}

// TestOutlivedNotesNothing asks about a process that is newer than the one known.
func TestOutlivedNotesNothing(t *testing.T) {
	c := newClients()
	if c.Outlived(one, 2) || c.Newest(one) != 1 {
		t.Errorf("the newest process is %d", c.Newest(one))
	}
}

// TestKnows asks for addresses that are clients of the job, and for others.
func TestKnows(t *testing.T) {
	c := newClients()
	if !c.Knows(one) || !c.Knows(two) {
		t.Error("a client is unknown")
	}
	for _, a := range []wire.Address{wire.ClientAt(3), wire.LaneAt(1, 0)} {
		if c.Knows(a) {
			t.Errorf("%v is known", a)
		}
	}
}

// push returns a push of a process of node 2.
func push(incarnation uint32) wire.Message {
	return &wire.Push{Flush: bellows.FlushID{Client: 2, Incarnation: incarnation, Seq: 1}}
}

// TestFencesStay fences two processes of a node, and sends messages of each.
func TestFencesStay(t *testing.T) {
	c := newClients()
	excluded := func(from wire.Address, m wire.Message) (bool, bool) {
		return c.Excludes(&wire.Envelope{From: from, Message: m})
	}
	if got, _ := excluded(two, push(3)); got {
		t.Error("a client is excluded before there is a fence")
	}
	for i, f := range []struct {
		p    fence.Process
		want bool
	}{
		{fence.Process{Node: 2, Incarnation: 2}, true},
		{fence.Process{Node: 2, Incarnation: 3}, true},
		{fence.Process{Node: 2, Incarnation: 3}, false},
		{fence.Process{Node: 2, Incarnation: 1}, false},
	} {
		if got := c.Fence(f.p); got != f.want {
			t.Errorf("fence %d is new: %v", i, got)
		}
	}
	want := []wire.Fence{{Node: 2, Incarnation: 2}, {Node: 2, Incarnation: 3}}
	if got := c.Fences(); !slices.Equal(got, want) {
		t.Errorf("the fences are %v", got)
	}
	for i, m := range []struct {
		from           wire.Address
		message        wire.Message
		excluded, late bool
	}{
		{two, push(3), true, true},
		{two, push(2), true, false}, // no account has it
		{two, push(4), false, false},
		{two, &wire.Pull{Incarnation: 3}, true, false},
		{two, &wire.Pull{Incarnation: 4}, false, false},
		{two, &wire.Unsubscribe{Incarnation: 3}, true, false},
		{two, &wire.Unsubscribe{Incarnation: 4}, false, false},
		{two, &wire.Release{}, true, false}, // names no process: of the newest known
		{one, &wire.Release{}, false, false},
		{one, &wire.Pull{Incarnation: 1}, false, false},
		{wire.LaneAt(2, 0), &wire.Piece{}, false, false},
	} {
		excluded, late := excluded(m.from, m.message)
		if excluded != m.excluded || late != m.late {
			t.Errorf("message %d, %T of %v: excluded %v, late %v", i, m.message, m.from, excluded, late)
		}
	}
}

// TestProcessAfterFenceIsHeard starts a node again after its fence.
func TestProcessAfterFenceIsHeard(t *testing.T) {
	c := newClients()
	c.Fence(fence.Process{Node: 2, Incarnation: 3})
	if c.Fenced(2, 4) || !c.Fenced(2, 3) || !c.Fenced(2, 1) || c.Fenced(1, 1) {
		t.Errorf("fenced: 4 %v, 3 %v, 1 %v, node 1 %v", c.Fenced(2, 4), c.Fenced(2, 3), c.Fenced(2, 1), c.Fenced(1, 1))
	}
	if c.Meet(two, 4) != fence.Newer {
		t.Error("its next process is not met as a newer one")
	}
	if excluded, _ := c.Excludes(&wire.Envelope{From: two, Message: &wire.Release{}}); excluded {
		t.Error("a message of its next process is excluded")
	}
}

// TestPushOfUnknownClientIsLate fences a client that no record has added here yet: its push is counted.
func TestPushOfUnknownClientIsLate(t *testing.T) {
	c := &fence.Clients{}
	c.Fence(fence.Process{Node: 2, Incarnation: 1})
	if excluded, late := c.Excludes(&wire.Envelope{From: two, Message: push(1)}); !excluded || !late {
		t.Errorf("excluded %v, late %v", excluded, late)
	}
}

// TestFenceCoversClientsOfItsNode asks which processes a fence covers.
func TestFenceCoversClientsOfItsNode(t *testing.T) {
	p := fence.Process{Node: 2, Incarnation: 3}
	for i, c := range []struct {
		a           wire.Address
		incarnation uint32
		want        bool
	}{
		{two, 3, true}, {two, 2, true}, {two, 4, false}, {one, 1, false},
		{wire.LaneAt(2, 0), 1, false}, {wire.ControllerAt(), 0, false},
	} {
		if got := p.Covers(c.a, c.incarnation); got != c.want {
			t.Errorf("case %d: %v", i, got)
		}
	}
}

// TestSilence ticks with leases of 3 s and a notice after 2 s.
func TestSilence(t *testing.T) {
	var s fence.Silence
	for i, c := range []struct {
		now    int64
		heard  uint64
		speaks bool // before the tick
		silent int64
		name   bool
		cut    bool
	}{
		{100_000, 7, false, 0, false, false}, // whatever the clock shows
		{102_000, 7, false, 2000, false, false},
		{102_001, 7, false, 2001, true, false},
		{103_000, 7, false, 3000, false, false},
		{103_001, 7, false, 3001, false, true},
		{104_000, 8, false, 999, false, false}, // bytes came since the tick before
		{106_500, 8, false, 3499, true, true},
		{107_000, 8, true, 500, false, false}, // a message since the tick before
		{110_001, 8, false, 3501, true, true},
	} {
		if c.speaks {
			if s.Hears(); s.Cut {
				t.Errorf("tick %d: cut after a message", i)
			}
		}
		silent, name := s.Tick(c.now, c.heard, 3000, 2000)
		if silent != c.silent || name != c.name || s.Cut != c.cut {
			t.Errorf("tick %d: silent for %d ms, to be reported %v, cut %v; want %d, %v, %v",
				i, silent, name, s.Cut, c.silent, c.name, c.cut)
		}
	}
}
