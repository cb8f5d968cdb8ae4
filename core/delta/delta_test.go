package delta_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"bellows"
	"bellows/core/audit"
	"bellows/core/delta"
	"bellows/link/wire"
	"bellows/table"
)

var schema = &table.Schema{Name: "w", Rows: 9, Width: 2}

// TestBufferAgainstMap drives a buffer with random calls and compares it with a map of rows.
func TestBufferAgainstMap(t *testing.T) {
	for seed := range uint64(300) {
		random := rand.New(rand.NewPCG(seed, 1))
		b, model := delta.NewBuffer(schema, 9, 0), map[int][2]float32{}
		came := 0
		for range 40 {
			first, n := random.IntN(9), 1
			switch random.IntN(6) {
			case 0:
				first, n = 0, 9
			case 1:
				n = 1 + random.IntN(9-first)
			case 2:
				if random.IntN(4) == 0 {
					b.Reset()
					clear(model)
					came = 0
				}
				continue
			}
			d := make([]float32, 2*n)
			for i := range d {
				d[i] = float32(random.NormFloat64())
			}
			if to := fillAll(t, b, n, model); to != nil {
				copy(to, d)
			} else {
				b.AddRange(first, d)
			}
			came += n
			for r := range n {
				v := model[first+r]
				model[first+r] = [2]float32{v[0] + d[2*r], v[1] + d[2*r+1]}
			}
		}
		check(t, seed, b, model)
		if b.Len()+b.Joined() != came {
			t.Fatalf("seed %d: %d rows are there and %d were added to them; %d came", seed, b.Len(), b.Joined(), came)
		}
	}
}

// fillAll returns the memory for all 9 rows of a buffer that is empty, and nil if it is not, or for fewer rows.
func fillAll(t *testing.T, b *delta.Buffer, rows int, model map[int][2]float32) []float32 {
	t.Helper()
	if rows < 9 {
		return nil
	}
	to := b.Fill()
	if empty := len(model) == 0; empty != (len(to) == 2*9) || !empty && to != nil {
		t.Fatalf("Fill of a buffer of %d rows returns %d values", len(model), len(to))
	}
	return to
}

func check(t *testing.T, seed uint64, b *delta.Buffer, model map[int][2]float32) {
	t.Helper()
	if b.Len() != len(model) {
		t.Fatalf("seed %d: %d rows, want %d", seed, b.Len(), len(model))
	}
	rows, values := b.Chunk()
	for i := range b.Len() {
		r := i
		if rows != nil {
			r = int(rows[i])
		}
		if got := [2]float32(values[2*i : 2*i+2]); got != model[r] {
			t.Fatalf("seed %d: row %d is %v, want %v", seed, r, got, model[r])
		}
	}
	over := make([]float32, 10)
	b.Overlay(3, 8, over)
	for r := 3; r < 8; r++ {
		if got := [2]float32(over[2*(r-3) : 2*(r-3)+2]); got != model[r] {
			t.Fatalf("seed %d: row %d overlays %v, want %v", seed, r, got, model[r])
		}
	}
}

// TestKeyedBuffersAgainstMap adds rows of keys to two buffers, merges them, and compares with a map.
func TestKeyedBuffersAgainstMap(t *testing.T) {
	for seed := range uint64(200) {
		random := rand.New(rand.NewPCG(seed, 5))
		s := &table.Schema{Name: "k", Sparse: true, Rows: 100, Width: 2}
		pair := [2]*delta.Buffer{delta.NewKeyed(s, 0), delta.NewKeyed(s, 0)}
		for range 3 { // used again after a reset
			var models [2]map[bellows.Key][2]float32
			for i, b := range pair {
				models[i] = map[bellows.Key][2]float32{}
				for range random.IntN(60) {
					k := bellows.Key(random.IntN(30)) << 50
					d := [2]float32{float32(random.NormFloat64()), float32(random.NormFloat64())}
					b.AddKey(k, d[:])
					v, there := models[i][k]
					if there {
						d = [2]float32{v[0] + d[0], v[1] + d[1]}
					}
					models[i][k] = d
				}
			}
			came := pair[0].Len() + pair[0].Joined() + pair[1].Len() + pair[1].Joined()
			pair[0].Merge(pair[1])
			if pair[0].Len()+pair[0].Joined() != came {
				t.Fatalf("seed %d: %d rows are there and %d were added to them; %d came", seed, pair[0].Len(), pair[0].Joined(), came)
			}
			for k, d := range models[1] {
				if v, there := models[0][k]; there {
					d = [2]float32{v[0] + d[0], v[1] + d[1]}
				}
				models[0][k] = d
			}
			checkKeyed(t, seed, pair[0], models[0])
			pair[0].Reset()
			pair[1].Reset()
		}
	}
}

