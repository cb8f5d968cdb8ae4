package partition_test

import (
	"slices"
	"strings"
	"testing"

	"bellows"
	"bellows/core/checkpoint"
	"bellows/core/partition"
	"bellows/core/rowstore"
	"bellows/internal/require"
	"bellows/link/wire"
	"bellows/table"
)

// lend grants a lease to a client.
func (r *rig) lend(from wire.Address, mode wire.Mode) {
	r.t.Helper()
	before := len(r.leases)
	r.p.Leases.Request(from, &wire.Acquire{Mode: mode, Need: wire.Need{Clock: bellows.NoClock}}, 1)
	if r.grant(); len(r.leases) != before+1 {
		r.t.Fatal("the lease is not granted")
	}
}

// TestTornByLeaseInPlace lends a partition: its rows are neither the old nor the new ones only while an exclusive
// holder of this process works on them.
func TestTornByLeaseInPlace(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		from wire.Address
		mode wire.Mode
		torn bool
	}{
		{near, wire.Shared, false}, {far, wire.Shared, false},
		{far, wire.Exclusive, false}, {near, wire.Exclusive, true},
	} {
		r := newRig(t, 1, false, table.Async, 0)
		if r.p.Torn() || r.p.HidesFromCuts() {
			t.Error("a partition without leases is torn")
		}
		if r.lend(c.from, c.mode); r.p.Torn() != c.torn || r.p.HidesFromCuts() != c.torn {
			t.Errorf("under a lease of mode %v of %v torn is %v", c.mode, c.from, r.p.Torn())
		}
		if r.release(); r.p.Torn() || r.p.HidesFromCuts() {
			t.Errorf("after a lease of mode %v of %v it is torn", c.mode, c.from)
		}
	}
}

// TestCutUnderExclusiveLease cuts a partition while an exclusive lease is out. The cut has the rows as they were
// when the lease was given, and what was recorded since and is kept out; it has nothing of the lease or of later
// records.
func TestCutUnderExclusiveLease(t *testing.T) {
	t.Parallel()
	for _, from := range []wire.Address{near, far} {
		for _, c := range []table.Consistency{table.Async, table.BSP} {
			r := newRig(t, 1, false, c, 0)
			r.add(3, 2)
			r.reach()
			r.giver.Take(&wire.Cut{Term: 1, Attempt: 1})
			r.lend(from, wire.Exclusive)
			r.leases[0].values[5] = 8
			r.add(1, 4)
			r.reach()
			r.cut()
			r.add(7, 9)
			want := make([]float32, rows)
			want[3], want[1] = 2, 4
			if got := r.given(); !slices.Equal(got, want) {
				t.Errorf("a lease of %v on a table of %v: the cut has %v", from, c, got)
			}
		}
	}
}

// TestGiveUpCutUnderOldLease gives a lease in place before the lane is armed for a cut: nothing has copied the
// rows, so that the cut is given up.
func TestGiveUpCutUnderOldLease(t *testing.T) {
	t.Parallel()
	r := newRig(t, 1, false, table.Async, 0)
	r.lend(near, wire.Exclusive)
	r.giver.Take(&wire.Cut{Term: 1, Attempt: 1})
	r.cut()
	said := r.giver.Say(func() bool { return true })
	if len(said) != 1 || !strings.Contains(said[0].Reason, "before the lane was armed") {
		t.Errorf("the lane says %+v", said)
	}
}

// cut cuts the partition at the next record.
func (r *rig) cut() {
	n := r.record()
	r.giver.Cut(n)
	r.p.Cut(n)
}

// given returns the values of the partition in the cut.
func (r *rig) given() (values []float32) {
	r.t.Helper()
	for piece := (checkpoint.Piece{}); !piece.Last; {
		require.NoError(r.t, r.giver.Piece(r.giver.RecordNumber(), r.p.Ref, 7, &piece))
		values = append(values, piece.Values...)
	}
	return values
}

