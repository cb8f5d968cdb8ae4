package mf

import (
	"math/rand/v2"
	"slices"

	"bellows/data"
)

// columns are ratings in the order of their visits: user and item as rows of a slab, the rating
// standardised.
type columns struct {
	user, item []int32
	rating     []float32
}

func makeColumns(n int) columns {
	return columns{make([]int32, n), make([]int32, n), make([]float32, n)}
}

func (c columns) slice(begin, end int) columns {
	return columns{c.user[begin:end], c.item[begin:end], c.rating[begin:end]}
}

func (c columns) swap(a, b int) {
	c.user[a], c.user[b] = c.user[b], c.user[a]
	c.item[a], c.item[b] = c.item[b], c.item[a]
	c.rating[a], c.rating[b] = c.rating[b], c.rating[a]
}

// shuffle puts the ratings in an order that the seed decides.
func (c columns) shuffle(seed, block uint64) {
	r := rand.New(rand.NewPCG(seed, block))
	r.Shuffle(len(c.rating), c.swap)
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

// longest is the length of the longest block.
func (b *blocks) longest() int {
	most := 0
	for n, end := range b.ends {
		most = max(most, end-b.begin(n))
	}
	return most
}

// share is the blocks of a split, where all splits have as many.
func (b *blocks) share(split, splits int) blocks {
	each := len(b.ends) / splits
	first, ends := b.begin(split*each), slices.Clone(b.ends[split*each:(split+1)*each])
	for n := range ends {
		ends[n] -= first
	}
	return blocks{b.slice(first, first+ends[each-1]), ends}
}

// arrange fills columns with blocks, one for each key; of one key the order stays. put writes the rating of a number at a place.
func arrange(to columns, keys int, key func(number int) int, put func(at, number int)) blocks {
	ends := make([]int, keys+1)
	for n := range to.rating {
		ends[key(n)+1]++
	}
	for k := range keys {
		ends[k+1] += ends[k]
	}
	for n := range to.rating {
		k := key(n)
		put(ends[k], n)
		ends[k]++
	}
	return blocks{to, ends[:keys]}
}

// share is what one split trains on, a block for each clock of an epoch, and scores.
type share struct {
	blocks
	held, test probes
	pulls      []pull // schedule ssp: the items of each clock
}

// tileBytes is how much of the users' and of the items' rows is visited at a time: together they
// leave room in a second-level cache of 512 KiB.
const tileBytes = 192 << 10

// cutStrata sorts the training ratings into shares: split, then clock by the rotation, then tile,
// then by chance.
func (p *problem) cutStrata(set *data.RatingSet, rows []int32) {
	order, n, to := p.rotation(), p.clocks, makeColumns(len(rows))
	all := arrange(to, p.splits*n, func(i int) int {
		split := int(p.users.part[set.User[rows[i]]])
		return split*n + order.clockOf(split, int(p.items.part[set.Item[rows[i]]]))
	}, func(at, i int) { p.fill(to, at, set, rows[i]) })
	spare := makeColumns(all.longest())
	for b := range all.ends {
		block := all.block(b)
		block.shuffle(p.seed, uint64(b))
		p.tile(block, spare, b/n, order.part(b/n, b%n))
	}
	for s := range p.shares {
		p.shares[s].blocks = all.share(s, p.splits)
	}
}

func (p *problem) fill(c columns, at int, set *data.RatingSet, row int32) {
	c.user[at] = p.users.local(set.User[row])
	c.item[at] = p.items.local(set.Item[row])
	c.rating[at] = p.scale.standard(set.Rating[row])
}

// tile orders a block by tiles of users and items whose rows fit the cache together.
func (p *problem) tile(block, spare columns, userPart, itemPart int) {
	rows := max(1, tileBytes/(4*p.width))
	across := (p.items.rows(itemPart) + rows - 1) / rows
	down := (p.users.rows(userPart) + rows - 1) / rows
	if across*down <= 1 || across*down > len(block.rating) {
		return
	}
	to := spare.slice(0, len(block.rating))
	arrange(to, across*down, func(j int) int {
		return int(block.user[j])/rows*across + int(block.item[j])/rows
	}, func(at, j int) {
		to.user[at], to.item[at], to.rating[at] = block.user[j], block.item[j], block.rating[j]
	})
	copy(block.user, to.user)
	copy(block.item, to.item)
	copy(block.rating, to.rating)
}
