package handoff_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"bellows"
	"bellows/core/handoff"
	"bellows/core/rowstore"
	"bellows/internal/require"
	"bellows/link/wire"
	"bellows/table"
)

var pair = wire.Pair{Ref: bellows.PartitionRef{Table: 1}, Generation: 3}

func partition(t *testing.T, sparse bool) *rowstore.Store {
	t.Helper()
	s := &table.Schema{Name: "w", Sparse: sparse, Rows: 10, Width: 2, Partitions: 1}
	p, err := rowstore.New(s, s.Cut(), 0)
	require.NoError(t, err)
	return p
}

func source(limits handoff.Limits) *handoff.Source {
	return handoff.NewSource(&wire.Handoff{Term: 2, Number: 9, Pair: pair, Node: 4, Lane: 1}, 7, limits)
}

// TestACopyKeepsItsWindow begins with an offer, sends nothing before that is taken, and no more rows than its window: what is taken makes room. It is ready when all rows are.
func TestACopyKeepsItsWindow(t *testing.T) {
	p := partition(t, false)
	s := source(handoff.Limits{Slab: 4, Window: 150, Behind: 1000})
	if m := s.Offer(6); m.Kind != handoff.Offer || m.Copy != 7 || m.Number != 0 || m.Route != 6 || m.Pair != pair || s.To != wire.LaneAt(4, 1) {
		t.Errorf("the offer is %+v", m)
	}
	if s.Next(p, nil) != nil || s.Taken(0) || s.Ready(p) || s.Begun() {
		t.Error("it copies before its offer is taken")
	}
	s.Begin(false)
	sent := 0
	for m := s.Next(p, nil); m != nil; m = s.Next(p, nil) {
		sent++
		if m.Kind != handoff.Rows || int(m.First) != 2*(sent-1) || m.Count != 2 || len(m.Values) != 4 || m.Keys != nil || m.Rows != nil || m.Number != uint64(sent) {
			t.Errorf("piece %d is %+v", sent, m)
		}
	}
	if sent != 2 {
		t.Errorf("%d pieces fit into the window", sent)
	}
	if !s.Open(1) || s.Open(2) {
		t.Errorf("rows after the first piece: %v; after the second: %v", s.Open(1), s.Open(2))
	}
	if s.Taken(3) {
		t.Error("a piece is taken that was not sent")
	}
	for n := uint64(1); n < 5; n++ {
		if !s.Taken(n) || s.Ready(p) {
			t.Errorf("piece %d: taken, ready %v", n, s.Ready(p))
		}
		s.Next(p, nil)
	}
	if copied, of := s.Progress(p, nil); copied != 64 || of != 80 {
		t.Errorf("%d bytes of %d are copied", copied, of)
	}
	if !s.Taken(5) || !s.Ready(p) || !s.Arrived() {
		t.Error("it is not ready when all is taken")
	}
	pass := func(c *wire.Chunk) {
		for range s.Chunk(p, c, 1, true) {
		}
	}
	pass(&wire.Chunk{Rows: []uint32{1}, Values: make([]float32, 2)})
	if !s.Ready(p) || s.Arrived() || s.Lagging() {
		t.Errorf("ready %v, arrived %v, behind %v with one chunk on its way", s.Ready(p), s.Arrived(), s.Lagging())
	}
	for range 10 {
		pass(&wire.Chunk{Rows: []uint32{1, 2, 3}, Values: make([]float32, 6)})
	}
	if s.Open(0) {
		t.Error("chunks on their way are rows")
	}
	if s.Ready(p) || !s.Lagging() {
		t.Error("it is ready with more on its way than may be")
	}
	if !s.Taken(26) || s.Taken(27) || !s.Ready(p) || s.Lagging() || !s.Arrived() {
		t.Errorf("ready %v, behind %v, arrived %v when all changes are taken", s.Ready(p), s.Lagging(), s.Arrived())
	}
	urgent := handoff.NewSource(&wire.Handoff{Urgent: true}, 1, handoff.Limits{Slab: 4, Window: 30})
	urgent.Begin(false)
	for sent = 0; urgent.Next(p, nil) != nil; sent++ {
	}
	if sent != 3 {
		t.Errorf("%d pieces fit into the window of an urgent move", sent)
	}
}

