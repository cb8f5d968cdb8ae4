package archive_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"bellows"
	"bellows/core/coord"
	"bellows/core/keys"
	"bellows/core/rowstore"
	"bellows/internal/require"
	"bellows/link/wire"
	"bellows/node/archive"
	"bellows/port/blob"
	"bellows/port/blob/file"
	"bellows/port/blob/mem"
	"bellows/port/blob/s3/s3test"
	"bellows/table"
)

// The tables of the tests: a dense one whose second partition has no rows, and a sparse one whose rule keeps slots.
var tables = []table.Schema{
	{Name: "dense", Rows: 3, Width: 2, Bounds: []bellows.RowID{0, 1, 1, 3}},
	{Name: "sparse", Sparse: true, Rows: 9, Width: 1, Partitions: 2,
		Rule: table.Rule{Name: "momentum", Step: 1, Momentum: 0.5}},
}

var job = archive.ID{1, 2, 3}

func refs() []bellows.PartitionRef {
	return []bellows.PartitionRef{{Table: 0}, {Table: 0, Partition: 1}, {Table: 0, Partition: 2}, {Table: 1},
		{Table: 1, Partition: 1}}
}

// image returns a partition as some commit has left it. If one has changed it, deltas wait for their clock.
func image(ref bellows.PartitionRef, changed bellows.CommitNumber) *rowstore.Image {
	im := rows(ref, changed)
	if changed == 0 || len(im.Values) == 0 {
		return im
	}
	unit := wire.Subtree{Index: 5, Items: bellows.Range{Begin: 2, End: 7}}
	g := rowstore.Gathered{Clock: bellows.Clock(changed), Of: unit, Values: im.Values[:tables[ref.Table].Width]}
	if im.Keys != nil {
		g.Keys = im.Keys[:1]
	} else {
		g.Rows = []uint32{1}
	}
	next := g
	next.Of = wire.Subtree{Level: 2, Index: 3}
	im.Gathered = []rowstore.Gathered{g, next}
	return im
}

// rows returns the rows of an image.
func rows(ref bellows.PartitionRef, changed bellows.CommitNumber) *rowstore.Image {
	x := float32(100*ref.Table) + 10*float32(ref.Partition) + float32(changed)/8
	if ref.Table == 0 {
		rows := []int{1, 0, 2}[ref.Partition]
		im := &rowstore.Image{Slots: [][]float32{}}
		for i := range rows * 2 {
			im.Values = append(im.Values, x+float32(i))
		}
		return im
	}
	im := &rowstore.Image{Keys: []bellows.Key{}, Slots: [][]float32{nil}}
	for k := bellows.Key(1); len(im.Keys) < 2 && ref.Partition == 1; k++ { // the first has none
		if keys.Partition(k, 2) == ref.Partition {
			im.Keys, im.Values, im.Slots[0] = append(im.Keys, k), append(im.Values, x), append(im.Slots[0], -x)
		}
	}
	return im
}

// cut is what one is to have: by partition the last commit that has changed it, and what was kept.
type cut struct {
	archive.At
	changed map[bellows.PartitionRef]bellows.CommitNumber
	kept    bool
}

func (c *cut) state() *coord.Saved {
	return &coord.Saved{Commit: c.Commit, State: coord.State{Complete: []bellows.Clock{bellows.Clock(c.Commit),
		bellows.NoClock}, Driver: []float64{math.Inf(1), float64(c.Commit)},
		Queue: []wire.Task{{Unit: bellows.Unit{Split: 1, Clock: 2, Items: bellows.Range{Begin: 3, End: 5}},
			Args: []float64{math.Pi}}},
		Out: []coord.Out{{Task: wire.Task{Unit: bellows.Unit{Split: 1, Clock: 3,
			Items: bellows.Range{Begin: 3, End: 5}}}, Commit: 7}},
		Staleness: []wire.Staleness{{Table: 1, Clocks: -3}}, Finishing: c.Era > 1, Open: []bellows.Unit{{Split: 2}}},
		Lost: []bellows.Control{{Kind: bellows.LoseClient, Node: 3, Lane: 2, Heir: 1, HeirLane: 4}}}
}

// life returns cuts that follow each other. The first partition of each table never changes, the others with every cut.
func life(era bellows.Era, commits ...bellows.CommitNumber) (list []*cut) {
	for _, n := range commits {
		c := &cut{At: archive.At{Era: era, Commit: n}, changed: map[bellows.PartitionRef]bellows.CommitNumber{},
			kept: era > 1}
		for _, ref := range refs() {
			if ref.Partition > 0 {
				c.changed[ref] = n
			}
		}
		list = append(list, c)
	}
	return list
}

