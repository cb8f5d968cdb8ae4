package client_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"bellows"
	"bellows/core"
	"bellows/core/client"
	"bellows/link/wire"
	"bellows/table"
)

func TestTasksShareOneFetch(t *testing.T) {
	d := newDesk(t)
	d.dispatch(0, 0, 0, 1)
	d.expect("run split 0 clock 0 items [0,1)", "run split 1 clock 0 items [0,1)")
	if d.read(0, 0, 0, 4) || d.read(1, 0, 0, 4) {
		t.Fatal("rows out of nowhere")
	}
	d.expect("lane 0 of node 0: pull t0/p0 [] after commit 0 clock -1")
	d.answer(7, 0, -1)
	d.expect("wake split 0 clock 0 items [0,1)", "wake split 1 clock 0 items [0,1)")
	if !d.read(1, 0, 1, 3) || !slices.Equal(d.tasks[1].View(0, 1, 3), []float32{7, 7}) {
		t.Error("the rows are not in the cache")
	}
	d.expect("")
}

func TestPrefetchWaitsForNothing(t *testing.T) {
	d := newDesk(t)
	d.start(0, 0, 0)
	d.Prefetch(d.tasks[0], 0, 0, 4, &d.fx)
	d.expect("lane 0 of node 0: pull t0/p0 [] after commit 0 clock -1")
	d.answer(3, 0, -1)
	d.expect("")
	if !d.read(0, 0, 0, 4) {
		t.Error("what was fetched ahead is not there")
	}
}

func TestFlushOfTwoSplitsIsOneSubtree(t *testing.T) {
	d := newDesk(t)
	d.start(0, 0, 0, 1)
	for s := range bellows.SplitID(2) {
		d.tasks[s].AddRow(0, 1, []float32{float32(s) + 1})
	}
	d.finish(1)
	d.expect("") // split 0 still runs
	d.finish(0)
	d.expect("lane 0 of node 0: push flush 1 of node 1 t0/p0 [1][3] of splits 0<<1, done: 2 results, 1 pairs")
	if d.Counts().Sent != 1 {
		t.Errorf("%d row deltas sent, want 1: they are counted after aggregation", d.Counts().Sent)
	}
}

// TestFlushesLeaveInClockOrder blocks two splits, each in its second task of a clock, that of the first being the later clock: what their
// first tasks have left leaves, since nothing else can run.
func TestFlushesLeaveInClockOrder(t *testing.T) {
	d := newDesk(t)
	for s, clock := range []bellows.Clock{5, 3} {
		for part := range 2 {
			m := wire.New[wire.Dispatch]()
			m.Append(bellows.Unit{Split: bellows.SplitID(s), Clock: clock, Items: bellows.Range{Begin: part, End: part + 1}}, nil)
			d.deliver(controller, m)
		}
	}
	d.said()
	for s := range bellows.SplitID(2) {
		d.tasks[s].AddRow(1, 0, []float32{1})
		d.finish(s)
	}
	d.said()
	d.read(0, 1, 0, 4)
	d.ask(1, 1, 0, 4)
	if len(d.sent) != 2 || d.sent[0].Clock != 3 || d.sent[1].Clock != 5 {
		t.Errorf("%d flushes leave, the first of clock %d", len(d.sent), d.sent[0].Clock)
	}
}

// TestOnlyBarrierDeltasAreDeferrable wants the record of a flush to be deferrable if all of its deltas are of BSP
// tables: not with deltas of others, and not if it ends a lease.
func TestOnlyBarrierDeltasAreDeferrable(t *testing.T) {
	for _, c := range []struct {
		leased     bool
		tables     []bellows.TableID
		deferrable bool
	}{{false, []bellows.TableID{0}, true}, {false, []bellows.TableID{0, 1}, false}, {true, []bellows.TableID{0}, false}, {true, nil, false}} {
		d := newDesk(t)
		d.start(0, 0, 0)
		for _, tab := range c.tables {
			d.tasks[0].AddRow(tab, 0, []float32{1})
		}
		if ref := (bellows.PartitionRef{}); c.leased {
			d.lease(0, ref, wire.Exclusive)
			d.deliver(lanes[0], &wire.Granted{Request: 1, Pair: wire.Pair{Ref: ref, Generation: 1}, Mode: wire.Exclusive, Values: make([]float32, 4)})
		}
		d.end(0)
		if got := d.sent[0].Done.Deferrable; got != c.deferrable {
			t.Errorf("leased %v, deltas for tables %v: deferrable %v", c.leased, c.tables, got)
		}
	}
}

