package partition_test

import (
	"slices"
	"testing"

	"bellows"
	"bellows/core/partition"
	"bellows/internal/require"
	"bellows/link/wire"
	"bellows/table"
)

// add records a chunk that adds a delta to one row of a partition.
func (r *rig) add(row uint32, delta float32) {
	c := &wire.Chunk{Pair: r.p.Pair(), Rows: []uint32{row}, Values: []float32{delta}}
	if r.schema.Sparse {
		var err error
		c.Keys = []bellows.Key{bellows.Key(100 + row)}
		c.Rows, err = r.p.State.Reserve(c.Keys, nil)
		require.NoError(r.t, err)
	}
	r.flushes++
	r.p.Accept(partition.Entry{Flush: r.flushes, Chunk: c, Clock: r.at.Complete + 1, Number: r.record()}, &r.fx)
	r.carry(nil)
}

// TestCursorsGetWhatTheyWant reads the same changes by cursors that want more and less of them.
func TestCursorsGetWhatTheyWant(t *testing.T) {
	t.Parallel()
	r := newRig(t, 1, false, table.Async, 0)
	plain := r.p.Log.Follow(partition.Want{})
	r.add(3, 2)
	both := r.p.Log.Follow(partition.Want{Deltas: true, Values: true, Previous: true})
	r.add(3, 5)
	r.p.Keep(r.record(), &r.fx)
	c := plain.Next()
	if c == nil || c.Number != 1 || c.Commit != 1 || c.Kind != partition.Delta ||
		!slices.Equal(c.Rows, []uint32{3}) || c.Values != nil || c.Chunk != nil {
		t.Errorf("the first change is %+v", c)
	}
	if c = both.Next(); c == nil || c.Number != 2 || c.Commit != 2 || c.Clock != 0 ||
		c.Deltas[0] != 5 || c.Values[0] != 7 || c.Previous[0] != 2 {
		t.Errorf("the second change is %+v", c)
	}
	if c = both.Next(); c == nil || c.Kind != partition.Kept || c.Number != 3 || c.Rows != nil || len(c.Previous) > 0 {
		t.Errorf("the third change is %+v", c)
	}
	if both.Next() != nil || plain.Next().Number != 2 || plain.Next().Number != 3 ||
		plain.Next() != nil || plain.Lost() {
		t.Error("cursors do not end where the log does")
	}
	plain.Close()
	plain.Close()
	if r.add(1, 1); plain.Next() != nil || both.Next().Rows[0] != 1 {
		t.Error("a cursor that is closed reads, or another does not")
	}
}

// TestCursorsOverKeys reads changes of rows that have keys.
func TestCursorsOverKeys(t *testing.T) {
	t.Parallel()
	r := newRig(t, 1, true, table.Async, 0)
	all := r.p.Log.Follow(partition.Want{Deltas: true, Values: true, Previous: true})
	r.add(2, 3)
	r.add(2, 4)
	all.Next()
	if c := all.Next(); c == nil || c.Rows != nil || !slices.Equal(c.Keys, []bellows.Key{102}) ||
		c.Deltas[0] != 4 || c.Values[0] != 7 || c.Previous[0] != 3 {
		t.Errorf("the second change is %+v", c)
	}
}

// TestLeaseEndHasAllRows reads what exclusive leases leave: of one that is worked on in place the
// previous values come with its beginning, and of one elsewhere with its end.
func TestLeaseEndHasAllRows(t *testing.T) {
	t.Parallel()
	for _, from := range []wire.Address{near, far} {
		r := newRig(t, 1, false, table.Async, 0)
		all := r.p.Log.Follow(partition.Want{Values: true, Previous: true})
		r.p.Leases.Request(from, &wire.Acquire{Mode: wire.Exclusive, Need: wire.Need{Clock: bellows.NoClock}}, 1)
		r.grant()
		r.leases[0].values[5] = 8
		r.flushes++
		err := r.p.EndExclusive(r.flushes, r.leases[0].values, 1, r.record(), &r.fx)
		if written := map[wire.Address]int64{near: 0, far: rows}[from]; r.fx.Rows != written {
			t.Errorf("the end of a lease of %v writes %d rows, not %d", from, r.fx.Rows, written)
		}
		r.carry(err)
		begin := *all.Next()
		end := *all.Next()
		if begin.Kind != partition.LeaseBegin || begin.InPlace != (from == near) ||
			end.Kind != partition.LeaseEnd || end.InPlace != (from == near) || end.Commit != 1 ||
			len(end.Values) != rows || end.Values[5] != 8 {
			t.Errorf("a lease of %v is %+v and %+v", from, begin, end)
		}
		before := begin.Previous
		if from == far {
			before = end.Previous
		}
		if len(before) != rows || before[5] != 0 || len(begin.Previous)+len(end.Previous) != rows {
			t.Errorf("before a lease of %v were %v", from, before)
		}
	}
}

