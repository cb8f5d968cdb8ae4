package rowstore

import (
	"slices"

	"bellows"
	"bellows/core/planted"
)

// Snapshot is the state of a partition at one moment. It is handed out some rows at a time while the partition
// continues to change. Before a write, Touch copies the block of rows that is to change, if that was not handed out
// yet. So a snapshot takes no memory while nothing changes, and never more than the partition has.
//
// Invariant: a row is as it was when the snapshot was taken, slots too, whatever was written since (TestASnapshotStaysAsItWas).
//
// For a sparse table it has the rows that counted then, by their keys. The list of these is copied, four bytes a row:
// rows that held updates had reserved come to count later, and are not part of it.
type Snapshot struct {
	of     *Store
	still  bool        // the partition is not written any more
	rows   int         // rows, or numbers of rows, at the time of the snapshot
	order  []uint32    // for a sparse table: the numbers of those that counted, by their keys
	shift  uint        // a block has 1<<shift rows
	saved  [][]float32 // by block: its copy, all values and then slot by slot; nil: not copied
	given  int         // rows
	memory int         // bytes that copies take now
}

// blockValues is about how many values a block of a dense partition has: 64 KiB of them.
const blockValues = 16 << 10

// Snapshot returns one. It costs no more than a list of the rows that count.
func (t *Store) Snapshot() *Snapshot {
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
		for s.shift = 0; t.RowValues()<<(s.shift+1) <= blockValues; s.shift++ {
		}
	}
	s.saved = make([][]float32, (s.rows+1<<s.shift-1)>>s.shift)
	return s
}

// Still notes that the partition is not written any more.
func (s *Snapshot) Still() *Snapshot {
	s.still = true
	return s
}

// IsStill reports whether the partition is not written any more.
func (s *Snapshot) IsStill() bool { return s.still }

// Len returns how many rows the snapshot has.
func (s *Snapshot) Len() int {
	if s.of.sparse != nil {
		return len(s.order)
	}
	return s.rows
}

// Given returns how many rows Next has handed out.
func (s *Snapshot) Given() int { return s.given }

// Memory returns how many bytes copies take.
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
	list := make([]float32, 0, (end-first)*s.of.RowValues())
	for of := range 1 + len(s.of.widths) {
		list = append(list, s.current(of, first, end-first)...)
	}
	s.saved[b] = list
	s.memory += 4 * len(list)
}

// widthOf returns how many values a row has in one of its arrays: 0 has the values, the others the rule's slots.
func (t *Store) widthOf(of int) int {
	if of == 0 {
		return t.width
	}
	return t.widths[of-1]
}

// current returns an array of rows of one block as they are now.
func (s *Snapshot) current(of, first, n int) []float32 {
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

// original returns an array of rows of one block as they were.
func (s *Snapshot) original(of, first, n int) []float32 {
	b := first >> s.shift
	list := s.saved[b]
	if list == nil || planted.On("cut-slots-live") && of > 0 {
		return s.current(of, first, n)
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

// Next hands out the next rows: as many as have about most values, and at least one if any are left. It appends their
// keys, if they have some, and their values: those of all rows, and then slot by slot what the rule keeps.
func (s *Snapshot) Next(most int, list []bellows.Key, values []float32) (n int, _ []bellows.Key, _ []float32) {
	first := s.given
	n = min(max(1, most/s.of.RowValues()), s.Len()-first)
	for of := range 1 + len(s.of.widths) {
		if s.of.sparse != nil {
			for _, r := range s.order[first : first+n] {
				values = append(values, s.original(of, int(r), 1)...)
			}
			continue
		}
		for at := first; at < first+n; {
			end := min((at>>s.shift+1)<<s.shift, first+n)
			values = append(values, s.original(of, at, end-at)...)
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

// free releases the copies of blocks from row first on that were handed out completely.
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

// Clone returns a dense partition with the same state, independent of this one.
func (t *Store) Clone() *Store {
	c := *t
	c.lent = false
	c.values, c.row, c.slots = slices.Clone(t.values), make([][]float32, len(t.widths)), nil
	for _, list := range t.slots {
		c.slots = append(c.slots, slices.Clone(list))
	}
	return &c
}
