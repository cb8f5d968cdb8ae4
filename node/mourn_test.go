package node

import (
	"testing"

	"bellows"
	"bellows/core/coord"
)

// TestWhatIsLostWithANodeIsSaid in a sentence: who has its splits now, and what is run again, where that is something.
func TestWhatIsLostWithANodeIsSaid(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		lost coord.Buried
		want string
	}{
		{coord.Buried{Node: 3, Reason: "it ended"}, "the job goes on without node 3 (it ended)"},
		{coord.Buried{Node: 3, Reason: "it ended", Splits: []bellows.SplitID{5}, To: []bellows.NodeID{1}}, "the job goes on without node 3: split 5 went to node 1 (it ended)"},
		{coord.Buried{Node: 3, Reason: "it ended", Splits: []bellows.SplitID{5}, To: []bellows.NodeID{1}, Units: 1}, "the job goes on without node 3: split 5 went to node 1, where 1 task that had not counted run again (it ended)"},
		{coord.Buried{Node: 3, Reason: "it ended", Splits: []bellows.SplitID{5, 6}, To: []bellows.NodeID{1, 2}, Units: 4}, "the job goes on without node 3: splits 5 and 6 went to nodes 1, 2, where 4 tasks that had not counted run again (it ended)"},
	} {
		if got := withoutNode(c.lost); got != c.want {
			t.Errorf("%+v: %s", c.lost, got)
		}
	}
}
