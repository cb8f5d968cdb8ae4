package flush_test

import (
	"fmt"
	"strings"
	"testing"

	"bellows"
	"bellows/core/flush"
	"bellows/link/wire"
	"bellows/table"
)

// TestVotes sends a flush to two lanes. It is done when both hold it, and over when both show it.
func TestVotes(t *testing.T) {
	b := newBench(t, twoTables(), 1, flush.Limits{Deferrable: 100})
	b.dispatch(0, 1)
	b.work(0, 0, []row{{1, 0, 2}, {1, 5, 3}})
	b.expect()
	b.leave(false)
	b.expect("lane 0: push 1 of 2 pairs, 1/0 [0][2], done: 1 results, 2 pairs", "lane 1: push 1 of 2 pairs, 1/1 [1][3]")
	b.counts(1, 1, 0)
	b.held(0, 1)
	b.held(0, 1)
	b.expect()
	b.counts(1, 1, 0)
	b.held(1, 1)
	b.expect("controller: done 1: 1 results, 2 pairs", "relay of lane 0 expected", "relay of lane 1 expected")
	b.counts(1, 0, 0)
	b.held(1, 1)
	b.expect()
	b.commit(1, 1, 9, true)
	b.expect("relay of lane 1 recorded 9")
	if b.kept[0].Commit != 9 {
		t.Errorf("the split's deltas have commit %d", b.kept[0].Commit)
	}
	b.commit(0, 1, 9, false)
	b.counts(1, 0, 0)
	b.commit(1, 1, 9, false)
	b.expect("relay of lane 0 recorded 9")
	b.counts(0, 0, 0)
	b.commit(1, 1, 9, false) // it is past
	b.expect()
}

// TestOneLanePassesTheDoneOn sends a flush to one lane: its done is part of the push. It is deferrable if it shows
// nothing before its clock is complete and is small.
func TestOneLanePassesTheDoneOn(t *testing.T) {
	b := newBench(t, twoTables(), 1, flush.Limits{Deferrable: 2})
	for i, c := range []struct {
		rows []row
		said string
	}{
		{[]row{{0, 0, 2}, {0, 1, 2}}, "0/0 [0 1][2 2], done: 1 results, 1 pairs, deferrable"},
		{[]row{{0, 0, 2}, {0, 1, 2}, {0, 2, 2}}, "0/0 [0 1 2][2 2 2], done: 1 results, 1 pairs"},
		{[]row{{0, 0, 2}, {1, 0, 1}}, "0/0 [0][2], 1/0 [0][1], done: 1 results, 2 pairs"},
	} {
		clock := bellows.Clock(i)
		b.dispatch(clock, 1)
		b.work(0, clock, c.rows)
		b.leave(false)
		got, _, _ := strings.Cut(b.said(), "\n")
		if _, got, _ = strings.Cut(got, "pairs, "); got != c.said {
			t.Errorf("%v: %s; want %s", c.rows, got, c.said)
		}
	}
	b.counts(3, 3, 0)
}

// TestEmptyFlush lets tasks change nothing: a lane of the own node, if there is one, holds the results.
func TestEmptyFlush(t *testing.T) {
	b := newBench(t, twoTables(), 1, flush.Limits{})
	b.push()
	if m := b.sent[0]; len(m.Pairs) != 0 || len(m.Done.Results) != 1 {
		t.Errorf("sent %s", describe(m))
	}
	b.counts(1, 1, 0)
	if b.TakeHeld(&wire.Held{Flush: id(1)}, lanes[0], &b.fx); b.Preparing() != 0 {
		t.Error("a flush of nothing that is held is still preparing")
	}
	b.commit(0, 1, 4, false)
	b.expect()
	b.counts(0, 0, 0)
}

// TestEmptyFlushWithOneLane finishes a task that changes nothing in a job of one lane.
func TestEmptyFlushWithOneLane(t *testing.T) {
	all := lanes
	defer func() { lanes = all }()
	lanes = lanes[:1]
	b := newBench(t, twoTables(), 1, flush.Limits{})
	b.dispatch(0, 1)
	b.work(0, 0, nil)
	b.leave(false)
	b.expect("lane 0: push 1 of 0 pairs, done: 1 results, 0 pairs, deferrable")
}