// TestASlowCursorIsCutOff reads with one cursor and not with another, in a log that may keep little.
func TestASlowCursorIsCutOff(t *testing.T) {
	t.Parallel()
	r := newRig(t, 1, false, table.Async, 10_000)
	slow := r.p.Log.Follow(partition.Want{Deltas: true})
	quick := r.p.Log.Follow(partition.Want{})
	kept := 0
	for i := range 1000 {
		r.add(uint32(i%rows), 1)
		if c := quick.Next(); c == nil || int(c.Number) != i+1 {
			t.Fatalf("change %d is %+v", i+1, c)
		}
		if r.mirror.Read(); !slow.Lost() {
			kept++
		}
	}
	if kept < 30 || kept > 50 || slow.Next() != nil || quick.Lost() {
		t.Errorf("%d changes were kept; a cursor that reads is lost: %v", kept, quick.Lost())
	}
	require.NoError(t, r.mirror.Check())
}

// TestMirrorThatIsCutOffStartsOver gives a log too little for one change, so that the mirror is cut off by each. It
// follows the log again while it is called as a reader, and has the same bits.
func TestMirrorThatIsCutOffStartsOver(t *testing.T) {
	t.Parallel()
	r := newRig(t, 1, false, table.Async, 100)
	for i := range 20 {
		r.add(uint32(i%rows), 1)
		require.NoError(t, r.mirror.Check())
	}
	if r.mirror.Lost != 20 {
		t.Errorf("cut off %d times, want 20", r.mirror.Lost)
	}
}

// TestAppendingAllocatesNothing applies deltas, with no cursor over the log.
func TestAppendingAllocatesNothing(t *testing.T) {
	r := newRig(t, 1, false, table.Async, 0)
	r.p = r.make(false, 0) // without a mirror
	c := &wire.Chunk{Pair: r.p.Pair(), Rows: []uint32{1, 2}, Values: []float32{1, 2}}
	var flush partition.Flush = flush(1)
	n := testing.AllocsPerRun(100, func() {
		r.p.Accept(partition.Entry{Flush: flush, Chunk: c, Clock: 1, Number: r.record()}, &r.fx)
		r.fx.Reset()
	})
	if n != 0 || r.p.Log.Last() != 101 {
		t.Errorf("%v allocations a chunk, %d changes", n, r.p.Log.Last())
	}
}

// numbers is a reader that notes the changes that it sees.
type numbers []uint64

func (n *numbers) Before(*partition.Change)  {}
func (n *numbers) After(c *partition.Change) { *n = append(*n, c.Number) }

// TestDetach detaches readers, the first of the log, its ledger, among them. The others see all.
func TestDetach(t *testing.T) {
	t.Parallel()
	r := newRig(t, 1, false, table.Async, 0)
	var a, b numbers
	r.p.Log.Attach(&a)
	r.p.Log.Attach(&b)
	r.add(1, 1)
	before, _, _ := r.p.Count()
	r.p.Log.Detach(&a)
	r.p.Log.Detach(&a) // it is not attached
	r.p.Log.Detach(&r.p.Ledger)
	r.add(1, 1)
	after, _, _ := r.p.Count()
	if !slices.Equal(a, numbers{1}) || !slices.Equal(b, numbers{1, 2}) || after.Taken != before.Taken {
		t.Errorf("readers saw %v and %v, the ledger took %x and %x", a, b, before.Taken, after.Taken)
	}
}

// TestCloseLastCursor closes the last cursor of a log before it has read. A cursor that comes later
// begins where the log is then.
func TestCloseLastCursor(t *testing.T) {
	t.Parallel()
	r := newRig(t, 1, false, table.Async, 0)
	r.p = r.make(false, 0) // without a mirror
	for i := range uint64(3) {
		c := r.p.Log.Follow(partition.Want{Deltas: true})
		if c.Next() != nil {
			t.Error("a cursor reads what was before it")
		}
		r.add(1, 1)
		r.add(2, 1)
		if got := c.Next(); got == nil || got.Number != 3*i+1 {
			t.Errorf("the first change is %+v, want number %d", got, 3*i+1)
		}
		c.Close()
		if c.Next() != nil {
			t.Error("a cursor that is closed reads")
		}
		r.add(3, 1)
	}
}
