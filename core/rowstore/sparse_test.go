package rowstore_test

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"bellows"
	"bellows/core/rowstore"
	"bellows/internal/require"
	"bellows/table"
)

// sparse returns the one partition of a sparse table with rows of three values.
func sparse(t testing.TB, r table.Rule, rows int) *rowstore.Store {
	t.Helper()
	s := &table.Schema{Name: "words", Sparse: true, Rows: rows, Width: 3, Rule: r, Partitions: 1,
		Init: table.Init{Kind: table.Uniform, Seed: 1, Low: 0, High: 1}}
	return newStore(t, s, 0)
}

// update reserves and applies.
func update(t testing.TB, p *rowstore.Store, list []bellows.Key, deltas []float32) {
	t.Helper()
	rows, err := p.Reserve(list, nil)
	require.NoError(t, err)
	p.Apply(rows, deltas)
}

// TestSparseAgainstDense applies the same updates to a sparse partition and to a dense one, whose rows are the keys
// in their order, and wants the same rows, slots included.
func TestSparseAgainstDense(t *testing.T) {
	const count = 6000
	for _, r := range rules {
		random := rand.New(rand.NewPCG(7, 7))
		list := make([]bellows.Key, count)
		for i := range list {
			list[i] = bellows.Key(i) << 33
		}
		d := &table.Schema{Name: "words", Rows: count, Width: 3, Rule: r, Partitions: 1}
		dense := newStore(t, d, 0)
		p := sparse(t, r, count)
		copy(dense.Values(), p.ReadKeys(list, nil))
		for range 30 {
			var rows []uint32
			var chosen []bellows.Key
			for _, i := range random.Perm(count)[:1+random.IntN(count/4)] {
				rows, chosen = append(rows, uint32(i)), append(chosen, list[i])
			}
			if random.IntN(2) == 0 {
				slices.Sort(rows)
				slices.Sort(chosen)
			}
			deltas := make([]float32, 3*len(rows))
			for i := range deltas {
				deltas[i] = float32(random.NormFloat64())
			}
			dense.Apply(rows, deltas)
			update(t, p, chosen, deltas)
		}
		if got := p.ReadKeys(list, nil); !slices.Equal(got, dense.Values()) {
			t.Errorf("rule %q: other values than the dense partition", r.Name)
		}
		var im, want rowstore.Image
		p.Save(&im)
		dense.Save(&want)
		for j := range want.Slots {
			width := len(want.Slots[j]) / count
			for i, k := range im.Keys {
				row := int(k >> 33)
				if !slices.Equal(im.Slots[j][i*width:(i+1)*width], want.Slots[j][row*width:(row+1)*width]) {
					t.Fatalf("rule %q: slot %d of key %d differs", r.Name, j, k)
				}
			}
		}
	}
}

// TestAKeyCountsFromItsFirstUpdate wants reads and reservations to leave nothing in an image.
func TestAKeyCountsFromItsFirstUpdate(t *testing.T) {
	p := sparse(t, table.Rule{}, 100)
	start := p.ReadKeys([]bellows.Key{5, 1 << 63, 9}, nil)
	if _, err := p.Reserve([]bellows.Key{9, 1 << 63}, nil); err != nil {
		t.Fatal(err)
	}
	if got := p.ReadKeys([]bellows.Key{5, 1 << 63, 9}, nil); !slices.Equal(got, start) {
		t.Errorf("reserved rows read %v, before %v", got, start)
	}
	update(t, p, []bellows.Key{1 << 63, 5}, []float32{0, 0, 0, 1, 1, 1})
	var im rowstore.Image
	p.Save(&im)
	if want := []bellows.Key{5, 1 << 63}; !slices.Equal(im.Keys, want) || p.Rows() != 2 {
		t.Errorf("the image has keys %v, rows %d; want %v", im.Keys, p.Rows(), want)
	}
	if want := []float32{start[0] + 1, start[1] + 1, start[2] + 1, start[3], start[4], start[5]}; !slices.Equal(im.Values, want) {
		t.Errorf("the image has values %v, want %v", im.Values, want)
	}
}

