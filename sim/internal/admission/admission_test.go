package admission

import (
	"strings"
	"testing"

	"bellows"
	"bellows/core/join"
	"bellows/core/shell"
	"bellows/sim/internal/coverage"
	"bellows/sim/internal/lifecycle"
	"bellows/sim/internal/nodestate"
	"bellows/sim/internal/trace"
)

// newWatch returns the watch of a job with node 0 and two nodes that join.
func newWatch() *Watch {
	tr := &trace.Trace{Clock: new(int64)}
	w := &Watch{Trace: tr, Coverage: new(coverage.Coverage), Life: new(lifecycle.Watch), Nodes: &nodestate.Watch{Trace: tr}}
	w.Nodes.All = append(w.Nodes.All, &nodestate.Node{})
	for n := bellows.NodeID(1); n < 3; n++ {
		w.Nodes.All = append(w.Nodes.All, &nodestate.Node{Number: n, Joiner: &nodestate.Joiner{Who: join.Newcomer{Node: n}}})
	}
	return w
}

func TestOneNodeCallsAtATime(t *testing.T) {
	t.Parallel()
	w := newWatch()
	w.Nodes.All[1].Joiner.Called = true
	if w.Called(shell.Call{Newcomer: join.Newcomer{Node: 2}}) || !strings.HasPrefix(w.Violation, "E2: it is the turn of node 2") {
		t.Errorf("%q", w.Violation)
	}
}

func TestNodeHasOneOutcome(t *testing.T) {
	t.Parallel()
	w := newWatch()
	o := join.Outcome{Newcomer: w.Nodes.All[1].Joiner.Who}
	if !w.Settled([]join.Outcome{o}) || len(w.OnTheWay()) != 1 {
		t.Fatalf("%q", w.Violation)
	}
	if w.Settled([]join.Outcome{o}) || w.Violation == "" {
		t.Error("a node has two outcomes")
	}
}

func TestOutcomeOfNodeThatWasNotInvited(t *testing.T) {
	t.Parallel()
	if w := newWatch(); w.Settled([]join.Outcome{{Newcomer: join.Newcomer{Node: 0}}}) || w.Violation == "" {
		t.Error("node 0 was invited")
	}
}

func TestJobEndsWithoutOutcome(t *testing.T) {
	t.Parallel()
	w := newWatch()
	if w.CheckOver(); !strings.HasPrefix(w.Violation, "E2: the job is over") {
		t.Errorf("%q", w.Violation)
	}
}
