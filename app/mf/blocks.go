package mf

import (
	"math"
	"slices"

	"bellows/data"
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

// share is what one split trains on, a block for each clock of an epoch, and scores.
type share struct {
	blocks
	held, test probes
	rest       hads   // held out, of a user or an item without a training rating; where its ids are the items'
	pulls      []pull // schedule ssp: the items of each clock
}

// cutStrata sorts the training ratings into shares: split, then clock by the rotation, then tile,
// then by chance.
func (p *problem) cutStrata(set *data.RatingSet, held heldRows) error {
	if p.users.narrow() && p.items.narrow() {
		return cutStrata[uint16](p, set, held)
	}
	return cutStrata[int32](p, set, held)
}

func cutStrata[T local](p *problem, set *data.RatingSet, held heldRows) error {
	order, n := p.rotation(), p.clocks
	blockOf := make([]int32, p.splits*n) // by split and part of the items
	for s := range p.splits {
		for c := range n {
			blockOf[s*n+order.part(s, c)] = int32(s*n + c)
		}
	}
	all, err := (&laying[T]{
		described: sorting, meter: p.meter, ratings: set.Rows(), blocks: p.splits * n, columns: p.room,
		deal:   dealer(p, set, held, spots[T](&p.users), spots[T](&p.items), blockOf),
		order:  func(o *orderer[T], b int) { o.shuffle(p.seed, uint64(b)) },
		tiling: func(b int) tiling { return p.tiling(b/n, order.part(b/n, b%n)) },
	}).lay(pieces(set.Rows()))
	if err != nil {
		return err
	}
	for s := range p.shares {
		p.shares[s].blocks = all.share(s, p.splits)
	}
	return nil
}

// sorting is what the layout of training ratings is called.
var sorting = described{"sorting ratings into blocks", "shuffling blocks"}

// dealer puts the ratings that are not held out into the block of their parts.
func dealer[T local](p *problem, set *data.RatingSet, held heldRows, users, items []spot[T], blockOf []int32) func(s *stage[T], begin, end int) {
	across := len(blockOf) / p.splits
	return func(s *stage[T], begin, end int) {
		for first, last := range held.between(begin, end) {
			user, item, rating := set.User[first:last], set.Item[first:last], set.Rating[first:last]
			for j, r := range rating {
				u, i := users[user[j]], items[item[j]]
				s.put(blockOf[int(u.part)*across+int(i.part)], entry[T]{u.local, i.local, p.scale.standard(r)})
			}
		}
	}
}

// spots are the places of an axis.
func spots[T local](a *axis) []spot[T] {
	out := make([]spot[T], len(a.place))
	for id, p := range a.place {
		out[id] = spot[T]{T(p.part), T(p.local)}
	}
	return out
}

// narrow says whether 16 bits are enough for parts, and for rows within them.
func (a *axis) narrow() bool {
	parts := len(a.bounds) - 1
	for p := range parts {
		if a.rows(p) > math.MaxUint16 {
			return false
		}
	}
	return parts <= math.MaxUint16
}

// room is columns for so many training ratings: in the memory of those of the data, where that may be.
func (p *problem) room(n int) (columns, error) {
	if p.spent == nil {
		return makeColumns(n)
	}
	user, item, rating, err := p.spent.Spend()
	if err != nil || rating == nil {
		c, _ := makeColumns(n)
		return c, err
	}
	return columns{user, item, rating}.slice(0, n), nil
}
