package client_test

import (
	"slices"
	"testing"

	"bellows/link/wire"
)

// TestAPushOnItsWayKeepsItsMemory has a lane ask for a push once more, and refuse it before it has come, since the partition went elsewhere. The flush counts there; the push
// that is on its way to the first lane is what it was.
func TestAPushOnItsWayKeepsItsMemory(t *testing.T) {
	d := newDesk(t)
	newRoads(d)
	d.push(delta{0, 1, 7})
	id, pairs := d.sent[0].Flush, []wire.Pair{pairAt(0, 0, 1)}
	d.deliver(lanes[0], &wire.Full{Flush: id})
	d.deliver(lanes[0], &wire.Room{Flush: id})
	again := d.fx.Envelopes[len(d.fx.Envelopes)-1].Message.(*wire.Push)
	want := slices.Clone(again.Chunks[0].Values)
	d.said()
	d.deliver(lanes[0], &wire.Stale{Flush: id, Pairs: pairs})
	d.said()
	d.deliver(lanes[0], &wire.Committed{List: []wire.Commitment{{Flush: id, Commit: 1, Pairs: pairs}}})
	d.start(0, 1, 1)
	d.tasks[0].AddRow(0, 1, []float32{8})
	d.finish(0)
	if len(again.Chunks) != 1 || !slices.Equal(again.Chunks[0].Values, want) {
		t.Errorf("a push of %v is one of %+v while it is on its way", want, again.Chunks)
	}
}