func checkKeyed(t *testing.T, seed uint64, b *delta.Buffer, model map[bellows.Key][2]float32) {
	t.Helper()
	_, values := b.Chunk()
	if b.Len() != len(model) || len(b.Keys()) != len(model) || len(values) != 2*len(model) {
		t.Fatalf("seed %d: %d rows, %d keys, %d values; want %d rows", seed, b.Len(), len(b.Keys()), len(values), len(model))
	}
	for i, k := range b.Keys() {
		got, over := [2]float32(values[2*i:]), [2]float32{1, 1}
		b.OverlayKey(k, over[:])
		if want := model[k]; got != want || over != [2]float32{1 + want[0], 1 + want[1]} || [2]float32(b.FindKey(k)) != want {
			t.Fatalf("seed %d: key %d is %v, laid over ones %v; want %v", seed, k, got, over, want)
		}
	}
	if over := [2]float32{1, 1}; b.FindKey(7) != nil {
		t.Fatalf("seed %d: an absent key was found", seed)
	} else if b.OverlayKey(7, over[:]); over != [2]float32{1, 1} {
		t.Fatalf("seed %d: an absent key changed what it was laid over", seed)
	}
}

// TestRowsBeyondTheFirst adds rows that a partition got after its buffer was made.
func TestRowsBeyondTheFirst(t *testing.T) {
	b := delta.NewBuffer(schema, 0, 0)
	for _, row := range []int{3, 0, 1000, 1001, 3} {
		b.AddRow(row, []float32{1, 2})
	}
	rows, values := b.Chunk()
	if !slices.Equal(rows, []uint32{3, 0, 1000, 1001}) || values[0] != 2 || values[7] != 2 || b.Find(5000) != nil {
		t.Errorf("rows %v, values %v", rows, values)
	}
	b.Reset()
	if b.Find(1000) != nil || b.Len() != 0 {
		t.Error("rows are left after a reset")
	}
}

func TestAFirstDeltaKeepsItsSign(t *testing.T) {
	b := delta.NewBuffer(schema, 9, 0)
	zero := float32(math.Copysign(0, -1))
	b.AddRow(4, []float32{zero, 1})
	if v := b.Find(4); !math.Signbit(float64(v[0])) {
		t.Error("-0 became +0: an absent row is not a row of zeros")
	}
	if b.Find(3) != nil {
		t.Error("an absent row was found")
	}
}

// TestFourAreMergedAlongTheTree merges four buffers at once and in pairs, each of them whole, of some rows or empty.
func TestFourAreMergedAlongTheTree(t *testing.T) {
	const rows = 9
	for forms := range 3 * 3 * 3 * 3 {
		make4 := func() (list [4]*delta.Buffer) {
			r := rand.New(rand.NewPCG(1, uint64(forms)))
			for i, form := 0, forms; i < 4; i, form = i+1, form/3 {
				list[i] = delta.NewBuffer(schema, rows, 0)
				all := make([]float32, rows*schema.Width)
				for j := range all {
					all[j] = float32(r.NormFloat64())
				}
				switch form % 3 {
				case 0:
					list[i].AddRange(0, all)
				case 1:
					for _, row := range []int{i, 8, 4 - i} {
						list[i].AddRow(row, all[:schema.Width])
					}
				}
			}
			return list
		}
		pairs, four := make4(), make4()
		pairs[0].Merge(pairs[1])
		pairs[2].Merge(pairs[3])
		pairs[0].Merge(pairs[2])
		four[0].MergeThree(four[1], four[2], four[3])
		if pairs[0].Len() != four[0].Len() || pairs[0].Joined() != four[0].Joined() {
			t.Fatalf("forms %d: %d rows and %d joined, want %d and %d", forms, four[0].Len(), four[0].Joined(), pairs[0].Len(), pairs[0].Joined())
		}
		for row := range rows {
			if got, want := four[0].Find(row), pairs[0].Find(row); !slices.Equal(got, want) {
				t.Fatalf("forms %d: row %d is %v, want %v", forms, row, got, want)
			}
		}
	}
}

