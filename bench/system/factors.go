package main

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"bellows"
	"bellows/app"
	"bellows/data"
	"bellows/table"
	"bellows/vec"
)

// The layout of app/mf that is not in its settings: what it holds out, and how much of each side's rows a tile has.
const (
	heldPercent = data.HeldAlone
	tileBytes   = 192 << 10
)

// columns are ratings in the order of their visits.
type columns struct {
	user, item []int32
	rating     []float32
}

// factorLoop is matrix factorisation by strata on plain slices: rows dealt to parts that hold about equally many ratings, a
// slab for each part, blocks tiled for the cache, and the diagonal order of visits.
type factorLoop struct {
	parts, width, rank int
	users, items       [][]float32 // slabs by part
	firstUsers         [][]float32 // their first values
	firstItems         [][]float32
	blocks             []columns   // by user part, then step: items of part (user part + step) mod parts
	held               []columns   // likewise
	sums               []float64   // squared errors by user part
	best               float64     // least sum of them after an epoch
	bestUsers          [][]float32 // the slabs as they were then
	bestItems          [][]float32
}

func newFactorLoop(set *data.Set, run *app.Run) (loop, error) {
	var parts, clocks, rank int
	if err := chosen(run, map[string]*int{"splits": &parts, "clocks": &clocks, "rank": &rank}); err != nil {
		return nil, err
	}
	if clocks != parts {
		return nil, fmt.Errorf("the run cuts users into %d parts and items into %d: the bare loop is for equally many", parts, clocks)
	}
	r := set.Ratings
	l := &factorLoop{parts: parts, width: run.Job.Tables[0].Width, rank: rank, blocks: make([]columns, parts*parts),
		held: make([]columns, parts*parts), sums: make([]float64, parts), best: math.Inf(1)}
	users, items := l.deal(r.User, len(r.Users)), l.deal(r.Item, len(r.Items))
	l.users, l.items = l.slabs(users, factorsAt(3)), l.slabs(items, factorsAt(4))
	l.bestUsers, l.bestItems = likeSlabs(l.users), likeSlabs(l.items)
	l.firstUsers, l.firstItems = likeSlabs(l.users), likeSlabs(l.items)
	copySlabs(l.firstUsers, l.users)
	copySlabs(l.firstItems, l.items)
	l.fill(r, users, items)
	for b := range l.blocks {
		items := len(l.items[(b/parts+b%parts)%parts]) / l.width
		l.tile(&l.blocks[b], items)
		l.tile(&l.held[b], items)
	}
	return l, nil
}

// factorsAt returns what one side's factors are at first: small, as the application fills them in.
func factorsAt(seed uint64) table.Init {
	return table.Init{Kind: table.Normal, Seed: seed, High: 0.03}
}

// place is where an id's row is.
type place struct{ part, row int32 }

// deal gives each id a row of a part, the most rated first, to the part with the fewest ratings.
func (l *factorLoop) deal(ids []int32, n int) []place {
	count, order := make([]int, n), make([]int, n)
	for _, id := range ids {
		count[id]++
	}
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(count[b], count[a]) })
	places, load, rows := make([]place, n), make([]int, l.parts), make([]int32, l.parts)
	for _, id := range order {
		least := 0
		for p := range load {
			if cmp.Or(cmp.Compare(load[p], load[least]), cmp.Compare(rows[p], rows[least])) < 0 {
				least = p
			}
		}
		places[id] = place{int32(least), rows[least]}
		load[least] += count[id]
		rows[least]++
	}
	return places
}

// slabs returns the first values of all parts.
func (l *factorLoop) slabs(places []place, init table.Init) [][]float32 {
	slabs := make([][]float32, l.parts)
	rows := make([]int, l.parts)
	for _, p := range places {
		rows[p.part]++
	}
	first := 0
	for part := range slabs {
		slabs[part] = make([]float32, rows[part]*l.width)
		for row := range rows[part] {
			init.Fill(bellows.RowID(first+row), slabs[part][row*l.width:(row+1)*l.width])
		}
		first += rows[part]
	}
	return slabs
}

func likeSlabs(slabs [][]float32) [][]float32 {
	like := make([][]float32, len(slabs))
	for i, s := range slabs {
		like[i] = make([]float32, len(s))
	}
	return like
}

func copySlabs(to, from [][]float32) {
	for i, s := range from {
		copy(to[i], s)
	}
}

func (l *factorLoop) restart() {
	copySlabs(l.users, l.firstUsers)
	copySlabs(l.items, l.firstItems)
	l.best = math.Inf(1)
}

// fill puts every rating into its block, in an order by chance.
func (l *factorLoop) fill(r *data.RatingSet, users, items []place) {
	mean := 0.0
	for _, v := range r.Rating {
		mean += float64(v) / float64(len(r.Rating))
	}
	for _, j := range rand.New(rand.NewPCG(1, 1)).Perm(r.Rows()) {
		u, i := users[r.User[j]], items[r.Item[j]]
		into := l.blocks
		if data.HeldOut(1, int64(j), heldPercent) {
			into = l.held
		}
		b := &into[int(u.part)*l.parts+(int(i.part)-int(u.part)+l.parts)%l.parts]
		b.user, b.item = append(b.user, u.row), append(b.item, i.row)
		b.rating = append(b.rating, r.Rating[j]-float32(mean))
	}
}

// tile orders a block by tiles of users and items whose rows fit the cache together.
func (l *factorLoop) tile(c *columns, items int) {
	rows := max(1, tileBytes/(4*l.width))
	across := (items + rows - 1) / rows
	order := make([]int, len(c.rating))
	for j := range order {
		order[j] = j
	}
	at := func(j int) int { return int(c.user[j])/rows*across + int(c.item[j])/rows }
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(at(a), at(b)) })
	sorted := columns{make([]int32, len(order)), make([]int32, len(order)), make([]float32, len(order))}
	for to, j := range order {
		sorted.user[to], sorted.item[to], sorted.rating[to] = c.user[j], c.item[j], c.rating[j]
	}
	*c = sorted
}

func (l *factorLoop) factors(part, other int) vec.Factors {
	p, q := l.users[part], l.items[other]
	return vec.Factors{Rank: l.rank, Stride: l.width, P: p, Q: q, UserBias: p[l.rank:], ItemBias: q[l.rank:], BiasStride: l.width,
		Step: 0.02, L2: 0.05, BiasL2: 0.05}
}

func (l *factorLoop) visit(threads int) int {
	newWave(l.parts).run(threads, func(part, step int) {
		f, c := l.factors(part, (part+step)%l.parts), l.blocks[part*l.parts+step]
		if len(c.rating) > 0 {
			vec.FactorBlock(&f, c.user, c.item, c.rating)
		}
	})
	visited := 0
	for _, c := range l.blocks {
		visited += len(c.rating)
	}
	return visited
}

// score scores what is held out, and keeps a copy of the best model so far, as a run that stops early does.
func (l *factorLoop) score(threads int) {
	each(threads, l.parts, func(part int) {
		l.sums[part] = 0
		for step := range l.parts {
			f, c := l.factors(part, (part+step)%l.parts), l.held[part*l.parts+step]
			if len(c.rating) > 0 {
				l.sums[part] += vec.FactorScore(&f, c.user, c.item, c.rating)
			}
		}
	})
	sum := 0.0
	for _, part := range l.sums {
		sum += part
	}
	if sum < l.best {
		l.best = sum
		each(threads, l.parts, func(part int) {
			copy(l.bestUsers[part], l.users[part])
			copy(l.bestItems[part], l.items[part])
		})
	}
}