// publish writes a cut. Unchanged partitions are taken from the last one.
func publish(ctx context.Context, a *archive.Archive, c *cut, last *cut) (*archive.Manifest, error) {
	w, err := a.Begin(c.At)
	if err != nil {
		return nil, err
	}
	for _, ref := range refs() {
		var kept *rowstore.Image
		if c.kept {
			kept = image(ref, 0)
		}
		if last != nil && last.Era == c.Era && last.changed[ref] == c.changed[ref] {
			err = w.Same(ctx, ref, last.Commit)
		} else {
			err = w.Put(ctx, ref, image(ref, c.changed[ref]), kept)
		}
		if err != nil {
			return nil, err
		}
	}
	m, uncollected, err := w.Publish(ctx, c.state(), json.RawMessage(`{"seconds":2.5}`), time.Unix(int64(c.Commit), 0))
	return m, errors.Join(err, uncollected)
}

// mustPublish returns publish for a cut that nothing keeps from being written.
func mustPublish(t *testing.T, a *archive.Archive, c *cut, last *cut) *archive.Manifest {
	t.Helper()
	m, err := publish(t.Context(), a, c, last)
	require.NoError(t, err)
	return m
}

func open(t *testing.T, s blob.Store) *archive.Archive {
	t.Helper()
	a, err := archive.Open(s, job, tables)
	require.NoError(t, err)
	return a
}

// holds wants a cut to be as it was.
func holds(t *testing.T, a *archive.Archive, m *archive.Manifest, want *cut) {
	t.Helper()
	if m == nil || m.At != want.At || !reflect.DeepEqual(m.Saved(), *want.state()) ||
		!reflect.DeepEqual(m.State(), want.state().State) || m.HasKept() != want.kept ||
		string(m.Run) != `{"seconds":2.5}` {
		t.Fatalf("the cut is %+v, not that of %+v", m, want)
	}
	same := func(im, was *rowstore.Image) bool {
		return slices.Equal(im.Keys, was.Keys) && (im.Keys == nil) == (was.Keys == nil) &&
			slices.Equal(im.Values, was.Values) && slices.EqualFunc(im.Slots, was.Slots, slices.Equal) &&
			reflect.DeepEqual(im.Gathered, was.Gathered)
	}
	for _, ref := range refs() {
		live, kept, err := a.Partition(t.Context(), m, ref)
		if err != nil || !same(live, image(ref, want.changed[ref])) || (kept != nil) != want.kept || kept != nil &&
			!same(kept, image(ref, 0)) {
			t.Fatalf("%v of %+v is %+v, and was kept as %+v: %v", ref, want.At, live, kept, err)
		}
	}
}

func names(t *testing.T, s blob.Store, prefix string) (list []string) {
	t.Helper()
	for info, err := range s.List(t.Context(), prefix) {
		require.NoError(t, err)
		list = append(list, info.Name)
	}
	return list
}

// TestACutComesBack reads cuts back from a folder, from memory and from S3, across attempts, with kept state.
func TestACutComesBack(t *testing.T) {
	t.Parallel()
	for _, s := range []blob.Store{mem.New("a"), file.InFolder(t.TempDir()), s3test.Start(t).Store(t, "a")} {
		var last *cut
		for _, c := range append(life(1, 3, 5, 6, 9), life(3, 1, 2)...) {
			a := open(t, s)
			m, passed, err := a.Latest(t.Context())
			if err != nil || passed != nil || last == nil && m != nil {
				t.Fatal(m, passed, err)
			}
			if last != nil {
				holds(t, a, m, last)
			}
			m = mustPublish(t, a, c, last)
			holds(t, a, m, c)
			if era, any, err := a.Era(t.Context()); era != c.Era || !any || err != nil {
				t.Error(era, any, err)
			}
			last = c
		}
		a := open(t, s)
		require.NoError(t, a.Clear(t.Context()))
		if m, passed, err := a.Latest(t.Context()); m != nil || passed != nil || err != nil ||
			len(names(t, s, "")) > 0 {
			t.Errorf("what was cleared has %v: %v, %v, %v", names(t, s, ""), m, passed, err)
		}
		if _, any, err := a.Era(t.Context()); any || err != nil {
			t.Error(any, err)
		}
	}
}

// TestConsecutiveCutsShareNoShard: cuts that follow each other share no shard; what does not change is written twice,
// and then no more; what no cut needs goes.
func TestConsecutiveCutsShareNoShard(t *testing.T) {
	t.Parallel()
	s := mem.New("a")
	a := open(t, s)
	var before *archive.Manifest
	var last *cut
	wrote := map[bellows.PartitionRef]int{}
	for i, c := range life(2, 1, 2, 3, 4, 5, 6) {
		m := mustPublish(t, a, c, last)
		holds(t, a, m, c)
		has := map[string]bool{}
		for _, e := range m.Shards {
			if has[e.Name] = true; e.At == c.At {
				wrote[e.Ref()]++
			}
		}
		if before != nil {
			for _, e := range before.Shards {
				if has[e.Name] {
					t.Errorf("cuts %d and %d have both %s", i, i+1, e.Name)
				}
				has[e.Name] = true
			}
		}
		if left := names(t, s, "shards/"); len(left) != len(has) || len(names(t, s, "cuts/")) != min(i+1, 2) {
			t.Errorf("behind cut %d there are %v, and needed are %d", i+1, names(t, s, ""), len(has))
		}
		before, last = m, c
	}
	for _, ref := range refs() {
		want := 6
		if ref.Partition == 0 {
			want = 2
		}
		if wrote[ref] != want {
			t.Errorf("%v was written %d times, not %d", ref, wrote[ref], want)
		}
	}
}

