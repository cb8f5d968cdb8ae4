package client_test

import (
	"slices"
	"testing"

	"bellows"
	"bellows/core/pending"
	"bellows/link/wire"
)

// newReader returns a desk whose split 0 has read the same rows of the async table in two clocks, and added to them
// in the second. The client is subscribed to them.
func newReader(t *testing.T) *desk {
	d := newDesk(t)
	for c := range bellows.Clock(2) {
		d.start(c, bellows.CommitNumber(c), 0)
		d.ask(0, 1, 0, 4)
		d.answer(1, bellows.CommitNumber(c), bellows.NoClock)
		if c == 1 {
			d.tasks[0].AddRow(1, 0, []float32{1})
		}
		d.end(0)
	}
	return d
}

// readTwice lets split 0 read the same rows in two clocks, and finish both: the second time it subscribes to them.
func readTwice(d *desk) {
	d.t.Helper()
	for clock := range bellows.Clock(2) {
		d.start(clock, 0, 0)
		d.ask(0, 0, 0, 4)
		d.answer(1, 0, clock-1)
		d.end(0)
	}
	if n := len(d.pulls); n != 2 || !d.pulls[1].Parts[0].Subscribe {
		d.t.Fatalf("%d questions, and no subscription", n)
	}
}

// TestReadAfterMoveAsksNewOwner moves a partition with a subscription while no task waits for its rows. The new owner
// knows of no subscription, so that the next task asks, and does not wait for subscribed rows.
func TestReadAfterMoveAsksNewOwner(t *testing.T) {
	d := newDesk(t)
	r := newRoads(d)
	readTwice(d)
	r.announce(r.addLane, r.move(0, 0, laneAdded))
	d.expect("")
	d.start(2, 0, 0)
	d.miss(0, 0, 0, 4)
	d.expect("lane 0 of node 2: pull t0/p0 [] after commit 0 clock 1")
}

// TestRowStatusBelongsToItsPartition lets a lane be asked about subscribed rows, and about a question. The rows come,
// and then the lane's report that it owes none any more. That is not about the question, which continues to wait.
func TestRowStatusBelongsToItsPartition(t *testing.T) {
	d := newReader(t)
	d.start(2, 2, 0, 1)
	if d.read(0, 1, 0, 4) || d.said() != "" {
		t.Fatal("it does not wait for rows that come unasked")
	}
	if d.read(1, 0, 0, 4) || d.said() == "" {
		t.Fatal("it does not ask")
	}
	var about []pending.Wait
	for now := int64(500); now <= 3000 && about == nil; now += 500 {
		d.Tick(now, &d.fx)
		for _, e := range d.fx.Envelopes {
			if m, ok := e.Message.(*wire.Inquiry); ok && e.To == lanes[0] {
				about = slices.DeleteFunc(slices.Clone(m.List), func(w pending.Wait) bool { return w.Of != pending.Relay })
			}
		}
		d.said()
	}
	if len(about) != 1 {
		t.Fatalf("it asks about %+v", about)
	}
	d.rows(lanes[0], 0, wire.RowsPart{Pair: pairAt(1, 0, 1), Rows: []uint32{0}, Commit: 2, Complete: bellows.NoClock,
		Values: []float32{2}})
	d.expect("wake split 0 clock 2 items [0,1)")
	about[0].Behind = pending.Nothing
	d.deliver(lanes[0], &wire.Standing{Incarnation: 1, List: about})
	d.expect("")
}
