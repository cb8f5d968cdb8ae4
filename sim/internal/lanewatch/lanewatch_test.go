package lanewatch

import (
	"strings"
	"testing"

	"bellows"
	"bellows/core/server"
	"bellows/link/wire"
	"bellows/sim/internal/trace"
)

func newWatch() (*Watch, *Lane) {
	var now int64
	w := &Watch{Trace: &trace.Trace{Clock: &now}, Controller: func() bellows.Term { return 2 }}
	l := &Lane{Lane: new(server.Lane), Address: wire.LaneAt(1, 1)}
	w.Add(l)
	return w, l
}

func TestLookupFindsOnlyLanes(t *testing.T) {
	t.Parallel()
	w, l := newWatch()
	if w.Lookup(l.Address) != l {
		t.Error("the lane is not at its address")
	}
	for _, a := range []wire.Address{wire.ClientAt(1), wire.LaneAt(1, 2), wire.LaneAt(9, 0)} {
		if w.Lookup(a) != nil {
			t.Errorf("there is a lane at %v", a)
		}
	}
}

func TestFencedClientIsNotAnswered(t *testing.T) {
	t.Parallel()
	w, l := newWatch()
	held := []wire.Envelope{{From: l.Address, To: wire.ClientAt(3), Message: &wire.Held{}}}
	w.Before(wire.Envelope{From: wire.ControllerAt(), To: l.Address, Message: &wire.Fence{Term: 2, Node: 3}})
	if w.After(l.Address, held); w.Violation != "" { // in the step in which it learns of the fence
		t.Fatal(w.Violation)
	}
	if w.After(l.Address, held); !strings.HasPrefix(w.Violation, "P11") {
		t.Errorf("a lost client was answered: %q", w.Violation)
	}
}

func TestLaneIsStuckWithoutEnds(t *testing.T) {
	t.Parallel()
	w, l := newWatch()
	hurry := wire.Envelope{From: wire.ControllerAt(), To: l.Address, Message: &wire.End{Parts: true}}
	slow := wire.Envelope{From: wire.ClientAt(3), To: l.Address, Message: &wire.End{}}
	w.Posted(slow)
	for _, e := range []wire.Envelope{{From: wire.ControllerAt(), To: l.Address, Message: &wire.End{}}, hurry} {
		if w.Posted(e); l.Stuck {
			t.Error("an End is on its way, and the lane is stuck")
		}
		w.Before(e)
	}
	w.Before(slow)
	if w.Posted(hurry); !l.Stuck {
		t.Error("nothing is on its way, and the lane is not stuck")
	}
	l.Closed = true
	if w.Posted(hurry); l.Stuck {
		t.Error("a closed lane is stuck")
	}
}

func TestDeafLaneAnswersNoRead(t *testing.T) {
	t.Parallel()
	w, l := newWatch()
	l.Deaf = true
	w.After(l.Address, []wire.Envelope{{To: wire.ClientAt(3), Message: &wire.Rows{}}}) // for a subscription
	if w.Violation != "" {
		t.Fatal(w.Violation)
	}
	if w.After(l.Address, []wire.Envelope{{To: wire.ClientAt(3), Message: &wire.Rows{Request: 1}}}); w.Violation == "" {
		t.Error("a lane that does not hear node 0 has answered a read")
	}
}

func TestStateIsCompleteForCurrentController(t *testing.T) {
	t.Parallel()
	w, l := newWatch()
	*w.Clock = 70
	if w.Delivered(wire.Envelope{From: l.Address, Message: &wire.Collected{Term: 1}}); l.GaveAt != 0 {
		t.Error("state for an earlier controller counts")
	}
	if w.Delivered(wire.Envelope{From: l.Address, Message: &wire.Collected{Term: 2}}); l.GaveAt != 70 {
		t.Errorf("the state was complete at %d ms", l.GaveAt)
	}
}
