package client_test

import (
	"testing"

	"bellows"
	"bellows/link/wire"
)

// unasked delivers subscribed rows of w's first partition.
func (d *desk) unasked(rows []uint32, complete bellows.Clock, values ...float32) {
	d.rows(lanes[0], 0, wire.RowsPart{Pair: pairAt(0, 0, 1), Rows: rows, Commit: bellows.CommitNumber(complete),
		Complete: complete, Values: values})
}

// TestRereadRowsAreSubscribed follows a subscription from the second read of the same rows until no task has read
// them for long.
func TestRereadRowsAreSubscribed(t *testing.T) {
	d := newDesk(t)
	asks := func(clock bellows.Clock) *wire.Pull {
		t.Helper()
		before := len(d.pulls)
		d.start(clock, 0, 0)
		read := d.read(0, 0, 0, 4)
		d.said()
		if asked := len(d.pulls) > before; read && asked || len(d.pulls) > before+1 {
			t.Fatalf("clock %d: read %v, %d pulls", clock, read, len(d.pulls)-before)
		}
		if len(d.pulls) == before {
			return nil
		}
		return d.pulls[before]
	}
	if p := asks(0); p == nil || p.Parts[0].Subscribe {
		t.Fatalf("the first read asks %+v", p)
	}
	d.answer(1, 0, bellows.NoClock)
	d.finish(0)
	if p := asks(1); p == nil || !p.Parts[0].Subscribe {
		t.Fatalf("the second read asks %+v", p)
	}
	d.answer(2, 1, 0)
	d.finish(0)
	if p := asks(2); p != nil {
		t.Fatalf("the third read asks %+v", p)
	}
	d.unasked([]uint32{1}, 1, 7)
	if got := d.tasks[0].View(0, 0, 4); got[0] != 2 || got[1] != 7 || got[3] != 2 {
		t.Errorf("after row 1 came unasked: %v", got)
	}
	d.end(0)
	for n := range bellows.Clock(4) { // one has come since the last read
		d.unasked([]uint32{}, n+2)
		if said, last := d.said(), n == 3; (said == "lane 0 of node 0: *wire.Unsubscribe") != last {
			t.Errorf("after %d messages since the last read it says %q", n+2, said)
		}
	}
	if p := asks(3); p == nil || p.Parts[0].Subscribe {
		t.Errorf("the read after the end of a subscription asks %+v", p)
	}
}

// TestReadAsksWhenFlushFindsNoRoom lets a task wait for what the record of its node's flush will bring. When the flush finds no room, the record may
// wait for that very task: it asks.
func TestReadAsksWhenFlushFindsNoRoom(t *testing.T) {
	d := newReader(t)
	d.start(2, 2, 0)
	d.miss(0, 1, 0, 4)
	d.expect("")
	d.deliver(lanes[0], &wire.Full{Flush: flushID(2)})
	d.expect("lane 0 of node 0: pull t1/p0 [] after commit 2 clock -1")
}
