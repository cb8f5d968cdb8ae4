package rowstore

import (
	"fmt"
	"math/bits"
	"slices"

	"bellows"
	"bellows/core/keys"
	"bellows/core/planted"
	"bellows/table"
)

// sparse is the state of a partition whose rows have keys. A key is in one of three states:
//
//	untouched   it has no number; a read of it is the initialiser's row, and creates nothing
//	reserved    an update of it is held (Reserve): it has a number, and a row that the initialiser filled
//	live        an update of it was applied: it counts, and is in images
//
// A row moves only forward through these states. A reader cannot tell the first two apart. So an update that never
// commits shows nowhere except as a place within the bound (TestAKeyCountsFromItsFirstUpdate; planted:
// untouched-zero, reserved-saved).
//
// Rows lie by their numbers in slabs of equal size, made as they are needed and never moved. A partition that grows
// copies nothing, and a chunk's numbers stay valid from when it is held until it is applied. Numbers depend on the
// order of first touch, so they never leave the partition: an image is sorted by key. That order is kept from one
// image to the next, and only keys that are new since are sorted and merged into it.
type sparse struct {
	schema *table.Schema
	cut    table.Cut
	of     bellows.PartitionID
	index  keys.Index
	seed   uint64 // of the index
	shift  uint   // a slab has 1<<shift rows
	slabs  []slab
	live   []uint64 // a bit for each number: the row counts
	order  []uint32 // numbers of rows that count, by their keys, as the last image had them
	fresh  []uint32 // those that have come to count since; with order, each live number once
	radix  int      // so many of them are sorted digit by digit, fewer by comparing
}

// slab is consecutive rows: their values, and per slot of the rule theirs.
type slab struct {
	values []float32
	slots  [][]float32
}

// slabValues is about how many values a slab has: 16 KiB of them.
const slabValues = 4 << 10

func newSparse(s *table.Schema, cut table.Cut, p bellows.PartitionID, seed uint64) *sparse {
	rows := max(1, slabValues/s.Width)
	t := &sparse{schema: s, cut: cut, of: p, seed: seed, radix: radixMin, shift: uint(bits.Len(uint(rows))) - 1}
	t.index.Seed(seed)
	return t
}

// SeedKeys gives the partition, before it has any keys, a seed that those who choose keys do not
// know, so that they cannot choose slow ones (keys.Index). It outlives Load
// (TestIndexesKeepTheirSeed). A dense partition needs none.
func (t *Store) SeedKeys(seed uint64) {
	if p := t.sparse; p != nil {
		t.sparse = newSparse(p.schema, p.cut, p.of, seed)
	}
}

// SortDigits replaces radixMin by least: with at least that many new rows they are sorted digit by digit. Tests make
// it small to reach that code. It changes no result (TestImagesAscendHoweverManyKeysAreNew).
func (t *Store) SortDigits(least int) {
	if t.sparse != nil {
		t.sparse.radix = least
	}
}

// Reserve appends the numbers of the rows of keys, as Apply takes them, and gives a row to those
// that have none. Beyond the partition's bound it fails with an error of kind Refused that names
// the table; what it has reserved until then stays, within the bound
// (TestSparseBoundIsRefusedByName).
func (t *Store) Reserve(list []bellows.Key, to []uint32) ([]uint32, error) {
	p := t.sparse
	most := p.cut.Most()
	for _, k := range list {
		if p.index.Len() >= most && p.index.Find(k) < 0 {
			return to, &bellows.Error{Kind: bellows.Refused, Op: "add rows to table", Subject: p.schema.Name,
				Err:  fmt.Errorf("one of its partitions has %d rows, the most for a table declared with %d", most, p.schema.Rows),
				Hint: "declare it with more rows, or use fewer keys"}
		}
		n, added := p.index.Add(k)
		if added {
			t.make(n, k)
		}
		to = append(to, uint32(n))
	}
	return to, nil
}

