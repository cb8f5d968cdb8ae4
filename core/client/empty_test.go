package client_test

import (
	"slices"
	"testing"

	"bellows"
	"bellows/link/wire"
	"bellows/table"
)

// gap is the table of a desk with empty partitions, async: of rows 0 to 2 and 3 to 7, between them and at both ends none.
const gap = bellows.TableID(2)

func newGapDesk(t *testing.T) *desk {
	d := newDesk(t, table.Schema{Name: "gap", Rows: 8, Width: 1, Bounds: []bellows.RowID{0, 0, 3, 3, 8, 8}, Consistency: table.Async})
	d.start(0, 0, 0)
	return d
}

// TestAnEmptyPartitionIsLeased leases partitions without rows, for which a lane of another process sends nil.
func TestAnEmptyPartitionIsLeased(t *testing.T) {
	d := newGapDesk(t)
	for i, mode := range []wire.Mode{wire.Shared, wire.Exclusive} {
		ref := bellows.PartitionRef{Table: gap, Partition: bellows.PartitionID(2 * i)}
		d.lease(0, ref, mode)
		d.expect("lane 0 of node 0: *wire.Acquire")
		d.deliver(lanes[0], &wire.Granted{Request: uint64(i + 1), Pair: wire.Pair{Ref: ref, Generation: 1}, Mode: mode})
		d.expect("wake split 0 clock 0 items [0,1)")
		if has, err := d.Lease(d.tasks[0], ref, mode, &d.fx); !has || err != nil || len(d.tasks[0].Leased(ref)) != 0 {
			t.Fatalf("has the lease: %v, %v", has, err)
		}
		d.expect("")
	}
	d.end(0)
	if m := d.sent[0]; len(m.Leases) != 1 || m.Leases[0].Ref.Partition != 2 || m.Done == nil {
		t.Errorf("the flush ends %+v", m.Leases)
	}
}

// TestReadOfNoRowsReturnsAtOnce reads no rows at every place, including the one after the last row.
func TestReadOfNoRowsReturnsAtOnce(t *testing.T) {
	d := newGapDesk(t)
	for r := range bellows.RowID(9) {
		if !d.read(0, gap, r, r) || len(d.tasks[0].View(gap, r, r)) != 0 {
			t.Errorf("no rows at %d", r)
		}
		d.tasks[0].AddRange(gap, r, nil)
	}
	if !d.ReadRows(d.tasks[0], gap, nil, &d.fx) {
		t.Error("no rows are waited for")
	}
	d.expect("")
}

// TestEmptyPartitionsAreNotAskedFor reads and changes rows on both sides of an empty partition.
func TestEmptyPartitionsAreNotAskedFor(t *testing.T) {
	d := newGapDesk(t)
	d.miss(0, gap, 1, 8)
	d.expect("lane 1 of node 0: pull t2/p1 [] t2/p3 [] after commit 0 clock -1")
	m := wire.New[wire.Rows]()
	m.Incarnation = 1
	m.Request = d.pulls[0].Request
	for p, values := range [][]float32{1: {1, 2, 3}, 3: {4, 5, 6, 7, 8}} {
		if values != nil {
			to := m.Extend()
			to.Pair, to.Complete, to.Values = wire.Pair{Ref: bellows.PartitionRef{Table: gap, Partition: bellows.PartitionID(p)}, Generation: 1}, bellows.NoClock, append(to.Values, values...)
		}
	}
	d.deliver(lanes[0], m)
	d.expect("wake split 0 clock 0 items [0,1)")
	if !d.read(0, gap, 1, 8) {
		t.Fatal("they are not there")
	}
	d.tasks[0].AddRange(gap, 2, []float32{10, 10})
	if got := d.tasks[0].View(gap, 1, 8); !slices.Equal(got, []float32{2, 13, 14, 5, 6, 7, 8}) {
		t.Errorf("sees %v", got)
	}
	d.finish(0)
	d.expect("lane 1 of node 0: push flush 1 of node 1 t2/p1 [2][10] of splits 0<<0 t2/p3 [0][10] of splits 0<<0, done: 1 results, 2 pairs")
}
