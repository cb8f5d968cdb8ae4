package prepare_test

import (
	"fmt"
	"strings"
	"testing"

	"bellows"
	"bellows/core/fence"
	"bellows/link/wire"
)

// TestHasRoomBoundsDescendingFlushes sends flushes in descending order, as no client does that keeps to
// the protocol: of a client with one split three are held above the cap, besides three below it. Another
// client's is held all the same, and a record makes room for one more.
func TestHasRoomBoundsDescendingFlushes(t *testing.T) {
	d := newDesk(t, 4*12, 100)
	held := func(client bellows.NodeID, seq uint64, clock bellows.Clock) bool {
		said := d.push(pushOf(id(client, seq), clock, pair(1, 0)))
		if strings.Contains(said, "held") == strings.Contains(said, "full") {
			t.Fatal(said)
		}
		return strings.Contains(said, "held")
	}
	held(2, 1, 1000)
	for i := range 50 {
		if got, want := held(1, uint64(i+1), bellows.Clock(100-i)), i < 6; got != want {
			t.Fatalf("flush %d of clock %d is held: %v", i+1, 100-i, got)
		}
	}
	if !held(2, 2, 20) {
		t.Error("the other client has to wait for the first")
	}
	d.record(id(1, 4)) // one that is above the cap
	if !held(1, 51, 10) || held(1, 52, 9) {
		t.Error("one that has a number makes room for one")
	}
}

// TestTakeBelowCapMakesNoRoom numbers a flush that is below the cap, of a client that holds as
// many above it as it may.
func TestTakeBelowCapMakesNoRoom(t *testing.T) {
	d := newDesk(t, 24, 100)
	d.push(pushOf(id(2, 1), 1000, pair(1, 0)))
	for i := range 4 {
		d.push(pushOf(id(1, uint64(i+1)), bellows.Clock(100-i), pair(1, 0)))
	}
	d.expect("one more", d.push(pushOf(id(1, 5), 90, pair(1, 0))), "node 1: full flush 5 of node 1")
	said, _ := d.record(id(1, 1))
	d.expect("the record of one below the cap", said, "")
	said, _ = d.record(id(1, 2))
	d.expect("the record of one above it", said, "node 1: room flush 5 of node 1")
}

// TestHasRoomKeepsClientOrder lets a flush wait that is below all that are held, because a lower one of
// its client has been asked for and has not come.
func TestHasRoomKeepsClientOrder(t *testing.T) {
	d := newDesk(t, 12, 8)
	d.push(pushOf(id(2, 1), 0, pair(1, 0)))
	d.push(pushOf(id(1, 1), 1, pair(1, 0)))
	d.record(id(2, 1))
	d.push(pushOf(id(2, 2), 9, pair(1, 0)))
	d.expect("the higher one", d.push(pushOf(id(1, 2), 2, pair(1, 0))), "node 1: full flush 2 of node 1")
	d.expect("the lower one", d.push(pushOf(id(1, 1), 1, pair(1, 0))), "node 1: held flush 1 of node 1")
}

// TestLowestFlushHasRoom fills a lane, and sends a lower flush, a higher one, and one of the same clock.
func TestLowestFlushHasRoom(t *testing.T) {
	d := newDesk(t, 24, 8)
	d.expect("up to the cap", d.push(pushOf(id(1, 1), 5, pair(1, 0), pair(1, 1))), "node 1: held flush 1 of node 1")
	d.expect("same clock, higher client", d.push(pushOf(id(2, 1), 5, pair(1, 0))), "node 2: full flush 1 of node 2")
	d.expect("lower clock", d.push(pushOf(id(2, 2), 4, pair(1, 0))), "node 2: held flush 2 of node 2")
	d.expect("above the cap", d.push(pushOf(id(1, 2), 5, pair(1, 0))), "node 1: full flush 2 of node 1")
	d = newDesk(t, 1, 8)
	d.push(pushOf(id(2, 1), 5, pair(1, 0)))
	d.expect("same clock, lower client", d.push(pushOf(id(1, 1), 5, pair(1, 0))), "node 1: held flush 1 of node 1")
	d.expect("same client, later", d.push(pushOf(id(1, 2), 5, pair(1, 0))), "node 1: full flush 2 of node 1")
}

