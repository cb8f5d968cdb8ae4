package claim_test

import (
	"slices"
	"testing"

	"bellows"
	"bellows/core/journal"
	"bellows/internal/require"
	"bellows/link/wire"
)

// TestAClockIsDividedIntoClaims dispatches a clock of one unit and one of three, and counts what is out.
func TestAClockIsDividedIntoClaims(t *testing.T) {
	b := newBook(t)
	if b.Outstanding() != 0 || b.Training() || max(b.Horizon(), b.Furthest()) != bellows.NoClock || !b.Rests(0) {
		t.Error("a new book has claims")
	}
	b.dispatch(0, 5, 1)
	b.dispatch(0, 5, 1)
	if b.Sends() != true {
		t.Error("nothing waits to be sent")
	}
	b.expectSent(
		"node 1: split 0 clock 0 items [10,16) [0 0] by record 5, term 3",
		"node 1: split 0 clock 1 items [10,12) [1 0] by record 5, term 3",
		"node 1: split 0 clock 1 items [12,14) [1 0] by record 5, term 3",
		"node 1: split 0 clock 1 items [14,16) [1 0] by record 5, term 3")
	if b.Sends() {
		t.Error("something is still to be sent")
	}
	b.expectSent()
	if b.Outstanding() != 4 || !b.Training() || b.Uncounted(0) != 4 || b.Uncounted(1) != 0 {
		t.Errorf("%d out, of split 0 %d", b.Outstanding(), b.Uncounted(0))
	}
	if b.Next(0) != 2 || b.Next(1) != 0 || b.Horizon() != 1 || b.Furthest() != 1 || b.Rests(0) || !b.Rests(1) {
		t.Errorf("horizon %d, furthest %d", b.Horizon(), b.Furthest())
	}
	if left := b.Unfinished(); left != 24 { // two clocks of two splits
		t.Errorf("%d items are left", left)
	}
	b.complete(1, unit(0, 0), third(0, 1, 0))
	if left := b.Unfinished(); left != 16 || b.Outstanding() != 2 || b.Uncounted(0) != 2 || b.Rests(0) {
		t.Errorf("%d items are left, %d claims are out", left, b.Outstanding())
	}
	if got := b.Completed(); !slices.Equal(got, []bellows.Clock{0, bellows.NoClock}) {
		t.Errorf("completed %v", got)
	}
	b.complete(1, third(0, 1, 1), third(0, 1, 2))
	if b.Outstanding() != 0 || b.Training() || !b.Rests(0) || b.Progress().Split(0) != 1 {
		t.Errorf("%d claims are out", b.Outstanding())
	}
}

// TestAClockWithoutItemsTrainsNothing dispatches clock 4, which has no items.
func TestAClockWithoutItemsTrainsNothing(t *testing.T) {
	b := newBook(t)
	require.NoError(t, b.Resume([]bellows.Clock{3, 3}, nil))
	b.dispatch(1, 0, 2)
	if b.Outstanding() != 1 || b.Training() {
		t.Errorf("%d out, training %v", b.Outstanding(), b.Training())
	}
	b.complete(2, bellows.Unit{Split: 1, Clock: 4})
	b.dispatch(1, 0, 2)
	if b.Outstanding() != 3 || !b.Training() {
		t.Errorf("%d out, training %v", b.Outstanding(), b.Training())
	}
}

// TestTheLastUnitEndsItsClock settles the units of a clock.
func TestTheLastUnitEndsItsClock(t *testing.T) {
	b := newBook(t)
	b.dispatch(0, 0, 1)
	b.dispatch(0, 0, 1)
	for i, want := range []bool{true, false, false, true} {
		u := third(0, 1, i-1)
		if i == 0 {
			u = unit(0, 0)
		}
		require.NoError(t, b.Complete(u, 1))
		if got := b.Settle(&u); got != want {
			t.Errorf("%v ends its clock: %v", u, got)
		}
	}
}

// TestOnlyClaimsCount completes units that are no claims, that count already, or that another node holds.
func TestOnlyClaimsCount(t *testing.T) {
	b := newBook(t)
	expectError(t, b.Complete(unit(0, 0), 1), "split 0 clock 0 items [10,16) was not dispatched")
	b.dispatch(0, 0, 1)
	expectError(t, b.Complete(unit(7, 0), 1), "the job has 2 splits")
	expectError(t, b.Complete(unit(0, 1), 1), "the split is at clock 0")
	expectError(t, b.Complete(third(0, 0, 0), 1), "was not dispatched")
	expectError(t, b.Replay(third(0, 0, 0)), "was not dispatched")
	if b.Uncounted(0) != 1 {
		t.Error("a refused unit has removed a claim")
	}
	expectError(t, b.Complete(unit(0, 0), 2), "split 0 is node 1's")
	expectError(t, b.Complete(unit(0, 0), 1), "the split is at clock 1")
	b.dispatch(0, 0, 1)
	require.NoError(t, b.Replay(third(0, 1, 0)))
	expectError(t, b.Replay(third(0, 1, 0)), "are committed already")
	require.NoError(t, b.Complete(third(0, 1, 2), 1)) // the turn of a unit is what Postpone judges
	if c := b.Claims(); len(c) != 1 || c[0].Unit != third(0, 1, 1) || c[0].Holder != 1 {
		t.Errorf("claims %+v", c)
	}
}

