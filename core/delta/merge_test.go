package delta_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"bellows"
	"bellows/core/delta"
	"bellows/table"
)

// TestLargeBuffersAgainstMap adds lists of rows to two buffers of a large partition: ascending lists and others, long
// and short, and compares the buffers and their sum with maps.
func TestLargeBuffersAgainstMap(t *testing.T) {
	t.Parallel()
	const first = 100
	for seed := range uint64(300) {
		random := rand.New(rand.NewPCG(seed, 9))
		rows := []int{5000, 9000, 70_000}[seed%3]
		large := &table.Schema{Name: "w", Rows: rows, Width: 2}
		pair := [2]*delta.Buffer{delta.NewBuffer(large, rows, 0), delta.NewBuffer(large, rows, 0)}
		for range 3 { // used again after a reset
			var models [2]map[int][2]float32
			came := 0
			for i, b := range pair {
				models[i] = map[int][2]float32{}
				for range random.IntN(6) {
					list := someRows(random, rows)
					d := make([]float32, 2*len(list))
					for k, r := range list {
						x := [2]float32{float32(random.NormFloat64()), float32(random.NormFloat64())}
						copy(d[2*k:], x[:])
						v := models[i][int(r)]
						models[i][int(r)] = [2]float32{v[0] + x[0], v[1] + x[1]}
						list[k] += first
					}
					came += len(list)
					b.AddRows(list, first, d)
				}
				check(t, seed, b, models[i])
			}
			pair[0].Merge(pair[1])
			for r, x := range models[1] {
				v := models[0][r]
				models[0][r] = [2]float32{v[0] + x[0], v[1] + x[1]}
			}
			check(t, seed, pair[0], models[0])
			for r := range 200 {
				v, there := models[0][r]
				if got := pair[0].Find(r); (got != nil) != there || there && [2]float32(got) != v {
					t.Fatalf("seed %d: row %d is %v, want %v", seed, r, got, v)
				}
			}
			if got := pair[0].Len() + pair[0].Joined(); got != came {
				t.Fatalf("seed %d: %d rows are there or joined, %d came", seed, got, came)
			}
			pair[0].Reset()
			pair[1].Reset()
		}
	}
}

// TestFormsHaveTheSameSums adds the same lists to buffers of one partition under several limits. Each row has the same
// bits in all of them; the order of rows may differ.
func TestFormsHaveTheSameSums(t *testing.T) {
	t.Parallel()
	const rows = 24
	s := &table.Schema{Name: "w", Rows: rows, Width: 2}
	for seed := range uint64(200) {
		var all []*delta.Buffer
		for _, direct := range []int{0, 1, 2, 3, 4, 7, 8, 16, 23, 24} {
			random, b := rand.New(rand.NewPCG(seed, 31)), delta.NewBuffer(s, rows, direct)
			for range 1 + random.IntN(5) {
				list := random.Perm(rows)[:random.IntN(rows)]
				if random.IntN(2) == 0 {
					slices.Sort(list)
				}
				for _, r := range list {
					b.AddRows([]bellows.RowID{bellows.RowID(r)}, 0, []float32{random.Float32(), random.Float32()})
				}
			}
			all = append(all, b)
		}
		for _, b := range all[1:] {
			for r := range rows {
				if want := all[0].Find(r); !slices.Equal(b.Find(r), want) {
					t.Fatalf("seed %d: row %d is %v, want %v", seed, r, b.Find(r), want)
				}
			}
			if b.Len() != all[0].Len() || b.Joined() != all[0].Joined() {
				t.Fatalf("seed %d: %d rows, %d joined; want %d, %d", seed, b.Len(), b.Joined(), all[0].Len(), all[0].Joined())
			}
		}
	}
}

// someRows returns a list of rows, most of which are among the first 200.
func someRows(random *rand.Rand, rows int) []bellows.RowID {
	var list []bellows.RowID
	for range random.IntN(1 << random.IntN(12)) {
		r := random.IntN(200)
		if random.IntN(3) == 0 {
			r = random.IntN(rows)
		}
		list = append(list, bellows.RowID(r))
	}
	if random.IntN(3) > 0 {
		slices.Sort(list)
		list = slices.Compact(list)
	}
	return list
}

// TestAscendingListsStayAscending merges ascending lists of a large partition: the sum ascends.
func TestAscendingListsStayAscending(t *testing.T) {
	t.Parallel()
	large := &table.Schema{Name: "w", Rows: 8000, Width: 1}
	a, b := delta.NewBuffer(large, 8000, 0), delta.NewBuffer(large, 8000, 0)
	a.AddRows([]bellows.RowID{3, 5, 7000}, 0, []float32{1, 2, 3})
	b.AddRows([]bellows.RowID{1, 5, 6, 7999}, 0, []float32{10, 20, 30, 40})
	a.Merge(b)
	rows, values := a.Chunk()
	if !slices.Equal(rows, []uint32{1, 3, 5, 6, 7000, 7999}) || !slices.Equal(values, []float32{10, 1, 22, 30, 3, 40}) {
		t.Errorf("the sum has rows %v and values %v", rows, values)
	}
	if a.Joined() != 1 {
		t.Errorf("%d rows were joined, not 1", a.Joined())
	}
}

