package mf

import (
	"math"

	"bellows/data"
	"bellows/train"
)

// planner lays out the ratings of a problem, with entries of one width.
//
// The training ratings come first, then the scored ones: the ratings are read for the last time before the first blocks
// are written, which may use their memory (room), and the stages of the first layout serve for the others.
type planner[T local] struct {
	*problem
	heldRows
	set    *data.RatingSet
	stages []stage[T]
}

func newPlanner[T local](p *problem, set *data.RatingSet, held heldRows) *planner[T] {
	return &planner[T]{p, held, set, make([]stage[T], pieces(set.Rows()))}
}

// lay lays out all that is trained on and scored.
func (p *planner[T]) lay(test *data.RatingSet) error {
	if p.apart {
		return p.planApart(test)
	}
	cut := p.cutStrata
	if p.schedule == ssp {
		cut = p.cutClocks
	}
	if err := cut(); err != nil {
		return err
	}
	return p.score(test)
}

// cutStrata sorts the training ratings into shares: split, then clock by the rotation, then tile,
// then by chance.
func (p *planner[T]) cutStrata() error {
	order, n := p.rotation(), p.clocks
	all, err := p.train(p.strataBlocks(), spots[T](&p.items), func(b int) tiling { return p.tiling(b/n, order.part(b/n, b%n)) })
	if err != nil {
		return err
	}
	for s := range p.shares {
		p.shares[s].blocks = all.share(s, p.splits)
	}
	return nil
}

// strataBlocks returns the blocks by split and part of the items.
func (p *problem) strataBlocks() []int32 {
	order, n := p.rotation(), p.clocks
	blockOf := make([]int32, p.splits*n)
	for s := range p.splits {
		for c := range n {
			blockOf[s*n+order.part(s, c)] = int32(s*n + c)
		}
	}
	return blockOf
}

// train lays out the ratings that are not held out, those of a block by chance and then by tiles. blockOf is the blocks by the parts of users and items.
func (p *planner[T]) train(blockOf []int32, items []spot[T], tiling func(block int) tiling) (blocks, error) {
	users, across, of := spots[T](&p.users), len(blockOf)/p.splits, p.scale
	return (&laying[T]{
		described: described{"sorting ratings into blocks", "shuffling blocks"}, meter: p.meter, ratings: p.set.Rows(), blocks: len(blockOf), columns: p.room,
		deal: func(s *stage[T], begin, end int) {
			user, item, rating := p.set.User[begin:end], p.set.Item[begin:end], p.set.Rating[begin:end]
			user, item = user[:len(rating)], item[:len(rating)]
			held, next := p.heldRows.within(begin, end), -1
			if len(held) > 0 {
				next = int(held[0]) - begin
			}
			for j, r := range rating {
				if j == next {
					held, next = held[1:], -1
					if len(held) > 0 {
						next = int(held[0]) - begin
					}
					continue
				}
				u, i := users[user[j]], items[item[j]]
				block := blockOf[int(u.part)*across+int(i.part)]
				at := s.at[block]
				if at&s.mask == 0 {
					at = s.chunk(block)
				}
				s.slab[at] = entry[T]{u.local, i.local, of.standard(r)}
				s.at[block] = at + 1
			}
		},
		order:  func(o *orderer[T], block int) { o.shuffle(p.seed, uint64(block)) },
		tiling: tiling,
	}).lay(p.stages)
}

// room returns columns for the n training ratings, which have been put on the stages, and keeps those that are held
// out. Both are in the memory of the data, where that may be.
func (p *planner[T]) room(n int) (columns, error) {
	if p.spent == nil || p.spent.Mapped() {
		p.held = p.heldRows.rowsOf(p.set)
	}
	all := columns{p.set.User, p.set.Item, p.set.Rating}
	if p.spent != nil {
		if err := p.spent.Release(); err != nil {
			return columns{}, err
		}
	}
	if p.held != nil {
		return makeColumns(n)
	}
	p.held = &data.RatingSet{Users: p.set.Users, Items: p.set.Items, Origin: p.set.Origin}
	runAll(func() { p.held.User = behind(all.user, n, p.heldRows) }, func() { p.held.Item = behind(all.item, n, p.heldRows) },
		func() { p.held.Rating = behind(all.rating, n, p.heldRows) })
	return all.slice(0, n), nil
}

// behind moves some values of a column after its first n, which are shared with no other.
func behind[V int32 | float32](column []V, n int, rows heldRows) []V {
	for i, row := range rows { // ascending, so that none is overwritten before it is moved
		column[i] = column[row]
	}
	own := column[n : n+len(rows)]
	copy(own, column)
	return own
}

// spots returns the places of an axis.
func spots[T local](a *axis) []spot[T] {
	out := make([]spot[T], len(a.place))
	for id, p := range a.place {
		out[id] = spot[T]{T(p.part), T(p.local)}
	}
	return out
}

// narrow reports whether 16 bits are enough for parts, and for rows within them.
func (a *axis) narrow() bool {
	parts := len(a.bounds) - 1
	for p := range parts {
		if a.rows(p) > math.MaxUint16 {
			return false
		}
	}
	return parts <= math.MaxUint16
}

// score deals the scored ratings to splits. The baseline is the error of predicting the mean of the training ratings,
// on the ratings whose error is shown; none without any.
func (p *planner[T]) score(test *data.RatingSet) error {
	held, tested := columns{p.held.User, p.held.Item, p.held.Rating}, columns{}
	if test != nil {
		tested.user, tested.item = test.IndicesIn(p.set)
		tested.rating = test.Rating
	}
	p.tested = len(tested.rating)
	p.restOf(held)
	itself := func(i int) int { return i }
	heldOf, err := p.group(held, itself)
	if err != nil {
		return err
	}
	testOf, err := p.group(tested, itself)
	if err != nil {
		return err
	}
	for s := range p.shares {
		p.shares[s].held, p.shares[s].test = heldOf[s], testOf[s]
	}
	shown := tested.rating
	if p.tested == 0 {
		shown = held.rating
	}
	if len(shown) == 0 {
		return nil
	}
	var sum float64
	for _, r := range shown {
		d := float64(r) - p.scale.mean
		sum += d * d
	}
	p.baseline = &train.Metric{Name: "mean predictor", Value: rms(sum, len(shown))}
	return nil
}

// restOf keeps what is held out of a user or an item without a training rating. In large data there often is none.
func (p *planner[T]) restOf(held columns) {
	if p.users.rated() == len(p.users.row) && p.items.rated() == len(p.items.row) {
		return
	}
	items := numbers(len(p.items.row))
	for i, user := range held.user {
		if item := held.item[i]; !p.users.seen(user) || !p.items.seen(item) {
			at := p.users.place[user]
			rest := &p.shares[at.part].rest
			rest.User, rest.Item, rest.IDs = append(rest.User, at.local), append(rest.Item, item), items
		}
	}
}
