package mf

import (
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"

	"bellows/app"
	"bellows/data"
	"bellows/progress"
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

// batch is how many numbers arrange asks about at a time: enough that a call costs nothing beside them.
const batch = 1024

// arrange finds blocks for the numbers 0 to n-1: those of one block keep their order. key says the blocks of the numbers from first on, -1 for what
// is in none; put is then told where each of them goes, -1 likewise. Both are called for some pieces of the numbers at once, and what comes of it
// does not depend on how many (TestArrangeInAnyNumberOfPieces). The meter counts every number twice.
func arrange(m *progress.Meter, n, keys, pieces int, key, put func(first int, block []int32)) (ends []int) {
	next := make([][]int32, pieces) // by piece and block
	each := func(piece int, f func(first int, block []int32)) {
		block := make([]int32, batch)
		for first, end := app.Share(n, piece, pieces), app.Share(n, piece+1, pieces); first < end; first += batch {
			some := block[:min(batch, end-first)]
			if m.Add(int64(len(some))) != nil {
				return
			}
			key(first, some)
			f(first, some)
		}
	}
	app.ForEach(pieces, func(piece int) {
		count := make([]int32, keys+1)
		each(piece, func(_ int, block []int32) {
			for _, k := range block {
				count[k+1]++ // those in no block before the first
			}
		})
		next[piece] = count[1:]
	})
	ends = make([]int, keys)
	at := int32(0)
	for k := range keys {
		for _, of := range next {
			of[k], at = at, at+of[k]
		}
		ends[k] = int(at)
	}
	app.ForEach(pieces, func(piece int) {
		at := next[piece]
		each(piece, func(first int, block []int32) {
			for j, k := range block {
				if k >= 0 {
					block[j] = at[k]
					at[k]++
				}
			}
			put(first, block)
		})
	})
	return ends
}

// pieces is in how many pieces so many numbers are arranged: one for each processor, if there is enough for it.
func pieces(n int) int {
	const least = 1 << 15
	return max(1, min(runtime.GOMAXPROCS(0), n/least))
}

// share is what one split trains on, a block for each clock of an epoch, and scores.
type share struct {
	blocks
	held, test probes
	rest       []had  // held out, of a user or an item without a training rating
	pulls      []pull // schedule ssp: the items of each clock
}

// tileBytes is how much of the users' and of the items' rows is visited at a time: together they
// leave room in a second-level cache of 512 KiB.
const tileBytes = 192 << 10

// cutStrata sorts the training ratings into shares: split, then clock by the rotation, then tile,
// then by chance.
func (p *problem) cutStrata(set *data.RatingSet, held heldRows) {
	order, n, to := p.rotation(), p.clocks, makeColumns(set.Rows()-len(held))
	blockOf := make([]int32, p.splits*n) // by split and part of the items
	for s := range p.splits {
		for c := range n {
			blockOf[s*n+order.part(s, c)] = int32(s*n + c)
		}
	}
	users, items := p.users.place, p.items.place
	p.meter.Begin(progress.Part{Doing: "sorting ratings into blocks", Unit: "ratings", Total: 2 * int64(set.Rows())})
	all := blocks{to, arrange(p.meter, set.Rows(), p.splits*n, pieces(set.Rows()), func(first int, block []int32) {
		user, item := set.User[first:][:len(block)], set.Item[first:][:len(block)]
		for j := range block {
			block[j] = blockOf[int(users[user[j]].part)*n+int(items[item[j]].part)]
		}
		held.strike(first, block)
	}, func(first int, at []int32) { p.fill(to, set, first, at) })}
	p.meter.Begin(progress.Part{Doing: "shuffling blocks", Unit: "ratings", Total: int64(len(to.rating))})
	var scratch sync.Pool // of *shuffler
	app.ForEach(len(all.ends), func(b int) {
		if p.meter.Add(int64(len(all.block(b).rating))) != nil {
			return
		}
		s, _ := scratch.Get().(*shuffler)
		if s == nil {
			s = newShuffler(all.longest())
		}
		s.shuffle(len(all.block(b).rating), p.seed, uint64(b))
		s.apply(all.block(b), p.tiling(b/n, order.part(b/n, b%n)))
		scratch.Put(s)
	})
	for s := range p.shares {
		p.shares[s].blocks = all.share(s, p.splits)
	}
}

// fill puts the ratings from first on at their places.
func (p *problem) fill(c columns, set *data.RatingSet, first int, at []int32) {
	user, item, rating := set.User[first:][:len(at)], set.Item[first:][:len(at)], set.Rating[first:][:len(at)]
	for j, a := range at {
		if a >= 0 {
			c.user[a], c.item[a], c.rating[a] = p.users.place[user[j]].local, p.items.place[item[j]].local, p.scale.standard(rating[j])
		}
	}
}

// tiling cuts a block into tiles of users and items whose rows fit the cache together: of so many rows each, so many across.
type tiling struct{ rows, across, down int }

func (p *problem) tiling(userPart, itemPart int) tiling {
	rows := max(1, tileBytes/(4*p.width))
	return tiling{rows, (p.items.rows(itemPart) + rows - 1) / rows, (p.users.rows(userPart) + rows - 1) / rows}
}

// whole is one tile, which leaves the order as it is.
var whole = tiling{math.MaxInt32, 1, 1}

// worth says whether the tiles of a block of so many ratings are several, and not nearly empty.
func (t tiling) worth(ratings int) bool { return t.across*t.down > 1 && t.across*t.down <= ratings }

// shuffler reorders blocks, one after the other, in memory of its own.
type shuffler struct {
	to    columns
	order []int32 // which rating of the block stands at a place
	tile  []int32 // of each rating of the block
	next  []int32 // by tile: where its next rating goes
}

func newShuffler(longest int) *shuffler {
	return &shuffler{to: makeColumns(longest), order: make([]int32, longest), tile: make([]int32, longest)}
}

// stay is the order in which the ratings stand.
func (s *shuffler) stay(n int) {
	for i := range n {
		s.order[i] = int32(i)
	}
}

// shuffle is an order that the seed decides.
func (s *shuffler) shuffle(n int, seed, block uint64) {
	s.stay(n)
	r := rand.New(rand.NewPCG(seed, block))
	r.Shuffle(n, func(a, b int) { s.order[a], s.order[b] = s.order[b], s.order[a] })
}

// apply puts a block into that order, and then by tiles where those are worth it.
func (s *shuffler) apply(c columns, t tiling) {
	n := len(c.rating)
	if !t.worth(n) {
		t = whole
	}
	s.count(c, t)
	tile, next, to := s.tile, s.next, s.to.slice(0, n)
	for _, from := range s.order[:n] {
		at := next[tile[from]]
		next[tile[from]]++
		to.user[at], to.item[at], to.rating[at] = c.user[from], c.item[from], c.rating[from]
	}
	copy(c.user, to.user)
	copy(c.item, to.item)
	copy(c.rating, to.rating)
}

// count finds the tile of each rating, and where each tile begins.
func (s *shuffler) count(c columns, t tiling) {
	s.next = append(s.next[:0], make([]int32, t.across*t.down)...)
	rows, across := uint32(t.rows), uint32(t.across)
	for i, u := range c.user {
		k := int32(uint32(u)/rows*across + uint32(c.item[i])/rows)
		s.tile[i] = k
		s.next[k]++
	}
	at := int32(0)
	for k, n := range s.next {
		s.next[k], at = at, at+n
	}
}