func TestAFullLaneStopsNewTasks(t *testing.T) {
	d := newDesk(t)
	d.dispatch(0, 0, 0)
	d.start(1, 0, 0)
	d.tasks[0].AddRow(1, 0, []float32{1})
	d.finish(0)
	d.expect("run split 0 clock 1 items [0,1)", "lane 0 of node 0: push flush 1 of node 1 t1/p0 [0][1] of splits 0<<0, done: 1 results, 1 pairs")
	id := flushID(1)
	d.deliver(lanes[0], &wire.Full{Flush: id})
	d.dispatch(0, 0, 1)
	d.expect("") // waits with the flush
	d.deliver(lanes[0], &wire.Room{Flush: id})
	d.expect("run split 1 clock 0 items [0,1)", "lane 0 of node 0: push flush 1 of node 1 t1/p0 [0][1] of splits 0<<0, done: 1 results, 1 pairs")
}

func TestOwnDeltasOverlayUntilCommit(t *testing.T) {
	d := newDesk(t)
	d.dispatch(0, 0, 0)
	d.start(1, 0, 0)
	d.tasks[0].AddRow(1, 0, []float32{5})
	d.end(0)
	d.ask(0, 1, 0, 1)
	d.answer(10, 0, -1) // without the delta
	d.said()
	if v := d.tasks[0].View(1, 0, 1); v[0] != 15 {
		t.Errorf("sees %v, want 10 and its own 5", v)
	}
	d.finish(0)
	d.deliver(lanes[0], &wire.Held{Flush: flushID(1)})
	d.deliver(lanes[0], committed(wire.Commitment{Flush: flushID(1), Commit: 1}))
	d.start(2, 1, 0)
	d.ask(0, 1, 0, 1)
	d.answer(15, 1, -1) // with it
	if v := d.tasks[0].View(1, 0, 1); v[0] != 15 {
		t.Errorf("sees %v, want 15: its delta is in the rows", v)
	}
}

func TestAFailedTaskTellsTheController(t *testing.T) {
	d := newDesk(t)
	d.start(0, 0, 0)
	d.tasks[0].AddRow(0, 1, []float32{1})
	d.Finish(d.tasks[0], nil, fmt.Errorf("no such item"), &d.fx)
	d.expect("the controller: failed: no such item")
}

func TestLongWaitsAreNamed(t *testing.T) {
	d := newDesk(t)
	d.start(3, 2, 0)
	d.ask(0, 0, 0, 4)
	notices := d.ticks(1000, 6000)
	if len(notices) != 1 || !strings.Contains(notices[0], "split 0 clock 3") || !strings.Contains(notices[0], "table w") ||
		!strings.Contains(notices[0], "after clock 2 of every split") {
		t.Errorf("notices %q", notices)
	}
}

// TestOfSeveralWaitsOneIsNamed lets both splits wait for rows: one is named, and the other counted.
func TestOfSeveralWaitsOneIsNamed(t *testing.T) {
	d := newDesk(t)
	d.start(3, 2, 0, 1)
	d.read(0, 0, 0, 4)
	d.ask(1, 0, 4, 8)
	notices := d.ticks(1000, 6000)
	if len(notices) != 1 || !strings.HasPrefix(notices[0], "split 0 clock 3") || !strings.HasSuffix(notices[0], "; 1 other splits of node 1 wait too") {
		t.Errorf("notices %q", notices)
	}
}

// TestTheEndWakesWhoWaits ends a job while one task waits for rows and another computes: the first is woken to learn
// of the end, and the second ends without that.
func TestTheEndWakesWhoWaits(t *testing.T) {
	d := newDesk(t)
	d.start(0, 0, 0, 1)
	d.ask(1, 0, 0, 4)
	d.deliver(controller, &wire.End{})
	if said := d.said(); strings.Contains(said, "wake split 0") || strings.Count(said, "wake split 1") != 1 {
		t.Errorf("said\n%s", said)
	}
}