// TestLeave lets units of two clocks finish. A write set leaves when none of its units is left here, or when the node
// is idle; those that leave together do so in the order of clocks.
func TestLeave(t *testing.T) {
	b := newBench(t, twoTables(), 3, flush.Limits{})
	b.dispatch(3, 1)
	b.dispatch(2, 2)
	b.work(0, 3, []row{{1, 0, 3}})
	b.work(1, 2, []row{{1, 0, 2}})
	b.dispatch(3, 1)
	b.leave(false)
	b.expect()
	b.leave(true)
	b.expect("lane 0: push 1 of 1 pairs, 1/0 [0][2], done: 1 results, 1 pairs",
		"lane 0: push 2 of 1 pairs, 1/0 [0][3], done: 1 results, 1 pairs",
		"relay of lane 0 expected", "relay of lane 0 expected")
	b.leave(true)
	b.expect()
	b.Finished(2) // it was recalled
	b.leave(true)
	b.work(2, 3, []row{{1, 1, 4}})
	b.leave(false)
	b.expect("lane 0: push 3 of 1 pairs, 1/0 [1][4], done: 1 results, 1 pairs", "relay of lane 0 expected")
}

// TestSplitsOfAClockAreOneFlush lets three splits finish in a clock: their deltas are one chunk of each table, a
// split of the streamed ones keeps its own, and counts join the first subtree.
func TestSplitsOfAClockAreOneFlush(t *testing.T) {
	tables := append(twoTables(), table.Schema{Name: "n", Rows: 8, Width: 1, Partitions: 2, DType: table.Int32})
	b := newBench(t, tables, 3, flush.Limits{})
	one := count(1)
	b.dispatch(0, 3)
	b.work(2, 0, []row{{0, 0, 4}, {2, 1, one}})
	b.work(0, 0, []row{{0, 0, 1}, {1, 0, 1}, {2, 1, one}})
	b.work(1, 0, []row{{0, 1, 2}, {1, 0, 2}})
	b.leave(false)
	b.said()
	m := b.sent[0]
	want := fmt.Sprintf("0/0 [0 1][5 2], 2/0 [1][%v], 1/0 [0][3]", count(2))
	if got := describe(m); got != "push 1 of 3 pairs, "+want+", done: 3 results, 3 pairs" {
		t.Error(got)
	}
	if len(b.kept) != 2 || b.kept[0].Find(b.route.Number(bellows.PartitionRef{Table: 1})).Find(0)[0] != 1 {
		t.Errorf("%d splits keep their deltas", len(b.kept))
	}
	if m.Chunks[2].Subtree != (wire.Subtree{}) || m.Chunks[0].Subtree.Level != 2 {
		t.Errorf("chunks are of %v and %v", m.Chunks[0].Subtree, m.Chunks[2].Subtree)
	}
	if rows, ledgers := b.Sent(); rows != 4 || len(ledgers) != 3 {
		t.Errorf("%d rows are sent, of %d tables", rows, len(ledgers))
	}
	if s := m.Done.Sent; len(s) != 3 || s[0].Rows != 2 || s[1].Rows != 1 || s[2].Rows != 1 {
		t.Errorf("the done has sent %v", s)
	}
}

// TestLanesWithoutRoom lets a lane say that it has no room: the flush is not sure to count, nothing else may begin,
// and the same message is sent again.
func TestLanesWithoutRoom(t *testing.T) {
	b := newBench(t, twoTables(), 1, flush.Limits{})
	b.push(row{1, 0, 2}, row{0, 1, 1})
	b.fullAt(0, 1)
	b.fullAt(0, 1)
	b.expect("relay of lane 0 uncertain")
	b.counts(1, 1, 2)
	b.room(0, 1, pair(1, 0, 1))
	b.expect("lane 0: push 1 of 2 pairs, 0/0 [1][1], 1/0 [0][2], done: 1 results, 2 pairs", "relay of lane 0 expected")
	b.counts(1, 1, 0)
	b.fullAt(0, 1, pair(0, 0, 1))
	b.counts(1, 1, 1)
	b.commit(0, 1, 3, false)
	b.counts(0, 0, 0)
	b.room(0, 1)
	b.expect("relay of lane 0 uncertain")
}