func mustBegin(t *testing.T, a *archive.Archive, at archive.At) *archive.Cut {
	t.Helper()
	c, err := a.Begin(at)
	require.NoError(t, err)
	return c
}

// content returns the bytes of a blob.
func content(t *testing.T, s blob.Store, name string) []byte {
	t.Helper()
	r, err := s.Open(t.Context(), name)
	require.NoError(t, err)
	defer r.Close()
	b, err := io.ReadAll(io.NewSectionReader(r, 0, r.Bytes()))
	require.NoError(t, err)
	return b
}

func replace(t *testing.T, s blob.Store, name string, b []byte) {
	t.Helper()
	w, err := s.Create(t.Context(), name)
	if err == nil {
		_, err = w.Write(b)
	}
	if err == nil {
		err = w.Publish()
	}
	require.NoError(t, err)
}

// TestEveryFlippedBitIsRefusedByName flips every bit of the newest manifest and one of each byte of its shards, cuts
// every blob short at every byte, and takes each away: the blob is named, and the cut before is used. Every bit of a
// shard is flipped by TestPartitionReadVerifiesChecksum.
func TestEveryFlippedBitIsRefusedByName(t *testing.T) {
	t.Parallel()
	s := mem.New("a")
	a := open(t, s)
	cuts := life(1, 1, 2, 3)
	var newest *archive.Manifest
	for _, c := range cuts {
		newest = mustPublish(t, a, c, nil)
	}
	blobs := []string{names(t, s, "cuts/")[1]}
	for _, e := range newest.Shards {
		blobs = append(blobs, e.Name)
	}
	flipped := 0
	for _, name := range blobs {
		whole := content(t, s, name)
		refused := func(what string, i int) {
			m, passed, err := a.Latest(t.Context())
			if err != nil || len(passed) != 1 || passed[0].At != cuts[2].At ||
				!strings.Contains(passed[0].Why.Error(), s.URI(name)) || m.At != cuts[1].At {
				t.Fatalf("%s %d of %s: %v, %v, %v", what, i, name, m, passed, err)
			}
		}
		for i := range 8 * len(whole) {
			if name != blobs[0] && i%8 != i/8%8 {
				continue
			}
			whole[i/8] ^= 1 << (i % 8)
			replace(t, s, name, slices.Clone(whole))
			refused("bit", i)
			whole[i/8] ^= 1 << (i % 8)
			flipped++
		}
		for i := range whole {
			replace(t, s, name, whole[:i:i])
			refused("cut at byte", i)
		}
		replace(t, s, name, append(slices.Clone(whole), 0))
		refused("longer than", len(whole))
		if name != blobs[0] {
			require.NoError(t, s.Delete(t.Context(), name))
			refused("without byte", 0)
		}
		replace(t, s, name, whole)
	}
	t.Logf("%d bits of %d blobs", flipped, len(blobs))
	m, passed, err := a.Latest(t.Context())
	if err != nil || passed != nil {
		t.Fatal(passed, err)
	}
	holds(t, a, m, cuts[2])
}

// TestPartitionReadVerifiesChecksum checks that every bit of a shard that flips after Latest has read it, or without
// Latest, is refused by name.
func TestPartitionReadVerifiesChecksum(t *testing.T) {
	t.Parallel()
	s := mem.New("a")
	mustPublish(t, open(t, s), life(1, 1)[0], nil)
	a := open(t, s)
	read, _, err := a.Latest(t.Context())
	require.NoError(t, err)
	told, err := open(t, s).Cut(t.Context(), read.At)
	require.NoError(t, err)
	ref := refs()[2]
	at := slices.IndexFunc(read.Shards, func(e archive.Entry) bool { return e.Ref() == ref })
	name := read.Shards[at].Name
	whole := content(t, s, name)
	for i := range 8 * len(whole) {
		whole[i/8] ^= 1 << (i % 8)
		replace(t, s, name, slices.Clone(whole))
		for what, m := range map[string]*archive.Manifest{"behind Latest": read, "of a cut that is told": told} {
			if _, _, err := a.Partition(t.Context(), m, ref); bellows.KindOf(err) != bellows.BadData ||
				!strings.Contains(err.Error(), s.URI(name)) {
				t.Fatalf("bit %d, %s: %v", i, what, err)
			}
		}
		whole[i/8] ^= 1 << (i % 8)
	}
}