// TestReadAsksEachPartition reads rows of both partitions of a table: each lane is asked for its own, by their places there.
func TestReadAsksEachPartition(t *testing.T) {
	d := newDesk(t, table.Schema{Name: "large", Rows: 200, Width: 1, Partitions: 2, Consistency: table.Async})
	d.start(0, 0, 0)
	if d.ReadRows(d.tasks[0], 2, []bellows.RowID{1, 99, 100, 107}, &d.fx) {
		t.Fatal("rows out of nowhere")
	}
	d.expect("lane 0 of node 0: pull t2/p0 [1 99] after commit 0 clock -1", "lane 1 of node 0: pull t2/p1 [0 7] after commit 0 clock -1")
}

// TestReadsGoByTheStalenessOfNow makes a table with a barrier one without: the next read waits for no clock.
func TestReadsGoByTheStalenessOfNow(t *testing.T) {
	d := newDesk(t)
	d.deliver(controller, &wire.Staleness{Table: 0, Clocks: int32(table.Async)})
	d.start(3, 2, 0)
	d.read(0, 0, 0, 4)
	d.expect("lane 0 of node 0: pull t0/p0 [] after commit 2 clock -1")
}

func TestLaneWithoutItsPartIsNamed(t *testing.T) {
	d := newDesk(t)
	d.push(delta{0, 1, 1}, delta{0, 5, 1})
	id := flushID(1)
	d.deliver(lanes[1], &wire.Held{Flush: id})
	d.deliver(lanes[1], &wire.Held{Flush: id}) // the same word again is no other lane's
	d.expect("")
	notices := d.ticks(500, 6000)
	if want := "flush 1 of node 1 has waited 2.5 s for lane 0 of node 0 to hold its part, and gives up after 600.0 s without a message from that lane"; !slices.Equal(notices, []string{want}) {
		t.Errorf("notices %q, want %q", notices, want)
	}
	d.deliver(lanes[0], &wire.Held{Flush: id})
	d.expect("the controller: done flush 1 of node 1: 1 results, 2 pairs")
}

// TestAQuestionOwnsItsRows asks again for rows that are cached in memory of a message's, which then gets another use.
func TestAQuestionOwnsItsRows(t *testing.T) {
	tables := []table.Schema{{Name: "f", Rows: 64, Width: 1, Consistency: table.Async}}
	d := newDeskOf(t, core.Job{Tables: tables}, client.Options{})
	borrowed := []uint32{5}
	for clock := range bellows.Clock(2) {
		d.start(clock, bellows.CommitNumber(clock), 0)
		d.ask(0, 0, 5, 6)
		if clock == 1 {
			break
		}
		q := d.pulls[0]
		d.rows(lanes[0], q.Request, wire.RowsPart{Pair: q.Parts[0].Pair, Rows: borrowed, Values: []float32{1}})
		d.end(0)
	}
	borrowed[0] = 63
	if got := d.pulls[1].Parts[0].Rows; !slices.Equal(got, []uint32{5}) {
		t.Errorf("the question asks for rows %v", got)
	}
}

// TestAUnitIsRunOnce dispatches units again, as another controller does that has not seen what became of them: while one runs, while one waits for its
// turn, and when one has been run.
func TestAUnitIsRunOnce(t *testing.T) {
	d := newDesk(t)
	d.dispatch(0, 0, 0)
	d.dispatch(1, 0, 0)
	d.expect("run split 0 clock 0 items [0,1)")
	d.dispatch(0, 0, 0)
	d.dispatch(1, 0, 0)
	d.finish(0)
	d.expect("run split 0 clock 1 items [0,1)", "lane 0 of node 0: push flush 1 of node 1, done: 1 results, 0 pairs")
	d.dispatch(0, 0, 0)
	d.dispatch(1, 0, 0)
	d.dispatch(2, 0, 0)
	d.finish(0)
	d.expect("run split 0 clock 2 items [0,1)", "lane 0 of node 0: push flush 2 of node 1, done: 1 results, 0 pairs")
}

// TestUnitsOfAClockAreRunOnce repeats TestAUnitIsRunOnce for a clock of two consecutive units.
func TestUnitsOfAClockAreRunOnce(t *testing.T) {
	d := newUnitDesk(t)
	d.dispatchUnits(0, 0, 2)
	d.dispatchUnits(0, 1, 2)
	d.expect("run split 0 clock 0 items [0,1)")
	d.dispatchUnits(0, 0, 2)
	d.finish(0)
	d.dispatchUnits(0, 0, 2)
	d.expect("run split 0 clock 0 items [1,2)")
	d.finish(0)
	d.expect("run split 0 clock 1 items [0,1)", "lane 0 of node 0: push flush 1 of node 1, done: 2 results, 0 pairs")
}

