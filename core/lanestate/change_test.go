package lanestate_test

import (
	"errors"
	"slices"
	"testing"

	"bellows"
	"bellows/core/lanestate"
	"bellows/core/partition"
	"bellows/internal/require"
	"bellows/link/wire"
)

// flush is a flush with a number.
type flush uint64

func (f flush) ID() bellows.FlushID {
	return bellows.FlushID{Client: 1, Incarnation: 1, Seq: uint64(f)}
}

// holder is the client that has leases in these tests.
var holder = wire.ClientAt(1)

// lane is a State with the effects of its calls.
type lane struct {
	*lanestate.State
	fx partition.Effects
}

// lend grants a lease on a partition.
func (s *lane) lend(t *testing.T, p *partition.Partition, mode wire.Mode) {
	t.Helper()
	p.Leases.Request(holder, &wire.Acquire{Mode: mode, Need: wire.Need{Clock: bellows.NoClock}}, 1)
	granted := 0
	for range p.Grants(s.Frontier(), self.Node, func(bellows.NodeID) bool { return false }) {
		granted++
	}
	if granted != 1 {
		t.Fatalf("%d leases are granted", granted)
	}
}

// accept records a chunk of a flush that adds 1 to the first row of a partition, as split 0 of clock 0.
func (s *lane) accept(f flush, p *partition.Partition) {
	c := &wire.Chunk{Pair: p.Pair(), Rows: []uint32{0}, Values: []float32{1}}
	p.Accept(partition.Entry{Flush: f, Chunk: c, Number: s.Applied()}, &s.fx)
}

// TestAddKeepsOrder gives each partition of the other lane to a State, also the first and the last of the
// job: it stands among the others by its number.
func TestAddKeepsOrder(t *testing.T) {
	t.Parallel()
	for ref := range newState(t).Route().Each() {
		s := newState(t)
		if s.Route().Owner(ref).Lane == self {
			continue
		}
		follow(t, s, s.Route().MovePartition(ref, self))
		s.Number(1)
		require.NoError(t, s.Await(ref))
		if got := numbers(s); len(got) != 5 || !slices.IsSorted(got) {
			t.Errorf("with %v it owns %v", ref, got)
		}
	}
}

// TestPartitionReturns moves each partition away and back, while chunks that were recorded before still count here. The
// returned partition stands after the old one, so that every run has the same order.
func TestPartitionReturns(t *testing.T) {
	t.Parallel()
	s := newState(t)
	for i, rest := range slices.Clone(s.Owned()) {
		follow(t, s, s.Route().MovePartition(rest.Ref, other))
		s.Number(bellows.CommitNumber(2*i + 1))
		s.Leave(rest)
		follow(t, s, s.Route().MovePartition(rest.Ref, self))
		s.Number(bellows.CommitNumber(2*i + 2))
		require.NoError(t, s.Await(rest.Ref))
		back := s.Lookup(rest.Ref)
		if at := slices.Index(s.Owned(), back); back == rest || at == 0 || s.Owned()[at-1] != rest {
			t.Errorf("%v is in place %d, and what was left of it is not before it", back.Ref, at)
		}
		s.Remove(rest)
		if got := numbers(s); len(got) != 4 || !slices.IsSorted(got) {
			t.Errorf("it owns %v", got)
		}
	}
}

// TestAddFirst moves the first partition of the job away, and back after nothing of it is left here.
func TestAddFirst(t *testing.T) {
	t.Parallel()
	s := newState(t)
	p := s.Owned()[0]
	follow(t, s, s.Route().MovePartition(p.Ref, other))
	s.Number(1)
	s.Leave(p)
	s.Remove(p)
	follow(t, s, s.Route().MovePartition(p.Ref, self))
	s.Number(2)
	require.NoError(t, s.Await(p.Ref))
	if got := numbers(s); len(got) != 4 || !slices.IsSorted(got) {
		t.Errorf("it owns %v", got)
	}
}

