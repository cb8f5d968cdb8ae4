package node

import (
	"strings"
	"testing"

	"bellows"
	"bellows/internal/require"
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
		require.NoError(t, p.agree())
		if got := p.inTurns(); got != c.want {
			t.Errorf("a node that %s: %v", c.name, got)
		}
	}
}

// TestAClusterIsWhole refuses clusters that cannot run a job, one for each reason, and takes the largest that there may be.
func TestAClusterIsWhole(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name    string
		cluster Cluster
		want    string
	}{
		{"one node", Cluster{Members: []Member{{Slots: 1, Lanes: 1}}}, ""},
		{"as many lanes and connections as may be", Cluster{Self: 1, Connections: ConnectionsMost, Members: []Member{{Slots: 1}, {Node: 1, Lanes: 1 << 10}}}, ""},
		{"a node that is another", Cluster{Members: []Member{{Slots: 1, Lanes: 1}, {Node: 2}}}, "member 1 is"},
		{"slots below none", Cluster{Members: []Member{{Slots: 2, Lanes: 1}, {Node: 1, Slots: -1, Lanes: 1}}}, "member 1 is"},
		{"lanes below none", Cluster{Members: []Member{{Slots: 1, Lanes: 2}, {Node: 1, Slots: 1, Lanes: -1}}}, "member 1 is"},
		{"too many lanes", Cluster{Members: []Member{{Slots: 1, Lanes: 1<<10 + 1}}}, "member 0 is"},
		{"connections below none", Cluster{Connections: -1, Members: []Member{{Slots: 1, Lanes: 1}}}, "-1 connections"},
		{"too many connections", Cluster{Connections: ConnectionsMost + 1, Members: []Member{{Slots: 1, Lanes: 1}}}, "5 connections"},
		{"nobody who works", Cluster{Members: []Member{{Lanes: 1}}}, "0 compute slots and 1 lanes"},
		{"nobody who holds tables", Cluster{Members: []Member{{Slots: 1}}}, "1 compute slots and 0 lanes"},
		{"a place beyond it", Cluster{Self: 1, Members: []Member{{Slots: 1, Lanes: 1}}}, "this is node 1"},
	} {
		err := c.cluster.validate()
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
	}
}
