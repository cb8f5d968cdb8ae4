package client_test

import (
	"errors"
	"strings"
	"testing"

	"bellows"
	"bellows/link/wire"
	"bellows/table"
)

// TestALowerTermIsNotObeyed gives a client the words of a controller that another has followed: it begins none of its tasks, does not end, and reads as
// before. What a client passes on of an end has no term, and lanes have none.
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

// TestEachControllerIsToldWhyAClientDoesNotGoOn has a task fail, or something come that cannot be: a controller that follows is told, too, once. So it is of the last word.
func TestEachControllerIsToldWhyAClientDoesNotGoOn(t *testing.T) {
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