// TestRoomAfterAMove lets a lane find room for a push with a part that has moved: the rest is sent in a separate push.
func TestRoomAfterAMove(t *testing.T) {
	b := newBench(t, twoTables(), 1, flush.Limits{})
	b.push(row{0, 0, 1}, row{1, 0, 2})
	b.fullAt(0, 1)
	b.said()
	b.move(1, 0, 1)
	if b.room(0, 1) != 1 {
		t.Error("the push is sent as it was")
	}
	b.expect("lane 0: push 1 of 2 pairs again, 0/0 [0][1], done: 1 results, 2 pairs",
		"lane 1: push 1 of 2 pairs again, 1/0 [0][2]")
	b.counts(1, 1, 0)
	b.held(1, 1, pair(1, 0, 2))
	b.held(0, 1, pair(0, 0, 1))
	b.expect("controller: done 1: 1 results, 2 pairs", "relay of lane 1 expected")
}

// TestStalePartsGoElsewhere lets a lane refuse a part that it held, and the controller another: both are sent again
// when the route is there, and not before.
func TestStalePartsGoElsewhere(t *testing.T) {
	b := newBench(t, twoTables(), 1, flush.Limits{})
	b.push(row{1, 0, 1}, row{1, 4, 2})
	b.held(0, 1)
	b.held(1, 1)
	b.said()
	b.stale(lanes[0], 1, 1, pair(1, 0, 1), pair(1, 1, 7))
	b.expect("relay of lane 0 uncertain", "relay of lane 1 uncertain")
	b.counts(1, 1, 0)
	if f, until, awaited := b.AwaitedRoute(); f != id(1) || until != 1 || !awaited {
		t.Errorf("%v waits for route %d: %v", f, until, awaited)
	}
	b.PushAgain(b.route, &b.fx)
	b.expect()
	b.move(1, 0, 1)
	b.PushAgain(b.route, &b.fx)
	b.expect("lane 1: push 1 of 2 pairs again, 1/0 [0][1], done: 1 results, 2 pairs")
	b.held(0, 1) // all that is left of its first push: nothing
	b.held(1, 1) // again; the push that was sent again is named by its pair
	b.expect()
	b.held(1, 1, pair(1, 0, 1)) // of the owner before
	b.expect()
	b.held(1, 1, pair(1, 0, 2))
	b.expect("controller: done 1: 1 results, 2 pairs", "relay of lane 1 expected", "relay of lane 1 expected")
	b.stale(controller, 1, 0, pair(1, 1, 1))
	b.counts(1, 1, 0)
	b.said()
	b.commit(1, 1, 5, true, pair(1, 1, 1), pair(1, 0, 2))
	b.stale(controller, 1, 9, pair(1, 1, 1)) // it has a number: the controller that refuses it knows less
	if _, _, awaited := b.AwaitedRoute(); awaited {
		t.Error("a part that is recorded is stale")
	}
	b.commit(1, 1, 5, false, pair(1, 1, 1), pair(1, 0, 2))
	b.counts(0, 0, 0)
	if _, _, awaited := b.AwaitedRoute(); awaited {
		t.Error("nothing is under way, and waits for a route")
	}
}

// TestALaneThatLeavesHoldsNothing lets a lane of this node hold flushes of nothing. It leaves, and another is to hold
// those that it has not shown.
func TestALaneThatLeavesHoldsNothing(t *testing.T) {
	b := newBench(t, twoTables(), 1, flush.Limits{})
	own := wire.LaneAt(1, 0)
	b.next(b.route.AddLane(own))
	b.AddLane(wire.LaneAt(1, 1)) // of this node, but not in the route
	b.AddLane(own)
	b.push()
	b.push()
	b.push(row{1, 0, 1})
	for _, e := range b.sent[:2] {
		if len(e.Pairs) > 0 || len(e.Done.Results) != 1 {
			t.Errorf("sent %s", describe(e))
		}
	}
	b.no(b.TakeCommitted(&wire.Commitment{Flush: id(2), Commit: 1}, own, &b.fx))
	b.no(b.TakeHeld(&wire.Held{Flush: id(1)}, own, &b.fx))
	b.counts(2, 1, 0)
	b.next(b.route.RemoveLane(own, lanes[1]))
	b.LaneLeaves(lanes[1], b.route, &b.fx)
	b.expect()
	if !b.Expects(3) || b.Expects(1) || !b.Expects(0) {
		t.Error("something is to come from other lanes than those that have it")
	}
	b.LaneLeaves(own, b.route, &b.fx)
	b.expect("lane 0: push 1 of 0 pairs again, done: 1 results, 0 pairs, deferrable")
	b.counts(2, 2, 0)
	if b.Expects(3) {
		t.Error("something is to come from a lane that has left")
	}
	b.commit(0, 1, 2, false)
	b.counts(1, 1, 0)
}

