package client_test

import (
	"strings"
	"testing"

	"bellows"
	"bellows/link/wire"
)

// follows lets another controller tell the client the whole route of a desk's job, as it knows it.
func (r *roads) follows(term bellows.Term) {
	r.d.deliver(controller, &wire.Route{Term: term, Version: r.Version(), Changes: r.Whole(), Begin: &wire.Begin{Complete: make([]bellows.Clock, 2), Staleness: []int32{0, -1}}})
}

// pushToBoth lets a task add to rows of both lanes and signal 7 and 8, and returns the name of its flush.
func (d *desk) pushToBoth() bellows.FlushID {
	d.start(0, 0, 0)
	d.tasks[0].AddRow(0, 1, []float32{1})
	d.tasks[0].AddRow(0, 5, []float32{2})
	d.Finish(d.tasks[0], []float64{7, 8}, nil, &d.fx)
	d.said()
	return d.sent[0].Flush
}

// held returns a desk whose client has reported a flush for two lanes as done, and the flush's name.
func held(t *testing.T) (*desk, *roads, bellows.FlushID) {
	d := newDesk(t)
	r := newRoads(d)
	id := d.pushToBoth()
	d.deliver(lanes[0], &wire.Held{Flush: id})
	d.expect("")
	d.deliver(lanes[1], &wire.Held{Flush: id})
	d.expect("the controller: done flush 1 of node 1: 1 results, 2 pairs")
	return d, r, id
}

// TestDonesAreSentToNewController loses a Done with the process to which it was sent. The next controller receives it
// again, unless a lane has reported that the flush counts, or a part of it is not held.
func TestDonesAreSentToNewController(t *testing.T) {
	d, r, id := held(t)
	r.follows(2)
	d.expect("the controller: done flush 1 of node 1: 1 results, 2 pairs")
	r.follows(3)
	d.expect("the controller: done flush 1 of node 1: 1 results, 2 pairs")
	d.deliver(lanes[1], committed(wire.Commitment{Flush: id, Commit: 4}))
	r.follows(4)
	d.expect("")

	d = newDesk(t)
	r = newRoads(d)
	d.push(delta{0, 1, 1})
	r.follows(2)
	d.expect("") // its lane says it
}

// TestUnrecordedRouteIsNotAwaited lets a controller refuse a Done by a route that it has sent to no other node, and
// loses it. The next controller knows the previous route, by which the flush is sent and done again. The same holds
// for a question.
func TestUnrecordedRouteIsNotAwaited(t *testing.T) {
	d, r, id := held(t)
	d.start(1, 0, 1)
	d.read(1, 1, 0, 4)
	d.expect("lane 0 of node 0: pull t1/p0 [] after commit 0 clock -1")
	d.deliver(controller, &wire.Stale{Route: 9, Flush: id, Pairs: []wire.Pair{pairAt(0, 1, 1)}})
	d.deliver(lanes[0], &wire.Stale{Route: 9, Request: 1})
	d.expect("")
	r.follows(2)
	d.expect("lane 0 of node 0: pull t1/p0 [] after commit 0 clock -1",
		"lane 1 of node 0: push flush 1 of node 1 t0/p1 [1][2] of splits 0<<0, done: 1 results, 2 pairs")
	d.deliver(lanes[1], &wire.Held{Flush: id, Pairs: []wire.Pair{pairAt(0, 1, 1)}})
	d.expect("the controller: done flush 1 of node 1: 1 results, 2 pairs")
}

// TestOnlyHearerOfEndAnnouncesIt sends one client the failure or the interruption of the job. Then another controller
// comes that does not know of it: the client reports once why it stopped. A controller that also sends the end
// receives no report, and the end of a finished job is never reported.
func TestOnlyHearerOfEndAnnouncesIt(t *testing.T) {
	for reason, want := range map[string]string{
		"it failed": "the controller: failed: the controller before has told it that the job is over: it failed",
		"":          "",
	} {
		d := newDesk(t)
		r := newRoads(d)
		d.deliver(controller, &wire.End{Term: 1, Reason: reason, Kind: bellows.Lost})
		d.said()
		for term := bellows.Term(2); term < 4; term++ {
			r.follows(term)
			d.expect(want)
			d.dispatch(0, 0, 0)
			d.expect("")
		}
		d.deliver(controller, &wire.End{Term: 4, Reason: reason})
		if got := d.said(); strings.Contains(got, "failed:") || !strings.HasSuffix(got, "the controller: *wire.Closed") {
			t.Errorf("to a controller that says the end it said %q", got)
		}
	}
}
