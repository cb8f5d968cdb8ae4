package verdict

import (
	"strings"
	"testing"

	"bellows/core/coord"
	"bellows/link/wire"
	"bellows/sim/internal/blame"
	"bellows/sim/internal/coverage"
	"bellows/sim/internal/failover"
	"bellows/sim/internal/images"
	"bellows/sim/internal/lifecycle"
	"bellows/sim/internal/nodestate"
	"bellows/sim/internal/schedule"
	"bellows/sim/internal/trace"
)

// newWatch returns the watch of a job with two nodes that has ended for a reason.
func newWatch(reason string) *Watch {
	tr, cover := &trace.Trace{Clock: new(int64)}, new(coverage.Coverage)
	*tr.Clock = 5000
	return &Watch{Trace: tr, Coverage: cover, Schedule: schedule.New(1), Life: &lifecycle.Watch{Outcome: &coord.Outcome{Reason: reason}},
		Nodes: &nodestate.Watch{Trace: tr, All: []*nodestate.Node{{}, {Number: 1}}}, Failover: new(failover.Watch), Images: new(images.Watch),
		Ends: new(blame.Reasons), View: View{Tick: 100}}
}

func TestJobEndsForWhatWasInjected(t *testing.T) {
	t.Parallel()
	w := newWatch("node 1 is gone")
	if w.Final(); !strings.HasPrefix(w.Violation, "P9") {
		t.Errorf("nothing was injected: %q", w.Violation)
	}
	w = newWatch("node 1 is gone")
	w.Ends.Lose(1)
	if w.Final(); w.Violation != "" {
		t.Error(w.Violation)
	}
}

func TestNode0LeavesWithoutOutcome(t *testing.T) {
	t.Parallel()
	w := newWatch("")
	w.Life.Outcome = nil
	w.Nodes.All[0].Gone = true
	if w.Final(); w.Violation != "" {
		t.Error(w.Violation)
	}
	w.Nodes.All[0].Gone = false
	if w.Final(); !strings.HasPrefix(w.Violation, "P8") {
		t.Errorf("%q", w.Violation)
	}
}

func TestSilenceIsNamedFirst(t *testing.T) {
	t.Parallel()
	w := newWatch("node 1 has been silent for 2.6 s")
	w.Life.Delivered(wire.Envelope{Message: &wire.Notice{Sentence: "node 1 has been silent for 1.3 s"}})
	if w.checkSilenceNamed(); w.Violation != "" {
		t.Error(w.Violation)
	}
	w.Life.Notices = nil
	if w.checkSilenceNamed(); w.Violation == "" {
		t.Error("nothing was said of the silence before")
	}
}