// TestResume resumes a job: the State and each of its partitions are at the clocks of the
// saved run, which must be of as many splits.
func TestResume(t *testing.T) {
	t.Parallel()
	s := &lane{State: newState(t)}
	require.NoError(t, s.Resume([]bellows.Clock{4, 3}, nil))
	if got := s.Frontier().Complete; got != 3 {
		t.Errorf("the last complete clock is %d, want 3", got)
	}
	p := s.Owned()[len(s.Owned())-1] // of the table without a barrier
	s.lend(t, p, wire.Shared)
	s.Number(1)
	s.accept(1, p)
	if got := p.Visible(s.Frontier()); got != (wire.Need{Clock: 3}) {
		t.Errorf("while a lease keeps record 1 out, reads see %+v", got)
	}
	if err := newState(t).Resume([]bellows.Clock{4}, nil); err == nil {
		t.Error("it resumes a job of another number of splits")
	}
}

// TestCountUnitsRefusesRecord counts the unit that completes a clock, and with it one that no split can have done: the
// record is refused, and completes nothing.
func TestCountUnitsRefusesRecord(t *testing.T) {
	t.Parallel()
	s := newState(t)
	unit := func(split bellows.SplitID, c bellows.Clock) wire.Result {
		return wire.Result{Unit: bellows.Unit{Split: split, Clock: c, Items: bellows.Range{End: 1}}}
	}
	completed, err := s.CountUnits([]wire.Result{unit(0, 0), unit(1, 0), unit(1, 5)})
	if completed || err == nil {
		t.Errorf("completed is %v, %v", completed, err)
	}
}

// TestReachShowsClockEverywhere records chunks of a clock for both partitions of a table with a barrier: all of
// them are part of the state when it is reached. Two chunks of one split are an error.
func TestReachShowsClockEverywhere(t *testing.T) {
	t.Parallel()
	for _, twice := range []bool{false, true} {
		s := &lane{State: newState(t)}
		for i, p := range s.Owned()[:2] {
			s.accept(flush(i), p)
			if got := p.State.Read([]uint32{0}, nil)[0]; got != 0 {
				t.Errorf("%v shows %v before its clock", p.Ref, got)
			}
		}
		if twice {
			s.accept(2, s.Owned()[1])
		}
		for split := range bellows.SplitID(2) {
			u := bellows.Unit{Split: split, Items: bellows.Range{End: 1}}
			_, err := s.CountUnits([]wire.Result{{Unit: u}})
			require.NoError(t, err)
		}
		err := s.Reach(&s.fx)
		var overlap *partition.OverlapError
		if twice {
			if !errors.As(err, &overlap) || overlap.Ref != s.Owned()[1].Ref {
				t.Errorf("two chunks of one split: %v", err)
			}
			continue
		}
		require.NoError(t, err)
		for _, p := range s.Owned()[:2] {
			if got := p.State.Read([]uint32{0}, nil)[0]; got != 1 {
				t.Errorf("%v shows %v after its clock", p.Ref, got)
			}
		}
	}
}

// TestForgetEndsSubscriptions ends those of one process, in every partition.
func TestForgetEndsSubscriptions(t *testing.T) {
	t.Parallel()
	s := newState(t)
	gone := partition.Subscriber{Address: wire.ClientAt(1), Incarnation: 1}
	next := partition.Subscriber{Address: wire.ClientAt(1), Incarnation: 2}
	for _, p := range s.Owned() {
		p.Subscribers.Subscribe(gone, nil, false)
		p.Subscribers.Subscribe(next, nil, false)
	}
	s.Forget(func(o partition.Subscriber) bool { return o == gone })
	for _, p := range s.Owned() {
		if p.Subscribers.Find(gone) != nil || p.Subscribers.Find(next) == nil {
			t.Errorf("%v has %d subscriptions", p.Ref, len(p.Subscribers.List()))
		}
	}
}

// TestMayEndOnce holds a push that ends an exclusive lease: only its holder may, and no second push may.
func TestMayEndOnce(t *testing.T) {
	t.Parallel()
	s := &lane{State: newState(t)}
	p := s.Owned()[0]
	if s.MayEnd(p.Ref, holder) {
		t.Error("a lease may be ended that was not granted")
	}
	s.lend(t, p, wire.Exclusive)
	if !s.MayEnd(p.Ref, holder) || s.MayEnd(p.Ref, wire.ClientAt(2)) {
		t.Error("the lease is not its holder's to end")
	}
	s.Hold(&wire.Push{Leases: []wire.LeaseEnd{{Pair: p.Pair()}}})
	if s.MayEnd(p.Ref, holder) {
		t.Error("a second push may end it")
	}
}