// TestImagesIgnoreOrderOfFirstTouch creates the same keys in several orders, with images between.
func TestImagesIgnoreOrderOfFirstTouch(t *testing.T) {
	list := make([]bellows.Key, 700)
	for i := range list {
		list[i] = bellows.Key(i*i) * 0x9e3779b97f4a7c15
	}
	var first rowstore.Image
	for seed := range uint64(6) {
		random := rand.New(rand.NewPCG(seed, 3))
		random.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
		p := sparse(t, rules[3], 1000)
		var im rowstore.Image
		for rest := list; len(rest) > 0; {
			n := min(1+random.IntN(300), len(rest))
			deltas := make([]float32, 3*n)
			for i := range deltas {
				deltas[i] = 1
			}
			update(t, p, rest[:n], deltas)
			rest = rest[n:]
			p.Save(&im)
		}
		if seed == 0 {
			first = im
		}
		if !slices.IsSorted(im.Keys) || !slices.Equal(im.Keys, first.Keys) || !slices.Equal(im.Values, first.Values) ||
			!slices.Equal(im.Slots[0], first.Slots[0]) {
			t.Errorf("seed %d: another image", seed)
		}
	}
}

func TestSparseImageRestoresRowsAndSlots(t *testing.T) {
	for _, r := range rules {
		p := sparse(t, r, 50)
		list := []bellows.Key{40, 3, 1 << 50, 17}
		step := func(p *rowstore.Store) { update(t, p, list, []float32{1, 2, 3, 4, 5, 6, 7, 8, 9, 1, 2, 3}) }
		step(p)
		var im rowstore.Image
		p.Save(&im)
		step(p)
		q := sparse(t, r, 50)
		update(t, q, []bellows.Key{99}, []float32{1, 1, 1})
		require.NoError(t, q.Load(&im))
		step(q)
		list = append(list, 99)
		if got, want := q.ReadKeys(list, nil), p.ReadKeys(list, nil); !slices.Equal(got, want) {
			t.Errorf("rule %q: restored and stepped: %v, want %v", r.Name, got, want)
		}
	}
}

func TestUnfitSparseImageIsRefused(t *testing.T) {
	im := func() *rowstore.Image {
		return &rowstore.Image{Keys: []bellows.Key{1, 2}, Values: make([]float32, 6), Slots: [][]float32{make([]float32, 6)}}
	}
	for why, break_ := range map[string]func(*rowstore.Image){
		"5 values":      func(im *rowstore.Image) { im.Values = im.Values[:5] },
		"0 slots":       func(im *rowstore.Image) { im.Slots = nil },
		"slot 0 holds":  func(im *rowstore.Image) { im.Slots[0] = im.Slots[0][:5] },
		"do not ascend": func(im *rowstore.Image) { im.Keys[1] = 1 },
	} {
		bad := im()
		break_(bad)
		err := sparse(t, rules[3], 10).Load(bad)
		if err == nil || !strings.Contains(err.Error(), why) || bellows.KindOf(err) != bellows.BadData {
			t.Errorf("want a refusal about %q, got %v", why, err)
		}
	}
	if err := sparse(t, rules[3], 10).Load(im()); err != nil {
		t.Errorf("the image that fits: %v", err)
	}
}

// TestSparseBoundIsRefusedByName fills a partition to its bound. Existing keys may be updated further; a new one is
// refused, and so is an image with more.
func TestSparseBoundIsRefusedByName(t *testing.T) {
	p := sparse(t, table.Rule{}, 8) // one partition: 8 rows, an eighth and 128 more
	var all []bellows.Key
	for i := range bellows.Key(137) {
		all = append(all, i*i)
	}
	zeros := make([]float32, 3*137)
	update(t, p, all, zeros)
	update(t, p, all, zeros)
	_, err := p.Reserve([]bellows.Key{4, 3}, nil)
	if bellows.KindOf(err) != bellows.Refused || !strings.Contains(err.Error(), "words") || !strings.Contains(err.Error(), "137 rows") {
		t.Errorf("row 138: %v", err)
	}
	var im rowstore.Image
	p.Save(&im)
	im.Keys, im.Values = append(im.Keys, 1<<60), append(im.Values, 1, 2, 3)
	if err := sparse(t, table.Rule{}, 8).Load(&im); bellows.KindOf(err) != bellows.Refused {
		t.Errorf("an image of 138 rows: %v", err)
	}
}