// TestUnitsCountInTheOrderOfDispatch postpones flushes with units that are early.
func TestUnitsCountInTheOrderOfDispatch(t *testing.T) {
	b := newBook(t)
	for s := range bellows.SplitID(2) {
		b.dispatch(s, 0, bellows.NodeID(s+1))
		b.dispatch(s, 0, bellows.NodeID(s+1))
	}
	seq := 0
	postponed := func(units ...bellows.Unit) bool {
		t.Helper()
		seq++
		taken, err := b.Postpone(arrival(1, seq, units...))
		require.NoError(t, err)
		return taken
	}
	expect := func(want bool, units ...bellows.Unit) {
		t.Helper()
		if postponed(units...) != want {
			t.Errorf("%v: postponed %v", units, !want)
		}
	}
	expect(false, unit(0, 0))
	expect(false, unit(0, 0), unit(1, 0))
	expect(false, unit(0, 0), third(0, 1, 0)) // the first is before it in the flush
	expect(true, third(0, 1, 0))
	expect(true, third(0, 1, 0), unit(0, 0)) // the first is after it in the flush
	expect(true, unit(0, 0), third(1, 1, 0)) // which is of another split
	expect(true, unit(0, 0), unit(1, 0), third(0, 1, 1))
	expect(false, unit(9, 0)) // Complete refuses it
	expect(false, unit(0, 7)) // which is no claim
	for s, want := range []int{3, 1} {
		if list := b.TakeEarly(bellows.SplitID(s)); len(list) != want {
			t.Errorf("%d flushes wait for split %d", len(list), s)
		}
		if list := b.TakeEarly(bellows.SplitID(s)); len(list) > 0 {
			t.Errorf("%d flushes still wait for split %d", len(list), s)
		}
	}
	b.complete(1, unit(0, 0))
	expect(false, third(0, 1, 0))
	expect(true, third(0, 1, 1))
}

// TestClaimsOfOneRecordShareAMessage dispatches by two records, to two nodes.
func TestClaimsOfOneRecordShareAMessage(t *testing.T) {
	b := newBook(t)
	b.dispatch(0, 0, 1)
	b.dispatch(1, 0, 2)
	b.complete(1, unit(0, 0))
	b.complete(2, unit(1, 0))
	b.expectSent("node 1: split 0 clock 0 items [10,16) [0 0] by record 0, term 3", "",
		"node 2: split 1 clock 0 items [10,16) [0 1] by record 0, term 3")
	b.Claim(third(0, 1, 0), nil, 1, 1, true)
	b.Claim(third(1, 1, 0), nil, 1, 2, true)
	b.Claim(third(0, 1, 1), nil, 1, 1, true)
	b.Claim(third(0, 1, 2), nil, 2, 1, true)
	b.expectSent("node 1: split 0 clock 1 items [10,12) [] by record 1, term 3",
		"node 1: split 0 clock 1 items [12,14) [] by record 1, term 3", "",
		"node 2: split 1 clock 1 items [10,12) [] by record 1, term 3", "",
		"node 1: split 0 clock 1 items [14,16) [] by record 2, term 3")
}

// TestARepeatedDispatchIsNotSent repeats what another controller has dispatched, and then sends all once more.
func TestARepeatedDispatchIsNotSent(t *testing.T) {
	b := newBook(t)
	b.Dispatch(1, []float64{5}, 7, 2, true)
	b.Claim(unit(0, 0), []float64{6}, 4, 1, false)
	b.Claim(third(0, 1, 0), nil, 9, 1, false)
	b.expectSent()
	b.RedispatchAll()
	b.expectSent("node 1: split 0 clock 0 items [10,16) [6] by record 4, term 3", "",
		"node 2: split 1 clock 0 items [10,16) [5] by record 7, term 3", "",
		"node 1: split 0 clock 1 items [10,12) [] by record 9, term 3")
	b.Redispatch(0, 2)
	b.expectSent("node 2: split 0 clock 0 items [10,16) [6] by record 4, term 3", "",
		"node 2: split 0 clock 1 items [10,12) [] by record 9, term 3")
}

// TestArgumentsAreCopied changes the caller's arguments after a dispatch, and reuses the memory of a claim that counts.
func TestArgumentsAreCopied(t *testing.T) {
	b := newBook(t)
	args := []float64{1, 2}
	b.Claim(unit(0, 0), args, 1, 1, false)
	b.Claim(third(0, 1, 0), args, 2, 1, false)
	b.Claim(third(0, 1, 1), args, 3, 1, false)
	args[0] = 9
	var saved journal.Saved
	b.Save(&saved)
	b.complete(1, unit(0, 0))
	b.Claim(third(0, 1, 2), []float64{7}, 4, 1, false)
	for i, c := range b.Claims() {
		if want := [][]float64{{1, 2}, {1, 2}, {7}}[i]; !slices.Equal(c.Args, want) || c.Unit != third(0, 1, i) {
			t.Errorf("claim %d: %v %v", i, c.Unit, c.Args)
		}
	}
	for _, one := range saved.Out {
		if !slices.Equal(one.Args, []float64{1, 2}) {
			t.Errorf("saved %v %v", one.Unit, one.Args)
		}
	}
}

