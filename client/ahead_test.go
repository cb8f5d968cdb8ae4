package client_test

import (
	"fmt"
	"testing"

	"bellows"
	"bellows/client"
	"bellows/wire"
)

// TestASplitFarAheadWaitsAndGoesOn lets a split finish as many tasks ahead of its commits as it may. The next one waits for a commit, and for
// nothing else.
func TestASplitFarAheadWaitsAndGoesOn(t *testing.T) {
	for limit, most := range map[int]int{0: 64, 1: 1, 3: 3, 1000: 64} {
		d := newDeskWithin(t, client.Limits{Retained: limit})
		for c := range bellows.Clock(most + 2) {
			d.dispatch(c, 0, 0)
		}
		for c := range most {
			if d.said(); d.tasks[0].Unit.Clock != bellows.Clock(c) {
				t.Fatalf("limit %d: clock %d is not begun", limit, c)
			}
			d.tasks[0].AddRow(1, 0, []float32{1})
			d.finish(0)
		}
		d.said()
		if at := d.tasks[0].Unit.Clock; at != bellows.Clock(most-1) {
			t.Fatalf("limit %d: clock %d is begun with %d flushes not committed", limit, at, most)
		}
		for n := range 2 {
			d.deliver(lanes[0], committed(wire.Commitment{Flush: bellows.FlushID{Client: 1, Seq: uint64(n + 1)}, Commit: bellows.CommitNumber(n + 1)}))
			d.expect(fmt.Sprintf("run split 0 clock %d items [0,1)", most+n))
			d.tasks[0].AddRow(1, 0, []float32{1})
			d.finish(0)
			d.said()
		}
	}
}
