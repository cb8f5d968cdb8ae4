package join_test

import (
	"testing"

	"bellows"
	"bellows/core/join"
	"bellows/core/liveness"
)

// TestTheGoneAreNotWaitedFor: a process that follows node 0 waits for those that are there, and for no other; who calls by the number of one that is gone is turned away.
func TestTheGoneAreNotWaitedFor(t *testing.T) {
	t.Parallel()
	j := join.New(join.Cluster{Self: 0, Nodes: 4, Connections: 2, Gone: []bellows.NodeID{2}}, make([]string, 4), liveness.Times{}, 0)
	var fx join.Effects
	j.Begin(&fx)
	for i, c := range []struct {
		node   bellows.NodeID
		number int
		keep   bool
	}{{1, 0, true}, {2, 0, false}, {3, 0, true}, {3, 1, true}, {1, 0, false}, {1, 1, true}} {
		if fx.Over != nil {
			t.Fatalf("over before call %d", i)
		}
		if keep := j.Called(c.node, c.number, 2, &fx); keep != c.keep {
			t.Errorf("call %d of node %d: %v", c.number, c.node, keep)
		}
	}
	if fx.Over == nil || fx.Over.Err != nil {
		t.Errorf("all are there: %+v", fx.Over)
	}
}
