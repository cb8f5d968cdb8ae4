package rowstore

import (
	"math/bits"
	"slices"

	"bellows"
	"bellows/core/keys"
	"bellows/core/planted"
)

// Watch is a set of keys of a sparse partition, with those that have changed since they were last taken, so that a
// subscriber is sent them. A key without a row changes when it gets one: by the first update of it that is applied.
//
// Noting a change costs a look-up of its key. Naming all that have changed costs a bit for each watched key, and the
// changed keys. The size of the partition does not matter. Take returns what a map would (TestAWatchAgainstAMap).
type Watch struct {
	index   keys.Index // numbered as they ascend
	changed []uint64   // a bit for each number
	some    bool       // of them is set
}

// Watch returns a watch of no key yet.
func (t *Store) Watch() *Watch {
	w := &Watch{}
	w.index.Seed(t.sparse.seed)
	return w
}

// Len returns how many keys are watched.
func (w *Watch) Len() int { return w.index.Len() }

// Lacks returns how many keys of a list are not watched.
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

// Changes is which rows of a dense partition have changed since a position in a log of changes: of each row it has the number
// of its last change.
type Changes struct {
	all  uint64   // number of the last change of all rows
	rows []uint64 // per row: number of its last change on its own; nil: no row has one
}

// Wrote notes the change with a number, which is above those before, of rows (nil: all) of so many.
func (c *Changes) Wrote(number uint64, rows []uint32, of int) {
	if rows == nil {
		c.all = number
		return
	}
	if c.rows == nil {
		c.rows = make([]uint64, of)
	}
	for _, r := range rows {
		c.rows[r] = number
	}
}

// AllSince reports whether all rows have changed at once after a position.
func (c *Changes) AllSince(position uint64) bool { return c.all > position }

// Since appends those of some rows (nil: of all) that have changed on their own after a position.
func (c *Changes) Since(position uint64, of, list []uint32) []uint32 {
	if c.rows == nil {
		return list
	}
	if of == nil {
		for r, w := range c.rows {
			if w > position {
				list = append(list, uint32(r))
			}
		}
		return list
	}
	for _, r := range of {
		if c.rows[r] > position {
			list = append(list, r)
		}
	}
	return list
}
