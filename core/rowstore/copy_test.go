package rowstore_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"bellows"
	"bellows/core/rowstore"
	"bellows/internal/require"
	"bellows/table"
)

// pieceOf copies the rows [first, end) of a partition.
func pieceOf(p *rowstore.Store, first, end int) (keys []bellows.Key, values []float32) {
	n := p.Count(first, end)
	if p.Keyed() {
		keys = make([]bellows.Key, n)
	}
	values = make([]float32, n*p.RowValues())
	p.CopyRows(first, end, keys, values)
	return keys, values
}

func same(a, b *rowstore.Store) string {
	var x, y rowstore.Image
	a.Save(&x)
	b.Save(&y)
	if fmt.Sprint(x) != fmt.Sprint(y) {
		return fmt.Sprintf("%v, want %v", y, x)
	}
	if a.Sum() != b.Sum() {
		return fmt.Sprintf("the same state has the sums %x and %x", a.Sum(), b.Sum())
	}
	return ""
}

// TestCopiedRowsAreTheSame copies a partition of each rule, dense and sparse, a few rows at a time and in any order of them, to one that has other rows already.
func TestCopiedRowsAreTheSame(t *testing.T) {
	for i, r := range rules {
		rng := rand.New(rand.NewPCG(uint64(i), 4))
		from, to := partition(t, r), partition(t, r)
		deltas := func(n int) []float32 {
			v := make([]float32, n)
			for i := range v {
				v[i] = rng.Float32() - 0.5
			}
			return v
		}
		from.Apply(nil, deltas(12))
		from.Apply([]uint32{1, 5}, deltas(4))
		to.Apply(nil, deltas(12))
		if got := same(from, to); got == "" {
			t.Errorf("rule %q: they are the same at the start", r.Name)
		}
		for _, first := range []int{4, 0, 2} {
			_, values := pieceOf(from, first, first+2)
			require.NoError(t, to.Put(first, nil, values))
		}
		if got := same(from, to); got != "" {
			t.Errorf("rule %q: a copy has %s", r.Name, got)
		}
		from, to = sparse(t, r, 100), sparse(t, r, 100)
		update(t, from, []bellows.Key{9, 1 << 63, 5}, deltas(9))
		update(t, to, []bellows.Key{5, 1}, deltas(6)) // 1 was a row there before it was one here
		if _, err := from.Reserve([]bellows.Key{7, 8}, nil); err != nil {
			t.Fatal(err)
		}
		update(t, from, []bellows.Key{1, 2}, deltas(6))
		if from.Numbers() != 7 || from.Count(0, 7) != 5 {
			t.Errorf("rule %q: %d numbers, %d rows that count", r.Name, from.Numbers(), from.Count(0, 7))
		}
		for first := 0; first < from.Numbers(); first += 3 {
			keys, values := pieceOf(from, first, min(first+3, from.Numbers()))
			require.NoError(t, to.Put(first, keys, values))
		}
		if got := same(from, to); got != "" {
			t.Errorf("rule %q: a sparse copy has %s", r.Name, got)
		}
	}
}

// TestPutRefusesRowsBeyondTheLimit puts more rows to a partition than it may have.
func TestPutRefusesRowsBeyondTheLimit(t *testing.T) {
	p := sparse(t, table.Rule{}, 1)
	var keys []bellows.Key
	for k := range bellows.Key(5000) {
		keys = append(keys, k)
	}
	if err := p.Put(0, keys, make([]float32, 3*len(keys))); bellows.KindOf(err) != bellows.Refused {
		t.Errorf("%d rows: %v", len(keys), err)
	}
}

// TestASumSeesEachRow changes one row at a time, and one number of what the rule keeps.
func TestASumSeesEachRow(t *testing.T) {
	p := partition(t, rules[2])
	seen := []uint64{uint64(p.Sum())}
	for row := range uint32(6) {
		p.Apply([]uint32{row}, []float32{1, 2})
		if seen = append(seen, uint64(p.Sum())); slices.Contains(seen[:len(seen)-1], seen[len(seen)-1]) {
			t.Errorf("row %d changes no sum", row)
		}
	}
	_, values := pieceOf(p, 0, 6)
	values[len(values)-1]++
	if err := p.Put(0, nil, values); err != nil || slices.Contains(seen, uint64(p.Sum())) {
		t.Errorf("%v: what the rule keeps changes no sum", err)
	}
}

// TestALargeSumLooksAtEnough wants a sum over many values to see a change of many rows, and both to look at the same.
func TestALargeSumLooksAtEnough(t *testing.T) {
	s := &table.Schema{Name: "w", Rows: 1 << 16, Width: 64, Partitions: 1}
	a := newStore(t, s, 0)
	b := newStore(t, s, 0)
	if a.Sum() != b.Sum() {
		t.Error("the same state has two sums")
	}
	deltas := slices.Repeat([]float32{1}, 1<<18)
	b.Put(0, nil, deltas)
	if a.Sum() == b.Sum() {
		t.Error("a changed state has the same sum")
	}
}

// TestAnImageIsCopiedByRows copies images as they are saved, and one that was loaded without what the rule keeps.
func TestAnImageIsCopiedByRows(t *testing.T) {
	for _, p := range []*rowstore.Store{partition(t, rules[3]), sparse(t, rules[3], 100), sparse(t, rules[4], 100)} {
		if p.Keyed() {
			update(t, p, []bellows.Key{3, 1, 2, 9, 4}, make([]float32, 15))
		}
		var im rowstore.Image
		p.Save(&im)
		bare := rowstore.Image{Keys: im.Keys, Values: im.Values}
		empty := rowstore.Image{Values: []float32{}, Slots: make([][]float32, len(im.Slots))}
		if p.Keyed() {
			empty.Keys = []bellows.Key{}
		}
		for _, im := range []*rowstore.Image{&im, &bare, &empty} {
			if im == &empty && !p.Keyed() {
				continue
			}
			to := rowstore.Image{Values: []float32{9}, Keys: []bellows.Key{7}}
			rows, beside := p.ImageRows(im)
			for first := 0; first == 0 || first < rows; first += 2 {
				n := min(2, rows-first)
				var keys []bellows.Key
				if p.Keyed() {
					keys = make([]bellows.Key, n)
				}
				values := make([]float32, n*beside)
				p.CopyImage(im, first, n, keys, values)
				require.NoError(t, p.PutImage(&to, first, n, keys, values))
			}
			if fmt.Sprint(to) != fmt.Sprint(*im) || (to.Keys == nil) != (im.Keys == nil) {
				t.Errorf("an image comes as %v, and was %v", to, *im)
			}
			if err := p.PutImage(&to, rows+1, 0, nil, nil); err == nil {
				t.Error("rows behind a gap are taken")
			}
		}
	}
}
