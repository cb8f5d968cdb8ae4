package mf

import (
	"bellows/data"
	"bellows/vec"
)

// probes are ratings that are scored and never trained on, grouped by the part of their items so
// that each part is read once. The last group has the items without a training rating; such a user
// or item is unseen: -1.
type probes struct {
	columns
	ends []int // by group
}

// probe is one rating to score: ids of the training data, or -1 where it does not know them.
type probe struct {
	user, item int32
	rating     float32
}

// group sorts probes into the shares of their users; unseen users go round.
func (p *plan) group(list []probe, into func(*share) *probes) {
	groups := p.splits + 1
	key := func(i int) (split, group int) {
		split, group = i%p.splits, p.splits
		if p.users.seen(list[i].user) {
			split = int(p.users.part[list[i].user])
		}
		if p.items.seen(list[i].item) {
			group = int(p.items.part[list[i].item])
		}
		return split, group
	}
	for s := range p.shares {
		into(&p.shares[s]).ends = make([]int, groups)
	}
	for i := range list {
		s, g := key(i)
		into(&p.shares[s]).ends[g]++
	}
	for s := range p.shares {
		into(&p.shares[s]).allot()
	}
	for i, one := range list {
		s, g := key(i)
		p.place(into(&p.shares[s]), g, one)
	}
}

// allot turns the groups' sizes into where they begin, and takes the memory.
func (q *probes) allot() {
	total := 0
	for g, size := range q.ends {
		q.ends[g] = total
		total += size
	}
	q.columns = makeColumns(total)
}

func (p *plan) place(q *probes, group int, one probe) {
	at := q.ends[group]
	q.ends[group]++
	q.user[at], q.item[at] = -1, -1
	if p.users.seen(one.user) {
		q.user[at] = p.users.local(one.user)
	}
	if p.items.seen(one.item) {
		q.item[at] = p.items.local(one.item)
	}
	q.rating[at] = p.scale.standard(one.rating)
}

// seen says whether the id has a training rating.
func (a *axis) seen(id int32) bool { return id >= 0 && a.count[id] > 0 }

// of returns a group's probes.
func (q *probes) of(group int) columns {
	begin := 0
	if group > 0 {
		begin = q.ends[group-1]
	}
	return q.slice(begin, q.ends[group])
}

// score is the sum of the squared errors of probes, by the slabs of their users and of their items.
func (p *plan) score(c columns, users, items []float32) float64 {
	var sum float64
	for j, r := range c.rating {
		e := float64(r - p.predict(c.user[j], c.item[j], users, items))
		sum += e * e
	}
	return sum
}

// predict is the standardised prediction from what is known of the user and the item.
func (p *plan) predict(user, item int32, users, items []float32) float32 {
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

// heldOut chooses the rows that are not trained on, and the rest.
func heldOut(seed uint64, rows, percent int) (train, held []int32) {
	train = make([]int32, 0, rows)
	for r := range rows {
		if data.HeldOut(seed, int64(r), percent) {
			held = append(held, int32(r))
		} else {
			train = append(train, int32(r))
		}
	}
	return train, held
}