// make starts the row of a new key.
func (t *Store) make(n int, k bellows.Key) {
	p := t.sparse
	if n>>p.shift == len(p.slabs) {
		s := slab{values: make([]float32, t.width<<p.shift)}
		for _, width := range t.widths {
			s.slots = append(s.slots, make([]float32, width<<p.shift))
		}
		p.slabs = append(p.slabs, s)
	}
	if n>>6 == len(p.live) {
		p.live = append(p.live, 0)
	}
	p.schema.Init.FillKey(k, p.row(uint32(n), t.width))
}

// row returns the values of a row.
func (p *sparse) row(n uint32, width int) []float32 {
	at := int(n&(1<<p.shift-1)) * width
	return p.slabs[n>>p.shift].values[at : at+width : at+width]
}

// ReadKeys appends the rows of keys, row after row. Those that no update has touched are the
// initialiser's and are not made.
func (t *Store) ReadKeys(list []bellows.Key, to []float32) []float32 {
	p := t.sparse
	for _, k := range list {
		if n := p.index.Find(k); n >= 0 {
			to = append(to, p.row(uint32(n), t.width)...)
			continue
		}
		at := len(to)
		to = slices.Grow(to, t.width)[:at+t.width]
		if planted.On("untouched-zero") {
			clear(to[at:])
			continue
		}
		p.schema.Init.FillKey(k, to[at:])
	}
	return to
}

// Key returns the key of a row by its number, as Reserve gives it.
func (t *Store) Key(n uint32) bellows.Key { return t.sparse.index.Keys()[n] }

// apply runs the rule on numbered rows, neighbours of one slab in one call: keys that came together
// are numbered together, so that a clock's rows are few runs. All of them are live from here on.
func (t *Store) apply(rows []uint32, deltas []float32) {
	p, w := t.sparse, t.width
	for i := 0; i < len(rows); {
		first, end := rows[i], i+1
		for end < len(rows) && rows[end] == rows[end-1]+1 && rows[end]>>p.shift == first>>p.shift {
			end++
		}
		n, at := end-i, int(first&(1<<p.shift-1))
		s := &p.slabs[first>>p.shift]
		for j, width := range t.widths {
			t.row[j] = s.slots[j][at*width : (at+n)*width]
		}
		t.rule.Apply(s.values[at*w:(at+n)*w], t.row, deltas[i*w:end*w])
		i = end
	}
	for _, r := range rows {
		p.count(r)
	}
}

// count makes a row live.
func (p *sparse) count(r uint32) {
	if bit := uint64(1) << (r & 63); p.live[r>>6]&bit == 0 {
		p.live[r>>6] |= bit
		p.fresh = append(p.fresh, r)
	}
}

// sorted returns the numbers of the rows that count, by their keys. It merges fresh into order.
func (p *sparse) sorted() []uint32 {
	list := p.index.Keys()
	byKey := func(a, b uint32) int {
		if list[a] < list[b] {
			return -1
		}
		return 1 // keys differ
	}
	p.sortFresh(byKey)
	old := len(p.order)
	p.order = append(p.order, p.fresh...)
	// Merge from the end, where there is room: the result is written after the part that is still to be read.
	for i, j, to := old-1, len(p.fresh)-1, len(p.order)-1; j >= 0; to-- {
		if i >= 0 && byKey(p.order[i], p.fresh[j]) > 0 {
			p.order[to] = p.order[i]
			i--
		} else {
			p.order[to] = p.fresh[j]
			j--
		}
	}
	p.fresh = p.fresh[:0]
	return p.order
}

// radixMin is the number of rows from which sorting by digits is faster than by comparisons, each of which looks at
// two keys anywhere.
const radixMin = 256

