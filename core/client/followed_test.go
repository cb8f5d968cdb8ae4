package client_test

import (
	"strings"
	"testing"

	"bellows"
	"bellows/link/wire"
)

// follows has another controller tell the client the whole route of a desk's job, as it knows it.
func (r *roads) follows(term bellows.Term) {
	r.d.deliver(controller, &wire.Route{Term: term, Version: r.Version(), Changes: r.Whole(), Begin: &wire.Begin{Complete: make([]bellows.Clock, 2), Staleness: []int32{0, -1}}})
}

// pushToBoth has a task add to rows of both lanes and signal 7 and 8, and returns the name of its flush.
func (d *desk) pushToBoth() bellows.FlushID {
	d.start(0, 0, 0)
	d.tasks[0].AddRow(0, 1, []float32{1})
	d.tasks[0].AddRow(0, 5, []float32{2})
	d.Finish(d.tasks[0], []float64{7, 8}, nil, &d.fx)
	d.said()
	return d.sent[0].Flush
}

// held is a desk whose client has said that a flush for two lanes is done, and its name.
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

// TestWhatIsDoneIsSaidToWhoFollows loses the word that a flush is done, with the process to which it was said: the controller of another one hears it again, unless some
// lane has said that the flush counts, or not all of it is held.
func TestWhatIsDoneIsSaidToWhoFollows(t *testing.T) {
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

// TestARouteThatNobodyHasIsNotAwaited has a controller refuse a done by a route of which it has told nobody else, and be lost with it: the one that follows knows the route
// of before, by which the flush is sent and done again. So it is with a question.
func TestARouteThatNobodyHasIsNotAwaited(t *testing.T) {
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

// TestWhoAloneWasToldTheEndSaysSo tells one client that the job has failed, or was interrupted, and then another controller speaks that knows nothing of it: it is told why this
// client does not go on, each once. One that says the end, too, is told nothing more, and nobody is told of a job that has finished.
func TestWhoAloneWasToldTheEndSaysSo(t *testing.T) {
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
