package mf

import (
	"slices"

	"bellows/app/mf/internal/seen"
)

// columns are ratings in the order of their visits: user and item as rows of a slab, the rating
// standardised.
type columns struct {
	user, item []int32
	rating     []float32
}

func makeColumns(n int) (columns, error) {
	return columns{make([]int32, n), make([]int32, n), make([]float32, n)}, nil
}

func (c columns) slice(begin, end int) columns {
	return columns{c.user[begin:end], c.item[begin:end], c.rating[begin:end]}
}

// blocks are columns cut into consecutive pieces: block b ends at ends[b] and begins where the one before it ends.
type blocks struct {
	columns
	ends []int
}

func (b *blocks) begin(number int) int {
	if number == 0 {
		return 0
	}
	return b.ends[number-1]
}

func (b *blocks) block(number int) columns { return b.slice(b.begin(number), b.ends[number]) }

// longest returns the length of the longest block.
func (b *blocks) longest() int {
	most := 0
	for n, end := range b.ends {
		most = max(most, end-b.begin(n))
	}
	return most
}

// share returns the blocks of a split, where all splits have as many.
func (b *blocks) share(split, splits int) blocks {
	each := len(b.ends) / splits
	first, ends := b.begin(split*each), slices.Clone(b.ends[split*each:(split+1)*each])
	for n := range ends {
		ends[n] -= first
	}
	return blocks{b.slice(first, first+ends[each-1]), ends}
}

// share is what one split trains on, a block for each clock of an epoch, and scores.
type share struct {
	blocks
	held, test probes
	rest       seen.Pairs // held out, of a user or an item without a training rating; where its ids are the items'
	pulls      []pull     // schedule ssp: the items of each clock
}
