package client_test

import (
	"fmt"
	"testing"

	"bellows"
	"bellows/link/wire"
)

// TestATaskThatComputesForTooLongEndsTheJob has a task compute for an hour and more: the controller is told of it every second from the first on, and
// that it has failed when it may no longer.
func TestATaskThatComputesForTooLongEndsTheJob(t *testing.T) {
	d := newDesk(t)
	d.start(3, 0, 0, 1)
	told, failed := 0, ""
	for now := int64(0); now <= 3_700_000; now += 500 {
		d.Tick(now, &d.fx)
		d.Computes(1, now, &d.fx)
		for _, e := range d.fx.Envelopes {
			switch m := e.Message.(type) {
			case *wire.Computing:
				if told++; m.Unit != (bellows.Unit{Split: 1, Clock: 3, Items: bellows.Range{End: 1}}) || m.Millis != now || e.To != controller {
					t.Fatalf("at %d it says %+v to %v", now, m, e.To)
				}
			case *wire.Failed:
				failed += fmt.Sprintf("%v at %d: %s", m.Unit, now, m.Reason)
			}
		}
		d.said()
	}
	if want := "split 1 clock 3 items [0,1) at 3600500: it has computed for 3600.5 s without an end"; failed != want {
		t.Errorf("failed %q, want %q", failed, want)
	}
	if told < 2300 || told > 3600 {
		t.Errorf("told %d times", told)
	}
	e := newDesk(t)
	e.Computes(0, 10_000_000, &e.fx) // which has no task
	e.expect("")
}
