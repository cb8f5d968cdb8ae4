package mf

import (
	"bellows/vec"
)

// probes are ratings that are scored and never trained on, by the part of their items so that each
// part is read once: first the pairs of a known user and a known item, in one block for each part,
// then the rest in the same way. The last block of the rest has the items without a training
// rating. A user or an item without one is unseen: -1.
type probes struct{ blocks }

// probe is one rating to score: ids of the training data, or -1 where it does not know them.
type probe struct {
	user, item int32
	rating     float32
}

// group is the probes of one part of the items: pairs, and those that miss a side.
type group struct{ pairs, rest columns }

func (g group) size() int { return len(g.pairs.rating) + len(g.rest.rating) }

// group sorts so many probes into those of each split, by their users; unseen users go round. Pairs lie as visits do, to find their rows in the
// cache.
func (p *planner[T]) group(n int, at func(i int) probe) ([]probes, error) {
	parts := p.parts()
	each := 2*parts + 1
	all, err := (&laying[T]{
		described: described{"dealing ratings that are scored", "ordering ratings that are scored"}, meter: p.meter,
		ratings: n, blocks: p.splits * each, columns: makeColumns,
		deal: func(s *stage[T], begin, end int) {
			for i := begin; i < end; i++ {
				one := at(i)
				s.put(int32(p.blockOf(one, i%p.splits)), p.entry(one))
			}
		},
		order: func(*orderer[T], int) {},
		tiling: func(b int) tiling {
			if b%each < parts {
				return p.tiling(b/each, b%each)
			}
			return whole
		},
	}).lay(p.stages[:min(pieces(n), len(p.stages))])
	if err != nil {
		return nil, err
	}
	out := make([]probes, p.splits)
	for split := range out {
		out[split] = probes{all.share(split, p.splits)}
	}
	return out, nil
}

// blockOf is the block of a probe among those of all splits; otherwise is the split of an unseen user.
func (p *problem) blockOf(one probe, otherwise int) int {
	split, parts := otherwise, p.parts()
	block := 2 * parts
	user, item := p.users.seen(one.user), p.items.seen(one.item)
	if user {
		split = int(p.users.place[one.user].part)
	}
	switch {
	case user && item:
		block = int(p.items.place[one.item].part)
	case item:
		block = parts + int(p.items.place[one.item].part)
	}
	return split*(2*parts+1) + block
}

// entry is a probe by the rows of its user and item.
func (p *planner[T]) entry(one probe) entry[T] {
	e := entry[T]{^T(0), ^T(0), p.scale.standard(one.rating)}
	if p.users.seen(one.user) {
		e.user = T(p.users.place[one.user].local)
	}
	if p.items.seen(one.item) {
		e.item = T(p.items.place[one.item].local)
	}
	return e
}

// seen says whether the id has a training rating.
func (a *axis) seen(id int32) bool { return id >= 0 && a.count[id] > 0 }

// of returns the probes of a part of the items; the part after the last is that of unseen items.
func (q *probes) of(part int) group {
	parts := len(q.ends) / 2
	if part == parts {
		return group{rest: q.block(2 * parts)}
	}
	return group{q.block(part), q.block(parts + part)}
}

// predict is the standardised prediction from what is known of the user and the item.
func (p *problem) predict(user, item int32, users, items []float32) float32 {
	n := p.rank
	if user >= 0 && item >= 0 {
		u, i := users[int(user)*p.width:][:p.width], items[int(item)*p.width:][:p.width]
		if !p.biases {
			return vec.Dot(u[:n], i[:n])
		}
		return u[n] + i[n] + vec.Dot(u[:n], i[:n])
	}
	switch {
	case !p.biases:
		return 0
	case user >= 0:
		return users[int(user)*p.width+n]
	case item >= 0:
		return items[int(item)*p.width+n]
	}
	return 0
}