// TestProgressGrowsToItsEnd copies partitions of every kind, with an image, with rows that change in place when some are copied, and with rows that come meanwhile: what is there only grows, is never more than
// there is, and is all of it in the end, as what pieces hold adds up to.
func TestProgressGrowsToItsEnd(t *testing.T) {
	for _, sparse := range []bool{false, true} {
		for seed := range uint64(200) {
			rng := rand.New(rand.NewPCG(seed, 1))
			p := partition(t, sparse)
			touch := func(k bellows.Key) {
				rows, err := p.Reserve([]bellows.Key{k}, nil)
				require.NoError(t, err)
				if rng.IntN(3) > 0 { // else it is reserved, and does not count
					p.Apply(rows, []float32{1, 2})
				}
			}
			if sparse {
				for k := range bellows.Key(rng.IntN(8)) {
					touch(k)
				}
			}
			var im rowstore.Image
			p.Save(&im)
			s := source(handoff.Limits{Slab: 1 + rng.IntN(8), Window: 1 + rng.IntN(400), Behind: 1000})
			if m := s.ReportProgress(p, &im, false); m == nil || m.Copied != 0 {
				t.Fatalf("it begins with %+v", m)
			}
			s.Begin(rng.IntN(2) == 0)
			var all, before, told, held, number uint64
			still := false // nothing to copy has been added since
			look := func() (copied, of uint64) {
				copied, of = s.Progress(p, &im)
				if copied < before || copied > of {
					t.Fatalf("seed %d, keys %v: %d bytes of %d are there, after %d", seed, sparse, copied, of, before)
				}
				if still && of != all {
					t.Fatalf("seed %d, keys %v: there are %d bytes, and %d when it began", seed, sparse, of, all)
				}
				before = copied
				return copied, of
			}
			_, all = look()
			still = true
			tears := 2
			for turns := 0; !s.Ready(p) || tears > 0; turns++ {
				if turns == 10000 {
					t.Fatalf("seed %d, keys %v: it does not end", seed, sparse)
				}
				for m := s.Next(p, &im); m != nil; m = s.Next(p, &im) {
					number, held = m.Number, held+uint64(m.Bytes())
					look()
				}
				switch n := rng.IntN(10); {
				case n == 0 && tears > 0:
					tears, still = tears-1, false
					s.Torn()
					look()
					s.Again()
				case n == 1:
					tears--
				case n == 2 && sparse && p.Numbers() < 20:
					still = false
					touch(bellows.Key(100 + p.Numbers()))
				case number > 0:
					s.Taken(number - min(number, uint64(rng.IntN(2))))
				}
				copied, of := look()
				switch m := s.ReportProgress(p, &im, false); {
				case m == nil && copied-told >= max(1, of/100):
					t.Fatalf("seed %d, keys %v: no report of %d bytes of %d, after %d", seed, sparse, copied, of, told)
				case m != nil && (m.Copied != copied || m.Of != of || copied-told < max(1, of/100) || m.Whole || m.Number != 9 || m.Term != 2 || m.Pair != pair):
					t.Fatalf("seed %d, keys %v: told is %+v of %d bytes of %d, after %d", seed, sparse, m, copied, of, told)
				case m != nil:
					told = copied
				}
			}
			if copied, of := look(); copied != held || of != held {
				t.Fatalf("seed %d, keys %v: %d bytes of %d are there in the end, of %d that were sent", seed, sparse, copied, of, held)
			}
			if m := s.ReportProgress(p, &im, true); m == nil || !m.Whole || m.Copied != held {
				t.Fatalf("the end is told as %+v", m)
			}
		}
	}
}

// TestACopyIsToldByHundredths copies many rows in small pieces: the node that asked for the copy receives about a
// hundred reports, however many pieces it has.
func TestACopyIsToldByHundredths(t *testing.T) {
	schema := &table.Schema{Name: "w", Rows: 10000, Width: 2, Partitions: 1}
	p, err := rowstore.New(schema, schema.Cut(), 0)
	require.NoError(t, err)
	s := source(handoff.Limits{Slab: 8, Window: 1, Behind: 1000})
	s.Begin(false)
	pieces, words := 0, 0
	for m := s.Next(p, nil); m != nil; m = s.Next(p, nil) {
		pieces++
		s.Taken(m.Number)
		if m := s.ReportProgress(p, nil, false); m != nil {
			words++
		}
	}
	if pieces != 2500 || words < 95 || words > 101 {
		t.Errorf("%d words tell of %d pieces", words, pieces)
	}
}