// TestADamagedCutMakesRoom: one that was passed by goes with the next, and that is not of the shards of the damaged
// one.
func TestADamagedCutMakesRoom(t *testing.T) {
	t.Parallel()
	s := mem.New("a")
	a := open(t, s)
	cuts := life(1, 1, 2, 3)
	for _, c := range cuts {
		mustPublish(t, a, c, nil)
	}
	damage := names(t, s, "cuts/")[1]
	replace(t, s, damage, []byte("{}"))
	a = open(t, s)
	m, passed, err := a.Latest(t.Context())
	if err != nil || len(passed) != 1 || m.At != cuts[1].At {
		t.Fatal(m, passed, err)
	}
	next := life(2, 1)[0]
	mustPublish(t, a, next, nil)
	if left := names(t, s, "cuts/"); len(left) != 2 || slices.Contains(left, damage) {
		t.Errorf("there are %v", left)
	}
	for _, name := range names(t, s, "cuts/")[:2] { // the rest is as it was
		replace(t, s, name, []byte("{"))
	}
	m, passed, err = a.Latest(t.Context())
	if m != nil || len(passed) != 2 || bellows.KindOf(err) != bellows.BadData ||
		!strings.Contains(err.Error(), s.URI("")) {
		t.Errorf("where no cut is whole: %v, %v, %v", m, passed, err)
	}
}

// TestStoreErrorIsNotDamage: what may pass does not cost a cut.
func TestStoreErrorIsNotDamage(t *testing.T) {
	t.Parallel()
	s := mem.New("a")
	a := open(t, s)
	for _, c := range life(1, 1, 2) {
		mustPublish(t, a, c, nil)
	}
	for _, c := range [][2]string{{"list", "cuts/"}, {"open", "cuts/"}, {"read", "cuts/"}, {"open", "shards/"},
		{"read", "shards/"}} {
		broken := errors.New("the cable is out")
		s.Fail = func(op, name string) error {
			if op == c[0] && strings.HasPrefix(name, c[1]) {
				return broken
			}
			return nil
		}
		m, passed, err := a.Latest(t.Context())
		if m != nil || len(passed) > 0 || !errors.Is(err, broken) || bellows.KindOf(err) != bellows.IO {
			t.Errorf("%v: %v, %v, %v", c, m, passed, err)
		}
	}
}

// TestInvalidCutIsRefused: one that lacks a partition, or what was kept of one; one that is not newer; shards of
// another cut, or of no partition; pieces out of order, and of other sizes.
func TestInvalidCutIsRefused(t *testing.T) {
	t.Parallel()
	s := mem.New("a")
	a := open(t, s)
	c := life(1, 4)[0]
	w := mustBegin(t, a, c.At)
	for _, ref := range refs()[1:] {
		require.NoError(t, w.Put(t.Context(), ref, image(ref, 0), nil))
	}
	ends := func(what string) {
		t.Helper()
		m, _, err := w.Publish(t.Context(), c.state(), nil, time.Unix(1, 0))
		if m != nil || bellows.KindOf(err) != bellows.Bug || !strings.Contains(err.Error(), "it lacks t0/p") ||
			len(names(t, s, "cuts/")) > 0 {
			t.Errorf("%s: %v, %v", what, m, err)
		}
	}
	ends("one lacks")
	require.NoError(t, w.Put(t.Context(), refs()[0], image(refs()[0], 0), image(refs()[0], 0)))
	ends("one was kept")
	refused := func(what string, err error) {
		t.Helper()
		if err == nil || bellows.KindOf(err) != bellows.Bug {
			t.Errorf("%s: %v", what, err)
		}
	}
	refused("a partition that the job has not",
		w.Put(t.Context(), bellows.PartitionRef{Table: 7}, image(refs()[0], 0), nil))
	refused("an image of another partition", w.Put(t.Context(), refs()[2], image(refs()[0], 0), nil))
	refused("the same as a missing shard", w.Same(t.Context(), refs()[0], 3))
	refused("a shard without a digest", w.AddWritten(refs()[0], false, 200, "x"))
	for what, pieces := range map[string][]archive.Piece{
		"a hole":              {{Count: 1, Values: []float32{1, 2}}, {First: 2, Count: 1, Values: []float32{3, 4}}},
		"another width":       {{Count: 2, Values: []float32{1, 2, 3}}},
		"keys of a dense one": {{Count: 1, Values: []float32{1, 2}, Keys: []bellows.Key{1}}},
		"a row too few":       {{Count: 1, Values: []float32{1, 2}}},
		"nothing":             {},
		"only what was kept":  {{Kept: true, Count: 2, Values: []float32{1, 2, 3, 4}}},
		"behind what was kept": {{Count: 1, Values: []float32{1, 2}},
			{Kept: true, Count: 2, Values: []float32{1, 2, 3, 4}}, {First: 1, Count: 1, Values: []float32{1, 2}}},
	} {
		shard, err := a.Create(t.Context(), c.At, refs()[2])
		require.NoError(t, err)
		for i := range pieces {
			_ = shard.Add(&pieces[i])
		}
		_, err = shard.Close()
		refused(what, err)
	}
	other, err := a.Create(t.Context(), archive.At{Era: 1, Commit: 3}, refs()[1])
	require.NoError(t, err)
	require.NoError(t, other.Add(&archive.Piece{}))
	e, err := other.Close()
	require.NoError(t, err)
	refused("a shard of another cut", w.Add(e))
	given, err := a.Create(t.Context(), c.At, refs()[1])
	require.NoError(t, err)
	given.GiveUp()
	if _, err := given.Close(); err == nil {
		t.Error("a shard that was given up is published")
	}

	m := mustPublish(t, a, c, nil)
	_, err = a.Begin(c.At)
	refused("a cut that is there", err)
	_, _, err = a.Partition(t.Context(), m, bellows.PartitionRef{Table: 7})
	refused("a partition that is not there", err)
	if _, err := archive.Open(s, job, []table.Schema{{Rule: table.Rule{Name: "none"}}}); err == nil {
		t.Error("a table of no rule is kept")
	}
}

