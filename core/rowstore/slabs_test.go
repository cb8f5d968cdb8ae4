package rowstore

import (
	"reflect"
	"testing"

	"bellows"
	"bellows/internal/require"
	"bellows/table"
)

// TestSlabsHaveOneSizeForAnyWidth checks that a slab has the largest power of two of rows that slabValues hold, but
// at least one, and that a partition has no more slabs than its rows need.
func TestSlabsHaveOneSizeForAnyWidth(t *testing.T) {
	t.Parallel()
	for _, width := range []int{1, 2, 3, slabValues / 2, slabValues - 1, slabValues, slabValues + 1, 3 * slabValues} {
		s := &table.Schema{Name: "words", Sparse: true, Rows: 10_000, Width: width, Partitions: 1}
		p, err := New(s, s.Cut(), 0)
		require.NoError(t, err)
		rows := 1 << p.sparse.shift
		if rows > 1 && rows*width > slabValues || 2*rows*width <= slabValues {
			t.Errorf("width %d: a slab has %d rows", width, rows)
		}
		for k, n := range map[bellows.Key]int{1: rows, 2: 1} {
			var list []bellows.Key
			for i := range n {
				list = append(list, k<<32+bellows.Key(i))
			}
			if _, err := p.Reserve(list, nil); err != nil {
				t.Fatal(err)
			}
		}
		if len(p.sparse.slabs) != 2 || len(p.sparse.slabs[0].values) != rows*width {
			t.Errorf("width %d: %d slabs for %d rows and one", width, len(p.sparse.slabs), rows)
		}
	}
}

// TestIndexesKeepTheirSeed checks that a chooser of keys knows no seed but that of an index without one, even after a
// load.
func TestIndexesKeepTheirSeed(t *testing.T) {
	t.Parallel()
	s := &table.Schema{Name: "words", Sparse: true, Rows: 10, Width: 1, Partitions: 1}
	p, err := New(s, s.Cut(), 0)
	require.NoError(t, err)
	seeded := func(when string) {
		if got := reflect.ValueOf(p.sparse.index).FieldByName("seed").Uint(); got != 77 {
			t.Errorf("%s the index has seed %d", when, got)
		}
	}
	p.SeedKeys(77)
	seeded("at first")
	require.NoError(t, p.Load(&Image{}))
	seeded("after a load")
}
