package store

import (
	"math/bits"
	"slices"

	"bellows"
	"bellows/core/keys"
	"bellows/core/planted"
)

// Watch is keys of a sparse partition that somebody is sent when they change, and which of them
// have changed since they were last taken. A key without a row changes when it gets one: by the
// first update of it that is applied.
//
// To note a change costs a look-up of its key; to name all that have changed, a bit for each key
// that is watched, and those. The size of the partition plays no part. What is taken is what a map
// would say (TestAWatchAgainstAMap).
type Watch struct {
	index   keys.Index // numbered as they ascend
	changed []uint64   // a bit for each number
	some    bool       // of them is set
}

// Watch is a watch of no key yet.
func (t *Partition) Watch() *Watch {
	w := &Watch{}
	w.index.Seed(t.sparse.seed)
	return w
}

// Len is how many keys are watched.
func (w *Watch) Len() int { return w.index.Len() }

// Lacks is how many keys of a list are not watched.
func (w *Watch) Lacks(list []bellows.Key) (n int) {
	for _, k := range list {
		if w.index.Find(k) < 0 {
			n++
		}
	}
	return n
}

// Add takes in the keys of an ascending list.
func (w *Watch) Add(list []bellows.Key) {
	due := w.Take(nil)
	all := slices.Concat(w.index.Keys(), list)
	slices.Sort(all)
	w.index.Reset()
	for _, k := range slices.Compact(all) {
		w.index.Add(k)
	}
	w.changed = append(w.changed, make([]uint64, (w.index.Len()+63)/64-len(w.changed))...)
	if planted.On("due-forgotten") {
		return
	}
	for _, k := range due {
		w.Mark(k)
	}
}

// Mark notes that the row of a key has changed.
func (w *Watch) Mark(k bellows.Key) {
	if n := w.index.Find(k); n >= 0 {
		w.changed[n>>6] |= 1 << (n & 63)
		w.some = true
	}
}

// Take appends the keys that have changed, ascending, and forgets that they have.
func (w *Watch) Take(to []bellows.Key) []bellows.Key {
	if !w.some {
		return to
	}
	w.some = false
	list := w.index.Keys()
	for i, word := range w.changed {
		for ; word != 0; word &= word - 1 {
			to = append(to, list[i<<6+bits.TrailingZeros64(word)])
		}
		w.changed[i] = 0
	}
	return to
}

// Changes is which rows of a dense partition have changed since somebody last looked: each write has a number, and a row that of its last.
type Changes struct {
	writes uint64   // so far
	all    uint64   // at which of these every row changed
	rows   []uint64 // per row: at which it did last; nil: none has, on its own
}

// Now is the number of the last write.
func (c *Changes) Now() uint64 { return c.writes }

// Wrote notes a write of rows (nil: all) of so many.
func (c *Changes) Wrote(rows []uint32, of int) {
	if c.writes++; rows == nil {
		c.all = c.writes
		return
	}
	if c.rows == nil {
		c.rows = make([]uint64, of)
	}
	for _, r := range rows {
		c.rows[r] = c.writes
	}
}

// AllSince reports whether all rows have changed in one write behind one.
func (c *Changes) AllSince(write uint64) bool { return c.all > write }

// Since appends those of some rows (nil: of all) that have changed behind a write, on their own.
func (c *Changes) Since(write uint64, of, list []uint32) []uint32 {
	if c.rows == nil {
		return list
	}
	if of == nil {
		for r, w := range c.rows {
			if w > write {
				list = append(list, uint32(r))
			}
		}
		return list
	}
	for _, r := range of {
		if c.rows[r] > write {
			list = append(list, r)
		}
	}
	return list
}