// TestCountsAreAddedAsIntegers adds counts whose bits, taken for floats and added, would give others, in every way in which a buffer adds.
func TestCountsAreAddedAsIntegers(t *testing.T) {
	s := &table.Schema{Name: "c", Rows: 2, Width: 1, DType: table.Int32}
	counts := func(n ...int32) []float32 {
		v := make([]float32, len(n))
		copy(table.Counts(v), n)
		return v
	}
	x, y := counts(1<<30, -3), counts(1<<29, -4)
	if sum := []float32{x[0] + y[0]}; table.Counts(sum)[0] == 1<<30+1<<29 {
		t.Fatal("the floats give the same bits: they test nothing")
	}
	for name, add := range map[string]func() []float32{
		"row to row": func() []float32 {
			b := delta.NewBuffer(s, 2, 0)
			for r := range 2 {
				b.AddRow(r, x[r:r+1])
				b.AddRow(r, y[r:r+1])
			}
			return slices.Concat(b.Find(0), b.Find(1))
		},
		"all to all": func() []float32 {
			b := delta.NewBuffer(s, 2, 0)
			b.AddRange(0, x)
			b.AddRange(0, y)
			_, v := b.Chunk()
			return v
		},
		"four at once": func() []float32 {
			var list [4]*delta.Buffer
			for i := range list {
				list[i] = delta.NewBuffer(s, 2, 0)
				list[i].AddRange(0, counts(0, 0))
			}
			list[0].AddRange(0, x)
			list[2].AddRange(0, y)
			list[0].MergeThree(list[1], list[2], list[3])
			_, v := list[0].Chunk()
			return v
		},
		"all to rows": func() []float32 {
			b := delta.NewBuffer(s, 2, 0)
			b.AddRow(1, x[1:])
			b.AddRow(0, x[:1])
			b.AddRange(0, y)
			_, v := b.Chunk()
			return v
		},
		"laid over": func() []float32 {
			b, v := delta.NewBuffer(s, 2, 0), slices.Clone(x)
			b.AddRange(0, y)
			b.Overlay(0, 2, v)
			return v
		},
		"keys": func() []float32 {
			b, v := delta.NewKeyed(s, 0), slices.Clone(x[1:])
			b.AddKey(7, x[:1])
			b.AddKey(7, y[:1])
			b.AddKey(8, y[1:])
			b.OverlayKey(8, v)
			return slices.Concat(b.FindKey(7), v)
		},
	} {
		if got := table.Counts(add()); !slices.Equal(got, []int32{1<<30 + 1<<29, -7}) {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// leaves makes one chunk per split with values whose sum depends on the order of addition, some rows
// missing.
func leaves(random *rand.Rand, splits int) []wire.Chunk {
	var all []wire.Chunk
	for s := range splits {
		c := wire.Chunk{Subtree: delta.Leaf(bellows.SplitID(s)), Rows: []uint32{}}
		for r := range uint32(9) {
			if random.IntN(3) > 0 {
				c.Rows = append(c.Rows, r)
				for range 2 {
					c.Values = append(c.Values, float32(random.NormFloat64()*math.Pow(10, float64(random.IntN(9)-4))))
				}
			}
		}
		if len(c.Rows) > 0 {
			all = append(all, c)
		}
	}
	return all
}

func take() *delta.Buffer { return delta.NewBuffer(schema, 9, 0) }
func give(*delta.Buffer)  {}

// reference adds row by row along the tree, with the plainest recursion.
func reference(chunks []wire.Chunk, level uint8, index uint32, row int) (sum [2]float32, present bool) {
	if level == 0 {
		for _, c := range chunks {
			if i := slices.Index(c.Rows, uint32(row)); c.Subtree.Index == index && i >= 0 {
				return [2]float32(c.Values[2*i : 2*i+2]), true
			}
		}
		return sum, false
	}
	l, hasL := reference(chunks, level-1, 2*index, row)
	r, hasR := reference(chunks, level-1, 2*index+1, row)
	switch {
	case hasL && hasR:
		return [2]float32{l[0] + r[0], l[1] + r[1]}, true
	case hasL:
		return l, true
	}
	return r, hasR
}

// rowsOf returns a buffer's rows and values as numbers, in their order.
func rowsOf(b *delta.Buffer) (list []uint32) {
	rows, values := b.Chunk()
	list = append(list, rows...)
	for _, v := range values {
		list = append(list, math.Float32bits(v))
	}
	return list
}

// TestSumDoesNotDependOnGrouping merges random aligned siblings on the way, in any order, and wants
// the same bits as the tree over single splits. Summed with and without a look at each
// chunk they are the same.
func TestSumDoesNotDependOnGrouping(t *testing.T) {
	for seed := range uint64(400) {
		random := rand.New(rand.NewPCG(seed, 2))
		splits := 1 + random.IntN(13)
		chunks := leaves(random, splits)
		if len(chunks) == 0 {
			continue
		}
		original := slices.Clone(chunks)
		for range random.IntN(8) {
			chunks = mergeSomeSiblings(random, chunks)
		}
		random.Shuffle(len(chunks), func(i, j int) { chunks[i], chunks[j] = chunks[j], chunks[i] })
		came, rows, begun := 0, 0, audit.Sum(0)
		var sent audit.Sum
		for _, c := range chunks {
			rows, sent = rows+len(c.Values)/2, sent+audit.Rows(1, 2, c.Rows, c.Values)
		}
		sum, twice := delta.Sum(chunks, take, give, func(b *delta.Buffer) {
			came += b.Len()
			ids, values := b.Chunk()
			begun += audit.Rows(1, 2, ids, values)
		})
		if twice != nil {
			t.Fatal(twice)
		}
		if came != rows || begun != sent || sum.Len()+sum.Joined() != rows {
			t.Fatalf("seed %d: of %d rows %d were begun with, %d are there and %d were added", seed, rows, came, sum.Len(), sum.Joined())
		}
		plain, _ := delta.Sum(chunks, take, give, nil)
		if a, b := rowsOf(sum), rowsOf(plain); !slices.Equal(a, b) || sum.Joined() != plain.Joined() {
			t.Fatalf("seed %d: seen chunk by chunk the sum is %v of %d joined, else %v of %d", seed, a, sum.Joined(), b, plain.Joined())
		}
		for r := range 9 {
			want, present := reference(original, 4, 0, r)
			got := sum.Find(r)
			if present != (got != nil) || (present && [2]float32(got) != want) {
				t.Fatalf("seed %d: row %d is %v, want %v (%v)", seed, r, got, want, present)
			}
		}
	}
}

func mergeSomeSiblings(random *rand.Rand, chunks []wire.Chunk) []wire.Chunk {
	i := random.IntN(len(chunks))
	for j := range chunks {
		if chunks[j].Subtree != delta.Sibling(chunks[i].Subtree) {
			continue
		}
		b := take()
		b.MergeChunk(chunks[i].Rows, chunks[i].Values)
		b.MergeChunk(chunks[j].Rows, chunks[j].Values)
		rows, values := b.Chunk()
		merged := wire.Chunk{Subtree: delta.Parent(chunks[i].Subtree), Rows: rows, Values: values}
		rest := slices.DeleteFunc(slices.Clone(chunks), func(c wire.Chunk) bool {
			return c.Subtree == chunks[i].Subtree || c.Subtree == chunks[j].Subtree
		})
		return append(rest, merged)
	}
	return chunks
}

func TestSteadyStateAllocatesNothing(t *testing.T) {
	b, row := delta.NewBuffer(schema, 9, 0), []float32{1, 2}
	whole := make([]float32, 18)
	fill := func() {
		b.AddRow(3, row)
		b.AddRow(5, row)
		b.AddRow(3, row)
		b.Reset()
		b.AddRange(0, whole)
		b.AddRow(2, row)
		b.Reset()
	}
	k := delta.NewKeyed(schema, 0)
	keyed := func() {
		for i := range bellows.Key(40) {
			k.AddKey(i*i%23, row)
		}
		k.Reset()
	}
	for _, f := range []func(){fill, keyed} {
		f()
		if n := testing.AllocsPerRun(100, f); n != 0 {
			t.Errorf("%v allocations", n)
		}
	}
}

func TestSumsThatOverlapAreRefused(t *testing.T) {
	at := func(level uint8, index uint32) wire.Chunk {
		return wire.Chunk{Subtree: wire.Subtree{Level: level, Index: index}, Rows: []uint32{0}, Values: []float32{1, 2}}
	}
	for split, chunks := range map[bellows.SplitID][]wire.Chunk{
		3: {at(0, 3), at(0, 1), at(0, 3)},
		2: {at(0, 2), at(2, 0)},
		6: {at(1, 3), at(0, 0), at(0, 7), at(0, 6)},
		0: {at(32, 0), at(0, 0)},
	} {
		if sum, twice := delta.Sum(chunks, take, give, give); twice == nil || twice.Split != split || sum != nil {
			t.Errorf("%v: %v, want split %d", chunks, twice, split)
		}
	}
}

// TestSumAddsUnitsByItems divides the clocks of some splits into units, adds the first ones of each as a client does,
// and shuffles the chunks. The sum has the bits of the tree over splits, where a divided split is the sum of its units,
// one after the other.
func TestSumAddsUnitsByItems(t *testing.T) {
	all := bellows.Range{Begin: 3, End: 11}
	for seed := range uint64(400) {
		random := rand.New(rand.NewPCG(seed, 3))
		splits := 1 + random.IntN(6)
		var chunks, plain []wire.Chunk
		for s := range splits {
			n := 1 + random.IntN(4)
			units := leaves(random, n)
			whole := take()
			folded := random.IntN(n + 1) // of the first units, which leave together
			for i, u := range units {
				i = int(u.Subtree.Index)
				whole.MergeChunk(u.Rows, u.Values)
				u.Subtree = delta.UnitLeaf(bellows.Unit{Split: bellows.SplitID(s), Items: all.Part(i, n)}, all)
				if last := len(chunks) - 1; last >= 0 && i < folded {
					if at, ok := delta.Extends(chunks[last].Subtree, u.Subtree, all); ok {
						b := take()
						b.MergeChunk(chunks[last].Rows, chunks[last].Values)
						b.MergeChunk(u.Rows, u.Values)
						rows, values := b.Chunk()
						chunks[last] = wire.Chunk{Subtree: at, Rows: rows, Values: values}
						continue
					}
				}
				chunks = append(chunks, u)
			}
			if whole.Len() > 0 {
				rows, values := whole.Chunk()
				at := delta.Leaf(bellows.SplitID(s))
				plain = append(plain, wire.Chunk{Subtree: at, Rows: rows, Values: values})
			}
		}
		if len(plain) == 0 {
			continue
		}
		random.Shuffle(len(chunks), func(i, j int) { chunks[i], chunks[j] = chunks[j], chunks[i] })
		for _, leaf := range []func(*delta.Buffer){nil, give} {
			sum, twice := delta.Sum(slices.Clone(chunks), take, give, leaf)
			if twice != nil {
				t.Fatal(twice)
			}
			for r := range 9 {
				want, present := reference(plain, 4, 0, r)
				got := sum.Find(r)
				if present != (got != nil) || (present && [2]float32(got) != want) {
					t.Fatalf("seed %d: row %d is %v, want %v (%v)", seed, r, got, want, present)
				}
			}
		}
	}
}

// TestSumRejectsUnitsThatOverlap sums parts of a clock that have an item in common, and a part with the whole.
func TestSumRejectsUnitsThatOverlap(t *testing.T) {
	at := func(split uint32, begin, end int) wire.Chunk {
		t := wire.Subtree{Index: split, Items: bellows.Range{Begin: begin, End: end}}
		return wire.Chunk{Subtree: t, Rows: []uint32{0}, Values: []float32{1, 2}}
	}
	pair := wire.Chunk{Subtree: wire.Subtree{Level: 1, Index: 1}, Rows: []uint32{0}, Values: []float32{1, 2}}
	for split, chunks := range map[bellows.SplitID][]wire.Chunk{
		1: {at(1, 0, 3), at(0, 0, 3), at(1, 2, 4)},
		0: {at(0, 2, 4), at(0, 0, 0)},
		2: {at(2, 2, 4), pair},
		3: {at(3, 2, 4), pair},
		4: {at(4, 2, 4), at(4, 2, 4)},
	} {
		if sum, twice := delta.Sum(chunks, take, give, give); twice == nil || twice.Split != split || sum != nil {
			t.Errorf("%v: %v, want split %d", chunks, twice, split)
		}
	}
	if _, twice := delta.Sum([]wire.Chunk{at(1, 3, 4), at(1, 0, 3)}, take, give, nil); twice != nil {
		t.Error(twice)
	}
}
