package examples

import (
	"math/bits"

	"bellows"
)

// Renumberer numbers the features of some rows anew. It is scratch for one goroutine at a time: a set of bits, a summary
// of which of its words are not empty, and the number of features before each word. So it takes 12 bits for 8 features,
// and the time for some rows grows with their entries. The zero Renumberer is not ready: use NewRenumberer.
//
// Turned down: sorting the features of the rows, which took as long as an epoch of training on them.
type Renumberer struct {
	features int
	words    []uint64
	summary  []uint64 // a bit for each word
	before   []uint32 // by word: features in the words before it
}

// NewRenumberer returns a Renumberer for so many features.
func NewRenumberer(features int) *Renumberer {
	words := (features + 63) / 64
	return &Renumberer{features, make([]uint64, words), make([]uint64, (words+63)/64), make([]uint32, words)}
}

// Renumber counts the features of some rows from 0, in their order: index, which has the feature of each entry, is
// changed to those numbers. It returns the table rows that they are, ascending, and after them the row of the bias,
// which tables have after those of all features.
func (n *Renumberer) Renumber(index []int32) []bellows.RowID {
	for _, j := range index {
		w := uint32(j) / 64
		n.words[w] |= 1 << (uint32(j) % 64)
		n.summary[w/64] |= 1 << (w % 64)
	}
	count := uint32(0)
	n.used(func(w int) {
		n.before[w] = count
		count += uint32(bits.OnesCount64(n.words[w]))
	})
	for i, j := range index {
		w := uint32(j) / 64
		below := n.words[w] & (1<<(uint32(j)%64) - 1)
		index[i] = int32(n.before[w]) + int32(bits.OnesCount64(below))
	}
	rows := make([]bellows.RowID, 0, count+1)
	n.used(func(w int) {
		for word := n.words[w]; word != 0; word &= word - 1 {
			rows = append(rows, bellows.RowID(64*w+bits.TrailingZeros64(word)))
		}
		n.words[w] = 0
	})
	clear(n.summary)
	return append(rows, bellows.RowID(n.features))
}

// used calls f for each word that is not empty.
func (n *Renumberer) used(f func(word int)) {
	for i, s := range n.summary {
		for ; s != 0; s &= s - 1 {
			f(64*i + bits.TrailingZeros64(s))
		}
	}
}
