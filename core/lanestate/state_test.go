package lanestate_test

import (
	"errors"
	"slices"
	"testing"

	"bellows"
	"bellows/core/checkpoint"
	"bellows/core/lanestate"
	"bellows/core/partition"
	"bellows/core/route"
	"bellows/core/rowstore"
	"bellows/internal/require"
	"bellows/link/wire"
	"bellows/table"
)

// self and other are the lanes of the tests' job.
var (
	self  = wire.LaneAt(0, 0)
	other = wire.LaneAt(1, 0)
)

// newState returns the state of a lane in a job of two tables, which owns the even partitions of both.
func newState(t *testing.T) *lanestate.State {
	t.Helper()
	tables := []table.Schema{
		{Name: "barrier", Rows: 8, Width: 1, Partitions: 4},
		{Name: "free", Rows: 8, Width: 1, Partitions: 4, Consistency: table.Async},
	}
	r := route.Spread(tables, 2, []wire.Address{self, other}, []bellows.NodeID{1, 2})
	s := lanestate.New(lanestate.Config{Self: self, Tables: tables, Route: r, Cuts: &checkpoint.Giver{},
		Items: func(bellows.SplitID, bellows.Clock) bellows.Range { return bellows.Range{End: 1} }})
	for ref := range r.Each() {
		if r.Owner(ref).Lane == self {
			require.NoError(t, s.Create(ref))
		}
	}
	return s
}

// follow replaces the route by the next one.
func follow(t *testing.T, s *lanestate.State, c bellows.Control) {
	t.Helper()
	r, err := s.Route().Next(c)
	require.NoError(t, err)
	s.SetRoute(r)
}

// numbers returns the numbers of the partitions that a State owns.
func numbers(s *lanestate.State) (list []int) {
	for _, p := range s.Owned() {
		list = append(list, s.Route().Number(p.Ref))
	}
	return list
}

// elsewhere returns a partition of a table that the other lane owns.
func elsewhere(t *testing.T, s *lanestate.State, of bellows.TableID) bellows.PartitionRef {
	t.Helper()
	for ref := range s.Route().Each() {
		if ref.Table == of && s.Route().Owner(ref).Lane == other {
			return ref
		}
	}
	t.Fatal("the other lane owns nothing")
	return bellows.PartitionRef{}
}

// TestOwnedIsInOrder gives a State a partition of the first table by a record. It stands among the others by its
// number, and is no more in the list when it has left.
func TestOwnedIsInOrder(t *testing.T) {
	t.Parallel()
	s := newState(t)
	first := numbers(s)
	if len(first) != 4 || !slices.IsSorted(first) {
		t.Fatalf("it owns %v, want four partitions in order", first)
	}
	ref := elsewhere(t, s, 0)
	follow(t, s, s.Route().MovePartition(ref, self))
	s.Number(1)
	require.NoError(t, s.Await(ref))
	if got := numbers(s); len(got) != 5 || !slices.IsSorted(got) || !slices.Contains(got, s.Route().Number(ref)) {
		t.Errorf("with %v it owns %v", ref, got)
	}
	s.Remove(s.Lookup(ref))
	if got := numbers(s); !slices.Equal(got, first) {
		t.Errorf("without %v it owns %v", ref, got)
	}
}

// TestFind looks up partitions by pairs of an earlier, of the current and of no route.
func TestFind(t *testing.T) {
	t.Parallel()
	s := newState(t)
	mine, theirs := s.Owned()[0], elsewhere(t, s, 0)
	pair := mine.Pair()
	p, err := s.Find(pair)
	if require.NoError(t, err); p != mine {
		t.Errorf("%v is %v", pair, p)
	}
	for _, c := range []struct {
		what  string
		pair  wire.Pair
		stale bool
	}{
		{"another lane's", wire.Pair{Ref: theirs, Generation: 1}, false},
		{"another lane's, by an earlier owner", wire.Pair{Ref: theirs, Generation: 0}, true},
		{"one of a later owner", wire.Pair{Ref: pair.Ref, Generation: 2}, false},
		{"one of an earlier owner", wire.Pair{Ref: pair.Ref, Generation: 0}, true},
	} {
		if _, err := s.Find(c.pair); err == nil || errors.Is(err, route.ErrStale) != c.stale {
			t.Errorf("%s: %v", c.what, err)
		}
	}
	follow(t, s, s.Route().MovePartition(pair.Ref, other))
	s.Number(1)
	s.Leave(mine)
	if err := s.Owns(pair); !errors.Is(err, route.ErrStale) {
		t.Errorf("after it has moved: %v", err)
	}
	if err := s.Owns(wire.Pair{Ref: pair.Ref, Generation: 2}); err == nil || errors.Is(err, route.ErrStale) {
		t.Errorf("at its next owner's generation: %v", err)
	}
	if got := s.Refs(); len(got) != 3 || slices.Contains(got, pair.Ref) {
		t.Errorf("it holds %v", got)
	}
}