// TestRowsInPlaceAreCopiedAgain changes rows under a lease after some have been copied: nothing is copied until the
// lane allows it, and then all rows are.
func TestRowsInPlaceAreCopiedAgain(t *testing.T) {
	p := partition(t, false)
	s := source(handoff.Limits{Slab: 8, Window: 1000, Behind: 1000})
	s.Begin(false)
	s.Next(p, nil)
	of := func(want uint64, when string) {
		t.Helper()
		if copied, of := s.Progress(p, &rowstore.Image{}); copied != 0 || of != want {
			t.Errorf("%s %d bytes of %d are there, want 0 of %d", when, copied, of, want)
		}
	}
	of(80, "at first")
	s.Torn()
	of(32+80, "when rows change in place")
	if s.Next(p, nil) != nil || s.Copied(p) || !s.IsTorn() {
		t.Error("rows that change in place are copied")
	}
	if m := s.Keep(p); m != nil {
		t.Error("an image of rows that change in place is kept there")
	}
	s.Again()
	of(32+80, "when they do no more")
	if m := s.Next(p, nil); m == nil || m.First != 0 {
		t.Errorf("copied again from %+v", m)
	}
	of(32+80, "with rows on their way again")
	s.Again()
	if m := s.Next(p, nil); m == nil || m.First != 4 {
		t.Errorf("and once more from %+v", m)
	}
}

// TestAnImageIsCopiedOrKept keeps an image before all rows have left: it is copied after them. It keeps another one
// afterwards: the receiver keeps that itself, whatever pieces of the older one are on their way.
func TestAnImageIsCopiedOrKept(t *testing.T) {
	p := partition(t, false)
	var im rowstore.Image
	p.Save(&im)
	s := source(handoff.Limits{Slab: 8, Window: 200, Behind: 1000})
	s.Begin(true)
	kinds := ""
	all := func() {
		for m := s.Next(p, &im); m != nil; m = s.Next(p, &im) {
			if m.Keys != nil || m.Rows != nil {
				t.Errorf("rows of a dense table have keys or numbers: %+v", m)
			}
			kinds += map[uint8]string{handoff.Rows: "r", handoff.Image: "i"}[m.Kind]
		}
	}
	if s.Keep(p) != nil {
		t.Error("an image of what has not come is kept there")
	}
	for n, want := range []string{"rrr", "rrri", "rrrii", "rrriii"} { // the window is of both
		if all(); kinds != want || s.Copied(p) != (n == 3) {
			t.Errorf("copied %s", kinds)
		}
		s.Taken(uint64(n + 1))
	}
	if m := s.Keep(p); m == nil || m.Kind != handoff.Keep {
		t.Errorf("keep is %+v", m)
	}
	if all(); kinds != "rrriii" {
		t.Errorf("copied %s", kinds)
	}
}

