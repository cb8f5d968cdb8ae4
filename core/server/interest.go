package server

import (
	"math/bits"

	"bellows"
	"bellows/core/keys"
	"bellows/core/planted"
)

// keyInterest is the keys of a partition that a client is subscribed to, and which of them have changed since it was last sent any. A key
// without a row changes when it gets one: by the first update of it that is applied.
//
// To note a change costs a look-up of its key; to name all that have changed, a bit for each key that is kept, and those. The
// size of the partition plays no part.
type keyInterest struct {
	index   keys.Index // numbered as they ascend
	changed []uint64   // a bit for each number
	some    bool       // of them is set
}

// newInterest is an interest in no key yet; the seed is that of its index.
func newInterest(seed uint64) *keyInterest {
	w := &keyInterest{}
	w.index.Seed(seed)
	return w
}

// lacks is how many keys of a list are not in it.
func (w *keyInterest) lacks(list []bellows.Key) (n int) {
	for _, k := range list {
		if w.index.Find(k) < 0 {
			n++
		}
	}
	return n
}

// add takes in the keys of an ascending list.
func (w *keyInterest) add(list []bellows.Key) {
	all, due := union(w.index.Keys(), list), w.take(nil)
	w.index.Reset()
	for _, k := range all {
		w.index.Add(k)
	}
	w.changed = append(w.changed, make([]uint64, (len(all)+63)/64-len(w.changed))...)
	if planted.On("due-forgotten") {
		return
	}
	for _, k := range due {
		w.mark(k)
	}
}

// mark notes that the row of a key has changed.
func (w *keyInterest) mark(k bellows.Key) {
	if n := w.index.Find(k); n >= 0 {
		w.changed[n>>6] |= 1 << (n & 63)
		w.some = true
	}
}

// take appends the keys that have changed, ascending, and forgets that they have.
func (w *keyInterest) take(to []bellows.Key) []bellows.Key {
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
