package claim_test

import (
	"testing"

	"bellows"
	"bellows/internal/require"
	"bellows/link/wire"
)

// expectFinish ends the wait of split 0, if it rests.
func (b *book) expectFinish(to bellows.NodeID, ended bool) {
	b.t.Helper()
	if n, e := b.FinishMove(0); n != to || e != ended {
		b.t.Errorf("to node %d, ended %v; want %d, %v", n, e, to, ended)
	}
}

// TestASplitMovesWhenItRests plans the move of a split with a clock out, and then of one that rests.
func TestASplitMovesWhenItRests(t *testing.T) {
	b := newBook(t)
	b.dispatch(0, 0, 1)
	b.expectFinish(0, false) // no plan
	b.PlanMove(1, 1)
	b.PlanMove(0, 1)
	b.PlanMove(0, 2) // instead
	b.expectFinish(0, false)
	b.complete(1, unit(0, 0))
	b.expectFinish(2, true)
	b.expectFinish(0, false) // it is over
	b.PlanMove(0, 3)
	b.expectFinish(3, true)
	require.NoError(t, b.CheckRemoval(3))
	expectError(t, b.CheckRemoval(1), "a split is on its way to node 1")
}

// TestARecallStopsDispatches asks back what a node has not begun: the split goes when all that it has
// begun counts, and its claims go with it.
func TestARecallStopsDispatches(t *testing.T) {
	b := newBook(t)
	r := b.job.Route
	b.dispatch(0, 0, 1)
	b.dispatch(0, 0, 1)
	b.sent()
	recalled := func(from bellows.NodeID, a wire.Recalled) bool { return b.TakeRecalled(from, r, &a) }
	recall := func() { b.Revoke(0, r.Node(0), &b.out) }
	recall() // no plan
	b.PlanMove(0, 1)
	recall() // it is there
	b.PlanMove(0, 2)
	if b.expectSent(); recalled(1, wire.Recalled{Term: 3}) {
		t.Error("an answer counts that was not asked for")
	}
	recall()
	recall()
	b.expectSent("node 1: recall split 0, term 3")
	b.dispatch(0, 0, 1)
	b.dispatch(1, 0, 2)
	b.expectSent("node 2: split 1 clock 0 items [10,16) [0 1] by record 0, term 3")
	b.expectFinish(0, false) // no answer
	for _, c := range []struct {
		from bellows.NodeID
		a    wire.Recalled
	}{
		{2, wire.Recalled{Term: 3}},
		{1, wire.Recalled{Term: 2}},
		{1, wire.Recalled{Term: 3, Split: 1}},
	} {
		if recalled(c.from, c.a) {
			t.Errorf("%+v of node %d counts", c.a, c.from)
		}
	}
	if !recalled(1, wire.Recalled{Term: 3}) {
		t.Error("the answer does not count")
	}
	b.expectFinish(0, false) // it has begun clock 0
	b.complete(1, unit(0, 0))
	b.expectFinish(2, true)
	b.Rehome(0, 2, 8)
	for _, c := range b.Claims() {
		if at := c.Unit.Split; at == 0 && (c.Holder != 2 || c.Commit != 8) || at == 1 && c.Commit != 0 {
			t.Errorf("%+v", c)
		}
	}
	expectError(t, b.Complete(third(0, 1, 0), 1), "split 0 is node 2's")
	b.Redispatch(0, 2)
	b.expectSent("node 2: split 0 clock 1 items [12,14) [1 0] by record 8, term 3",
		"node 2: split 0 clock 1 items [14,16) [1 0] by record 8, term 3",
		"node 2: split 0 clock 2 items [10,16) [2 0] by record 8, term 3")
}

// TestOneClockIsNotRecalled plans to move a split while one clock of it is out, and two.
func TestOneClockIsNotRecalled(t *testing.T) {
	b := newBook(t)
	b.dispatch(0, 0, 1)
	b.sent()
	b.PlanMove(0, 2)
	b.Revoke(0, 1, &b.out)
	b.expectSent()
	b.dispatch(0, 0, 1)
	b.sent()
	b.Revoke(0, 1, &b.out)
	b.expectSent("node 1: recall split 0, term 3")
}

// TestAPlanEndsWithItsSplit moves a split by another record: the node is lost.
func TestAPlanEndsWithItsSplit(t *testing.T) {
	b := newBook(t)
	b.PlanMove(0, 2)
	b.PlanMove(1, 2)
	b.Rehome(0, 3, 1)
	b.expectFinish(0, false)
	if to, ended := b.FinishMove(1); to != 2 || !ended {
		t.Error("the plan of another split is forgotten")
	}
}

// TestRedispatchLost gives the splits of a node to others, and sends their claims there.
func TestRedispatchLost(t *testing.T) {
	b := newBook(t)
	b.dispatch(0, 0, 1)
	b.dispatch(0, 0, 1)
	b.complete(1, unit(0, 0))
	b.sent()
	b.Rehome(0, 2, 6)
	b.Rehome(1, 2, 7)
	b.RedispatchLost([]bellows.SplitID{0, 1}, b.job.Clients)
	b.expectSent("node 2: split 0 clock 1 items [10,12) [1 0] by record 6, term 3",
		"node 2: split 0 clock 1 items [12,14) [1 0] by record 6, term 3",
		"node 2: split 0 clock 1 items [14,16) [1 0] by record 6, term 3")
}