func TestSparseHotPathsAllocateNothing(t *testing.T) {
	for _, r := range rules {
		p := sparse(t, r, 5000)
		var list []bellows.Key
		for i := range 2000 {
			list = append(list, bellows.Key(i)<<20)
		}
		deltas, to, rows := make([]float32, 6000), make([]float32, 0, 6000), make([]uint32, 0, 2000)
		step := func() {
			rows, _ = p.Reserve(list, rows[:0])
			p.Apply(rows, deltas)
			to = p.ReadKeys(list, to[:0])
		}
		step()
		if n := testing.AllocsPerRun(20, step); n != 0 {
			t.Errorf("rule %q: %v allocations", r.Name, n)
		}
	}
}

// TestKeysOfAnotherPartitionAreRefused loads an image into each partition of a table: only that from which it was saved takes it.
func TestKeysOfAnotherPartitionAreRefused(t *testing.T) {
	s := &table.Schema{Name: "words", Sparse: true, Rows: 100, Width: 1, Partitions: 3}
	for n := range bellows.PartitionID(3) {
		from := newStore(t, s, n)
		from.SeedKeys(7)
		k := bellows.Key(0)
		for s.Cut().FindKey(k) != n {
			k++
		}
		update(t, from, []bellows.Key{k}, []float32{5})
		var im rowstore.Image
		from.Save(&im)
		for at := range bellows.PartitionID(3) {
			p := newStore(t, s, at)
			switch err := p.Load(&im); {
			case at == n && (err != nil || p.ReadKeys([]bellows.Key{k}, nil)[0] != 5):
				t.Errorf("partition %d does not take its own image: %v", n, err)
			case at != n && (bellows.KindOf(err) != bellows.BadData || !strings.Contains(err.Error(), "belongs to partition")):
				t.Errorf("partition %d takes the image of %d: %v", at, n, err)
			case p.Rows() != len(im.Keys) && at == n, p.Rows() != 0 && at != n:
				t.Errorf("partition %d has %d rows", at, p.Rows())
			}
		}
	}
}

// TestImagesAscendHoweverManyKeysAreNew saves keys in batches of all sizes around that from which they are sorted otherwise, in descending order, with bytes
// that all have in common, all but one, and half of them.
func TestImagesAscendHoweverManyKeysAreNew(t *testing.T) {
	for name, key := range map[string]func(i int) bellows.Key{
		"low bytes":  func(i int) bellows.Key { return bellows.Key(i) },
		"high bytes": func(i int) bellows.Key { return bellows.Key(i) << 48 },
		"but for one": func(i int) bellows.Key {
			if i == 255 {
				return 1<<40 | 255
			}
			return bellows.Key(i)
		},
		"half": func(i int) bellows.Key { return bellows.Key(i) | bellows.Key(i%2)<<56 },
	} {
		for _, n := range []int{0, 1, 255, 256, 257, 901} {
			p := sparse(t, table.Rule{}, 2000)
			var im rowstore.Image
			for round := range 2 {
				var list []bellows.Key
				for i := range n {
					list = append(list, key(n-1-i)<<1|bellows.Key(round))
				}
				update(t, p, list, make([]float32, 3*n))
				p.Save(&im)
				if !slices.IsSorted(im.Keys) || len(im.Keys) != n*(round+1) || im.Keys == nil {
					t.Errorf("%s, %d new keys, round %d: an image of %d keys does not ascend", name, n, round, len(im.Keys))
				}
			}
		}
	}
}
