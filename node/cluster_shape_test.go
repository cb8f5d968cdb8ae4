package node

import (
	"strings"
	"testing"
	"time"

	"bellows"
	"bellows/core/coord"
	"bellows/core/route"
	"bellows/link/wire"
	"bellows/table"
	"bellows/train"
)

// TestComputeTurns wants a node to give up its place for frames only where none that could be used comes while it computes.
func TestComputeTurns(t *testing.T) {
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
		p.agree()
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

// TestNodeLossReportsLostWork checks the sentence: the new owners of its splits, and the work that is repeated, if any.
func TestNodeLossReportsLostWork(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		lost coord.Buried
		want string
	}{
		{coord.Buried{Node: 3, Reason: "it ended"}, "the job continues without node 3 (it ended)"},
		{coord.Buried{Node: 3, Reason: "it ended", Splits: []bellows.SplitID{5}, To: []bellows.NodeID{1}}, "the job continues without node 3: split 5 went to node 1 (it ended)"},
		{coord.Buried{Node: 3, Reason: "it ended", Splits: []bellows.SplitID{5}, To: []bellows.NodeID{1}, Units: 1}, "the job continues without node 3: split 5 went to node 1, where 1 task that had not counted run again (it ended)"},
		{coord.Buried{Node: 3, Reason: "it ended", Splits: []bellows.SplitID{5, 6}, To: []bellows.NodeID{1, 2}, Units: 4}, "the job continues without node 3: splits 5 and 6 went to nodes 1, 2, where 4 tasks that had not counted run again (it ended)"},
	} {
		if got := withoutNode(c.lost); got != c.want {
			t.Errorf("%+v: %s", c.lost, got)
		}
	}
}

// TestALaterReportStands makes reports of a node overtake each other, as they do by way of its runner and of its lanes.
func TestALaterReportStands(t *testing.T) {
	l := &lead{process: &process{began: time.Now()}, books: make([]book, 2)}
	for _, millis := range []int64{5, 9, 7, 9, 2} {
		l.enter(1, &wire.Report{Millis: millis, Process: uint32(millis)})
	}
	if got := l.books[1].report.Millis; got != 9 {
		t.Errorf("the report of %d ms stands", got)
	}
	l.enter(1, &wire.Report{Millis: 10})
	if got := l.books[1].report.Millis; got != 10 {
		t.Errorf("the report of %d ms stands, not the last", got)
	}
	l.enter(2, &wire.Report{}) // of no member
}

// TestDepartedNodeOwnershipInCut queries a following process before lanes have answered. By the route of the last cut a
// node owns splits and partitions that has left since, and of which nothing is kept.
func TestDepartedNodeOwnershipInCut(t *testing.T) {
	tables, lanes := []table.Schema{{Name: "w", Rows: 16, Width: 1, Partitions: 4}}, []wire.Address{wire.LaneAt(1, 0), wire.LaneAt(4, 0)}
	l := &lead{process: &process{job: &train.Job{Splits: 4}}, route: route.Spread(tables, 4, lanes, []bellows.NodeID{1, 4}), books: make([]book, 2)}
	splits, partitions := l.owned()
	if splits[1] != 2 || splits[4] != 2 || partitions[1] != 2 || partitions[4] != 2 || splits[2] != 0 {
		t.Errorf("splits %v, partitions %v", splits, partitions)
	}
}
