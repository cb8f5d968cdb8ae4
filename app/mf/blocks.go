package mf

import (
	"math/rand/v2"

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

// share is what one split trains on and scores.
type share struct {
	columns
	ends  []int // visits of clock c of an epoch end at ends[c] and begin where those of c-1 end
	held  probes
	test  probes
	pulls []pull // schedule ssp: the items of each clock
}

// begin is where the visits of a clock of an epoch begin.
func (s *share) begin(clock int) int {
	if clock == 0 {
		return 0
	}
	return s.ends[clock-1]
}

// tileBytes is how much of the users' and of the items' rows is visited at a time: together they
// leave room in a second-level cache of 512 KiB.
const tileBytes = 192 << 10

// cutStrata sorts the training ratings into shares: split, then clock by the rotation, then tile,
// then by chance.
func (p *plan) cutStrata(set *data.RatingSet, rows []int32) {
	order, n := p.rotation(), p.clocks
	key := func(r int32) int {
		split := int(p.users.part[set.User[r]])
		return split*n + order.clock(split, int(p.items.part[set.Item[r]]))
	}
	all, ends := p.sortBy(set, rows, p.splits*n, key)
	for _, r := range rows {
		at := ends[key(r)]
		ends[key(r)]++
		p.fill(all, at, set, r)
	}
	spare := makeColumns(longest(ends))
	begin := 0
	for b, end := range ends {
		block := all.slice(begin, end)
		block.shuffle(p.seed, uint64(b))
		p.tile(block, spare, b/n, order.part(b/n, b%n))
		begin = end
	}
	p.deal(all, ends, n)
}

// sortBy makes columns for the rows, and where each key's rows begin.
func (p *plan) sortBy(set *data.RatingSet, rows []int32, keys int, key func(int32) int) (columns, []int) {
	starts := make([]int, keys+1)
	for _, r := range rows {
		starts[key(r)+1]++
	}
	for k := range keys {
		starts[k+1] += starts[k]
	}
	return makeColumns(len(rows)), starts[:keys]
}

func (p *plan) fill(c columns, at int, set *data.RatingSet, row int32) {
	c.user[at] = p.users.local(set.User[row])
	c.item[at] = p.items.local(set.Item[row])
	c.rating[at] = p.scale.standard(set.Rating[row])
}

// deal gives every split its consecutive blocks.
func (p *plan) deal(all columns, ends []int, perSplit int) {
	begin := 0
	for s := range p.shares {
		own := ends[s*perSplit : (s+1)*perSplit]
		share := &p.shares[s]
		share.columns = all.slice(begin, own[perSplit-1])
		share.ends = make([]int, perSplit)
		for c, end := range own {
			share.ends[c] = end - begin
		}
		begin = own[perSplit-1]
	}
}

// tile orders a block, stably, by tiles of users and items whose rows fit the cache together.
func (p *plan) tile(block, spare columns, userPart, itemPart int) {
	rows := max(1, tileBytes/(4*p.width))
	across := (p.items.rows(itemPart) + rows - 1) / rows
	down := (p.users.rows(userPart) + rows - 1) / rows
	if across*down <= 1 || across*down > len(block.rating) {
		return
	}
	starts := make([]int, across*down+1)
	at := func(j int) int { return int(block.user[j])/rows*across + int(block.item[j])/rows }
	for j := range block.rating {
		starts[at(j)+1]++
	}
	for k := range across * down {
		starts[k+1] += starts[k]
	}
	for j := range block.rating {
		to := starts[at(j)]
		starts[at(j)]++
		spare.user[to], spare.item[to], spare.rating[to] = block.user[j], block.item[j], block.rating[j]
	}
	copy(block.user, spare.user)
	copy(block.item, spare.item)
	copy(block.rating, spare.rating)
}

// longest is the length of the longest of the blocks that end there.
func longest(ends []int) int {
	most, begin := 0, 0
	for _, end := range ends {
		most = max(most, end-begin)
		begin = end
	}
	return most
}
