package mf

import (
	"math"
	"math/bits"
	"math/rand/v2"
	"runtime"
	"sync"

	"bellows/app"
	"bellows/progress"
)

// local is the number of a row within its part, or of a part. 16 bits are enough for most data, and keep small what is looked up and moved for
// every rating.
type local interface{ uint16 | int32 }

// spot is where an id has its row.
type spot[T local] struct{ part, local T }

// entry is a rating on its way into a block, standardised.
type entry[T local] struct {
	user, item T
	rating     float32
}

// wide returns a row within its part, or -1 for unseen, the largest number of T or -1: no row has it.
func wide[T local](row T) int32 {
	if row == ^T(0) {
		return -1
	}
	return int32(row)
}

// laying is how ratings come into blocks, in the order of their visits. There are two steps, each on all processors. First every rating is put into
// the stage, to those of its block, in one pass over the data. Then each block is made from what was put there: shuffled, ordered by tiles, written
// to its place in the columns. The columns are asked for between the two, when the data has been read for the last time: they may lie in its memory.
//
// Invariant: what comes of it does not depend on the number of pieces (TestLayingInAnyNumberOfPieces).
//
// Turned down: counting the ratings of each block before putting them, which is another pass with two look-ups in tables for each rating.
type laying[T local] struct {
	meter     *progress.Meter
	ratings   int // at most; numbered from 0
	blocks    int
	deal      func(s *stage[T], begin, end int) // puts the ratings with those numbers
	columns   func(n int) (columns, error)      // for n ratings
	order     func(o *orderer[T], block int)    // of a block's entries
	tiling    func(block int) tiling            // of their places
	described described
}

// described holds the names of the two steps for the live line.
type described struct{ dealing, ordering string }

// dealStep is how many ratings are dealt between two checks of the context.
const dealStep = 1 << 14

// lay makes the blocks, with a piece of the ratings dealt to each stage, which may have served before. It ends with the error of the meter.
func (l *laying[T]) lay(stages []stage[T]) (blocks, error) {
	pieces := len(stages)
	l.meter.Begin(progress.Part{Doing: l.described.dealing, Unit: "ratings", Total: int64(l.ratings)})
	app.ForEach(pieces, func(piece int) {
		first, end := app.Share(l.ratings, piece, pieces), app.Share(l.ratings, piece+1, pieces)
		s := &stages[piece]
		s.clear(end-first, l.blocks)
		for ; first < end; first += dealStep {
			some := min(dealStep, end-first)
			if l.meter.Add(int64(some)) != nil {
				return
			}
			l.deal(s, first, first+some)
		}
	})
	all := blocks{ends: make([]int, l.blocks)}
	n := 0
	for b := range all.ends {
		for i := range stages {
			n += stages[i].size(b)
		}
		all.ends[b] = n
	}
	err := l.meter.Err()
	if err == nil {
		all.columns, err = l.columns(n)
	}
	if err != nil {
		return all, err
	}
	l.meter.Begin(progress.Part{Doing: l.described.ordering, Unit: "ratings", Total: int64(n)})
	var scratch sync.Pool // of *orderer[T]
	app.ForEach(l.blocks, func(b int) {
		if c := all.block(b); l.meter.Add(int64(len(c.rating))) == nil && len(c.rating) > 0 {
			o, _ := scratch.Get().(*orderer[T])
			if o == nil {
				o = &orderer[T]{list: make([]entry[T], 0, all.longest())}
			}
			o.list = o.list[:0]
			for i := range stages {
				o.list = stages[i].gather(o.list, b)
			}
			l.order(o, b)
			o.write(c, l.tiling(b))
			scratch.Put(o)
		}
	})
	return all, l.meter.Err()
}

// pieces returns in how many pieces so many ratings are dealt: one for each processor, if there are enough.
func pieces(n int) int {
	const least = 1 << 15
	return max(1, min(runtime.GOMAXPROCS(0), n/least))
}

// stage holds the entries of some blocks whose sizes are not known yet: in chunks, each of one block.
//
// Invariant: at[b] is the place of b's next entry, and a multiple of the chunk size if b has no chunk with room.
type stage[T local] struct {
	slab   []entry[T]
	at     []int   // by block
	chunks [][]int // by block: where its chunks begin, in the order in which they were filled
	used   int     // of the slab
	mask   int     // the size of a chunk, which is a power of two, less 1
}

