package client_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"bellows"
	"bellows/core/pending"
	"bellows/link/wire"
	"bellows/table"
)

// waits returns a desk with one thing that waits: a read of rows, a lease, subscribed rows, or a flush for one lane
// or for two.
var waits = map[string]func(*desk){
	"split 0 clock 3 items [0,1) waits for table w, t0/p0 at lane 0 of node 0": func(d *desk) {
		d.start(3, 2, 0)
		d.read(0, 0, 0, 4)
	},
	"split 0 clock 3 items [0,1) waits for table f, t1/p1 at lane 1 of node 0": func(d *desk) {
		d.start(3, 2, 0)
		d.lease(0, bellows.PartitionRef{Table: 1, Partition: 1}, wire.Shared)
	},
	"flush 1 of node 1 waits for lane 0 of node 0 to hold its part": func(d *desk) { flushOf(d, 1) },
	"flush 1 of node 1 waits for lane ": func(d *desk) {
		flushOf(d, 1, 5)
	},
	"split 0 clock 2 items [0,1) waits for table w, t0/p0 at lane 0 of node 0": func(d *desk) { // rows that come unasked
		for clock := range bellows.Clock(2) {
			d.start(clock, 0, 0)
			d.ask(0, 0, 0, 4)
			d.answer(1, 0, clock-1)
			d.end(0)
			own := wire.Commitment{Flush: flushID(uint64(clock + 1)), Commit: bellows.CommitNumber(clock + 1)}
			d.deliver(lanes[0], committed(own))
		}
		d.start(2, 0, 0)
		d.read(0, 0, 0, 4)
	},
}

// flushOf lets a task of split 0 end that has changed some rows of table f.
func flushOf(d *desk, rows ...bellows.RowID) {
	d.start(0, 0, 0)
	for _, r := range rows {
		d.tasks[0].AddRow(1, r, []float32{1})
	}
	d.end(0)
	for _, r := range rows {
		d.deliver(lanes[r/4], &wire.Full{Flush: flushID(1)})
	}
}

// standing returns a lane's answer to an inquiry: everything in it waits for the same reason.
func standing(m *wire.Inquiry, behind pending.Behind, who uint32) *wire.Standing {
	list := slices.Clone(m.List)
	for i := range list {
		list[i].Behind, list[i].Who = behind, who
	}
	return &wire.Standing{Incarnation: 1, List: list}
}

// hour lets a client wait for an hour, and answers its questions. It returns its notices, and its reports to the
// controller.
func (d *desk) hour(answer func(*wire.Inquiry) *wire.Standing) (notices, failed []string, endedMillis int64) {
	for now := int64(500); now <= 3_600_000; now += 500 {
		d.Tick(now, &d.fx)
		notices = append(notices, d.fx.Notices...)
		said := d.fx.Envelopes
		d.fx.Envelopes = nil
		d.said()
		for _, e := range said {
			switch m := e.Message.(type) {
			case *wire.Inquiry:
				if a := answer(m); a != nil {
					d.deliver(e.To, a)
				}
			case *wire.Failed:
				failed, endedMillis = append(failed, m.Reason), now
			}
		}
	}
	return notices, failed, endedMillis
}

// named reports whether a notice names a wait, whatever it has lasted.
func named(notice, wait string) bool {
	who, what, _ := strings.Cut(wait, " waits for ")
	return strings.HasPrefix(notice, who+" has waited ") && strings.Contains(notice, " s for "+what)
}

// TestWaitForSlowTaskContinues waits an hour for what the lane has: it is named, with its cause and its limit, and
// does not end.
func TestWaitForSlowTaskContinues(t *testing.T) {
	for what, begin := range waits {
		d := newDesk(t)
		begin(d)
		d.said()
		asked := 0
		notices, failed, _ := d.hour(func(m *wire.Inquiry) *wire.Standing {
			asked++
			list := slices.Clone(m.List)
			for i := range list {
				if list[i].Behind, list[i].Who = pending.Clock, 1; list[i].Of == pending.Flush {
					list[i].Behind, list[i].Who = pending.Room, 0
				}
			}
			return &wire.Standing{Incarnation: 1, List: list}
		})
		if len(failed) > 0 || asked < 1000 || asked > 7200 {
			t.Errorf("%s: asked %d times, failed %q", what, asked, failed)
		}
		if len(notices) == 0 || len(notices) > 2 || !named(notices[0], what) ||
			!strings.HasSuffix(notices[0], ", behind split 1 on node 1, and gives up when a task has taken 3600.0 s") &&
				!strings.HasSuffix(notices[0], ", behind others for whom there is room, and gives up after 3600.0 s without a commit") {
			t.Errorf("%s: notices %q", what, notices)
		}
	}
}

// TestLostQuestionEndsJob lets the lane answer that it has nothing of that for which the client waits.
func TestLostQuestionEndsJob(t *testing.T) {
	for what, begin := range waits {
		d := newDesk(t)
		begin(d)
		d.said()
		_, failed, at := d.hour(func(m *wire.Inquiry) *wire.Standing {
			return standing(m, pending.Nothing, 0)
		})
		if len(failed) != 1 || at > 3000 || !strings.HasPrefix(failed[0], what) || !strings.HasSuffix(failed[0], ", and that lane has nothing of it any more: a message is lost") {
			t.Errorf("%s: failed %q at %d", what, failed, at)
		}
	}
}

