package coord_test

import (
	"testing"

	"bellows"
	"bellows/core/coord"
	"bellows/core/route"
	"bellows/link/wire"
)

// TestTheTaskThatComputesIsNamed has two splits of one node at the same clock, of which one has finished: its flush waits for the other, which
// goes on computing. The node says so, and then no more.
func TestTheTaskThatComputesIsNamed(t *testing.T) {
	job := jobOf(10_000, lanes, oneTable)
	job.Clients, job.Route = clients[:1], route.Spread(job.Tables, 2, lanes, []bellows.NodeID{1})
	d := newDeskOf(job, coord.Options{Driver: &rounds{want: 100}})
	d.ready(clients[0])
	d.ready(wire.ClientAt(0))
	d.Start(&d.fx)
	now := int64(0)
	hang := func(split bellows.SplitID, clock bellows.Clock, millis int64, named string) {
		t.Helper()
		for end := now + millis; now < end; now += 500 {
			d.deliver(clients[0], &wire.Computing{Unit: bellows.Unit{Split: split, Clock: clock}, Millis: now})
			d.ticks(now+500, now+500, clients[:1]...)
		}
		expect(t, d.fx.Notices, named)
		d.fx.Notices = nil
	}
	d.Step([]wire.Envelope{{From: clients[0], To: self, Message: &wire.Computing{Unit: bellows.Unit{Split: 0, Clock: 1}, Millis: 5000}}}, &d.fx) // which was not dispatched
	hang(1, 0, 2500, "the job has waited 2.5 s for split 1 clock 0 on node 1 and 1 more, and gives up after 3600.0 s")
	d.done(1, 0) // of split 0, which had been told to be waiting
	hang(0, 0, 11_000, "the job has waited 10.5 s for split 1 clock 0 on node 1, and gives up after 3600.0 s")
	d.Step([]wire.Envelope{{From: clients[0], To: self, Message: &wire.Computing{Unit: bellows.Unit{Split: 1, Clock: 7}, Millis: now}}}, &d.fx) // which is none
	d.ticks(now+500, now+3_600_000, clients[:1]...)
	if o := d.fx.Envelopes; len(o) == 0 {
		t.Error("it goes on for ever")
	}
}
