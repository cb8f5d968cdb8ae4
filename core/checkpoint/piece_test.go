package checkpoint_test

import (
	"fmt"
	"reflect"
	"slices"
	"testing"

	"bellows"
	"bellows/core/checkpoint"
	"bellows/core/rowstore"
	"bellows/internal/require"
	"bellows/link/wire"
	"bellows/table"
)

// given returns all pieces of a partition, of so many values at most, and the images that they make.
func given(t *testing.T, g *checkpoint.Giver, s *table.Schema, n bellows.CommitNumber, most int) (pieces int, live rowstore.Image, kept *rowstore.Image) {
	t.Helper()
	b, err := checkpoint.NewBuilder(s)
	require.NoError(t, err)
	for p := (&checkpoint.Piece{}); !p.Last; pieces++ {
		require.NoError(t, g.Piece(n, bellows.PartitionRef{}, most, p))
		require.NoError(t, b.Add(p))
	}
	if live, kept, err = b.Images(); err != nil {
		t.Fatal(err)
	}
	return pieces, live, kept
}

// TestPiecesMakeThePartitionAgain gives partitions away in pieces of every size, dense and sparse, with an image that
// was kept and without, while they change; one of them has no rows. An image that is kept meanwhile takes no memory of
// the previous one.
func TestPiecesMakeThePartitionAgain(t *testing.T) {
	for i := range 64 {
		s := &table.Schema{Name: "w", Rows: 20 * (i & 1), Width: 2, Partitions: 1, Rule: table.Rule{Name: "adagrad", Step: 0.5, Epsilon: 1e-3}, Sparse: i&2 > 0}
		if s.Sparse {
			s.Rows = 20
		}
		p, err := rowstore.New(s, s.Cut(), 0)
		require.NoError(t, err)
		write := func() {
			var rows []uint32
			if s.Sparse && i&1 > 0 {
				rows, _ = p.Reserve([]bellows.Key{9, 4, 7, 1, 3}, nil)
			}
			if n := len(rows) + p.Rows(); !s.Sparse || len(rows) > 0 {
				if rows != nil {
					n = len(rows)
				}
				p.Apply(rows, slices.Repeat([]float32{1}, 2*n))
			}
		}
		var mark checkpoint.Mark
		var image, was, then rowstore.Image
		write()
		p.Save(&image)
		p.Save(&was)
		write()
		p.Save(&then)
		for n := range i % 3 {
			then.Gathered = append(then.Gathered, gatheredOf(s.Sparse, bellows.Clock(n), 2+n))
		}
		var g checkpoint.Giver
		g.Take(&wire.Cut{Term: 1, Attempt: 1})
		g.Cut(5)
		g.Begin(bellows.PartitionRef{}, &mark, p, false, i&4 > 0, &image, then.Gathered)
		mark.Write(nil)
		write()
		mark.Keep(&image)
		p.Save(&image)
		_, live, kept := given(t, &g, s, 5, 1+i>>3*7)
		if fmt.Sprint(live) != fmt.Sprint(then) {
			t.Errorf("%d: it is %v, and was %v", i, live, then)
		}
		if (kept != nil) != (i&4 > 0) || kept != nil && fmt.Sprint(*kept) != fmt.Sprint(was) {
			t.Errorf("%d: the image that was kept is %v, and was %v", i, kept, was)
		}
		if g.Memory() > 0 {
			t.Errorf("%d: copies take %d bytes when all was given", i, g.Memory())
		}
	}
}

// TestPiecesThatDoNotFollowAreRefused adds pieces that cannot be: none of them is taken.
func TestPiecesThatDoNotFollowAreRefused(t *testing.T) {
	for sparse, list := range map[bool][]checkpoint.Piece{
		false: {{First: 1, Count: 1, Values: make([]float32, 2)}, {Kept: true, First: 2, Count: 1, Values: make([]float32, 2)}, {Count: -1}, {Count: 1, Values: make([]float32, 3)},
			{Count: 1, Keys: []bellows.Key{1}, Values: make([]float32, 2)}},
		true: {{Count: 1, Values: make([]float32, 2)}, {Count: 1, Keys: []bellows.Key{1, 2}, Values: make([]float32, 2)}},
	} {
		for _, p := range list {
			b, err := checkpoint.NewBuilder(&table.Schema{Name: "w", Rows: 4, Width: 2, Sparse: sparse})
			require.NoError(t, err)
			if b.Add(&p) == nil {
				t.Errorf("%+v is taken", p)
			}
			if _, _, err := b.Images(); err == nil {
				t.Error("there are images before the last piece")
			}
		}
	}
	if _, err := checkpoint.NewBuilder(&table.Schema{Name: "w", Rule: table.Rule{Name: "none"}}); err == nil {
		t.Error("a table of no rule is built")
	}
	b, _ := checkpoint.NewBuilder(&table.Schema{Name: "w", Width: 1})
	if b.Add(&checkpoint.Piece{Last: true}) != nil || b.Add(&checkpoint.Piece{Last: true}) == nil {
		t.Error("a piece after the last is taken")
	}
}

