package node

import (
	"testing"

	"bellows"
	"bellows/table"
	"bellows/train"
)

// TestWhoComputesInTurns wants a node to give up its place for frames only where none that could be used comes while it computes.
func TestWhoComputesInTurns(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name        string
		consistency table.Consistency
		self        bellows.NodeID
		want        bool
	}{
		{"works, and serves nobody", table.BSP, 1, true},
		{"waits for no clock", table.SSP(1), 1, false},
		{"holds the table", table.BSP, 0, false},
		{"holds the table, and works", table.BSP, 2, false},
		{"neither works nor serves", table.BSP, 3, false},
	} {
		job := train.Job{Tables: []table.Schema{{Name: "w", Rows: 8, Width: 1, Partitions: 2, Consistency: c.consistency}}, Splits: 4}
		p := &process{job: &job, cluster: Cluster{Self: c.self, Members: []Member{{Lanes: 1}, {Node: 1, Slots: 1}, {Node: 2, Slots: 1, Lanes: 1}, {Node: 3}}}}
		if err := p.agree(); err != nil {
			t.Fatal(err)
		}
		if got := p.inTurns(); got != c.want {
			t.Errorf("a node that %s: %v", c.name, got)
		}
	}
}