// TestAFlushOfNothingIsHeld ends a task that changes nothing: a lane holds what it signalled, and the flush is over when it has its number.
func TestAFlushOfNothingIsHeld(t *testing.T) {
	d := newDesk(t)
	d.run()
	d.expect("lane 0 of node 0: push flush 1 of node 1, done: 1 results, 0 pairs")
	if got := d.Waits().Pushes; got != 1 {
		t.Errorf("%d flushes are under way", got)
	}
	m := wire.New[wire.Committed]()
	m.Append(wire.Commitment{Flush: d.sent[0].Flush, Commit: 1})
	d.deliver(lanes[0], m)
	d.expectWaits(0)
	d.expect()
}

// TestFirstLaneKeepsFinishedUnits changes partitions of two lanes: the first push has the results.
func TestFirstLaneKeepsFinishedUnits(t *testing.T) {
	d := newDesk(t)
	d.run(delta{1, 0, 1}, delta{1, 7, 2})
	d.expect("lane 0 of node 0: push flush 1 of node 1 t1/p0 [0][1] of splits 0<<0, done: 1 results, 2 pairs",
		"lane 1 of node 0: push flush 1 of node 1 t1/p1 [3][2] of splits 0<<0")
	for _, at := range lanes {
		d.deliver(at, &wire.Held{Flush: d.sent[0].Flush})
	}
	d.expect("the controller: done flush 1 of node 1: 1 results, 2 pairs")
}

// TestFlushMayCountBeforeClientsDone lets another controller ask the lanes what they hold, so that a flush gets its number before its client knows
// that all parts of it are held. The client says nothing more of it.
func TestFlushMayCountBeforeClientsDone(t *testing.T) {
	d := newDesk(t)
	id := d.push(delta{1, 0, 1}, delta{1, 7, 2})
	commit := func(at wire.Address) {
		m := wire.New[wire.Committed]()
		m.Append(wire.Commitment{Flush: id, Commit: 1})
		d.deliver(at, m)
	}
	d.deliver(lanes[0], &wire.Held{Flush: id})
	commit(lanes[0])
	d.deliver(lanes[1], &wire.Held{Flush: id})
	commit(lanes[1])
	d.expect()
	d.expectWaits(0)
}

// TestUnbegunTasksAreReturned recalls a split of which one unit runs and two wait: these may be dispatched again.
// Finished units of another split no longer wait for them.
func TestUnbegunTasksAreReturned(t *testing.T) {
	d := newDesk(t)
	d.dispatch(0, 0, 0)
	d.dispatch(1, 0, 0, 1)
	d.dispatch(2, 0, 0)
	d.expect("run split 0 clock 0 items [0,1)", "run split 1 clock 1 items [0,1)")
	d.finish(1)
	d.expect()
	if kept := d.recall(0); kept != 0 {
		t.Errorf("it keeps clocks up to %d", kept)
	}
	d.expect("lane 0 of node 0: push flush 1 of node 1, done: 1 results, 0 pairs")
	d.dispatch(0, 0, 0) // is known
	d.finish(0)
	d.expect("lane 0 of node 0: push flush 2 of node 1, done: 1 results, 0 pairs")
	if kept := d.recall(0); kept != 0 {
		t.Errorf("when nothing waits it has clocks up to %d", kept)
	}
	d.dispatch(1, 0, 0)
	d.expect("run split 0 clock 1 items [0,1)")
}

// TestAClockThatIsBegunIsKept recalls a split between two units of a clock, and before the first.
func TestAClockThatIsBegunIsKept(t *testing.T) {
	d := newUnitDesk(t)
	d.dispatchUnits(0, 0, 2)
	d.dispatchUnits(0, 1, 2)
	d.dispatchUnits(0, 2, 2)
	d.expect("run split 0 clock 0 items [0,1)")
	if kept := d.recall(0); kept != 0 {
		t.Errorf("it keeps clocks up to %d", kept)
	}
	d.dispatchUnits(0, 0, 2) // is known
	d.finish(0)
	d.expect("run split 0 clock 0 items [1,2)")
	d.finish(0)
	d.expect("lane 0 of node 0: push flush 1 of node 1, done: 2 results, 0 pairs")
}
