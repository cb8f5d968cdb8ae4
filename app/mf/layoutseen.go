package mf

import (
	"math/bits"
	"slices"

	"bellows/app"
)

// had is an item, by its id, of a user, by the row within its part.
type had struct{ user, item int32 }

// encodeSeen is the bytes of the tensor of what users have seen, from the layout: the data's own rows are not needed any more. It is what encodeSeen of
// the data gives (TestTheLayoutKnowsWhatUsersHaveSeen).
func (p *problem) encodeSeen() []byte {
	itemOf := p.items.inverse()
	texts, ends := make([][]byte, p.splits), make([][]int, p.splits)
	app.ForEach(p.splits, func(split int) {
		texts[split], ends[split] = p.encodeShare(split, itemOf)
	})
	size := 0
	for _, text := range texts {
		size += len(text)
	}
	out := make([]byte, 0, size)
	for _, at := range p.users.place {
		from, end := 0, ends[at.part][at.local]
		if at.local > 0 {
			from = ends[at.part][at.local-1]
		}
		out = append(out, texts[at.part][from:end]...)
	}
	return out
}

// encodeShare is the text of the users of a split in the order of their rows, and where that of each ends.
func (p *problem) encodeShare(split int, itemOf []int32) (text []byte, ends []int) {
	users := p.users.rows(split)
	next := make([]int, users+1)
	p.eachSeen(split, itemOf, func(h had) { next[h.user+1]++ })
	for u := range users {
		next[u+1] += next[u]
	}
	items := make([]int32, next[users])
	p.eachSeen(split, itemOf, func(h had) {
		items[next[h.user]] = h.item
		next[h.user]++
	})
	set := make([]uint64, (len(itemOf)+63)/64)
	from := 0
	for _, end := range next[:users] {
		text = appendSeen(text, ascending(items[from:end], set))
		ends = append(ends, len(text))
		from = end
	}
	return text, ends
}

// eachSeen calls f for all that the users of a split have in the data.
func (p *problem) eachSeen(split int, itemOf []int32, f func(had)) {
	s, order := &p.shares[split], p.rotation()
	for c := range p.clocks {
		block := s.block(c)
		if p.schedule == ssp {
			for j, u := range block.user {
				f(had{u, itemOf[s.pulls[c].rows[block.item[j]]]})
			}
			continue
		}
		first := itemOf[p.items.bounds[order.part(split, c)]:]
		for j, u := range block.user {
			f(had{u, first[block.item[j]]})
		}
	}
	for part := range p.parts() {
		pairs := s.held.of(part).pairs
		first := itemOf[p.items.bounds[part]:]
		for j, u := range pairs.user {
			f(had{u, first[pairs.item[j]]})
		}
	}
	for _, h := range s.rest {
		f(h)
	}
}

// inverse is the ids by row.
func (a *axis) inverse() []int32 {
	id := make([]int32, len(a.row))
	for i, row := range a.row {
		id[row] = int32(i)
	}
	return id
}

// ascending sorts ids and leaves out those that come again. set is empty, with a bit for each id there is, and is left empty: many ids are
// found in their order by walking it.
func ascending(ids []int32, set []uint64) []int32 {
	if len(set) > 4*len(ids) {
		slices.Sort(ids)
		return slices.Compact(ids)
	}
	for _, id := range ids {
		set[id>>6] |= 1 << (id & 63)
	}
	ids = ids[:0]
	for at, word := range set {
		for ; word != 0; word &= word - 1 {
			ids = append(ids, int32(at<<6+bits.TrailingZeros64(word)))
		}
		set[at] = 0
	}
	return ids
}
