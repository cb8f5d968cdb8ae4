package client_test

import (
	"testing"

	"bellows"
	"bellows/link/wire"
)

// TestWhatAnOwnerOfThePastSaysChangesNothing answers a read, a request for a lease, a subscription and a push at a generation that is past: the
// questions are asked again, and the answers at the generation that counts are taken.
func TestWhatAnOwnerOfThePastSaysChangesNothing(t *testing.T) {
	d := newDesk(t)
	d.start(0, 0, 0, 1)
	d.ask(0, 0, 0, 4)
	answer := func(generation bellows.Generation) {
		d.rows(lanes[0], d.pulls[len(d.pulls)-1].Request,
			wire.RowsPart{Pair: wire.Pair{Generation: generation}, Complete: bellows.NoClock, Values: []float32{1, 2, 3, 4}})
	}
	answer(0)
	d.expect("lane 0 of node 0: pull t0/p0 [] after commit 0 clock -1")
	answer(1)
	d.expect("wake split 0 clock 0 items [0,1)")

	ref := bellows.PartitionRef{Table: 1}
	request := d.lease(1, ref, wire.Exclusive).Request
	d.said()
	grant := func(request uint64, generation bellows.Generation) {
		d.deliver(lanes[0], &wire.Granted{Request: request, Pair: wire.Pair{Ref: ref, Generation: generation}, Mode: wire.Exclusive, Values: make([]float32, 4)})
	}
	grant(request, 0)
	again := d.fx.Envelopes[0].Message.(*wire.Acquire).Request
	d.said()
	if again == request {
		t.Error("the request for a lease is not asked as a new one")
	}
	grant(again, 1)
	d.expect("wake split 1 clock 0 items [0,1)")

	d.tasks[0].AddRow(0, 1, []float32{1})
	d.tasks[0].AddRow(0, 5, []float32{1})
	d.finish(0)
	d.end(1)
	id := d.sent[len(d.sent)-1].Flush
	past := []wire.Pair{{Generation: 0}}
	d.deliver(lanes[0], &wire.Full{Flush: id, Pairs: past})
	d.deliver(lanes[0], &wire.Room{Flush: id, Pairs: past})
	d.deliver(lanes[1], &wire.Held{Flush: id})
	d.deliver(lanes[0], &wire.Held{Flush: id, Pairs: past})
	d.expect("")
	d.deliver(lanes[0], &wire.Held{Flush: id, Pairs: []wire.Pair{{Generation: 1}}})
	d.expect("the controller: done flush 2 of node 1: 1 results, 2 pairs")
}