// TestAnotherJobsCutsAreRefused, and those of other tables.
func TestAnotherJobsCutsAreRefused(t *testing.T) {
	t.Parallel()
	s := mem.New("a")
	mustPublish(t, open(t, s), life(1, 4)[0], nil)
	other, err := archive.Open(s, archive.ID{9}, tables)
	require.NoError(t, err)
	if m, _, err := other.Latest(t.Context()); m != nil || bellows.KindOf(err) != bellows.BadData ||
		!strings.Contains(err.Error(), "of another job") {
		t.Errorf("another job: %v, %v", m, err)
	}
	wider := slices.Clone(tables)
	wider[0].Width = 3
	if other, err = archive.Open(s, job, wider); err != nil {
		t.Fatal(err)
	}
	m, _, err := other.Latest(t.Context())
	if m != nil || bellows.KindOf(err) != bellows.BadData {
		t.Errorf("rows of another width: %v", err)
	}
	if other, err = archive.Open(s, job, tables[:1]); err != nil {
		t.Fatal(err)
	}
	if m, _, err := other.Latest(t.Context()); m != nil || bellows.KindOf(err) != bellows.BadData {
		t.Errorf("fewer tables: %v, %v", m, err)
	}
}

// TestLongPartitionsComeBack in pieces of all sizes, as they were put or added.
func TestLongPartitionsComeBack(t *testing.T) {
	t.Parallel()
	large := []table.Schema{{Name: "large", Rows: 200_001, Width: 1, Partitions: 1},
		{Name: "many", Sparse: true, Rows: 100_000, Width: 1, Partitions: 1}}
	values, list := make([]float32, 200_001), make([]bellows.Key, 100_000)
	for i := range values {
		values[i] = float32(i)
	}
	for i := range list {
		list[i] = bellows.Key(i * 3)
	}
	for _, piece := range []int{0, 65_536, 7777} {
		a, err := archive.Open(mem.New("a"), job, large)
		require.NoError(t, err)
		at := archive.At{Era: 1, Commit: 1}
		c := mustBegin(t, a, at)
		for tab := range bellows.TableID(2) {
			im := &rowstore.Image{Values: values}
			if tab == 1 {
				im = &rowstore.Image{Keys: list, Values: values[:len(list)]}
			}
			ref := bellows.PartitionRef{Table: tab}
			if piece == 0 {
				require.NoError(t, c.Put(t.Context(), ref, im, nil))
				continue
			}
			shard, err := a.Create(t.Context(), at, ref)
			require.NoError(t, err)
			for first := 0; first < len(im.Values); first += piece {
				end := min(first+piece, len(im.Values))
				p := archive.Piece{First: first, Count: end - first, Values: im.Values[first:end]}
				if tab == 1 {
					p.Keys = im.Keys[first:end]
				}
				err = errors.Join(err, shard.Add(&p))
			}
			e, closed := shard.Close()
			require.NoError(t, errors.Join(err, closed, c.AddWritten(e.Ref(), e.Kept, e.Bytes, e.SHA256)))
		}
		m, _, err := c.Publish(t.Context(), &coord.Saved{}, nil, time.Unix(1, 0))
		require.NoError(t, err)
		im, _, err := a.Partition(t.Context(), m, bellows.PartitionRef{})
		if err != nil || !slices.Equal(im.Values, values) {
			t.Fatalf("of pieces of %d: %v", piece, err)
		}
		if im, _, err = a.Partition(t.Context(), m, bellows.PartitionRef{Table: 1}); err != nil ||
			!slices.Equal(im.Keys, list) || !slices.Equal(im.Values, values[:len(list)]) {
			t.Fatalf("of pieces of %d: %v", piece, err)
		}
		if c.Written() != m.Bytes() {
			t.Error(c.Written(), m.Bytes())
		}
	}
}

