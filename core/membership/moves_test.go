package membership_test

import (
	"fmt"
	"testing"

	"bellows"
	"bellows/core/membership"
	"bellows/internal/require"
	"bellows/link/wire"
)

// TestMoveSplit moves a split between nodes. One is lost.
func TestMoveSplit(t *testing.T) {
	l := newList()
	expectError(t, l.CheckSplitMove(6, 2), "there is no split 6")
	expectError(t, l.CheckSplitMove(0, 7), "node 7 runs no tasks")
	l.Lose(2, "dead")
	expectError(t, l.CheckSplitMove(0, 2), "node 2 runs no tasks")
	require.NoError(t, l.CheckSplitMove(5, 1))
	moved := l.MoveSplit(0, 3)
	if want := (bellows.Control{Kind: bellows.MoveSplit, Route: 1, Node: 3}); moved != want || l.Route().Node(0) != 3 {
		t.Errorf("change %+v", moved)
	}
	for _, to := range []bellows.NodeID{3, 2} { // where it is; a lost node
		if change := l.MoveSplit(0, to); change.Kind != bellows.NoControl || l.Route().Version() != 1 {
			t.Errorf("to node %d: change %+v", to, change)
		}
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
	want := membership.Moving{Ref: first, From: lanes[0], To: lanes[1], Copied: 40, Of: 100, SinceMillis: 7}
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
	for what, p := range map[string]membership.Prepared{
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
	for ref := range l.Route().Each() {
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
