package store

import (
	"slices"

	"bellows"
	"bellows/core/planted"
)

// Snapshot is the state of a partition at one moment, which is given away some rows at a time while the partition goes on changing. What is
// about to be written is copied before (Touch), a block of rows at a time, where it has not been given yet. So it takes no memory where nothing
// changes, and never more than the partition has.
//
// Invariant: a row is as it was when the snapshot was taken, slots too, whatever was written since (TestASnapshotStaysAsItWas).
//
// Of a sparse table it has the rows that counted then, by their keys. Which these are is copied, four bytes a row: those that held updates had
// reserved come to count later, and have no place in it.
type Snapshot struct {
	of     *Partition
	still  bool        // nobody writes to the partition
	rows   int         // rows, or numbers of rows, that there were
	order  []uint32    // of a sparse table: the numbers of those that counted, by their keys
	shift  uint        // a block has 1<<shift rows
	saved  [][]float32 // by block: what was copied of it, all values and then slot by slot; nil: nothing
	given  int         // rows
	memory int         // bytes that copies take now
}

// blockValues is about how many values a block of a dense partition has: 64 KiB of them.
const blockValues = 16 << 10

// Snapshot takes one. It costs no more than a list of the rows that count.
func (t *Partition) Snapshot() *Snapshot {
	s := &Snapshot{of: t, rows: t.Numbers()}
	if p := t.sparse; p != nil {
		s.order, s.shift = slices.Clone(p.sorted()), p.shift
		if planted.On("cut-reserved-rows") {
			s.order = s.order[:0]
			for n := range p.index.Len() {
				s.order = append(s.order, uint32(n))
			}
		}
		s.memory = 4 * len(s.order)
	} else {
		for s.shift = 0; t.Beside()<<(s.shift+1) <= blockValues; s.shift++ {
		}
	}
	s.saved = make([][]float32, (s.rows+1<<s.shift-1)>>s.shift)
	return s
}

// Still notes that nobody writes to the partition any more.
func (s *Snapshot) Still() *Snapshot {
	s.still = true
	return s
}

// IsStill reports whether nobody writes to the partition.
func (s *Snapshot) IsStill() bool { return s.still }

// Len is how many rows the snapshot has.
func (s *Snapshot) Len() int {
	if s.of.sparse != nil {
		return len(s.order)
	}
	return s.rows
}

// Given is how many rows Next has given.
func (s *Snapshot) Given() int { return s.given }

// Memory is how many bytes copies take.
func (s *Snapshot) Memory() int { return s.memory }

// Touch copies what is about to be written: rows as Apply names them (nil: all).
func (s *Snapshot) Touch(rows []uint32) {
	if s.still {
		return
	}
	if rows == nil {
		for b := range s.saved {
			s.save(b)
		}
		return
	}
	for _, r := range rows {
		if b := int(r >> s.shift); b < len(s.saved) {
			s.save(b)
		}
	}
}

// save copies a block, unless that was done, or it was given.
func (s *Snapshot) save(b int) {
	first, end := b<<s.shift, min((b+1)<<s.shift, s.rows)
	if s.saved[b] != nil || s.of.sparse == nil && end <= s.given || s.given == s.Len() {
		return
	}
	list := make([]float32, 0, (end-first)*s.of.Beside())
	for of := range 1 + len(s.of.widths) {
		list = append(list, s.now(of, first, end-first)...)
	}
	s.saved[b] = list
	s.memory += 4 * len(list)
}

// width is how many values of a row there are in one of its arrays: 0 has the values, the others the rule's slots.
func (t *Partition) widthOf(of int) int {
	if of == 0 {
		return t.width
	}
	return t.widths[of-1]
}

// now is an array of rows of one block as they are now.
func (s *Snapshot) now(of, first, n int) []float32 {
	t, w := s.of, s.of.widthOf(of)
	list := t.values
	if p := t.sparse; p != nil {
		slab := &p.slabs[first>>p.shift]
		if first &= 1<<p.shift - 1; of == 0 {
			list = slab.values
		} else {
			list = slab.slots[of-1]
		}
	} else if of > 0 {
		list = t.slots[of-1]
	}
	return list[first*w : (first+n)*w]
}

// then is an array of rows of one block as they were.
func (s *Snapshot) then(of, first, n int) []float32 {
	b := first >> s.shift
	list := s.saved[b]
	if list == nil || planted.On("cut-slots-live") && of > 0 {
		return s.now(of, first, n)
	}
	rows := min((b+1)<<s.shift, s.rows) - b<<s.shift
	at := 0
	for i := range of {
		at += rows * s.of.widthOf(i)
	}
	w := s.of.widthOf(of)
	at += (first - b<<s.shift) * w
	return list[at : at+n*w]
}

// Next gives the next rows: so many that they have about as many values, one at least where there are any. It appends their keys, where they
// have some, and their values: all rows' and then slot by slot what the rule keeps.
func (s *Snapshot) Next(most int, list []bellows.Key, values []float32) (n int, _ []bellows.Key, _ []float32) {
	first := s.given
	n = min(max(1, most/s.of.Beside()), s.Len()-first)
	for of := range 1 + len(s.of.widths) {
		if s.of.sparse != nil {
			for _, r := range s.order[first : first+n] {
				values = append(values, s.then(of, int(r), 1)...)
			}
			continue
		}
		for at := first; at < first+n; {
			end := min((at>>s.shift+1)<<s.shift, first+n)
			values = append(values, s.then(of, at, end-at)...)
			at = end
		}
	}
	if p := s.of.sparse; p != nil {
		for _, r := range s.order[first : first+n] {
			list = append(list, p.index.Keys()[r])
		}
	}
	s.given += n
	s.free(first)
	return n, list, values
}

// free gives copies back all rows of which were given, from a row on.
func (s *Snapshot) free(first int) {
	if s.of.sparse != nil {
		if s.given == len(s.order) {
			s.order, s.saved, s.memory = s.order[:0:0], nil, 0
			s.given = 0
		}
		return
	}
	for b := first >> s.shift; b < s.given>>s.shift || s.given == s.rows && b < len(s.saved); b++ {
		s.memory -= 4 * len(s.saved[b])
		s.saved[b] = nil
	}
}

// Clone is a dense partition with the same state, which goes its own way.
func (t *Partition) Clone() *Partition {
	c := *t
	c.lent = false
	c.values, c.row, c.slots = slices.Clone(t.values), make([][]float32, len(t.widths)), nil
	for _, list := range t.slots {
		c.slots = append(c.slots, slices.Clone(list))
	}
	return &c
}
