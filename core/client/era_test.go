package client_test

import (
	"testing"

	"bellows"
	"bellows/core"
	"bellows/core/client"
	"bellows/link/wire"
	"bellows/table"
)

// TestOtherErasAreNothing gives a client of era 2 tasks and the end of the job as of other eras. What it says is of its own.
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
