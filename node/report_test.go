package node

import (
	"testing"
	"time"

	"bellows/link/wire"
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
