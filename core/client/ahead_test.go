package client_test

import (
	"fmt"
	"strings"
	"testing"

	"bellows"
	"bellows/core/client"
	"bellows/link/wire"
)

// TestSplitFarAheadWaitsAndContinues lets a split finish as many tasks ahead of its commits as it may. The next one waits for a commit, and for
// nothing else.
func TestSplitFarAheadWaitsAndContinues(t *testing.T) {
	for limit, most := range map[int]int{0: 64, 1: 1, 3: 3, 1000: 64} {
		d := newDeskWithin(t, client.Limits{Retained: limit})
		for c := range bellows.Clock(most + 2) {
			d.dispatch(c, 0, 0)
		}
		for c := range most {
			if d.said(); d.tasks[0].Unit.Clock != bellows.Clock(c) {
				t.Fatalf("limit %d: clock %d is not begun", limit, c)
			}
			d.tasks[0].AddRow(1, 0, []float32{1})
			d.finish(0)
		}
		d.said()
		if at := d.tasks[0].Unit.Clock; at != bellows.Clock(most-1) {
			t.Fatalf("limit %d: clock %d is begun with %d flushes not committed", limit, at, most)
		}
		for n := range 2 {
			own := wire.Commitment{Flush: flushID(uint64(n + 1)), Commit: bellows.CommitNumber(n + 1)}
			d.deliver(lanes[0], committed(own))
			d.expect(fmt.Sprintf("run split 0 clock %d items [0,1)", most+n))
			d.tasks[0].AddRow(1, 0, []float32{1})
			d.end(0)
		}
	}
}

// TestLeaseWaitsForSplitsOwnUpdates asks for leases on two partitions, one of which the split has changed in
// uncommitted flushes. It asks for that one when both are committed, and needs the later one. It does not wait for a
// table with a barrier, nor for another partition.
func TestLeaseWaitsForSplitsOwnUpdates(t *testing.T) {
	d := newDesk(t)
	for c := range bellows.Clock(3) {
		d.dispatch(c, 0, 0)
		if d.said(); c == 2 {
			break
		}
		for _, tab := range []bellows.TableID{0, 1} {
			d.tasks[0].AddRow(tab, 0, []float32{1})
		}
		d.finish(0)
	}
	lease := func(tab bellows.TableID, p bellows.PartitionID) *wire.Acquire {
		t.Helper()
		a := d.lease(0, bellows.PartitionRef{Table: tab, Partition: p}, wire.Exclusive)
		if a != nil {
			granted := &wire.Granted{Request: a.Request, Pair: a.Pair, Mode: a.Mode, Values: make([]float32, 4)}
			d.deliver(lanes[p], granted)
			d.said()
		}
		return a
	}
	if a := lease(0, 0); a == nil || a.Need != (wire.Need{Clock: 1}) {
		t.Fatalf("of the BSP table it asks %+v", a)
	}
	if a := lease(1, 0); a != nil {
		t.Fatalf("before its own updates are committed it asks %+v", a)
	}
	d.Tick(1000, &d.fx)
	d.Tick(4000, &d.fx)
	want := "split 0 clock 2 items [0,1) has waited 3.0 s for table f, t1/p0 at lane 0 of node 0, until its split's own updates of it are committed, behind commits to come, and gives up after 3600.0 s without one"
	if n := d.fx.Notices; len(n) != 3 || n[0] != want || !strings.HasPrefix(n[1], "flush 1 of node 1 has waited ") || !strings.HasPrefix(n[2], "flush 2 of node 1 has waited ") {
		t.Errorf("notices %q", n)
	}
	d.fx.Reset()
	own := func(seq uint64, n bellows.CommitNumber) {
		d.deliver(lanes[0], committed(wire.Commitment{Flush: flushID(seq), Commit: n, Waiting: true}))
	}
	own(1, 3)
	d.expect("")
	own(2, 5)
	if e := d.fx.Envelopes; len(e) != 1 {
		t.Fatalf("says %d things", len(e))
	} else if a := e[0].Message.(*wire.Acquire); a.Need != (wire.Need{Commit: 5, Clock: bellows.NoClock}) || a.Mode != wire.Exclusive {
		t.Fatalf("asks %+v", a)
	}
	d.fx.Reset()
	d.deliver(lanes[0], &wire.Granted{Request: 2, Pair: wire.Pair{Ref: bellows.PartitionRef{Table: 1}, Generation: 1}, Mode: wire.Exclusive, Values: make([]float32, 4)})
	d.expect("wake split 0 clock 2 items [0,1)")
	if a := lease(1, 1); a == nil || a.Need.Commit != 0 {
		t.Errorf("of the other partition it asks %+v", a)
	}
}