// fault is what becomes of one call of the store.
type fault int

const (
	killed  fault = iota // it and all that follow do nothing
	broken               // it fails: EIO
	full                 // it fails: ENOSPC
	short                // a write takes half
	unheard              // it is done, and fails
	stalled              // it takes until its context ends
	faults
)

func (f fault) String() string {
	return []string{"killed", "broken", "full", "short", "unheard", "stalled"}[f]
}

// faulty is a store whose calls are numbered, over all stores; one of them may fail.
type faulty struct {
	blob.Store
	at     int // the call; none: < 0
	fault  fault
	calls  int
	cancel func()
	// begins is called before each call, and returns a function to call at its end; nil: none.
	begins func(n int, op string) (ends func())
}

var errGone = errors.New("the process is gone")

// call returns one: do does it.
func (s *faulty) call(ctx context.Context, op string, do func() error) error {
	n := s.calls
	s.calls++
	if s.begins != nil {
		defer s.begins(n, op)()
	}
	switch {
	case s.at < 0 || n < s.at || n > s.at && s.fault != killed:
		return do()
	case s.fault == broken, s.fault == short:
		return blob.Fault("use", "it", errors.New("input/output error"))
	case s.fault == full:
		return blob.Fault("use", "it", blob.ErrFull)
	case s.fault == unheard:
		return errors.Join(do(), blob.Fault("use", "it", errors.New("no answer")))
	case s.fault == stalled:
		s.cancel()
		<-ctx.Done()
		return blob.Fault("use", "it", ctx.Err())
	}
	return blob.Fault("use", "it", errGone)
}

func (s *faulty) Create(ctx context.Context, name string) (w blob.Writer, err error) {
	err = s.call(ctx, "create", func() error { w, err = s.Store.Create(ctx, name); return err })
	return &faultyWriter{w, s, ctx}, err
}

func (s *faulty) Open(ctx context.Context, name string) (r blob.Reader, err error) {
	err = s.call(ctx, "open", func() error { r, err = s.Store.Open(ctx, name); return err })
	return &faultyReader{r, s, ctx}, err
}

func (s *faulty) Delete(ctx context.Context, name string) error {
	return s.call(ctx, "delete", func() error { return s.Store.Delete(ctx, name) })
}

func (s *faulty) List(ctx context.Context, prefix string) iter.Seq2[blob.Info, error] {
	return func(yield func(blob.Info, error) bool) {
		var list []blob.Info
		err := s.call(ctx, "list", func() error {
			for info, err := range s.Store.List(ctx, prefix) {
				if err != nil {
					return err
				}
				list = append(list, info)
			}
			return nil
		})
		if err != nil {
			yield(blob.Info{}, err)
			return
		}
		for _, info := range list {
			if !yield(info, nil) {
				return
			}
		}
	}
}

type faultyWriter struct {
	blob.Writer
	s   *faulty
	ctx context.Context
}

func (w *faultyWriter) Write(p []byte) (n int, err error) {
	if w.s.at == w.s.calls && w.s.fault == short {
		w.s.calls++
		return w.Writer.Write(p[:len(p)/2])
	}
	err = w.s.call(w.ctx, "write", func() error { n, err = w.Writer.Write(p); return err })
	return n, err
}

func (w *faultyWriter) Publish() error { return w.s.call(w.ctx, "publish", w.Writer.Publish) }

func (w *faultyWriter) Close() error {
	if w.Writer == nil {
		return nil
	}
	return w.s.call(w.ctx, "close", w.Writer.Close)
}

type faultyReader struct {
	blob.Reader
	s   *faulty
	ctx context.Context
}

func (r *faultyReader) ReadAt(p []byte, at int64) (n int, err error) {
	err = r.s.call(r.ctx, "read", func() error { n, err = r.Reader.ReadAt(p, at); return err })
	if r.s.at >= 0 && err != nil && err != io.EOF && n > 0 {
		n = 0
	}
	return n, err
}

func (r *faultyReader) Close() error { return r.s.call(r.ctx, "leave", r.Reader.Close) }

// TestKilledAtEveryCall lets each call of the store fail in each way, while cuts of two attempts are written. The
// newest cut that was published without an error is there, or a newer one, whole. So is the next cut, and nothing is
// left that it does not need.
func TestKilledAtEveryCall(t *testing.T) {
	t.Parallel()
	for f := range faults {
		t.Run(f.String(), func(t *testing.T) {
			t.Parallel()
			calls := 1 << 30
			for n := -1; n < calls; n++ {
				if c := killAt(t, n, f); n < 0 {
					calls = c
				}
			}
			t.Logf("%d calls", calls)
		})
	}
}

