package roster_test

import (
	"fmt"
	"testing"

	"bellows"
	"bellows/core/roster"
	"bellows/internal/require"
	"bellows/link/wire"
)

// finish ends the wait of split 0, if it rests, and returns where it runs; false: it still waits.
func (l *list) finish(complete, next bellows.Clock) (bellows.NodeID, bool) {
	change, ended := l.FinishSplitMove(roster.SplitAt{Complete: complete, Next: next})
	if ended && change.Kind == bellows.MoveSplit && (change.Node != l.Route().Node(0) || change.Split != 0) {
		return 99, true
	}
	return l.Route().Node(0), ended
}

func (l *list) expectFinish(t *testing.T, complete, next bellows.Clock, node bellows.NodeID, ended bool) {
	t.Helper()
	if n, e := l.finish(complete, next); n != node || e != ended {
		t.Errorf("with clocks to %d complete and %d next: at node %d, ended %v; want %d, %v", complete, next, n, e,
			node, ended)
	}
}

// TestASplitMovesWhenItRests plans the move of a split with one clock out.
func TestASplitMovesWhenItRests(t *testing.T) {
	l := newList()
	l.expectFinish(t, 3, 4, 1, false) // no plan
	expectError(t, l.PlanSplitMove(6, 2), "there is no split 6")
	expectError(t, l.PlanSplitMove(0, 7), "node 7 runs no tasks")
	l.Lose(2, "dead")
	expectError(t, l.PlanSplitMove(0, 2), "node 2 runs no tasks")
	require.NoError(t, l.PlanSplitMove(5, 1))
	require.NoError(t, l.PlanSplitMove(0, 1))
	require.NoError(t, l.PlanSplitMove(0, 3)) // instead
	l.expectFinish(t, 3, 5, 1, false)
	l.expectFinish(t, 4, 5, 3, true)
	l.expectFinish(t, 4, 5, 3, false) // it is over
	if l.Route().Version() != 1 {
		t.Errorf("route %d", l.Route().Version())
	}
	require.NoError(t, l.PlanSplitMove(0, 3)) // where it is
	l.expectFinish(t, 4, 5, 3, true)
	require.NoError(t, l.PlanSplitMove(0, 1))
	l.Lose(1, "dead")
	l.expectFinish(t, 4, 5, 3, true)
	if l.Route().Version() != 1 {
		t.Errorf("route %d after moves that change nothing", l.Route().Version())
	}
}

// TestASplitIsRecalled asks back what a node has not begun: the split goes when all that it has begun counts.
func TestASplitIsRecalled(t *testing.T) {
	l := newList()
	l.Recall(0, &l.out)
	require.NoError(t, l.PlanSplitMove(0, 1))
	l.Recall(0, &l.out) // which is there
	if expect(t, l.sent()); l.IsRecalled(0) {
		t.Error("recalled without need")
	}
	require.NoError(t, l.PlanSplitMove(0, 2))
	l.Recall(0, &l.out)
	l.Recall(0, &l.out)
	expect(t, l.sent(), "node 1: recall split 0, term 3")
	if !l.IsRecalled(0) || l.IsRecalled(1) {
		t.Error("split 0 alone was recalled")
	}
	l.expectFinish(t, 4, 5, 1, false) // it has not answered
	for _, c := range []struct {
		from bellows.NodeID
		a    wire.Recalled
	}{
		{2, wire.Recalled{Term: 3, Clock: 4}},
		{1, wire.Recalled{Term: 2, Clock: 4}},
		{1, wire.Recalled{Term: 3, Split: 1, Clock: 4}},
	} {
		if l.TakeRecalled(c.from, &c.a) {
			t.Errorf("%+v of node %d counts", c.a, c.from)
		}
	}
	require.NoError(t, l.PlanSplitMove(1, 2))
	if l.TakeRecalled(1, &wire.Recalled{Term: 3, Split: 1, Clock: 4}) {
		t.Error("an answer counts that the roster has not asked for")
	}
	if !l.TakeRecalled(1, &wire.Recalled{Term: 3, Clock: 4}) {
		t.Error("the answer does not count")
	}
	l.expectFinish(t, 3, 9, 1, false)
	l.expectFinish(t, 4, 9, 2, true)
	if l.IsRecalled(0) {
		t.Error("it is still recalled")
	}
}

// prepared returns a lane's report of a move.
func prepared(number, copied uint64, whole bool, reason string) *wire.Prepared {
	return &wire.Prepared{Term: 3, Number: number, Pair: wire.Pair{Ref: first}, Copied: copied, Of: 100, Whole: whole,
		Reason: reason}
}

// moveOrder words the order to move the first partition to the second lane.
func moveOrder(number int, urgent, cancel bool) string {
	return fmt.Sprintf("lane 0 of node 1: move %d of t0/p0 generation 1 to lane 0 of node 2, urgent %v, cancel %v, "+
		"term 3", number, urgent, cancel)
}

func (l *list) move(t *testing.T, to wire.Address, urgent bool) string {
	t.Helper()
	o, err := l.MovePartition(first, to, urgent, 7)
	require.NoError(t, err)
	return order(o)
}

