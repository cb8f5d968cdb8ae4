package client_test

import (
	"errors"
	"strings"
	"testing"

	"bellows"
	"bellows/core"
	"bellows/core/client"
	"bellows/link/wire"
	"bellows/table"
)

// TestALowerTermIsNotObeyed gives a client messages of a replaced controller: it begins none of its tasks, does not
// end, and reads as before. An end that a client passes on has no term, and lanes have none.
func TestALowerTermIsNotObeyed(t *testing.T) {
	d := newDesk(t)
	dispatch := func(term bellows.Term, clock bellows.Clock) {
		m := &wire.Dispatch{Term: term}
		m.Append(bellows.Unit{Split: 0, Clock: clock}, nil)
		d.deliver(controller, m)
	}
	dispatch(1, 0)
	d.expect("run split 0 clock 0 items [0,0)")
	d.end(0)
	d.deliver(controller, &wire.Staleness{Table: 0, Clocks: int32(table.BSP), Term: 3}) // another controller
	dispatch(2, 1)
	d.deliver(controller, &wire.Staleness{Table: 0, Clocks: int32(table.Async), Term: 1})
	d.deliver(controller, &wire.End{Term: 2, Reason: "of old"})
	d.expect("")
	if d.Refused() != 3 || d.Ended() != nil {
		t.Errorf("%d refused, ended %v", d.Refused(), d.Ended())
	}
	dispatch(3, 2)
	d.expect("run split 0 clock 2 items [0,0)")
	d.read(0, 0, 0, 4)
	d.expect("lane 0 of node 0: pull t0/p0 [] after commit 0 clock 1") // as BSP has it
	d.deliver(controller, &wire.End{Term: 4})
	if d.Ended() == nil {
		t.Error("the end is not heard")
	}
}

// TestEachControllerHearsWhyClientStopped lets a task fail, or an invalid message come. A controller that follows is
// also sent the reason, once, and the client's last message.
func TestEachControllerHearsWhyClientStopped(t *testing.T) {
	for want, fails := range map[string]func(d *desk){
		"the controller: failed: no such row": func(d *desk) {
			d.start(0, 0, 0)
			d.Finish(d.tasks[0], nil, errors.New("no such row"), &d.fx)
		},
		"the controller: *wire.Complaint": func(d *desk) {
			d.deliver(lanes[0], &wire.Held{Flush: flushID(9)})
		},
	} {
		d := newDesk(t)
		d.deliver(controller, &wire.Staleness{Term: 1})
		d.expect("")
		fails(d)
		d.expect(want)
		for range 2 {
			d.deliver(controller, &wire.Staleness{Term: 2})
			d.expect(want)
			want = ""
		}
		d.deliver(controller, &wire.End{Term: 2, Reason: "it failed"})
		ended := d.said()
		if !strings.HasSuffix(ended, "the controller: *wire.Closed") {
			t.Errorf("at the end it said %q", ended)
		}
		d.deliver(controller, &wire.End{Term: 2, Reason: "it failed"})
		d.expect("")
		d.deliver(controller, &wire.End{Term: 3, Reason: "it failed"})
		if got := d.said(); !strings.HasSuffix(got, "the controller: *wire.Closed") || strings.Contains(got, "End") {
			t.Errorf("to another controller it said %q", got)
		}
	}
}

// TestOtherErasAreNothing gives a client of era 2 tasks and the end of the job as of other eras. Its messages are of
// era 2.
func TestOtherErasAreNothing(t *testing.T) {
	tables := []table.Schema{{Name: "f", Rows: 8, Width: 1, Partitions: 2, Consistency: table.Async}}
	d := newDeskOf(t, core.Job{Era: 2, Tables: tables}, client.Options{})
	unit := bellows.Unit{Items: bellows.Range{Begin: 0, End: 1}}
	for _, era := range []bellows.Era{1, 3} {
		m := wire.New[wire.Dispatch]()
		m.Append(unit, nil)
		d.Deliver(wire.Envelope{From: controller, To: self, Message: m, Era: era}, &d.fx)
		d.Deliver(wire.Envelope{From: controller, To: self, Message: &wire.End{}, Era: era}, &d.fx)
		d.expect("")
	}
	m := wire.New[wire.Dispatch]()
	m.Append(unit, nil)
	d.Deliver(wire.Envelope{From: controller, To: self, Message: m, Era: 2}, &d.fx)
	d.expect("run split 0 clock 0 items [0,1)")
	d.read(0, 0, 0, 4)
	if e := d.fx.Envelopes; len(e) != 1 || e[0].Era != 2 {
		t.Errorf("asks with %+v, want one question of era 2", e)
	}
}

// TestAnswersToTheProcessBeforeAreNothing gives a client of the second incarnation what lanes said to the first.
func TestAnswersToTheProcessBeforeAreNothing(t *testing.T) {
	tables := []table.Schema{{Name: "f", Rows: 8, Width: 1, Partitions: 2, Consistency: table.Async}}
	job := core.Job{Clients: []wire.Address{self}, Incarnations: []uint32{2}, Tables: tables}
	d := newDeskOf(t, job, client.Options{})
	d.start(0, 0, 0)
	d.tasks[0].AddRow(0, 0, []float32{1})
	d.tasks[0].AddRow(0, 4, []float32{1})
	d.read(0, 0, 0, 4)
	d.end(0)
	if id := d.sent[0].Flush; id != (bellows.FlushID{Client: 1, Incarnation: 2, Seq: 1}) || d.pulls[0].Incarnation != 2 {
		t.Errorf("it says that it is %v, and asks as incarnation %d", id, d.pulls[0].Incarnation)
	}
	before := flushID(1)
	d.deliver(lanes[0], &wire.Held{Flush: before})
	d.deliver(lanes[1], &wire.Held{Flush: before})
	d.deliver(lanes[0], &wire.Rows{Incarnation: 1, Request: d.pulls[0].Request, Parts: []wire.RowsPart{{Pair: wire.Pair{Generation: 1}, Rows: []uint32{0}, Values: []float32{7}}}})
	d.expect("")
}

// TestAnswersOfFormerOwnerAreIgnored answers a read, a request for a lease, a subscription and a push at a generation that is past: the
// questions are asked again, and the answers at the generation that counts are taken.
func TestAnswersOfFormerOwnerAreIgnored(t *testing.T) {
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