// TestATargetTakesPiecesInTheirOrder refuses gaps, pieces that come twice, pieces after the last, and rows of another
// partition, which may have more than this one.
func TestATargetTakesPiecesInTheirOrder(t *testing.T) {
	from, other := wire.LaneAt(1, 0), wire.LaneAt(2, 0)
	p := partition(t, false)
	s := source(handoff.Limits{Slab: 100, Window: 1000, Behind: 1000})
	g := handoff.NewTarget(from, s.Offer(1))
	if w := g.Welcome(); w.Copy != 7 || w.Number != 0 || w.Pair != pair || g.Ack() != nil {
		t.Errorf("the offer is taken by %+v", w)
	}
	s.Begin(false)
	rows, clocks, last := s.Next(p, nil), s.Clocks(4), s.Last(5, 4, 3, 2)
	if g.Matches(other, rows) || !g.Matches(from, rows) || g.Matches(from, &wire.Piece{Copy: 8}) {
		t.Error("it takes pieces of another copy")
	}
	take := func(m *wire.Piece, want string) {
		t.Helper()
		if err := g.Take(m, p, nil); err == nil && want != "" || err != nil && (want == "" || !strings.Contains(err.Error(), want)) {
			t.Errorf("piece %d: %v, want %q", m.Number, err, want)
		}
	}
	if clocks.Kind != handoff.Clocks || clocks.Clock != 4 {
		t.Errorf("clocks are %+v", clocks)
	}
	take(clocks, "piece 2 of a copy of t1/p0 behind piece 0")
	elsewhere := *rows
	elsewhere.Pair.Ref.Partition++
	take(&elsewhere, "piece 1 of a copy of t1/p0 is of t1/p1, generation")
	take(rows, "")
	take(rows, "piece 1 of a copy of t1/p0 behind piece 1")
	if m := g.Ack(); m == nil || m.Number != 1 || g.Ack() != nil {
		t.Errorf("it tells %+v", m)
	}
	take(clocks, "")
	if g.Last() != nil {
		t.Error("the last has come")
	}
	take(last, "")
	if g.Last() != last || last.Commit != 5 || last.Newest != 4 || last.Ended != 3 || last.Sum != 2 {
		t.Errorf("the last is %+v", g.Last())
	}
	take(s.Void(), "behind the last")
}

// TestSourceCopiesKeyedRows copies keys that count, and a chunk of keys.
func TestSourceCopiesKeyedRows(t *testing.T) {
	p := partition(t, true)
	rows, err := p.Reserve([]bellows.Key{5, 6, 7}, nil)
	require.NoError(t, err)
	p.Apply(rows[:2], []float32{1, 2, 3, 4})
	s := source(handoff.Limits{Slab: 100, Window: 1000, Behind: 1000})
	s.Begin(false)
	m := s.Next(p, nil)
	if m == nil || m.Count != 2 || len(m.Keys) != 2 || m.Keys[1] != 6 || len(m.Values) != 4 || m.Values[3] != 4 {
		t.Fatalf("copied %+v", m)
	}
	if s.Next(p, nil) != nil || !s.Copied(p) {
		t.Error("what is reserved is copied")
	}
	list := slices.Collect(s.Chunk(p, &wire.Chunk{Keys: []bellows.Key{8}, Rows: []uint32{3}, Values: []float32{1, 2}, Subtree: wire.Subtree{Level: 1, Index: 2}}, 4, true))
	if c := list[0]; len(list) != 1 || c.Kind != handoff.Chunk || c.Keys[0] != 8 || c.Rows != nil || c.Values[1] != 2 || c.Clock != 4 || !c.Waits || c.Subtree.Index != 2 {
		t.Errorf("a chunk is %+v", c)
	}
}

// TestALargeChangeTravelsInPieces cuts changes of a partition with four copied rows, and leaves out the other rows. A
// change that waits for its clock is put together again.
func TestALargeChangeTravelsInPieces(t *testing.T) {
	var of [4]*wire.Chunk
	of[0] = &wire.Chunk{Values: make([]float32, 20)}
	of[1] = &wire.Chunk{Rows: []uint32{9, 3, 5, 0, 2}, Values: make([]float32, 10)}
	of[2] = &wire.Chunk{Rows: []uint32{8, 9}, Values: make([]float32, 4)}
	of[3] = &wire.Chunk{Rows: []uint32{}}
	for _, c := range of {
		for i := range c.Values {
			c.Values[i] = float32(i)
		}
	}
	for _, c := range []struct {
		chunk int
		waits bool
		torn  bool
		want  string
	}{
		{0, false, false, "[0 1]0/0 [2 3]0/0"},
		{1, false, false, "[3 0]0/0 [2]0/0"},
		{2, false, false, ""},
		{3, false, false, "[]0/0"},
		{0, false, true, ""},
		{0, true, false, "[0 1]0/4 [2 3]2/4"},
		{1, true, false, "[3 0]0/3 [2]2/3"},
		{2, true, false, ""},
		{1, true, true, ""},
		{3, true, false, "[]0/0"},
	} {
		p := partition(t, false)
		s := source(handoff.Limits{Slab: 4, Window: 100, Behind: 10000})
		g := handoff.NewTarget(wire.LaneAt(1, 0), s.Offer(1))
		s.Begin(false)
		rows := []*wire.Piece{s.Next(p, nil), s.Next(p, nil)}
		for _, m := range rows {
			require.NoError(t, g.Take(m, p, nil))
		}
		if c.torn {
			s.Torn()
		}
		chunk, got := of[c.chunk], ""
		var rowsSent []uint32
		var values []float32
		var whole *wire.Piece
		for m := range s.Chunk(p, chunk, 6, c.waits) {
			got += fmt.Sprintf(" %v%d/%d", m.Rows, m.First, m.Count)
			rowsSent, values = append(rowsSent, m.Rows...), append(values, m.Values...)
			for i, r := range m.Rows {
				at := int(r)
				if chunk.Rows != nil {
					at = slices.Index(chunk.Rows, r)
				}
				if !slices.Equal(m.Values[2*i:2*i+2], chunk.Values[2*at:2*at+2]) {
					t.Errorf("%v: row %d has %v", c, r, m.Values[2*i:2*i+2])
				}
			}
			if err := g.Take(m, p, nil); err != nil || whole != nil && c.waits {
				t.Errorf("%v: %v behind %v", c, err, whole)
			}
			var err error
			if whole, err = g.Gather(m); err != nil {
				t.Error(err)
			}
		}
		if got = strings.TrimPrefix(got, " "); got != c.want {
			t.Errorf("%v: %s, want %s", c, got, c.want)
		}
		if c.waits && c.want != "" && (whole == nil || !whole.Waits || whole.Clock != 6 || !slices.Equal(whole.Rows, rowsSent) || !slices.Equal(whole.Values, values)) {
			t.Errorf("%v: put together to %+v", c, whole)
		}
	}
}