// TestANewControllerHearsWhatIsDone repeats the done of what is held and no more than that, and lowers the route that
// stale parts wait for.
func TestANewControllerHearsWhatIsDone(t *testing.T) {
	b := newBench(t, twoTables(), 1, flush.Limits{})
	b.push(row{1, 0, 1}, row{1, 4, 1})
	b.push(row{1, 0, 1}, row{1, 4, 1})
	b.Repeat(9, &b.fx)
	b.expect()
	b.held(0, 1)
	b.held(1, 1)
	b.stale(lanes[1], 2, 5, pair(1, 1, 1))
	b.said()
	b.Repeat(0, &b.fx)
	b.expect("controller: done 1: 1 results, 2 pairs")
	if _, until, awaited := b.AwaitedRoute(); until != 0 || !awaited {
		t.Errorf("waits for route %d: %v", until, awaited)
	}
	b.commit(0, 1, 1, true)
	b.Repeat(0, &b.fx)
	b.expect("relay of lane 0 recorded 1")
}

// TestLeasesLeaveAtOnce finishes a task with a lease: work of its split that waits leaves before it, and no other, with
// its lease last. Its reader has seen the commit.
func TestLeasesLeaveAtOnce(t *testing.T) {
	b := newBench(t, twoTables(), 2, flush.Limits{})
	b.dispatch(1, 4)
	b.work(0, 1, []row{{1, 0, 1}})
	b.work(1, 1, nil, b.lease(1, 1, 0, 8), b.lease(1, 0, 0, 7))
	b.expect("lane 0: push 1 of 2 pairs, lease 1/0 [7], done: 1 results, 2 pairs",
		"lane 1: push 1 of 2 pairs, lease 1/1 [8]")
	b.work(0, 1, []row{{1, 1, 2}}, b.lease(1, 0, 0, 9))
	b.expect("lane 0: push 2 of 1 pairs, 1/0 [0][1], done: 1 results, 1 pairs",
		"lane 0: push 3 of 1 pairs, 1/0 [1][2], lease 1/0 [9], done: 1 results, 1 pairs",
		"relay of lane 0 expected", "relay of lane 0 expected")
	b.work(1, 1, []row{{1, 4, 3}})
	b.leave(false)
	b.expect("lane 1: push 4 of 1 pairs, 1/1 [0][3], done: 1 results, 1 pairs", "relay of lane 1 expected")
	b.commit(0, 3, 6, false)
	b.expect("relay of lane 0 recorded 6", "reader 8 has seen commit 6 of 2")
	if rows, _ := b.Sent(); rows != 3+3*4 {
		t.Errorf("%d rows are sent", rows)
	}
}

// TestLeasesThatShowWithTheirClock lets tasks with leases change a BSP table: they leave with the clock, up to a
// bound of copies.
func TestLeasesThatShowWithTheirClock(t *testing.T) {
	b := newBench(t, twoTables(), 4, flush.Limits{Leased: 3, Deferrable: 100})
	b.dispatch(0, 4)
	b.work(0, 0, []row{{0, 0, 1}}, b.lease(1, 0, 2, 5))
	b.work(1, 0, []row{{0, 0, 1}}, b.lease(1, 1, 1, 6))
	b.expect()
	b.work(2, 0, []row{{0, 0, 1}}, b.lease(1, 0, 1, 7)) // one copy more than the bound
	b.expect("lane 0: push 1 of 2 pairs, 0/0 [0][1], lease 1/0 [7], done: 1 results, 2 pairs")
	b.work(3, 0, []row{{1, 4, 1}}, b.lease(1, 0, 0, 8)) // it shows before the clock
	b.said()
	b.leave(false)
	b.expect("lane 0: push 3 of 3 pairs, 0/0 [0][2], lease 1/0 [5], done: 2 results, 3 pairs",
		"lane 1: push 3 of 3 pairs, lease 1/1 [6]")
}

