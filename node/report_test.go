package node

import (
	"testing"
	"time"

	"bellows"
	"bellows/core/route"
	"bellows/link/wire"
	"bellows/table"
	"bellows/train"
)

// TestALaterReportStands has reports of a node overtake each other, as they do by way of its runner and of its lanes.
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
	l.enter(2, &wire.Report{}) // nobody's
}

// TestWhoHasLeftOwnsByTheLastCut has a process that follows be looked at before it has heard lanes: by the route of the last cut a node owns splits and partitions that has left since, and of which nothing is kept.
func TestWhoHasLeftOwnsByTheLastCut(t *testing.T) {
	tables, lanes := []table.Schema{{Name: "w", Rows: 16, Width: 1, Partitions: 4}}, []wire.Address{wire.LaneAt(1, 0), wire.LaneAt(4, 0)}
	l := &lead{process: &process{job: &train.Job{Splits: 4}}, route: route.Spread(tables, 4, lanes, []bellows.NodeID{1, 4}), books: make([]book, 2)}
	splits, partitions := l.owned()
	if splits[1] != 2 || splits[4] != 2 || partitions[1] != 2 || partitions[4] != 2 || splits[2] != 0 {
		t.Errorf("splits %v, partitions %v", splits, partitions)
	}
}