// TestLeaseCopyIsCountedOnce gives three exclusive leases on a partition while a lane is armed: the lane takes one copy
// at a time, and none when the cut is over.
func TestLeaseCopyIsCountedOnce(t *testing.T) {
	s := &table.Schema{Name: "w", Rows: 8, Width: 2, Partitions: 1}
	p, err := rowstore.New(s, s.Cut(), 0)
	require.NoError(t, err)
	var g checkpoint.Giver
	var m checkpoint.Mark
	if g.InPlace(&m, p); g.Memory() > 0 || m.Before() != nil {
		t.Error("a lease is copied for no cut")
	}
	g.Take(&wire.Cut{Term: 1, Attempt: 1})
	for range 3 {
		g.InPlace(&m, p)
		m.Ended()
	}
	if g.InPlace(&m, p); g.Memory() != 64 {
		t.Errorf("the copies take %d bytes, and a partition 64", g.Memory())
	}
	if g.End(false); g.Memory() > 0 || m.Before() != nil {
		t.Errorf("%d bytes are left", g.Memory())
	}
}

// TestGiverReportsEachEventOnce checks the reports: that it is armed, as soon as no earlier lease is out; what is
// stored; and why it gives the cut up, the first reason. Without a cut there is nothing to give up, and stored
// partitions of another cut are ignored.
func TestGiverReportsEachEventOnce(t *testing.T) {
	s := &table.Schema{Name: "w", Rows: 8, Width: 2, Partitions: 1}
	p, err := rowstore.New(s, s.Cut(), 0)
	require.NoError(t, err)
	var g checkpoint.Giver
	var m checkpoint.Mark
	ready := false
	expect := func(when string, want ...*wire.Shard) {
		t.Helper()
		if got := g.Say(func() bool { return ready }); !reflect.DeepEqual(got, want) {
			t.Errorf("%s it says %+v, want %+v", when, got, want)
		}
	}
	begin := func(attempt uint64, commit bellows.CommitNumber) {
		t.Helper()
		ready = false
		g.Take(&wire.Cut{Term: 3, Attempt: attempt})
		expect("while a lease is out")
		ready = true
		expect("when none is", &wire.Shard{Term: 3, Attempt: attempt})
		expect("again")
		g.Cut(commit)
		g.Begin(bellows.PartitionRef{}, &m, p, false, false, nil, nil)
	}
	g.Fail("there is none")
	expect("without a cut")
	begin(1, 1)
	g.Stored(&checkpoint.Stored{Commit: 4, Name: "other"})
	g.Stored(&checkpoint.Stored{Commit: 1, Ref: bellows.PartitionRef{Partition: 1}, Name: "other"})
	expect("of what is stored of others")
	image := rowstore.Image{Values: []float32{1}}
	if m.Keep(&image); image.Values != nil {
		t.Error("the memory of an image is used again while that is given away")
	}
	g.Stored(&checkpoint.Stored{Commit: 1, Name: "blob", Bytes: 7, Sum: 9})
	expect("when it is stored", &wire.Shard{Term: 3, Attempt: 1, Commit: 1, Name: "blob", Bytes: 7, Sum: 9})
	expect("when that was said")
	image = rowstore.Image{Values: []float32{1}}
	if m.Keep(&image); image.Values == nil {
		t.Error("an image is forgotten for a partition that is safe")
	}
	g.Fail("the disk is full")
	g.Fail("another reason")
	expect("when it fails", &wire.Shard{Term: 3, Attempt: 1, Commit: 1, Reason: "the disk is full"})
	expect("when that was said")
	if g.RecordNumber() != 0 || g.Memory() != 0 {
		t.Errorf("it is at the cut of record %d still, with %d bytes", g.RecordNumber(), g.Memory())
	}
	g.Take(&wire.Cut{Term: 3, Attempt: 2})
	g.Fail("the disk is full")
	expect("when it fails before the record", &wire.Shard{Term: 3, Attempt: 2, Reason: "the disk is full"})
	begin(3, 2)
}

// gatheredOf returns deltas of some rows, or keys, that wait for a clock.
func gatheredOf(sparse bool, clock bellows.Clock, rows int) rowstore.Gathered {
	g := rowstore.Gathered{Clock: clock, Of: wire.Subtree{Index: 3, Items: bellows.Range{Begin: 1, End: 4}}}
	for r := range rows {
		if sparse {
			g.Keys = append(g.Keys, bellows.Key(r+20))
		} else {
			g.Rows = append(g.Rows, uint32(r))
		}
		g.Values = append(g.Values, float32(r), float32(-r))
	}
	return g
}