// TestABookIsSaved saves a book in the middle of a clock, and continues from there with another.
func TestABookIsSaved(t *testing.T) {
	b := newBook(t)
	b.dispatch(0, 0, 1)
	b.dispatch(0, 0, 1)
	b.dispatch(1, 0, 2)
	b.complete(1, unit(0, 0), third(0, 1, 0))
	b.dispatch(0, 2, 1)
	saved := journal.Saved{State: journal.State{Complete: b.Completed()}}
	b.Save(&saved)
	if !slices.Equal(saved.Open, []bellows.Unit{third(0, 1, 0)}) || saved.Horizon != 2 || len(saved.Out) != 4 {
		t.Fatalf("saved %+v", saved)
	}
	next := newBook(t)
	expectError(t, next.Resume([]bellows.Clock{0}, nil), "the saved run has 1 splits")
	require.NoError(t, next.Resume(saved.Complete, saved.Open))
	if next.Next(0) != 1 || next.Next(1) != 0 {
		t.Errorf("resumes at clocks %d and %d", next.Next(0), next.Next(1))
	}
	next.Restore(&saved)
	if next.Horizon() != 2 || next.Next(0) != 1 {
		t.Errorf("horizon %d", next.Horizon())
	}
	next.ClaimAll(saved.Out, next.job.Route, false)
	next.expectSent()
	if c := next.Claims()[2]; c.Holder != 2 || c.Unit.Split != 1 || c.Commit != 0 {
		t.Errorf("claim %+v", c)
	}
	if next.Next(0) != 3 || next.Outstanding() != 4 {
		t.Errorf("%d out, next clock %d", next.Outstanding(), next.Next(0))
	}
	expectError(t, next.Complete(third(0, 1, 0), 1), "are committed already")
	next.complete(1, third(0, 1, 1), third(0, 1, 2))
	if next.Progress().Split(0) != 1 {
		t.Errorf("split 0 is at clock %d", next.Progress().Split(0))
	}
	if newBook(t).Resume(saved.Complete, []bellows.Unit{unit(0, 5)}) == nil {
		t.Error("a unit is taken that cannot count")
	}
}

// TestTheSlowestSplitIsNamed compares splits, and the units that their nodes compute for long.
func TestTheSlowestSplitIsNamed(t *testing.T) {
	b := newBook(t)
	r := b.job.Route
	slowest := func(s bellows.SplitID, clock bellows.Clock, splits int) {
		t.Helper()
		if a, c, n := b.Slowest(); a != s || c != clock || n != splits {
			t.Errorf("split %d clock %d, of %d; want %d, %d, %d", a, c, n, s, clock, splits)
		}
	}
	culprit := func(now int64, s bellows.SplitID, clock bellows.Clock) {
		t.Helper()
		if a, c := b.Culprit(0, 0, r, now, 100); a != s || c != clock {
			t.Errorf("split %d clock %d; want %d, %d", a, c, s, clock)
		}
	}
	slowest(0, 0, 0)
	b.dispatch(1, 0, 2)
	slowest(1, 0, 1)
	b.dispatch(0, 0, 1)
	slowest(0, 0, 2)
	b.complete(1, unit(0, 0))
	b.dispatch(0, 0, 1)
	slowest(1, 0, 2)
	culprit(0, 0, 0)
	report := func(s bellows.SplitID, clock bellows.Clock, millis, now int64) {
		b.TakeComputing(&wire.Computing{Unit: unit(s, clock), Millis: millis}, now)
	}
	report(1, 0, 900, 50)
	culprit(50, 0, 0) // of another node
	moved, err := r.Next(r.MoveSplit(1, 1))
	require.NoError(t, err)
	r = moved
	culprit(150, 1, 0)
	culprit(151, 0, 0) // too old
	report(0, 1, 900, 50)
	culprit(50, 0, 1) // as long: the first
	if name, splits := b.NameSlowest(r, 50, 100); name != "split 0 clock 1 on node 1" || splits != 2 {
		t.Errorf("named %q, of %d", name, splits)
	}
	report(0, 1, 899, 50)
	culprit(50, 1, 0)
	report(1, 1, 1000, 50) // which is not dispatched
	culprit(50, 0, 1)
	report(0, 0, 1000, 50) // which counts
	culprit(50, 0, 0)
	report(1, 0, 1, 50)
	culprit(50, 1, 0)
	b.ForgetComputing(1)
	culprit(50, 0, 0)
	newBook(t).ForgetComputing(1)
}