// killAt plays it with one call that goes wrong, and says how many there were.
func killAt(t *testing.T, n int, f fault) (calls int) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	below := mem.New("a")
	s := &faulty{Store: below, at: n, fault: f, cancel: cancel}
	cuts := append(life(1, 1, 2, 3, 4), life(2, 1, 2)...)
	published := -1
	require.NoError(t, writeAll(ctx, s, cuts, 0, func(i int) { published = i }))
	comesBack(t, fmt.Sprintf("call %d", n), below, cuts, published)
	return s.calls
}

// writeAll writes cuts from one on, the earlier ones being there, each attempt with an archive of its own, even if some
// fail; told is called for each published cut. An error is of the tests.
func writeAll(ctx context.Context, s blob.Store, cuts []*cut, from int, told func(i int)) error {
	var a *archive.Archive
	var last *cut // since which something is unchanged
	for i, c := range cuts[from:] {
		i += from
		if a == nil || c.Commit == 1 {
			var err error
			if a, err = archive.Open(s, job, tables); err != nil {
				return err
			}
			if _, _, err := a.Latest(ctx); err != nil {
				a = nil
				continue // it is tried again by another process
			}
			if last = nil; i == from && i > 0 {
				last = cuts[i-1]
			}
		}
		if m, _ := publish(ctx, a, c, last); m != nil {
			told(i)
			last = c
		}
	}
	return nil
}

// comesBack wants the newest cut of a store to be whole, and at least the last that was published; and that cuts can be
// written after it, after which nothing is left that they do not need.
func comesBack(t *testing.T, what string, below blob.Store, cuts []*cut, published int) {
	t.Helper()
	a := open(t, below)
	m, passed, err := a.Latest(t.Context())
	if err != nil || len(passed) > 0 {
		t.Fatalf("%s: %v, %v", what, passed, err)
	}
	switch {
	case m == nil && published >= 0:
		t.Fatalf("%s: no cut is left, and number %d was published", what, published)
	case m != nil:
		at := slices.IndexFunc(cuts, func(c *cut) bool { return c.At == m.At })
		if at < published {
			t.Fatalf("%s: cut %d is the newest, and number %d was published", what, at, published)
		}
		holds(t, a, m, cuts[at])
	}
	next := life(7, 1)[0]
	if m, err = publish(t.Context(), a, next, nil); err != nil {
		t.Fatalf("%s: then no cut can be written: %v", what, err)
	}
	holds(t, a, m, next)
	needed := map[string]bool{}
	for range 2 {
		was := next
		next = life(7, next.Commit+1)[0]
		m = mustPublish(t, a, next, was)
		for _, e := range m.Shards {
			needed[e.Name] = true
		}
	}
	if left := names(t, below, ""); len(left) != len(needed)+2 {
		t.Fatalf("%s: %d blobs are left, and %d needed: %v", what, len(left), len(needed)+2, left)
	}
}

// TestAFullStoreCostsNoCut: the cuts before stay.
func TestAFullStoreCostsNoCut(t *testing.T) {
	t.Parallel()
	s := mem.New("a")
	a := open(t, s)
	cuts := life(1, 1, 2, 3)
	mustPublish(t, a, cuts[0], nil)
	s.Most = 1 << 10
	if m, err := publish(t.Context(), a, cuts[1], nil); m != nil || !errors.Is(err, blob.ErrFull) ||
		bellows.KindOf(err) != bellows.CannotWrite {
		t.Fatal(m, err)
	}
	m, passed, err := open(t, s).Latest(t.Context())
	if err != nil || passed != nil || m.At != cuts[0].At {
		t.Fatal(m, passed, err)
	}
	s.Most = math.MaxInt64
	m = mustPublish(t, a, cuts[2], nil)
	holds(t, a, m, cuts[2])
	if errors.Is(err, fs.ErrExist) {
		t.Error(err)
	}
}

// TestPublishVerifiesShards damages a shard after it was written and before its cut is published. Publish names the
// shard, and Latest still finds the older cut.
func TestPublishVerifiesShards(t *testing.T) {
	t.Parallel()
	for what, damage := range map[string]func(b []byte) []byte{
		"a bit that flipped": func(b []byte) []byte { b[len(b)/2] ^= 1; return b },
		"a lost end":         func(b []byte) []byte { return b[:len(b)-1] },
		"a missing blob":     func([]byte) []byte { return nil },
	} {
		s := mem.New("a")
		a := open(t, s)
		cuts := life(1, 1, 2)
		mustPublish(t, a, cuts[0], nil)
		before := names(t, s, "shards/")
		w := mustBegin(t, a, cuts[1].At)
		for _, ref := range refs() {
			require.NoError(t, w.Put(t.Context(), ref, image(ref, cuts[1].changed[ref]), nil))
		}
		written := names(t, s, "shards/")
		name := written[slices.IndexFunc(written, func(n string) bool { return !slices.Contains(before, n) })]
		if b := damage(content(t, s, name)); b == nil {
			require.NoError(t, s.Delete(t.Context(), name))
		} else {
			replace(t, s, name, b)
		}
		m, _, err := w.Publish(t.Context(), cuts[1].state(), nil, time.Unix(2, 0))
		if kind := bellows.KindOf(err); m != nil || err == nil || kind != bellows.BadData && kind != bellows.NoInput ||
			!strings.Contains(err.Error(), s.URI(name)) {
			t.Errorf("%s: published %v, %v", what, m, err)
		}
		m, passed, err := open(t, s).Latest(t.Context())
		if err != nil || len(passed) > 0 {
			t.Fatalf("%s: %v, %v", what, passed, err)
		}
		holds(t, a, m, cuts[0])
	}
}

