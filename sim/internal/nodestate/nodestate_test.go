package nodestate

import (
	"testing"

	"bellows"
	"bellows/core/join"
	"bellows/link/wire"
	"bellows/sim/internal/trace"
)

func newWatch() *Watch {
	return &Watch{Trace: new(trace.Trace), All: []*Node{{Number: 0}, {Number: 1}}}
}

func TestTasksForNodeThatIsNotReady(t *testing.T) {
	t.Parallel()
	w := newWatch()
	w.Clock = new(int64)
	w.All[1].Ready = true
	tasks := wire.Envelope{From: wire.ControllerAt(), To: wire.ClientAt(1), Message: &wire.Dispatch{}}
	if w.Delivered(tasks); w.Violation != "" || !w.Lookup(1).Begun {
		t.Fatalf("begun %v, %q", w.Lookup(1).Begun, w.Violation)
	}
	w.All[1].Ready = false
	if w.Delivered(tasks); w.Violation == "" {
		t.Error("a node that is not ready has received tasks")
	}
}

func TestStateLeavesAfterTasks(t *testing.T) {
	t.Parallel()
	w := newWatch()
	w.Clock = new(int64)
	slab := wire.Envelope{From: wire.LaneAt(1, 0), To: wire.ControllerAt(), Message: &wire.Slab{}}
	w.All[1].Closed = true
	if w.Posted(slab); w.Violation != "" {
		t.Fatal(w.Violation)
	}
	w.All[1].Closed = false
	if w.Posted(slab); w.Violation == "" {
		t.Error("a lane has sent its state while tasks run")
	}
}

func TestEndAndFailureOfClient(t *testing.T) {
	t.Parallel()
	w := newWatch()
	w.Posted(wire.Envelope{From: wire.ControllerAt(), To: wire.ClientAt(1), Message: &wire.End{Parts: true}})
	w.Posted(wire.Envelope{From: wire.ClientAt(1), Message: &wire.Failed{Kind: bellows.Bug}})
	if n := w.Lookup(1); n.Told || n.Failed {
		t.Errorf("%+v", n)
	}
	w.Posted(wire.Envelope{From: wire.ControllerAt(), To: wire.ClientAt(1), Message: &wire.End{}})
	w.Posted(wire.Envelope{From: wire.ClientAt(1), Message: &wire.Failed{Kind: bellows.Lost}})
	if n := w.Lookup(1); !n.Told || !n.Failed || w.Lookup(2) != nil {
		t.Errorf("%+v", n)
	}
}

func TestOnTheWayUntilOutcome(t *testing.T) {
	t.Parallel()
	n := Node{Joiner: &Joiner{}}
	if !n.OnTheWay() || (&Node{}).OnTheWay() {
		t.Error("only a node that joins is on the way")
	}
	if n.Joiner.Outcome = new(join.Outcome); n.OnTheWay() {
		t.Error("a node with an outcome is on the way")
	}
}
