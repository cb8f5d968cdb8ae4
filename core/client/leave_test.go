package client_test

import (
	"testing"

	"bellows"
	"bellows/link/wire"
)

// TestLeavingLaneIsPartedAfterItsAnswer moves all of a lane elsewhere and removes it, while a read and a flush are
// there. The client sends it its End when the lane has refused the read, and the flush is held and recorded at its
// new owner.
func TestLeavingLaneIsPartedAfterItsAnswer(t *testing.T) {
	d := newDesk(t)
	r := newRoads(d)
	d.start(0, 0, 0, 1)
	d.tasks[0].AddRow(0, 5, []float32{1})
	d.finish(0)
	d.ask(1, 0, 5, 6)
	id := d.sent[0].Flush
	r.announce(r.addLane, r.move(0, 1, laneAdded), r.move(1, 1, laneAdded), func() bellows.Control { return r.RemoveLane(lanes[1], lanes[0]) })
	d.expect("")
	d.deliver(lanes[1], &wire.Stale{Route: 4, Request: 1})
	d.expect("lane 0 of node 2: pull t0/p1 [] after commit 0 clock -1")
	d.deliver(lanes[1], &wire.Stale{Route: 4, Flush: id, Pairs: []wire.Pair{pairAt(0, 1, 1)}})
	d.expect("lane 0 of node 2: push flush 1 of node 1 t0/p1 [1][1] of splits 0<<0, done: 1 results, 1 pairs", "lane 1 of node 0: *wire.End")
	d.deliver(controller, &wire.End{Term: 1})
	d.expect("wake split 1 clock 0 items [0,1)", "lane 0 of node 0: *wire.End", "lane 0 of node 2: *wire.End", "the controller: *wire.Closed")
}

// TestEmptyFlushGoesToStayingLane removes the lane that holds a flush without deltas: another holds it then, under its name.
func TestEmptyFlushGoesToStayingLane(t *testing.T) {
	d := newDesk(t)
	r := newRoads(d)
	d.run()
	d.expect("lane 0 of node 0: push flush 1 of node 1, done: 1 results, 0 pairs")
	r.announce(r.addLane, r.move(0, 0, laneAdded), r.move(1, 0, laneAdded), func() bellows.Control { return r.RemoveLane(lanes[0], lanes[1]) })
	d.expect("lane 1 of node 0: push flush 1 of node 1, done: 1 results, 0 pairs", "lane 0 of node 0: *wire.End")
	if m := d.sent[1]; !m.Again || len(m.Done.Results) != 1 {
		t.Errorf("sent again is %+v", m)
	}
	d.deliver(lanes[1], committed(wire.Commitment{Flush: d.sent[1].Flush, Commit: 1}))
	d.start(1, 0, 0)
	d.finish(0)
	d.expect("lane 1 of node 0: push flush 2 of node 1, done: 1 results, 0 pairs")
	d.deliver(lanes[1], committed(wire.Commitment{Flush: d.sent[2].Flush, Commit: 2}))
	d.expectWaits(0)
}

// TestResentPushOfLeaverKeepsMemory lets the lane that leaves say last that a flush without deltas counts, which is on its way to another lane by then.
func TestResentPushOfLeaverKeepsMemory(t *testing.T) {
	d := newDesk(t)
	r := newRoads(d)
	d.push()
	r.announce(r.addLane, r.move(0, 0, laneAdded), r.move(1, 0, laneAdded), func() bellows.Control { return r.RemoveLane(lanes[0], lanes[1]) })
	again := d.fx.Envelopes[0].Message.(*wire.Push)
	d.said()
	id := again.Flush
	d.deliver(lanes[0], committed(wire.Commitment{Flush: id, Commit: 1}))
	d.start(1, 0, 0)
	d.end(0)
	if again.Flush != id || !again.Again {
		t.Errorf("what is on its way is %+v", again)
	}
	d.expectWaits(1)
}

// TestLeavingClientSendsCountsToSuccessor removes a client after a lane, which it has parted from then, though it has
// not received the last message of that lane. If the job ends, it sends its counts once more.
func TestLeavingClientSendsCountsToSuccessor(t *testing.T) {
	d := newDesk(t)
	r := newRoads(d)
	r.announce(func() bellows.Control { return r.AddClient(2) }, func() bellows.Control { return r.MoveSplit(0, 2) }, func() bellows.Control { return r.MoveSplit(1, 2) })
	d.said()
	if d.Removed() {
		t.Error("it is removed")
	}
	r.announce(r.addLane, r.move(0, 1, laneAdded), r.move(1, 1, laneAdded),
		func() bellows.Control { return r.RemoveLane(lanes[1], lanes[0]) }, func() bellows.Control { return r.RemoveClient(1, lanes[0]) })
	d.expect("lane 1 of node 0: *wire.End", "lane 0 of node 0: *wire.Closed")
	if !d.Removed() || d.Ended() == nil {
		t.Error("it goes on")
	}
	d.deliver(controller, &wire.End{Term: 1})
	d.expect("the controller: *wire.Closed")
}

// TestResentPushBringsPartOnce lets a lane refuse some parts of a push, to be sent again, and find no room for the others: when there is room, each comes in one push.
func TestResentPushBringsPartOnce(t *testing.T) {
	d := newDesk(t)
	newRoads(d)
	id := d.push(delta{0, 1, 1}, delta{1, 2, 2})
	d.deliver(lanes[0], &wire.Stale{Flush: id, Pairs: []wire.Pair{pairAt(1, 0, 1)}})
	d.expect("lane 0 of node 0: push flush 1 of node 1 t1/p0 [2][2] of splits 0<<0, done: 1 results, 2 pairs")
	d.deliver(lanes[0], &wire.Full{Flush: id, Pairs: []wire.Pair{pairAt(0, 0, 1)}})
	d.deliver(lanes[0], &wire.Room{Flush: id, Pairs: []wire.Pair{pairAt(0, 0, 1)}})
	d.expect("lane 0 of node 0: push flush 1 of node 1 t0/p0 [1][1] of splits 0<<0, done: 1 results, 2 pairs")
}

// TestInquiryIsAboutLeastAdvancedPart lets a lane hold one part of a push and find no room for the other. The client
// asks about the other, since the report of room may be lost.
func TestInquiryIsAboutLeastAdvancedPart(t *testing.T) {
	d := newDesk(t)
	id := d.push(delta{0, 1, 1}, delta{1, 2, 2})
	d.deliver(lanes[0], &wire.Held{Flush: id, Pairs: []wire.Pair{pairAt(0, 0, 1)}})
	d.deliver(lanes[0], &wire.Full{Flush: id, Pairs: []wire.Pair{pairAt(1, 0, 1)}})
	d.said()
	for now := int64(500); now <= 2000; now += 500 {
		d.Tick(now, &d.fx)
	}
	for _, e := range d.fx.Envelopes {
		if m, ok := e.Message.(*wire.Inquiry); ok {
			if len(m.List) != 1 || m.List[0].Ref != pairAt(1, 0, 1).Ref {
				t.Errorf("it asks about %+v", m.List)
			}
			return
		}
	}
	t.Error("it asks nothing")
}
