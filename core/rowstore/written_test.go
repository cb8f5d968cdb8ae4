package rowstore_test

import (
	"testing"

	"bellows"
	"bellows/core/audit"
	"bellows/core/rowstore"
	"bellows/internal/require"
	"bellows/table"
)

// TestAStoreCountsWhatItWrites applies, adopts and loads, and wants the ledger to have each row that was given to the rule or
// adopted, and the bits of those that were to be summed.
func TestAStoreCountsWhatItWrites(t *testing.T) {
	t.Parallel()
	dense, keyed := partition(t, table.Rule{}), sparse(t, table.Rule{}, 100)
	var want rowstore.Written
	wrote := func(p *rowstore.Store, what string, rows int64, bits audit.Sum) {
		t.Helper()
		want.Rows += rows
		want.Bits += bits
		if got := p.Written(); got != want {
			t.Errorf("after %s the store has counted %+v, want %+v", what, got, want)
		}
	}
	wrote(dense, "nothing", 0, 0)
	two, all := []float32{1, 2, 3, 4}, make([]float32, 12)
	dense.Apply([]uint32{4, 1}, two)
	wrote(dense, "two rows", 2, 0)
	dense.ApplySummed([]uint32{4, 1}, two)
	wrote(dense, "two rows that are summed", 2, audit.Rows(1, 2, []uint32{4, 1}, two))
	dense.ApplySummed(nil, all)
	wrote(dense, "all rows", 6, audit.Rows(1, 2, nil, all))
	dense.Adopt(all)
	if dense.Values()[0] != 0 || dense.Values()[11] != 0 {
		t.Errorf("adopted zeros, and there are %v", dense.Values())
	}
	wrote(dense, "a lease of other memory", 6, 0)
	dense.Values()[3] = 5
	dense.Adopt(dense.Values())
	if dense.Values()[3] != 5 {
		t.Error("what was written in place is gone")
	}
	wrote(dense, "a lease in place", 6, 0)

	want = rowstore.Written{}
	rows, err := keyed.Reserve([]bellows.Key{70, 7}, nil)
	require.NoError(t, err)
	wrote(keyed, "a reservation", 0, 0)
	deltas := []float32{1, 2, 3, 4, 5, 6}
	keyed.ApplySummed(rows, deltas)
	wrote(keyed, "two keys", 2, audit.Key(0, 70, deltas[:3])+audit.Key(0, 7, deltas[3:]))
	keyed.Apply(rows[:1], deltas[:3])
	wrote(keyed, "one key", 1, 0)
	var im rowstore.Image
	keyed.Save(&im)
	require.NoError(t, keyed.Load(&im))
	wrote(keyed, "an image", 0, 0)
}

// TestEmptyPartitionsAreStores: a partition of no rows is read, saved, loaded and adopted.
func TestEmptyPartitionsAreStores(t *testing.T) {
	t.Parallel()
	s := &table.Schema{Name: "w", Rows: 2, Width: 2, Bounds: []bellows.RowID{0, 2, 2}}
	p := newStore(t, s, 1)
	var im rowstore.Image
	p.Adopt(nil)
	p.Save(&im)
	if err := p.Load(&im); err != nil || p.Rows() != 0 || len(p.Read(nil, nil)) > 0 || p.Written() != (rowstore.Written{}) {
		t.Errorf("%v; it has %d rows and has counted %+v", err, p.Rows(), p.Written())
	}
}