// TestAPartitionMoves copies a partition, and records its move when all is there.
func TestAPartitionMoves(t *testing.T) {
	l := newList()
	_, err := l.MovePartition(bellows.PartitionRef{Table: 3}, lanes[1], false, 0)
	expectError(t, err, "there is no partition")
	_, err = l.MovePartition(first, wire.LaneAt(9, 0), false, 0)
	expectError(t, err, "lane 0 of node 9 takes no part")
	expect(t, []string{l.move(t, lanes[1], false)}, moveOrder(1, false, false))
	if got := l.move(t, lanes[1], false); got != "none" {
		t.Errorf("asked again: %s", got)
	}
	p := l.TakePrepared(lanes[0], prepared(1, 40, false, ""))
	if p.Order != nil || p.Moved != nil || p.Change.Kind > 0 {
		t.Errorf("%+v", p)
	}
	l.TakePrepared(lanes[0], prepared(1, 30, false, "")) // late
	want := roster.Moving{Ref: first, From: lanes[0], To: lanes[1], Copied: 40, Of: 100, SinceMillis: 7}
	if m := l.Moving(); len(m) != 1 || m[0] != want {
		t.Errorf("moving %+v", m)
	}
	p = l.TakePrepared(lanes[0], prepared(1, 100, true, ""))
	if p.Change.Kind != bellows.MovePartition || l.Route().Owner(first).Lane != lanes[1] || p.Order != nil {
		t.Errorf("%+v", p)
	}
	if len(p.Moved) != 1 || p.Moved[0].Reason != "" || p.Moved[0].Copied != 100 || len(l.Moving()) != 0 {
		t.Errorf("%+v", p)
	}
	if p := l.TakePrepared(lanes[0], prepared(1, 100, true, "")); p.Moved != nil {
		t.Error("a move ends twice")
	}
}

// TestOnlyTheNewestMoveCounts replaces a move, and cancels one.
func TestOnlyTheNewestMoveCounts(t *testing.T) {
	l := newList()
	l.move(t, lanes[1], false)
	expect(t, []string{l.move(t, lanes[1], true)}, moveOrder(2, true, false))
	if len(l.Moving()) != 1 || !l.Moving()[0].Urgent {
		t.Errorf("moving %+v", l.Moving())
	}
	stale := prepared(2, 100, true, "")
	stale.Term = 2
	other := prepared(2, 100, true, "")
	other.Pair.Ref.Partition = 1
	for what, p := range map[string]roster.Prepared{
		"the first":             l.TakePrepared(lanes[0], prepared(1, 100, true, "")),
		"of another lane":       l.TakePrepared(lanes[1], prepared(2, 100, true, "")),
		"of another controller": l.TakePrepared(lanes[0], stale),
		"of another partition":  l.TakePrepared(lanes[0], other),
	} {
		if p.Moved != nil {
			t.Errorf("%s counts", what)
		}
	}
	expect(t, []string{l.move(t, lanes[0], true)}, moveOrder(2, true, true))
	if l.CancelMove(first) != nil || len(l.Moving()) > 0 || l.move(t, lanes[0], true) != "none" {
		t.Error("nothing moves, and something is canceled")
	}
}

// TestAMoveIsGivenUp takes a report that the owner gives up, and loses the target of a move.
func TestAMoveIsGivenUp(t *testing.T) {
	l := newList()
	l.move(t, lanes[1], false)
	p := l.TakePrepared(lanes[0], prepared(1, 0, false, "no room"))
	if len(p.Moved) != 1 || p.Moved[0].Reason != "no room" || p.Order != nil || len(l.Moving()) > 0 {
		t.Errorf("%+v", p)
	}
	l.move(t, lanes[1], false)
	l.Lose(2, "it is dead")
	if p := l.TakePrepared(lanes[0], prepared(2, 100, false, "")); p.Order != nil {
		t.Error("canceled before all is there")
	}
	p = l.TakePrepared(lanes[0], prepared(2, 100, true, ""))
	if p.Order == nil || !p.Order.Cancel || p.Moved != nil || p.Change.Kind > 0 || len(l.Moving()) > 0 {
		t.Errorf("%+v", p)
	}
	_, err := l.MovePartition(first, lanes[1], false, 0)
	expectError(t, err, "lane 0 of node 2 cannot own t0/p0: it is dead")
	l.VoidCopies(&l.out)
	const void = "move 0 of t0/p0 generation 0 to lane 0 of node 0, urgent false, cancel false, term 3"
	expect(t, l.sent(), "lane 0 of node 1: "+void, "lane 0 of node 2: "+void)
}

// TestUnfitMoveIsCanceled removes the target while the partition is copied.
func TestUnfitMoveIsCanceled(t *testing.T) {
	l := newList()
	l.move(t, lanes[1], false)
	for ref := range l.Route().All() {
		if ref != first {
			require.NoError(t, l.Change(l.Route().MovePartition(ref, lanes[0])))
		}
	}
	_, err := l.RemoveActor(lanes[1])
	require.NoError(t, err)
	p := l.TakePrepared(lanes[0], prepared(1, 100, true, ""))
	if p.Order == nil || !p.Order.Cancel || len(p.Moved) != 1 || p.Moved[0].Reason == "" || len(l.Moving()) > 0 {
		t.Errorf("%+v", p)
	}
}