// TestImpossibleAnswersAreErrors lets lanes say what no lane can have said.
func TestImpossibleAnswersAreErrors(t *testing.T) {
	taken := func(what string, seq uint64, lane int, pairs ...wire.Pair) func(*bench) error {
		return func(b *bench) (err error) {
			switch what {
			case "held":
				err = b.TakeHeld(&wire.Held{Flush: id(seq), Pairs: pairs}, lanes[lane], &b.fx)
			case "full":
				err = b.TakeFull(&wire.Full{Flush: id(seq), Pairs: pairs}, lanes[lane], &b.fx)
			case "room":
				_, err = b.TakeRoom(&wire.Room{Flush: id(seq), Pairs: pairs}, lanes[lane])
			case "committed":
				err = b.TakeCommitted(&wire.Commitment{Flush: id(seq), Commit: 1, Pairs: pairs}, lanes[lane], &b.fx)
			case "stale":
				err = b.TakeStale(&wire.Stale{Flush: id(seq), Pairs: pairs, Route: 1}, lanes[lane], &b.fx)
			}
			return err
		}
	}
	for _, c := range []struct {
		name, want string
		say        func(*bench) error
	}{
		{"a flush to come", "is held, but it was sent nothing of it", taken("held", 3, 0)},
		{"the present flush", "", taken("held", 2, 0)},
		{"no part", "is held, but it was sent nothing of it", taken("held", 2, 1)},
		{"another pair", "is held, but it was sent nothing of it", taken("held", 2, 0, pair(0, 0, 1))},
		{"the pair of another lane", "is held, but it was sent nothing of it", taken("held", 2, 1, pair(1, 0, 1))},
		{"an owner of the past", "", taken("held", 2, 1, pair(1, 0, 0))},
		{"an owner to come holds", "", taken("held", 2, 1, pair(1, 0, 2))},
		{"no room for what is held", "found no room", func(b *bench) error {
			b.held(0, 2)
			return taken("full", 2, 0)(b)
		}},
		{"room without a wait", "found room, for which it did not wait", taken("room", 2, 0)},
		{"room of another lane", "found room, for which it did not wait", taken("room", 2, 1)},
		{"committed twice", "is committed, but it held nothing more of it", func(b *bench) error {
			b.dispatch(0, 1)
			b.work(0, 0, []row{{1, 0, 1}, {1, 4, 1}})
			b.leave(false)
			b.commit(0, 3, 2, false)
			return taken("committed", 3, 0)(b)
		}},
		{"committed by another lane", "is committed", taken("committed", 2, 1, pair(1, 0, 1))},
		{"committed by an owner to come", "", taken("committed", 2, 1, pair(1, 0, 2))},
		{"refused by another lane", "is another's, but it was sent nothing of it", taken("stale", 2, 1, pair(1, 0, 1))},
		{"refused of the past", "", taken("stale", 1, 1, pair(1, 0, 1))},
	} {
		b := newBench(t, twoTables(), 1, flush.Limits{})
		b.push(row{1, 0, 1})
		b.commit(0, 1, 1, false)
		b.push(row{1, 0, 1})
		err := c.say(b)
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v; want %q", c.name, err, c.want)
		}
	}
}

// TestAnswersToAnotherProcess delivers answers to flushes of the node's previous process, which are ignored, and of its
// next process and another node, which are invalid.
func TestAnswersToAnotherProcess(t *testing.T) {
	b := newBenchAt(t, twoTables(), 1, flush.Limits{}, 2, 0)
	b.push(row{1, 0, 1})
	for f, past := range map[bellows.FlushID]bool{
		{Client: 1, Incarnation: 1, Seq: 9}: true,
		{Client: 1, Incarnation: 3, Seq: 1}: false,
		{Client: 2, Incarnation: 1, Seq: 1}: false,
	} {
		if err := b.TakeHeld(&wire.Held{Flush: f}, lanes[0], &b.fx); (err == nil) != past {
			t.Errorf("%v: %v", f, err)
		}
	}
}