// merged is the number of sums of TestMergeFourGivesSameBits. The soak has more.
var merged = 100

// TestMergeFourGivesSameBits adds four lists at once, and by three merges of two: the rows, their bits, and the number
// of rows that were joined are the same.
func TestMergeFourGivesSameBits(t *testing.T) {
	t.Parallel()
	for seed := range uint64(merged) {
		random := rand.New(rand.NewPCG(seed, 11))
		rows, width := []int{4097, 9000, 70_000}[seed%3], 1+random.IntN(5)
		large := &table.Schema{Name: "w", Rows: rows, Width: width}
		share := 1 + random.IntN(20)
		var at, want [4]*delta.Buffer
		for i := range at {
			at[i], want[i] = delta.NewBuffer(large, rows, 0), delta.NewBuffer(large, rows, 0)
			if random.IntN(12) == 0 {
				continue // empty
			}
			var list []bellows.RowID
			for r := range rows {
				if random.IntN(share) == 0 || r%1000 == 7 {
					list = append(list, bellows.RowID(r))
				}
			}
			d := make([]float32, width*len(list))
			for k := range d {
				d[k] = float32(random.NormFloat64())
			}
			if random.IntN(8) == 0 && len(list) > 1 { // a list that does not ascend
				list[0], list[1] = list[1], list[0]
			}
			at[i].AddRows(list, 0, d)
			want[i].AddRows(list, 0, d)
			at[i].AddRows(list[:len(list)/2], 0, d[:width*(len(list)/2)])
			want[i].AddRows(list[:len(list)/2], 0, d[:width*(len(list)/2)])
		}
		at[0].MergeThree(at[1], at[2], at[3])
		want[0].Merge(want[1])
		want[2].Merge(want[3])
		want[0].Merge(want[2])
		ids, values := at[0].Chunk()
		wantIDs, wantValues := want[0].Chunk()
		if !slices.Equal(ids, wantIDs) || at[0].Joined() != want[0].Joined() {
			t.Fatalf("seed %d: %d rows and %d joined, want %d and %d", seed, len(ids), at[0].Joined(), len(wantIDs), want[0].Joined())
		}
		for k := range values {
			if math.Float32bits(values[k]) != math.Float32bits(wantValues[k]) {
				t.Fatalf("seed %d: value %d is %v, want %v", seed, k, values[k], wantValues[k])
			}
		}
		at[0].Merge(at[1]) // it is used as any other
		want[0].Merge(want[1])
		ids, _ = at[0].Chunk()
		if wantIDs, _ = want[0].Chunk(); !slices.Equal(ids, wantIDs) {
			t.Fatalf("seed %d: another merge gives other rows", seed)
		}
	}
}

// BenchmarkMergeFour adds four lists of the rows of a large partition that four tasks have changed.
func BenchmarkMergeFour(b *testing.B) {
	large := &table.Schema{Name: "w", Rows: 16_000, Width: 4}
	var list [4][]bellows.RowID
	var at [4]*delta.Buffer
	for i := range list {
		at[i] = delta.NewBuffer(large, 16_000, 0)
		random := rand.New(rand.NewPCG(uint64(i), 3))
		for r := range 16_000 {
			if random.IntN(50) == 0 {
				list[i] = append(list[i], bellows.RowID(r))
			}
		}
	}
	d := make([]float32, 4*16_000)
	for _, three := range []bool{true, false} {
		b.Run(map[bool]string{true: "at once", false: "by pairs"}[three], func(b *testing.B) {
			for b.Loop() {
				for i := range at {
					at[i].AddRows(list[i], 0, d[:4*len(list[i])])
				}
				if three {
					at[0].MergeThree(at[1], at[2], at[3])
				} else {
					at[0].Merge(at[1])
					at[2].Merge(at[3])
					at[0].Merge(at[2])
				}
				for i := range at {
					at[i].Reset()
				}
			}
		})
	}
}

// BenchmarkMerge adds two lists of the rows of a large partition that two tasks have changed.
func BenchmarkMerge(b *testing.B) {
	large := &table.Schema{Name: "w", Rows: 16_000, Width: 4}
	var list [2][]bellows.RowID
	for i := range list {
		random := rand.New(rand.NewPCG(uint64(i), 3))
		for r := range 16_000 {
			if random.IntN(50) == 0 {
				list[i] = append(list[i], bellows.RowID(r))
			}
		}
	}
	d := make([]float32, 4*16_000)
	left, right := delta.NewBuffer(large, 16_000, 0), delta.NewBuffer(large, 16_000, 0)
	for b.Loop() {
		left.AddRows(list[0], 0, d[:4*len(list[0])])
		right.AddRows(list[1], 0, d[:4*len(list[1])])
		left.Merge(right)
		left.Reset()
		right.Reset()
	}
}
