package rowstore

import (
	"fmt"
	"slices"

	"bellows"
	"bellows/core/audit"
	"bellows/core/keys"
)

// A partition is copied to another lane while it is used, some rows at a time (package handoff). Here rows are named
// by their numbers, which no other node knows. In a sparse table, rows that only held updates have reserved are
// skipped; they become rows of the copy with the first update that is applied.

// Numbers returns how many numbers rows have; in a sparse table including reserved ones.
func (t *Store) Numbers() int {
	if t.sparse != nil {
		return t.sparse.index.Len()
	}
	return t.rows
}

// RowValues returns how many values a row has, including those that the rule keeps.
func (t *Store) RowValues() int {
	n := t.width
	for _, w := range t.widths {
		n += w
	}
	return n
}

// Count returns how many of the rows [first, end) count, and so are copied.
func (t *Store) Count(first, end int) int {
	if t.sparse == nil {
		return end - first
	}
	n := 0
	for r := first; r < end; r++ {
		if t.sparse.isLive(uint32(r)) {
			n++
		}
	}
	return n
}

func (p *sparse) isLive(r uint32) bool { return p.live[r>>6]&(1<<(r&63)) != 0 }

// CopyRows copies the rows [first, end) that count: their keys, where they have some, and their values, all rows' and then slot by slot what the rule keeps. Both
// lists are as long as Count and Beside say.
func (t *Store) CopyRows(first, end int, list []bellows.Key, values []float32) {
	if t.sparse == nil {
		at := copy(values, t.values[first*t.width:end*t.width])
		for i, w := range t.widths {
			at += copy(values[at:], t.slots[i][first*w:end*w])
		}
		return
	}
	p, n, to := t.sparse, 0, 0
	for r := first; r < end; r++ {
		if p.isLive(uint32(r)) {
			list[n] = p.index.Keys()[r]
			to += copy(values[to:], p.row(uint32(r), t.width))
			n++
		}
	}
	for i, w := range t.widths {
		for r := first; r < end; r++ {
			if p.isLive(uint32(r)) {
				to += copy(values[to:], p.slot(uint32(r), i, w))
			}
		}
	}
}

// slot returns the values of one of the rule's slots for a row.
func (p *sparse) slot(n uint32, of, width int) []float32 {
	at := int(n&(1<<p.shift-1)) * width
	return p.slabs[n>>p.shift].slots[of][at : at+width : at+width]
}

// Put takes rows that CopyRows has copied elsewhere, from the first-th on or of these keys: they are as they were there. It fails as Reserve does.
func (t *Store) Put(first int, list []bellows.Key, values []float32) error {
	if t.sparse == nil {
		n := len(values) / t.RowValues()
		at := copy(t.values[first*t.width:(first+n)*t.width], values)
		for i, w := range t.widths {
			at += copy(t.slots[i][first*w:(first+n)*w], values[at:])
		}
		return nil
	}
	rows, err := t.Reserve(list, make([]uint32, 0, len(list)))
	if err != nil {
		return err
	}
	p := t.sparse
	for _, r := range rows {
		values = values[copy(p.row(r, t.width), values):]
		p.count(r)
	}
	for i, w := range t.widths {
		for _, r := range rows {
			values = values[copy(p.slot(r, i, w), values):]
		}
	}
	return nil
}

// summedMost is about how many values Sum looks at: what takes less than a millisecond.
const summedMost = 1 << 18

// Sum returns a sum over the bits of the state: equal partitions have equal sums. For a large partition it covers a
// part of the rows, which is the same for equal partitions.
func (t *Store) Sum() (sum audit.Sum) {
	if t.sparse != nil {
		return t.sparse.sum(t)
	}
	for i, list := range slices.Insert(slices.Clone(t.slots), 0, t.values) {
		const run = 1 << 10
		for at, step := 0, run*(1+len(list)/summedMost); at < len(list); at += step {
			sum += audit.Range(t.id+bellows.PartitionID(i), at, list[at:min(at+run, len(list))])
		}
	}
	return sum
}

func (p *sparse) sum(t *Store) (sum audit.Sum) {
	every := uint64(1 + t.Rows()*t.RowValues()/summedMost)
	for r, k := range p.index.Keys() {
		if !p.isLive(uint32(r)) || every > 1 && keys.Hash(k)%every != 0 {
			continue
		}
		sum += audit.Key(t.id, k, p.row(uint32(r), t.width))
		for i, w := range t.widths {
			sum += audit.Key(t.id+bellows.PartitionID(1+i), k, p.slot(uint32(r), i, w))
		}
	}
	return sum
}

// Keyed reports whether rows have keys.
func (t *Store) Keyed() bool { return t.sparse != nil }

// ImageRows returns the number of rows of an image of a partition like this one, and of the values that are copied of
// each. An image that was loaded may lack what the rule keeps.
func (t *Store) ImageRows(im *Image) (rows, beside int) {
	if beside = t.width; len(im.Slots) > 0 {
		beside = t.RowValues()
	}
	return len(im.Values) / t.width, beside
}

// CopyImage copies n rows of an image of a partition like this one, from the first-th on, as CopyRows copies rows.
func (t *Store) CopyImage(im *Image, first, n int, list []bellows.Key, values []float32) {
	if im.Keys != nil {
		copy(list, im.Keys[first:first+n])
	}
	at := copy(values, im.Values[first*t.width:(first+n)*t.width])
	for i := range im.Slots {
		w := t.widths[i]
		at += copy(values[at:], im.Slots[i][first*w:(first+n)*w])
	}
}

// PutImage appends n rows that CopyImage has copied elsewhere to an image. It refuses rows that do not follow the
// existing ones.
func (t *Store) PutImage(im *Image, first, n int, list []bellows.Key, values []float32) error {
	if first == 0 {
		*im = Image{}
		if t.sparse != nil {
			im.Keys = []bellows.Key{}
		}
		if len(values) > n*t.width || n == 0 {
			im.Slots = make([][]float32, len(t.widths))
		}
	}
	if rows := len(im.Values) / t.width; rows != first {
		return fmt.Errorf("rows of its image from %d on, behind %d", first, rows)
	}
	if len(values) > n*t.width && len(im.Slots) < len(t.widths) {
		return fmt.Errorf("rows of its image with what the rule keeps, behind others without")
	}
	im.Keys = append(im.Keys, list...)
	im.Values = append(im.Values, values[:n*t.width]...)
	if values = values[n*t.width:]; len(values) == 0 {
		return nil
	}
	for i, w := range t.widths {
		im.Slots[i] = append(im.Slots[i], values[:n*w]...)
		values = values[n*w:]
	}
	return nil
}