// TestAwaiting makes a State wait for the state of two partitions: one comes, and the other leaves again.
func TestAwaiting(t *testing.T) {
	t.Parallel()
	s := newState(t)
	var fx partition.Effects
	for n, of := range []bellows.TableID{0, 1} {
		ref := elsewhere(t, s, of)
		follow(t, s, s.Route().MovePartition(ref, self))
		s.Number(bellows.CommitNumber(n + 1))
		if of == 1 {
			p, err := s.Make(ref, true)
			require.NoError(t, err)
			s.Gain(p)
		} else {
			require.NoError(t, s.Await(ref))
		}
		now, before := s.Lookup(ref).Pair(), wire.Pair{Ref: ref, Generation: 1}
		if !s.Awaits(now) || s.Awaits(before) || !s.Awaiting() || !s.Expects() {
			t.Errorf("it does not wait for %v", ref)
		}
	}
	if got := len(s.Whole()); got != 4 {
		t.Errorf("the state of %d partitions is here, want 4", got)
	}
	var waiting []*partition.Partition
	for _, p := range s.Owned() {
		if p.Awaited() {
			waiting = append(waiting, p)
		}
	}
	var im rowstore.Image
	waiting[0].State.Save(&im)
	require.NoError(t, waiting[0].State.Load(&im))
	require.NoError(t, s.Settle(waiting[0], &fx))
	if !s.Awaiting() || len(s.Whole()) != 5 {
		t.Error("it waits no more, and one partition has not come")
	}
	waiting[1].In.Lost = "its owner is gone"
	if s.Expects() || !s.Awaiting() {
		t.Error("it expects a partition of an owner that is gone")
	}
	follow(t, s, s.Route().MovePartition(waiting[1].Ref, other))
	s.Number(3)
	s.Leave(waiting[1])
	if s.Awaiting() || s.Expects() {
		t.Error("it waits for a partition that has left")
	}
}

// TestCommitCompletesClocks counts units of both splits: the second completes the clock, and one that is counted
// twice is refused.
func TestCommitCompletesClocks(t *testing.T) {
	t.Parallel()
	s := newState(t)
	var fx partition.Effects
	done := func(split bellows.SplitID, c bellows.Clock) []wire.Result {
		return []wire.Result{{Unit: bellows.Unit{Split: split, Clock: c, Items: bellows.Range{End: 1}}}}
	}
	s.Number(1)
	if completed, err := s.CountUnits(done(0, 0)); completed || err != nil {
		t.Errorf("after one split: %v, %v", completed, err)
	}
	if _, err := s.CountUnits(done(0, 0)); err == nil {
		t.Error("it counts a unit twice")
	}
	s.Number(2)
	completed, err := s.CountUnits(done(1, 0))
	if !completed || err != nil {
		t.Errorf("after both splits: %v, %v", completed, err)
	}
	require.NoError(t, s.Reach(&fx))
	want := partition.Frontier{Applied: 2, Barrier: 2, Complete: 0}
	if got := s.Frontier(); got != want {
		t.Errorf("it is at %+v, want %+v", got, want)
	}
	s.Number(3)
	require.NoError(t, s.SetStaleness(0, int32(table.Async), &fx))
	if at := s.Owned()[0]; at.Barrier() || s.Barrier(at.Ref) || s.Frontier().Barrier != 3 {
		t.Error("the table has a barrier still")
	}
	if want := s.Frontier(); want.Applied != 3 {
		t.Errorf("it is at %+v", want)
	}
}

// TestBeginContinuesAfterARecord begins at a record of a job that runs, with the staleness of that time.
func TestBeginContinuesAfterARecord(t *testing.T) {
	t.Parallel()
	s := newState(t)
	require.NoError(t, s.Begin(&wire.Begin{Commit: 7, Complete: []bellows.Clock{2, 2}}))
	s.LoadStaleness([]int32{int32(table.Async), int32(table.BSP)})
	if got, want := s.Frontier(), (partition.Frontier{Applied: 7, Barrier: 7, Complete: 2}); got != want {
		t.Errorf("it begins at %+v, want %+v", got, want)
	}
	p, err := s.Make(elsewhere(t, s, 1), true)
	require.NoError(t, err)
	if !p.Barrier() {
		t.Error("a partition that it makes has the staleness of the job's beginning")
	}
}