// TestFlushesThatWaitAreBounded sends a full lane one flush more than may wait.
func TestFlushesThatWaitAreBounded(t *testing.T) {
	d := newDesk(t, 1, 3)
	d.push(pushOf(id(1, 1), 0, pair(1, 0)))
	for seq := range uint64(3) {
		d.expect("as many as may wait", d.push(pushOf(id(2, seq+1), 1, pair(1, 0))),
			fmt.Sprintf("node 2: full flush %d of node 2", seq+1))
	}
	d.expect("one that waits", d.push(pushOf(id(2, 2), 1, pair(1, 0))), "")
	d.expect("one more", d.push(pushOf(id(2, 9), 1, pair(1, 0))), "breach: 3 flushes wait for room already")
}

// TestRoomIsGivenByRank fills the queue in another order than the one of its answers.
func TestRoomIsGivenByRank(t *testing.T) {
	d := newDesk(t, 1, 100)
	hold := id(1, 100)
	d.push(pushOf(hold, 0, pair(1, 0)))
	next := bellows.FlushID{Client: 1, Incarnation: 2, Seq: 1}
	list := []struct {
		f     bellows.FlushID
		clock bellows.Clock
	}{{id(2, 3), 2}, {id(1, 9), 3}, {id(1, 8), 2}, {next, 2}, {id(1, 7), 2}, {id(2, 4), 1}}
	for _, c := range list {
		d.push(pushOf(c.f, c.clock, pair(1, 0)))
	}
	for i, want := range []bellows.FlushID{id(2, 4), id(1, 7), id(1, 8), next, id(2, 3), id(1, 9)} {
		said, _ := d.record(hold)
		d.expect(fmt.Sprintf("place %d", i), said, fmt.Sprintf("%v: room %v", wire.ClientAt(want.Client), want))
		clock := bellows.Clock(0)
		for _, c := range list {
			if c.f == want {
				clock = c.clock
			}
		}
		d.push(pushOf(want, clock, pair(1, 0)))
		hold = want
	}
	if said, _ := d.record(hold); said != "" {
		t.Errorf("nothing waits, and %q", said)
	}
}

// TestRoomIsForAllThatWaits lets a push of a flush wait, and another of it that is sent again. Both
// are named when there is room.
func TestRoomIsForAllThatWaits(t *testing.T) {
	d, f := newDesk(t, 1, 8), id(2, 1)
	d.push(pushOf(id(1, 1), 0, pair(1, 0)))
	d.push(partOf(f, 1, pair(1, 1)))
	d.push(again(partOf(f, 1, pair(1, 0))))
	d.push(pushOf(id(2, 2), 2, pair(1, 0)))
	said, _ := d.record(id(1, 1))
	d.expect("the record", said, "node 2: room flush 1 of node 2 [{t1/p0 1} {t1/p1 1}]")
	d.Admit(&d.out)
	d.expect("asked once", d.said(), "node 2: room flush 2 of node 2")
	d.Admit(&d.out)
	d.expect("nothing more waits", d.said(), "")
}

// TestPushSentAgainReplacesWhatWaits lets two parts of a flush wait that came in two pushes. Both come
// again in one.
func TestPushSentAgainReplacesWhatWaits(t *testing.T) {
	d, f := newDesk(t, 1, 8), id(1, 1)
	d.push(pushOf(id(2, 1), 0, pair(1, 0)))
	d.push(again(partOf(f, 3, pair(1, 0))))
	d.push(again(partOf(f, 3, pair(1, 1))))
	d.expect("both", d.push(again(partOf(f, 3, pair(1, 0), pair(1, 1)))),
		"node 1: full flush 1 of node 1 [{t1/p0 1} {t1/p1 1}]")
	said, _ := d.record(id(2, 1))
	d.expect("the record", said, "node 1: room flush 1 of node 1 [{t1/p0 1} {t1/p1 1}]")
	d.expect("both come", d.push(again(partOf(f, 3, pair(1, 0), pair(1, 1)))),
		"node 1: held flush 1 of node 1 [{t1/p0 1} {t1/p1 1}]")
	if waits, _ := d.Waits(f, wire.Pair{}); waits {
		t.Error("some of it waits")
	}
}

