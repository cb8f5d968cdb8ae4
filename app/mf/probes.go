package mf

import (
	"bellows/app"
	"bellows/progress"
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

// group sorts so many probes into those of each split, by their users; unseen users go round.
func (p *problem) group(n int, at func(i int) probe) []probes {
	parts, to := p.parts(), makeColumns(n)
	p.meter.Begin(progress.Part{Doing: "dealing ratings that are scored", Unit: "ratings", Total: 2 * int64(n)})
	all := blocks{to, arrange(p.meter, n, p.splits*(2*parts+1), pieces(n), func(first int, block []int32) {
		for j := range block {
			block[j] = int32(p.blockOf(at(first+j), (first+j)%p.splits))
		}
	}, func(first int, place []int32) {
		for j, a := range place {
			p.place(to, int(a), at(first+j))
		}
	})}
	out := make([]probes, p.splits)
	app.ForEach(p.splits, func(split int) {
		own := all.share(split, p.splits)
		s := newShuffler(own.longest())
		for part := range parts { // pairs lie as visits do, to find their rows in the cache
			pairs := own.block(part)
			if t := p.tiling(split, part); t.worth(len(pairs.rating)) {
				s.stay(len(pairs.rating))
				s.apply(pairs, t)
			}
		}
		out[split] = probes{own}
	})
	return out
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

func (p *problem) place(c columns, at int, one probe) {
	c.user[at], c.item[at] = -1, -1
	if p.users.seen(one.user) {
		c.user[at] = p.users.place[one.user].local
	}
	if p.items.seen(one.item) {
		c.item[at] = p.items.place[one.item].local
	}
	c.rating[at] = p.scale.standard(one.rating)
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