// TestMoveChunksOfOpenClocks moves a partition of a BSP table with a recorded chunk of a clock that is not complete.
// For the lane that had it the flush is done, and nothing of it is dropped; the other lane applies it with its clock.
func TestMoveChunksOfOpenClocks(t *testing.T) {
	t.Parallel()
	r := newRig(t, 1, false, table.BSP, 0)
	r.add(1, 5)
	r.want[1] = 5
	r.move()
	for whole := false; !whole; {
		if r.p.Out.Stream(&r.fx) == partition.CopyStops {
			r.grant()
			r.p.Out.Stop(&r.fx)
		}
		r.carry(nil)
		m := r.p.Out.Announce()
		whole = m != nil && m.Whole
		r.deliver(1 << 20)
	}
	if leases, clock := r.p.WaitsFor(flush(1).ID()); leases || !clock {
		t.Errorf("before the move it waits for leases %v, for its clock %v", leases, clock)
	}
	n := r.record()
	r.carry(r.p.HandOver(target, r.at, &r.fx))
	if r.applied[1] != 1 {
		t.Errorf("the flush was done %d times", r.applied[1])
	}
	if leases, clock := r.p.WaitsFor(flush(1).ID()); leases || clock {
		t.Errorf("after the move it waits for leases %v, for its clock %v", leases, clock)
	}
	if _, _, dropped := r.p.Count(); dropped != 0 {
		t.Errorf("%d rows are dropped", dropped)
	}
	r.p.Leave(n)
	r.deliver(1 << 20)
	r.to.Gain(2, n, r.at.Complete, true)
	require.NoError(t, r.to.Serve())
	r.carry(r.to.Settle(r.at, &r.fx))
	r.p, r.to = r.to, nil
	r.reach()
	r.check()
}

// TestSettleOnce records an image and a clock for a partition before its state has come. They take effect when the
// state is here, and not again after that.
func TestSettleOnce(t *testing.T) {
	t.Parallel()
	r := newRig(t, 1, false, table.BSP, 0)
	r.add(2, 5)
	r.p.Await()
	r.reach()
	r.p.Keep(r.record(), &r.fx)
	if got := r.p.State.Read([]uint32{2}, nil)[0]; got != 0 || r.p.State.Kept() != nil {
		t.Errorf("before its state is here row 2 is %v, and the image is %v", got, r.p.State.Kept())
	}
	r.carry(r.p.Settle(r.at, &r.fx))
	last := r.p.Log.Last()
	if got := r.p.State.Kept(); got == nil || got.Values[2] != 5 {
		t.Errorf("when its state is here the image is %+v", got)
	}
	r.carry(r.p.Settle(r.at, &r.fx))
	if got := r.p.Log.Last(); got != last || r.applied[1] != 1 {
		t.Errorf("settled again it has %d changes, not %d, and flush 1 was done %d times", got, last, r.applied[1])
	}
}

// revised grants a shared lease to a client of another node that names a copy, and ends it. It returns the revision of
// the values, and whether the lease came without them.
func (r *rig) revised(held bellows.CommitNumber) (revision bellows.CommitNumber, unchanged bool) {
	r.t.Helper()
	r.p.Leases.Request(far, &wire.Acquire{Mode: wire.Shared, Need: wire.Need{Clock: bellows.NoClock}, Held: held}, 1)
	for s := range r.p.Grants(r.at, self.Node, func(bellows.NodeID) bool { return false }) {
		g := s.Message.(*wire.Granted)
		if revision, unchanged = g.Revision, g.Unchanged; unchanged != (g.Values == nil) {
			r.t.Errorf("unchanged: %v, with %d values", unchanged, len(g.Values))
		}
	}
	_, err := r.p.Release(far, &r.fx)
	r.carry(err)
	return revision, unchanged
}

// TestRevisionsNameOneState grants leases to a client that names the copies that it was given: it gets no values while
// nothing has written, and is never told that a copy is unchanged after a write, whatever has written, and in which
// order records have.
func TestRevisionsNameOneState(t *testing.T) {
	t.Parallel()
	for _, consistency := range []table.Consistency{table.Async, table.BSP} {
		r := newRig(t, 1, false, consistency, 0)
		given := map[bellows.CommitNumber]bool{}
		step := func(what string, named bool, write func()) {
			t.Helper()
			write()
			for old := range given {
				if _, unchanged := r.revised(old); unchanged {
					t.Errorf("after %s the copy of revision %d is unchanged", what, old)
				}
			}
			now, _ := r.revised(0)
			if named != (now > 0) {
				t.Errorf("after %s the revision is %d", what, now)
			}
			if now == 0 {
				return
			}
			if _, unchanged := r.revised(now); !unchanged {
				t.Errorf("after %s the copy of revision %d is not unchanged", what, now)
			}
			given[now] = true
		}
		exclusive := func(from wire.Address) func() {
			return func() {
				r.lend(from, wire.Exclusive)
				r.release()
			}
		}
		step("nothing", false, func() {})
		step("a delta", true, func() { r.add(3, 2); r.reach() })
		step("a lease on a copy", true, exclusive(far))
		step("a lease in place", true, exclusive(near))
		step("a lease that kept out a delta", false, func() {
			r.lend(far, wire.Exclusive)
			r.add(1, 4) // kept out by the lease, of an earlier record than its end
			r.release()
			r.at.Applied--
			r.reach()
		})
		step("another delta", true, func() { r.add(2, 1); r.reach() })
		step("a state that was loaded", false, func() {
			var im rowstore.Image
			r.p.State.Save(&im)
			require.NoError(t, r.p.State.Load(&im))
		})
	}
}
