package rowstore_test

import (
	"slices"
	"testing"

	"bellows"
	"bellows/core/rowstore"
	"bellows/internal/require"
	"bellows/table"
)

// newStore returns a partition of a table.
func newStore(tb testing.TB, s *table.Schema, n bellows.PartitionID) *rowstore.Store {
	tb.Helper()
	p, err := rowstore.New(s, s.Cut(), n)
	require.NoError(tb, err)
	return p
}

func partition(t *testing.T, r table.Rule) *rowstore.Store {
	t.Helper()
	s := &table.Schema{Name: "w", Rows: 10, Width: 2, Rule: r, Bounds: []bellows.RowID{0, 4, 10},
		Init: table.Init{Kind: table.Uniform, Seed: 1, Low: 0, High: 1}}
	return newStore(t, s, 1)
}

func TestRowsStartAsTheInitialiserSays(t *testing.T) {
	p := partition(t, table.Rule{})
	if p.Rows() != 6 {
		t.Fatalf("%d rows", p.Rows())
	}
	want := make([]float32, 2)
	table.Init{Kind: table.Uniform, Seed: 1, Low: 0, High: 1}.Fill(6, want)
	if got := p.Read([]uint32{2}, nil); !slices.Equal(got, want) {
		t.Errorf("row 6 starts at %v, want %v", got, want)
	}
}

// TestPaddingStartsAtZero checks that the initialiser gives the values before the padding what it gives rows without.
func TestPaddingStartsAtZero(t *testing.T) {
	s := table.Schema{Name: "w", Rows: 3, Width: 5, Init: table.Init{Kind: table.Normal, Seed: 1, High: 1}}
	whole := newStore(t, &s, 0).Values()
	s.Padding = 2
	for i, v := range newStore(t, &s, 0).Values() {
		want := whole[i]
		if i%5 >= 3 {
			want = 0
		}
		if v != want {
			t.Errorf("value %d of row %d starts at %v, want %v", i%5, i/5, v, want)
		}
	}
}

// rules is one declaration of each rule.
var rules = []table.Rule{
	{},
	{Name: "sgd", Step: 0.3},
	{Name: "momentum", Step: 0.1, Momentum: 0.9},
	{Name: "adagrad", Step: 0.1, Epsilon: 1e-6},
	{Name: "adam", Step: 0.1, Epsilon: 1e-8, Beta1: 0.9, Beta2: 0.999},
}

func TestApplyTouchesTheNamedRowsOnly(t *testing.T) {
	for _, r := range rules {
		p := partition(t, r)
		before := slices.Clone(p.Values())
		p.Apply([]uint32{4, 1}, []float32{1, 2, 3, 4})
		for i, v := range p.Values() {
			if touched := i/2 == 4 || i/2 == 1; touched == (v == before[i]) {
				t.Errorf("rule %q: value %d was %v and is %v", r.Name, i, before[i], v)
			}
		}
	}
}

func TestApplyToAllRowsEqualsSingleRows(t *testing.T) {
	for _, r := range rules {
		whole, single := partition(t, r), partition(t, r)
		deltas := []float32{1, 2, 3, -4, 5, 6, -7, 8, 9, .1, .2, .3}
		for range 3 {
			whole.Apply(nil, deltas)
			for row := range 6 {
				single.Apply([]uint32{uint32(row)}, deltas[2*row:2*row+2])
			}
		}
		if !slices.Equal(whole.Values(), single.Values()) {
			t.Errorf("rule %q: %v and %v", r.Name, whole.Values(), single.Values())
		}
	}
}

func TestImageBringsBackValuesAndSlots(t *testing.T) {
	for _, r := range rules {
		p := partition(t, r)
		step := func(p *rowstore.Store) { p.Apply([]uint32{0, 3}, []float32{1, 2, 3, 4}) }
		step(p)
		var im rowstore.Image
		p.Save(&im)
		step(p)
		want := slices.Clone(p.Values())

		q := partition(t, r)
		require.NoError(t, q.Load(&im))
		step(q) // needs the slots to come out the same
		if !slices.Equal(q.Values(), want) {
			t.Errorf("rule %q: restored and stepped: %v, want %v", r.Name, q.Values(), want)
		}
		im.Values = im.Values[:3]
		if err := q.Load(&im); err == nil {
			t.Errorf("rule %q: an image of another size was loaded", r.Name)
		}
	}
}

// TestASlabIsAdopted gives partitions of one value and of several other values, and their own slab as it was written in place.
func TestASlabIsAdopted(t *testing.T) {
	for rows := range 3 {
		s := &table.Schema{Name: "w", Rows: rows + 1, Width: 1, Partitions: 1}
		p := newStore(t, s, 0)
		want := []float32{7, 8, 9}[:rows+1]
		p.Adopt(want)
		if !slices.Equal(p.Values(), want) {
			t.Errorf("other values: %v", p.Values())
		}
		p.Values()[rows] = 3
		if p.Adopt(p.Values()); p.Values()[rows] != 3 || p.Written().Rows != 2*int64(rows+1) {
			t.Errorf("its own slab: %v, %d rows are counted", p.Values(), p.Written().Rows)
		}
	}
}

func TestImagesOfAnotherRuleAreRefused(t *testing.T) {
	for _, from := range rules[2:] {
		var im rowstore.Image
		partition(t, from).Save(&im)
		if err := partition(t, table.Rule{}).Load(&im); err == nil {
			t.Errorf("an image of rule %q with slots was loaded into a table without", from.Name)
		}
	}
	var im rowstore.Image
	adam := partition(t, rules[4])
	adam.Save(&im)
	im.Slots[2] = im.Slots[2][:5]
	if err := adam.Load(&im); err == nil {
		t.Error("an image was loaded that lacks the count of a row")
	}
}

func TestHotPathsAllocateNothing(t *testing.T) {
	for _, r := range rules {
		p := partition(t, r)
		rows, deltas, to := []uint32{1, 2}, []float32{1, 2, 3, 4}, make([]float32, 0, 12)
		if n := testing.AllocsPerRun(100, func() {
			p.Apply(rows, deltas)
			to = p.Read(rows, to[:0])
		}); n != 0 {
			t.Errorf("rule %q: %v allocations", r.Name, n)
		}
	}
}