// TestTargetRefusesMixedChange sends pieces of a change that do not fit the earlier ones.
func TestTargetRefusesMixedChange(t *testing.T) {
	first := func() *wire.Piece {
		return &wire.Piece{Pair: pair, Kind: handoff.Chunk, Number: 1, Waits: true, Clock: 3, Count: 3, Rows: []uint32{1}, Values: []float32{1, 2}}
	}
	for name, change := range map[string]func(m *wire.Piece){
		"":                    func(*wire.Piece) {},
		"of another clock":    func(m *wire.Piece) { m.Clock = 4 },
		"of other splits":     func(m *wire.Piece) { m.Subtree.Index = 1 },
		"of another length":   func(m *wire.Piece) { m.Count = 4 },
		"without the rest":    func(m *wire.Piece) { m.First, m.Count = 0, 0 },
		"with a gap":          func(m *wire.Piece) { m.First = 2 },
		"over its length":     func(m *wire.Piece) { m.Rows, m.Values = make([]uint32, 3), make([]float32, 6) },
		"of nothing":          func(m *wire.Piece) { m.Rows, m.Values = nil, nil },
		"of other width":      func(m *wire.Piece) { m.Values = make([]float32, 4) },
		"of an uneven number": func(m *wire.Piece) { m.Rows, m.Values = make([]uint32, 2), make([]float32, 3) },
		"of keys":             func(m *wire.Piece) { m.Keys, m.Rows = []bellows.Key{1}, nil },
	} {
		p := partition(t, false)
		g := handoff.NewTarget(wire.LaneAt(1, 0), &wire.Piece{Pair: pair})
		m := first()
		require.NoError(t, g.Take(m, p, nil))
		if whole, err := g.Gather(m); whole != nil || err != nil {
			t.Fatalf("%s: %v of a part: %v", name, whole, err)
		}
		if err := g.Take(&wire.Piece{Pair: pair, Kind: handoff.Clocks, Number: 2}, p, nil); err == nil || !strings.Contains(err.Error(), "before the rest of a change") {
			t.Errorf("%s: clocks within a change: %v", name, err)
		}
		next := first()
		next.Number, next.First = 2, 1
		change(next)
		require.NoError(t, g.Take(next, p, nil))
		if whole, err := g.Gather(next); whole != nil || (err == nil) != (name == "") {
			t.Errorf("%s: %v, %v", name, whole, err)
		}
	}
	g := handoff.NewTarget(wire.LaneAt(1, 0), &wire.Piece{Pair: pair})
	m := first()
	m.First = 1
	if _, err := g.Gather(m); err == nil {
		t.Error("the rest of a change comes before its beginning")
	}
}