// TestLaneIsAskedAboutEmptyFlush lets an empty flush wait. The wait continues as long as the lane answers that it
// waits for its record; the flush is lost when the lane has nothing of it.
func TestLaneIsAskedAboutEmptyFlush(t *testing.T) {
	for behind, lost := range map[pending.Behind]bool{pending.Record: false, pending.Nothing: true} {
		d := newDesk(t)
		flushOf(d)
		_, failed, _ := d.hour(func(m *wire.Inquiry) *wire.Standing {
			return standing(m, behind, 0)
		})
		if (len(failed) > 0) != lost || lost && !strings.HasPrefix(failed[0], "flush 1 of node 1 waits for lane 0 of node 0 to hold its part, and that lane has nothing of it") {
			t.Errorf("behind %v: failed %q", behind, failed)
		}
	}
}

// TestLostResentPushEndsJob lets a flush find no room, and then room, and loses the push that is sent again. The lane
// has reported room, and has nothing, whether it is asked before the client has received that report or after.
func TestLostResentPushEndsJob(t *testing.T) {
	for _, crossing := range []bool{false, true} {
		d := newDesk(t)
		flushOf(d, 1)
		room := func() {
			d.deliver(lanes[0], &wire.Room{Flush: flushID(1)})
			d.said()
		}
		if !crossing {
			room()
		}
		asked := 0
		_, failed, _ := d.hour(func(m *wire.Inquiry) *wire.Standing {
			if asked++; crossing && asked == 1 {
				room() // which has left before the lane's word
			}
			return standing(m, pending.Room, 1)
		})
		want := 1
		if crossing {
			want = 2
		}
		if len(failed) != 1 || asked != want {
			t.Errorf("crossing %v: asked %d times, failed %q", crossing, asked, failed)
		}
	}
}

// TestSilentLaneEndsJob lets the lane answer nothing, or only other things, which keep the wait alive.
func TestSilentLaneEndsJob(t *testing.T) {
	for what, begin := range waits {
		d := newDesk(t)
		begin(d)
		d.said()
		notices, failed, at := d.hour(func(*wire.Inquiry) *wire.Standing { return nil })
		if len(failed) != 1 || !strings.Contains(failed[0], " of node 0 has said nothing for 600.5 s, ") || at < 601_000 || at > 603_000 {
			t.Errorf("%s: failed %q at %d", what, failed, at)
		}
		if len(notices) == 0 || !named(notices[0], what) || !strings.HasSuffix(notices[0], ", and gives up after 600.0 s without a message from that lane") {
			t.Errorf("%s: notices %q", what, notices)
		}
	}
}

// TestALaneThatSpeaksIsNotSilent lets the lane's word stand behind much else that it sends, and the node sleep.
func TestALaneThatSpeaksIsNotSilent(t *testing.T) {
	d := newDesk(t, table.Schema{Name: "g", Rows: 4, Width: 1, Consistency: table.Async})
	d.start(3, 2, 0)
	d.ask(0, 0, 0, 4)
	now := int64(0)
	pass := func(millis, step int64) {
		for end := now + millis; now < end; {
			now += step
			d.Tick(now, &d.fx)
		}
	}
	pass(500_000, 500)
	d.deliver(lanes[0], &wire.Rows{Incarnation: 1})
	pass(500_000, 500)
	pass(100_000_000, 50_000_000) // the node sleeps
	for _, e := range d.fx.Envelopes {
		if m, failed := e.Message.(*wire.Failed); failed {
			t.Error(m.Reason)
		}
	}
	d.deliver(lanes[1], &wire.Standing{Incarnation: 1})
	d.expect("lane 0 of node 0: *wire.Inquiry", "the controller: *wire.Complaint") // which nobody asked for
}

// TestRestOfStalePushWaitsForClock lets a lane refuse one of two parts of a push, the one that shows at once, and hold it when it comes again: what is left waits for its clock, with
// nothing to be heard of it before.
func TestRestOfStalePushWaitsForClock(t *testing.T) {
	d := newDesk(t)
	r := newRoads(d)
	d.push(delta{0, 1, 1}, delta{1, 3, 4})
	r.announce(r.addLane)
	id := d.sent[0].Flush
	d.deliver(lanes[0], &wire.Held{Flush: id, Pairs: []wire.Pair{pairAt(0, 0, 1)}})
	d.deliver(lanes[0], &wire.Stale{Route: 1, Flush: id, Pairs: []wire.Pair{pairAt(1, 0, 1)}})
	d.deliver(lanes[0], &wire.Held{Flush: id, Pairs: []wire.Pair{pairAt(1, 0, 1)}})
	d.deliver(lanes[0], committed(wire.Commitment{Flush: id, Commit: 1, Pairs: []wire.Pair{pairAt(1, 0, 1)}}))
	d.said()
	asked := 0
	_, failed, _ := d.hour(func(m *wire.Inquiry) *wire.Standing {
		asked++
		return standing(m, pending.Clock, 1)
	})
	if asked == 0 || len(failed) > 0 {
		t.Errorf("asked %d times, failed %q", asked, failed)
	}
}

// TestOverlongTaskEndsJob lets a task compute for more than an hour. The controller hears of it every second from the
// first on, and that it has failed when its time is over.
func TestOverlongTaskEndsJob(t *testing.T) {
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
