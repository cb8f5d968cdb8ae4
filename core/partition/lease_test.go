package partition_test

import (
	"slices"
	"strings"
	"testing"

	"bellows"
	"bellows/core/checkpoint"
	"bellows/core/partition"
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
