package route_test

import (
	"slices"
	"testing"

	"bellows"
	"bellows/core/route"
	"bellows/link/wire"
	"bellows/table"
)

func TestSpreadIsEvenAndNumbersPartitions(t *testing.T) {
	tables := []table.Schema{{Name: "a", Rows: 10, Width: 1, Partitions: 5}, {Name: "b", Rows: 7, Width: 1, Partitions: 7}}
	lanes := []wire.Address{{Role: wire.Lane}, {Role: wire.Lane, Index: 1}, {Node: 1, Role: wire.Lane}}
	r := route.Spread(tables, 8, lanes, []bellows.NodeID{4, 5, 6})
	perLane, next := map[wire.Address]int{}, 0
	for i := range tables {
		for p := range r.Cut(bellows.TableID(i)).Len() {
			ref := bellows.PartitionRef{Table: bellows.TableID(i), Partition: bellows.PartitionID(p)}
			if r.Number(ref) != next {
				t.Errorf("%v is number %d, want %d", ref, r.Number(ref), next)
			}
			next++
			perLane[r.Owner(ref).Lane]++
			if r.Owner(ref).Generation != 1 {
				t.Errorf("%v starts at generation %d", ref, r.Owner(ref).Generation)
			}
		}
	}
	if next != r.Partitions() || next != 12 {
		t.Errorf("%d partitions, Partitions says %d", next, r.Partitions())
	}
	for _, l := range lanes {
		if perLane[l] < 3 {
			t.Errorf("%v has %d of 12 partitions", l, perLane[l])
		}
	}
	perNode := map[bellows.NodeID]int{}
	for s := range r.Splits() {
		perNode[r.Node(bellows.SplitID(s))]++
		if s > 0 && r.Node(bellows.SplitID(s)) < r.Node(bellows.SplitID(s-1)) {
			t.Error("splits of one node are not consecutive")
		}
	}
	for n, k := range perNode {
		if k < 2 || k > 3 {
			t.Errorf("node %d has %d of 8 splits", n, k)
		}
	}
}

// TestSpreadPutsPartitionsWithTheirSplits gives the partitions of one split each to lanes of the node that runs it, in
// turn, and others to all lanes; so it does where that node has no lane.
func TestSpreadPutsPartitionsWithTheirSplits(t *testing.T) {
	tables := []table.Schema{{Name: "a", Rows: 7, Width: 1, Partitions: 7, BySplit: true},
		{Name: "b", Rows: 6, Width: 1, Partitions: 6}}
	lanes := []wire.Address{wire.LaneAt(4, 0), wire.LaneAt(5, 0), wire.LaneAt(4, 1)}
	r := route.Spread(tables, 6, lanes, []bellows.NodeID{4, 5, 6})
	want := []wire.Address{lanes[0], lanes[2], lanes[1], lanes[1], lanes[1], lanes[2], lanes[0]}
	for p, lane := range want {
		if got := r.Owner(bellows.PartitionRef{Partition: bellows.PartitionID(p)}).Lane; got != lane {
			t.Errorf("partition %d is at %v, want %v", p, got, lane)
		}
	}
	for p := range 6 {
		if got := r.Owner(bellows.PartitionRef{Table: 1, Partition: bellows.PartitionID(p)}).Lane; got != lanes[p%3] {
			t.Errorf("partition %d of the other table is at %v, want %v", p, got, lanes[p%3])
		}
	}
}

func TestRunsKnowsWhoseSubtreeItIs(t *testing.T) {
	tables := []table.Schema{{Name: "a", Rows: 10, Width: 1, Partitions: 5}}
	r := route.Spread(tables, 7, []wire.Address{{Role: wire.Lane}}, []bellows.NodeID{4, 5, 6})
	for n := bellows.NodeID(3); n < 8; n++ {
		for level := range uint8(5) {
			for index := range uint32(16) {
				at := wire.Subtree{Level: level, Index: index}
				some, all := false, true
				for s := int(index) << level; s < min(7, int(index+1)<<level); s++ {
					some, all = true, all && r.Node(bellows.SplitID(s)) == n
				}
				if got := r.Runs(n, at); got != (some && all) {
					t.Errorf("node %d, subtree %+v: %v", n, at, got)
				}
			}
		}
	}
	for ref, want := range map[bellows.PartitionRef]bool{{Partition: 4}: true, {Partition: 5}: false, {Table: 1}: false,
		{Partition: 1<<32 - 1}: false} {
		if r.Contains(ref) != want {
			t.Errorf("has %v: %v", ref, !want)
		}
	}
	if r.Runs(4, wire.Subtree{Level: 32, Index: 0}) || r.Runs(6, wire.Subtree{Level: 0, Index: 1<<32 - 1}) {
		t.Error("a subtree of others, or of nobody, is one's own")
	}
}

// TestSurplusNodesHoldNoSplit spreads fewer splits than there are nodes: the last ones hold none, and take part.
func TestSurplusNodesHoldNoSplit(t *testing.T) {
	r := route.Spread(nil, 3, []wire.Address{wire.LaneAt(0, 0)}, []bellows.NodeID{4, 5, 6, 7, 8})
	for s, want := range []bellows.NodeID{4, 5, 6} {
		if got := r.Node(bellows.SplitID(s)); got != want {
			t.Errorf("split %d is run by node %d, not %d", s, got, want)
		}
	}
	if got := len(r.Clients()); got != 5 {
		t.Errorf("%d clients take part, not 5", got)
	}
}

// TestLanesOrderFirstsBeforeSeconds includes a node 1 without lanes.
func TestLanesOrderFirstsBeforeSeconds(t *testing.T) {
	got := route.Lanes([]int{1, 0, 3, 2})
	want := []wire.Address{wire.LaneAt(0, 0), wire.LaneAt(2, 0), wire.LaneAt(3, 0), wire.LaneAt(2, 1), wire.LaneAt(3, 1), wire.LaneAt(2, 2)}
	if !slices.Equal(got, want) {
		t.Errorf("%v, not %v", got, want)
	}
	if list := route.Lanes(nil); list != nil {
		t.Errorf("of no node %v", list)
	}
}
