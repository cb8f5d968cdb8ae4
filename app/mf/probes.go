package mf

import "bellows/vec"

// probes are ratings that are scored and never trained on, by the part of their items so that each
// part is read once: first the pairs of a known user and a known item, in one block for each part,
// then the rest in the same way. The last block of the rest has the items without a training
// rating. A user or an item without one is unseen: -1.
type probes struct{ blocks }

// group is the probes of one part of the items: pairs, and those that miss a side.
type group struct{ pairs, rest columns }

func (g group) size() int { return len(g.pairs.rating) + len(g.rest.rating) }

// group sorts ratings into the probes of each split, by their users; unseen users go round. Users and items are ids of the training data, or -1 where it
// does not know them, and numbered by number. Pairs lie as visits do, to find their rows in the cache.
func (p *planner[T]) group(c columns, number func(i int) int) ([]probes, error) {
	parts, n := p.parts(), len(c.rating)
	each := 2*parts + 1
	users, items := seenSpots[T](&p.users), seenSpots[T](&p.items)
	unseen := ^T(0)
	all, err := (&laying[T]{
		described: described{"dealing ratings that are scored", "ordering ratings that are scored"}, meter: p.meter,
		ratings: n, blocks: p.splits * each, columns: makeColumns,
		deal: func(s *stage[T], begin, end int) {
			for i := begin; i < end; i++ {
				user, item := spot[T]{0, unseen}, spot[T]{0, unseen}
				if id := c.user[i]; id >= 0 && users[id].local != unseen {
					user = users[id]
				} else {
					user.part = T(number(i) % p.splits)
				}
				if id := c.item[i]; id >= 0 {
					item = items[id]
				}
				block := 2 * parts
				switch {
				case item.local == unseen:
				case user.local == unseen:
					block = parts + int(item.part)
				default:
					block = int(item.part)
				}
				s.put(int32(int(user.part)*each+block), entry[T]{user.local, item.local, p.scale.standard(c.rating[i])})
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

// seenSpots returns the places of an axis without an unseen row.
func seenSpots[T local](a *axis) []spot[T] {
	out := spots[T](a)
	for id, count := range a.count {
		if count == 0 {
			out[id].local = ^T(0)
		}
	}
	return out
}

// seen reports whether the id has a training rating.
func (a *axis) seen(id int32) bool { return id >= 0 && a.count[id] > 0 }

// group returns the probes of a part of the items; the part after the last is that of unseen items.
func (q *probes) group(part int) group {
	parts := len(q.ends) / 2
	if part == parts {
		return group{rest: q.block(2 * parts)}
	}
	return group{q.block(part), q.block(parts + part)}
}

// predict returns the standardised prediction from what is known of the user and the item.
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