// sortFresh sorts the numbers in fresh by their keys. Many numbers are sorted by the bytes of their keys, the lowest
// first, which is stable (LSD radix sort); bytes that all keys share are skipped. So an image of a million new keys
// takes a third of the time (BenchmarkSparseImage), for 32 bytes a key. That matters because its node answers no
// message meanwhile.
func (p *sparse) sortFresh(byKey func(a, b uint32) int) {
	n := len(p.fresh)
	if n < p.radix {
		slices.SortFunc(p.fresh, byKey)
		return
	}
	type row struct {
		key    bellows.Key
		number uint32
	}
	from, to := make([]row, n), make([]row, n)
	var counts [8][256]uint32
	for i, r := range p.fresh {
		k := p.index.Keys()[r]
		from[i] = row{k, r}
		for d := range counts {
			counts[d][byte(k>>(8*d))]++
		}
	}
	for d := range counts {
		ends := &counts[d]
		if ends[byte(from[0].key>>(8*d))] == uint32(n) {
			continue
		}
		at := uint32(0)
		for b, c := range ends { // from here on: where the next key with the byte goes
			ends[b] = at
			at += c
		}
		for _, x := range from {
			b := byte(x.key >> (8 * d))
			to[ends[b]] = x
			ends[b]++
		}
		from, to = to, from
	}
	for i, x := range from {
		p.fresh[i] = x.number
	}
}

// save copies the rows that count, ascending by key, into an image.
func (t *Store) save(to *Image) {
	p := t.sparse
	numbers := p.sorted()
	if planted.On("reserved-saved") {
		numbers = numbers[:0:0]
		for n := range p.index.Len() {
			numbers = append(numbers, uint32(n))
		}
	}
	to.Keys, to.Values = slices.Grow(to.Keys[:0], len(numbers)), slices.Grow(to.Values[:0], len(numbers)*t.width)
	if to.Keys == nil {
		to.Keys = []bellows.Key{} // of a sparse table, though empty
	}
	if to.Slots == nil {
		to.Slots = make([][]float32, len(t.widths))
	}
	for _, n := range numbers {
		to.Keys = append(to.Keys, p.index.Keys()[n])
		to.Values = append(to.Values, p.row(n, t.width)...)
	}
	for j, width := range t.widths {
		to.Slots[j] = slices.Grow(to.Slots[j][:0], len(numbers)*width)
		for _, n := range numbers {
			at := int(n&(1<<p.shift-1)) * width
			to.Slots[j] = append(to.Slots[j], p.slabs[n>>p.shift].slots[j][at:at+width]...)
		}
	}
}

// load replaces the state by an image, which is checked as a whole first. An image that does not fit changes nothing
// (TestUnfitSparseImageIsRefused, TestKeysOfAnotherPartitionAreRefused), unless it has more rows than the table may.
func (t *Store) load(from *Image) error {
	n := len(from.Keys)
	if len(from.Values) != n*t.width || len(from.Slots) != len(t.widths) {
		return misfit("image holds %d values and %d slots for %d keys", len(from.Values), len(from.Slots), n)
	}
	for i, s := range from.Slots {
		if len(s) != n*t.widths[i] {
			return misfit("slot %d holds %d values for %d keys", i, len(s), n)
		}
	}
	for i := 1; i < n; i++ {
		if from.Keys[i] <= from.Keys[i-1] {
			return misfit("its keys do not ascend at key %d", i)
		}
	}
	for _, k := range from.Keys {
		if p := t.sparse.cut.FindKey(k); p != t.sparse.of {
			return misfit("key %d belongs to partition %d, not %d", k, p, t.sparse.of)
		}
	}
	radix := t.sparse.radix
	t.sparse = newSparse(t.sparse.schema, t.sparse.cut, t.sparse.of, t.sparse.seed)
	t.sparse.radix = radix
	rows, err := t.Reserve(from.Keys, make([]uint32, 0, n))
	if err != nil {
		return err
	}
	p := t.sparse
	for i, r := range rows { // numbered as they are sorted
		copy(p.row(r, t.width), from.Values[i*t.width:])
		for j, width := range t.widths {
			copy(p.slabs[r>>p.shift].slots[j][int(r&(1<<p.shift-1))*width:][:width], from.Slots[j][i*width:])
		}
		p.live[r>>6] |= 1 << (r & 63)
	}
	p.order = rows
	return nil
}

// misfit returns the error of an image of another partition or table.
func misfit(format string, args ...any) error {
	return bellows.Errorf(bellows.BadData, "restore partition", "", format, args...)
}
