package route_test

import (
	"testing"

	"bellows"
	"bellows/route"
	"bellows/table"
	"bellows/wire"
)

func TestSpreadIsEvenAndNumbersEveryPartitionOnce(t *testing.T) {
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