// TestSameKeepsValues changes partitions between the first and the second cut, and not after that. The third cut has
// the values of the second: the first cut's shards have the same size and other values.
func TestSameKeepsValues(t *testing.T) {
	t.Parallel()
	a := open(t, mem.New("a"))
	cuts := life(1, 1, 2, 3)
	cuts[2].changed = cuts[1].changed
	var last *cut
	for _, c := range cuts {
		m := mustPublish(t, a, c, last)
		holds(t, a, m, c)
		last = c
	}
}

// TestClearRemovesOldCutsFirst kills the process at each call of Clear. The newest cut is left whole, or no cut is
// left.
func TestClearRemovesOldCutsFirst(t *testing.T) {
	t.Parallel()
	cuts := life(1, 1, 2)
	left := 0
	for n, over := 0, false; !over; n++ {
		below := mem.New("a")
		require.NoError(t, writeAll(t.Context(), below, cuts, 0, func(int) {}))
		err := open(t, &faulty{Store: below, at: n, fault: killed}).Clear(t.Context())
		over = err == nil
		a := open(t, below)
		m, passed, err := a.Latest(t.Context())
		if err != nil || len(passed) > 0 {
			t.Fatalf("call %d: %v, %v", n, passed, err)
		}
		if m != nil {
			holds(t, a, m, cuts[1])
			left++
		}
	}
	if left < 3 {
		t.Errorf("a cut is left behind %d calls", left)
	}
}

// TestLatestRejectsRenamedManifest copies the manifest of a cut to the name of a later one, in the same era and in the
// next.
func TestLatestRejectsRenamedManifest(t *testing.T) {
	t.Parallel()
	s := mem.New("a")
	a := open(t, s)
	cuts := life(1, 1, 2)
	require.NoError(t, writeAll(t.Context(), s, cuts, 0, func(int) {}))
	name := names(t, s, "cuts/")[1]
	for as, at := range map[string]archive.At{
		strings.Replace(name, "2.json", "3.json", 1): {Era: 1, Commit: 3},
		strings.Replace(name, "1-c", "2-c", 1):       {Era: 2, Commit: 2},
	} {
		replace(t, s, as, content(t, s, name))
		m, passed, err := a.Latest(t.Context())
		if err != nil || len(passed) != 1 || passed[0].At != at || bellows.KindOf(passed[0].Why) != bellows.BadData ||
			!strings.Contains(passed[0].Why.Error(), s.URI(as)) {
			t.Fatalf("%s: passed %v, %v", as, passed, err)
		}
		holds(t, a, m, cuts[1])
		if _, err := a.Cut(t.Context(), at); bellows.KindOf(err) != bellows.BadData {
			t.Errorf("%s: %v", as, err)
		}
		require.NoError(t, s.Delete(t.Context(), as))
	}
}

// TestPartitionRejectsBadKeys writes shards of a sparse partition with a key twice, with descending keys, and with a
// key of another partition. Their checksums are right, so only the keys show it.
func TestPartitionRejectsBadKeys(t *testing.T) {
	t.Parallel()
	ref := refs()[4]
	good := image(ref, 1).Keys
	foreign := bellows.Key(1)
	for keys.Partition(foreign, 2) == ref.Partition {
		foreign++
	}
	for what, list := range map[string][]bellows.Key{"twice": {good[0], good[0]}, "descending": {good[1], good[0]},
		"of another partition": {foreign}, "": good} {
		a := open(t, mem.New("a"))
		c := life(1, 1)[0]
		w := mustBegin(t, a, c.At)
		for _, one := range refs() {
			im := image(one, 1)
			if one == ref {
				im.Keys, im.Values, im.Slots[0] = list, im.Values[:len(list)], im.Slots[0][:len(list)]
			}
			require.NoError(t, w.Put(t.Context(), one, im, nil))
		}
		m, _, err := w.Publish(t.Context(), c.state(), nil, time.Unix(1, 0))
		require.NoError(t, err)
		_, _, err = a.Partition(t.Context(), m, ref)
		if (err == nil) != (what == "") || what != "" &&
			(bellows.KindOf(err) != bellows.BadData || !strings.Contains(err.Error(), "the key")) {
			t.Errorf("keys %s: %v", what, err)
		}
	}
}
