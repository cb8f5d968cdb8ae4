package client_test

import (
	"testing"

	"bellows"
	"bellows/link/wire"
)

// TestALeaseDoesNotGoBack has a split lease a partition in a newer version than the one in the cache: what it reads afterwards is no older than what the
// lease showed, nor, when the lease was exclusive and has been committed, than what that left. A split that has not seen it may read the cache.
func TestALeaseDoesNotGoBack(t *testing.T) {
	for _, mode := range []wire.Mode{wire.Shared, wire.Exclusive} {
		d := newDesk(t)
		ref := bellows.PartitionRef{Table: 1}
		d.start(2, 0, 0)
		d.ask(0, 1, 0, 4)
		d.answer(2, 7, bellows.NoClock)
		d.end(0)
		d.start(3, 0, 0)
		a := d.lease(0, ref, mode)
		d.said()
		granted := bellows.CommitNumber(7)
		if mode == wire.Shared {
			granted = 9
		}
		d.deliver(lanes[0], &wire.Granted{Request: a.Request, Pair: a.Pair, Mode: mode, Commit: granted, Complete: bellows.NoClock, Values: make([]float32, 4)})
		if v := d.tasks[0].Version(ref); v.Commit != granted {
			t.Errorf("the lease is of version %+v", v)
		}
		d.end(0)
		if mode == wire.Exclusive {
			d.deliver(lanes[0], committed(wire.Commitment{Flush: flushID(d.sent[len(d.sent)-1].Flush.Seq), Commit: 9}))
		}
		d.dispatch(4, 0, 0)
		d.start(3, 0, 1)
		if !d.read(1, 1, 0, 4) {
			t.Error("another split does not read the cache")
		}
		if d.read(0, 1, 0, 4) {
			t.Errorf("after a lease, mode %d, its split reads version %+v", mode, d.tasks[0].Version(ref))
		}
	}
}