// TestPushFindsNoRoomTwice asks for a push, has a lower one come first, and has the push wait as before.
func TestPushFindsNoRoomTwice(t *testing.T) {
	d := newDesk(t, 1, 8)
	d.push(pushOf(id(2, 1), 1, pair(1, 0)))
	d.expect("it waits", d.push(pushOf(id(1, 1), 2, pair(1, 0))), "node 1: full flush 1 of node 1")
	said, _ := d.record(id(2, 1))
	d.expect("it is asked for", said, "node 1: room flush 1 of node 1")
	d.push(pushOf(id(2, 2), 1, pair(1, 0)))
	d.expect("it waits again", d.push(pushOf(id(1, 1), 2, pair(1, 0))), "node 1: full flush 1 of node 1")
	said, _ = d.record(id(2, 2))
	d.expect("it is asked for again", said, "node 1: room flush 1 of node 1")
	d.DropWaiting()
	if list := d.Missed(); len(list) != 1 || list[0].Rows != 1 {
		t.Errorf("missed %v", list)
	}
}

// TestJudgeNamesHeldParts holds one part of a flush and has no room for the other.
func TestJudgeNamesHeldParts(t *testing.T) {
	d, f := newDesk(t, 12, 8), id(1, 1)
	d.push(partOf(f, 3, pair(1, 0)))
	d.push(pushOf(id(2, 1), 1, pair(1, 0)))
	for range 2 {
		d.expect("both again", d.push(again(partOf(f, 3, pair(1, 0), pair(1, 1)))),
			"node 1: held flush 1 of node 1 [{t1/p0 1}]; node 1: full flush 1 of node 1 [{t1/p1 1}]")
	}
	d.expect("a copy", d.push(partOf(f, 3, pair(1, 0), pair(1, 1))), "")
}

// TestFenceDropsWhatAProcessPushed fences one of two clients: what it has held makes room for another.
func TestFenceDropsWhatAProcessPushed(t *testing.T) {
	d := newDesk(t, 24, 8)
	d.push(pushOf(id(2, 1), 5, pair(1, 0)))
	d.push(pushOf(id(1, 1), 0, pair(1, 0)))
	d.push(pushOf(id(2, 2), 6, pair(1, 1)))
	d.push(pushOf(id(1, 2), 6, pair(1, 0)))
	next := bellows.FlushID{Client: 2, Incarnation: 2, Seq: 1}
	d.push(pushOf(next, 7, pair(1, 0)))
	d.Fence(fence.Process{Node: 2, Incarnation: 1})
	if list := d.Missed(); len(list) != 2 || list[0].Flush != id(2, 1) || list[1].Flush != id(2, 2) {
		t.Errorf("missed %v", list)
	}
	if d.Holds(id(2, 1), wire.Pair{}) || !d.Holds(id(1, 1), wire.Pair{}) {
		t.Error("the flushes held are others")
	}
	if waits, _ := d.Waits(id(2, 2), wire.Pair{}); waits {
		t.Error("a flush of the process waits")
	}
	d.Admit(&d.out)
	d.expect("there is room", d.said(), "node 1: room flush 2 of node 1")
	d.expect("which is used", d.push(pushOf(id(1, 2), 6, pair(1, 0))), "node 1: held flush 2 of node 1")
	d.expect("the next process waits", d.push(pushOf(next, 7, pair(1, 0))), "")
}
