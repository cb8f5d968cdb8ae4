package partition_test

import (
	"slices"
	"testing"

	"bellows"
	"bellows/core/checkpoint"
	"bellows/core/partition"
	"bellows/core/rowstore"
	"bellows/internal/require"
	"bellows/link/wire"
	"bellows/table"
)

// cutOf returns the image of a partition at a cut that its giver has begun.
func cutOf(t *testing.T, g *checkpoint.Giver, s *table.Schema, commit bellows.CommitNumber) rowstore.Image {
	t.Helper()
	b, err := checkpoint.NewBuilder(s)
	require.NoError(t, err)
	for p := new(checkpoint.Piece); !p.Last; {
		require.NoError(t, g.Piece(commit, bellows.PartitionRef{}, 3, p))
		require.NoError(t, b.Add(p))
	}
	live, _, err := b.Images()
	require.NoError(t, err)
	return live
}

// newOfFour returns a partition of four rows, which waits for complete clocks if it has a barrier.
func newOfFour(t *testing.T, g *checkpoint.Giver, barrier bool) *partition.Partition {
	t.Helper()
	schema := fourRows
	p, err := partition.New(partition.Config{Generation: 1, Schema: &schema, Cut: schema.Cut(), Barrier: barrier,
		Complete: bellows.NoClock, Cuts: g})
	require.NoError(t, err)
	return p
}

var fourRows = table.Schema{Name: "w", Rows: 4, Width: 1, Partitions: 1}

// accept gives a partition the deltas of a unit of split 0 in clock 0, by a record.
func accept(p *partition.Partition, fx *partition.Effects, n bellows.CommitNumber, items bellows.Range,
	values ...float32,
) {
	c := &wire.Chunk{Pair: wire.Pair{Generation: 1}, Subtree: wire.Subtree{Items: items}, Values: values}
	p.Accept(partition.Entry{Flush: flush(n), Chunk: c, Number: n}, fx)
}

// TestCutHasGatheredChunks cuts a partition with half a clock gathered, and loads the image elsewhere: the rest of the
// clock gives both the same rows. The second counts what it has loaded as sent. Chunks that are recorded after the cut,
// or that have no rows, are not in it.
func TestCutHasGatheredChunks(t *testing.T) {
	var fx partition.Effects
	var g checkpoint.Giver
	first, second, third := bellows.Range{End: 1}, bellows.Range{Begin: 1, End: 2}, bellows.Range{Begin: 2, End: 3}
	from := newOfFour(t, &g, true)
	accept(from, &fx, 1, first, 1e8, 2, 3, 4)
	none := &wire.Chunk{Pair: wire.Pair{Generation: 1}, Subtree: wire.Subtree{Index: 1}, Rows: []uint32{}}
	from.Accept(partition.Entry{Flush: flush(1), Chunk: none, Number: 1}, &fx)
	accept(from, &fx, 2, third, 1, 1, 1, 1)
	g.Take(&wire.Cut{Term: 1, Attempt: 1})
	g.Cut(3)
	from.Cut(3)
	accept(from, &fx, 4, second, -1e8, 1, 1, 1)
	im := cutOf(t, &g, &fourRows, 3)
	if g := im.Gathered; len(g) != 2 || g[0].Of.Items != first || g[1].Of.Items != third || im.Values[1] != 0 {
		t.Fatalf("the image is %+v", im)
	}

	to := newOfFour(t, new(checkpoint.Giver), true)
	require.NoError(t, to.Load(&im))
	accept(to, &fx, 4, second, -1e8, 1, 1, 1)
	for _, p := range []*partition.Partition{from, to} {
		require.NoError(t, p.Reach(0, 4, &fx))
	}
	var a, b rowstore.Image
	from.State.Save(&a)
	to.State.Save(&b)
	if !slices.Equal(a.Values, []float32{1, 4, 5, 6}) || !slices.Equal(a.Values, b.Values) {
		t.Errorf("rows %v, and %v from the image", a.Values, b.Values)
	}
	ledger, applied, dropped := to.Count()
	if to.Ledger.Carried() != 8 || applied != 12 || dropped != 0 || from.Ledger.Carried() != 0 {
		t.Errorf("carried %d, applied %d, dropped %d, ledger %+v", to.Ledger.Carried(), applied, dropped, ledger)
	}
}

// TestLoadedChunksWaitForTheirClock loads an image with half a clock gathered. The table had no barrier when the job
// began, and a record that repeats a later change gives it one: the loaded deltas still wait. A record that lifts the
// barrier makes them visible.
func TestLoadedChunksWaitForTheirClock(t *testing.T) {
	var fx partition.Effects
	of := wire.Subtree{Items: bellows.Range{End: 1}}
	im := rowstore.Image{Values: make([]float32, 4),
		Gathered: []rowstore.Gathered{{Of: of, Rows: []uint32{1, 2}, Values: []float32{5, 6}}}}
	p := newOfFour(t, new(checkpoint.Giver), false)
	require.NoError(t, p.Load(&im))
	want := func(rows ...float32) {
		t.Helper()
		var now rowstore.Image
		if p.State.Save(&now); !slices.Equal(now.Values, rows) {
			t.Errorf("rows %v, want %v", now.Values, rows)
		}
	}
	require.NoError(t, p.SetBarrier(true, 1, &fx))
	want(0, 0, 0, 0)
	require.NoError(t, p.SetBarrier(false, 2, &fx))
	want(0, 5, 6, 0)
}

// TestMarksOfEndedCutsAreIgnored records two cuts while the state of a partition is on its way. The first is given up.
// The partition is given away once, as it is at the second.
func TestMarksOfEndedCutsAreIgnored(t *testing.T) {
	var fx partition.Effects
	var g checkpoint.Giver
	p := newOfFour(t, &g, false)
	p.Await()
	g.Take(&wire.Cut{Term: 1, Attempt: 1})
	g.Cut(3)
	p.Cut(3)
	g.End(false)
	g.Take(&wire.Cut{Term: 1, Attempt: 2})
	g.Cut(5)
	p.Cut(5)
	require.NoError(t, p.Settle(partition.Frontier{Applied: 5}, &fx))
	news := g.News()
	second := slices.DeleteFunc(slices.Clone(news), func(n checkpoint.News) bool { return n.Commit != 5 })
	if len(second) != 1 {
		t.Errorf("given away: %+v", news)
	}
	if im := cutOf(t, &g, &fourRows, 5); len(im.Values) != 4 {
		t.Errorf("the image is %+v", im)
	}
}