// clear makes room for n entries of so many blocks. Memory that is never written is never taken.
func (s *stage[T]) clear(n, blocks int) {
	const least, most = 8, 1024 // what chunks have too much is to be small, and so is what they cost
	size := min(max(1<<bits.Len(uint(n/blocks/8)), least), most)
	if n += blocks * size; n > len(s.slab) {
		s.slab = make([]entry[T], n)
	}
	*s = stage[T]{slab: s.slab, at: make([]int, blocks), chunks: make([][]int, blocks), mask: size - 1}
}

func (s *stage[T]) put(block int32, e entry[T]) {
	at := s.at[block]
	if at&s.mask == 0 {
		at = s.chunk(block)
	}
	s.slab[at] = e
	s.at[block] = at + 1
}

// chunk gives a block another one.
func (s *stage[T]) chunk(block int32) int {
	first := s.used
	s.used += s.mask + 1
	s.chunks[block] = append(s.chunks[block], first)
	return first
}

// size returns the number of a block's entries.
func (s *stage[T]) size(block int) int {
	chunks := s.chunks[block]
	if len(chunks) == 0 {
		return 0
	}
	last := len(chunks) - 1
	return last*(s.mask+1) + s.at[block] - chunks[last]
}

// gather appends a block's entries, in the order in which they were put.
func (s *stage[T]) gather(to []entry[T], block int) []entry[T] {
	chunks := s.chunks[block]
	for i, first := range chunks {
		end := first + s.mask + 1
		if i == len(chunks)-1 {
			end = s.at[block]
		}
		to = append(to, s.slab[first:end]...)
	}
	return to
}

// tileBytes is how much of the users' and of the items' rows is visited at a time: together they
// leave room in a second-level cache of 512 KiB.
const tileBytes = 192 << 10

// tiling cuts a block into tiles of users and items whose rows fit the cache together: so many rows each, at least two,
// so many across.
type tiling struct{ rows, across, down int }

func (p *problem) tiling(userPart, itemPart int) tiling {
	rows := max(2, tileBytes/(4*p.width))
	return tiling{rows, (p.items.rows(itemPart) + rows - 1) / rows, (p.users.rows(userPart) + rows - 1) / rows}
}

// whole is one tile, which leaves the order as it is.
var whole = tiling{math.MaxInt32, 1, 1}

// worth reports whether the tiles of a block of so many ratings are several, and not nearly empty.
func (t tiling) worth(ratings int) bool { return t.across*t.down > 1 && t.across*t.down <= ratings }

// tiler finds tiles without a division for each rating.
type tiler struct{ inverse, across uint64 }

func (t tiling) tiler() tiler { return tiler{math.MaxUint64/uint64(t.rows) + 1, uint64(t.across)} }

// tile returns the tile of a user and an item. The upper half of a product with 2^64/rows, rounded up, is the quotient
// of any 32-bit number (Lemire, Kaser and Kurz 2019, "Faster remainder by direct computation").
func (t tiler) tile(user, item uint32) uint64 {
	down, _ := bits.Mul64(t.inverse, uint64(user))
	along, _ := bits.Mul64(t.inverse, uint64(item))
	return down*t.across + along
}

// orderer reorders the entries of blocks, one block after the other, in memory of its own.
type orderer[T local] struct {
	list []entry[T]
	next []int32 // by tile: where its next entry goes
}

// shuffle makes an order from the seed, by Fisher and Yates.
func (o *orderer[T]) shuffle(seed, block uint64) {
	r := rand.New(rand.NewPCG(seed, block))
	for i := len(o.list) - 1; i > 0; i-- {
		j := r.Uint64N(uint64(i + 1))
		o.list[i], o.list[j] = o.list[j], o.list[i]
	}
}

// write writes the entries to columns, by tiles where those are worth it.
func (o *orderer[T]) write(c columns, t tiling) {
	if !t.worth(len(o.list)) {
		for i, e := range o.list {
			c.user[i], c.item[i], c.rating[i] = wide(e.user), wide(e.item), e.rating
		}
		return
	}
	next, tiles := append(o.next[:0], make([]int32, t.across*t.down)...), t.tiler()
	for _, e := range o.list {
		next[tiles.tile(uint32(e.user), uint32(e.item))]++
	}
	at := int32(0)
	for k, n := range next {
		next[k], at = at, at+n
	}
	for _, e := range o.list {
		tile := tiles.tile(uint32(e.user), uint32(e.item))
		at := next[tile]
		next[tile]++
		c.user[at], c.item[at], c.rating[at] = wide(e.user), wide(e.item), e.rating
	}
	o.next = next
}
