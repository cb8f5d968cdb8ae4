package mf

import (
	"encoding/binary"
	"math/bits"
	"slices"
	"sync"

	"bellows/app"
)

// encodeSeen is the bytes of the tensor of what users have seen, from the layout: the data's own rows are not needed any more. It is what encodeSeen of
// the data gives (TestTheLayoutKnowsWhatUsersHaveSeen).
func (p *problem) encodeSeen() []byte {
	itemOf := p.items.inverse()
	texts, ends := make([][]byte, p.splits), make([][]int, p.splits)
	var scratch sync.Pool // of *seenEncoder
	app.ForEach(p.splits, func(split int) {
		e, _ := scratch.Get().(*seenEncoder)
		if e == nil {
			e = &seenEncoder{set: make([]uint64, (len(itemOf)+63)/64)}
		}
		texts[split], ends[split] = e.encode(p.users.rows(split), p.seenIn(split, itemOf))
		scratch.Put(e)
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

// hads are pairs of a user, by the row within its part, and an item, by its place in a list of ids.
type hads struct{ user, item, ids []int32 }

// seenIn is all that the users of a split have in the data.
func (p *problem) seenIn(split int, itemOf []int32) (all []hads) {
	s, order := &p.shares[split], p.rotation()
	for c := range p.clocks {
		block := s.block(c)
		if p.schedule == ssp {
			ids := make([]int32, len(s.pulls[c].rows))
			for j, row := range s.pulls[c].rows {
				ids[j] = itemOf[row]
			}
			all = append(all, hads{block.user, block.item, ids})
			continue
		}
		all = append(all, hads{block.user, block.item, itemOf[p.items.bounds[order.part(split, c)]:]})
	}
	for part := range p.parts() {
		pairs := s.held.of(part).pairs
		all = append(all, hads{pairs.user, pairs.item, itemOf[p.items.bounds[part]:]})
	}
	return append(all, s.rest)
}

// seenEncoder encodes what the users of one split after the other have seen, in memory of its own.
type seenEncoder struct {
	next  []int32  // by user: where its next item goes
	items []int32  // of all users, those of one after those of another
	set   []uint64 // a bit for each item that there is; empty between two users
}

// encode is the text of so many users in the order of their rows, and where that of each ends.
func (e *seenEncoder) encode(users int, all []hads) (text []byte, ends []int) {
	e.next = append(e.next[:0], make([]int32, users+1)...)
	next := e.next
	for _, some := range all {
		for _, u := range some.user {
			next[u+1]++
		}
	}
	for u := range users {
		next[u+1] += next[u]
	}
	n := int(next[users])
	e.items = slices.Grow(e.items[:0], n)[:n]
	items := e.items
	for _, some := range all {
		item, ids := some.item[:len(some.user)], some.ids
		for j, u := range some.user {
			at := next[u]
			next[u] = at + 1
			items[at] = ids[item[j]]
		}
	}
	text, ends = make([]byte, 0, n+n/4+2*users), make([]int, users)
	from := int32(0)
	for u, end := range next[:users] {
		text = e.append(text, items[from:end])
		ends[u] = len(text)
		from = end
	}
	return text, ends
}

// append appends the items of one user. Unless they are few among all that there are, walking the set finds them in their order sooner than sorting does.
func (e *seenEncoder) append(text []byte, items []int32) []byte {
	if len(e.set) > 16*len(items) {
		return appendSeen(text, items)
	}
	n := uint64(0)
	for _, i := range items {
		word, bit := &e.set[i>>6], uint64(1)<<(i&63)
		if *word&bit == 0 {
			n++
		}
		*word |= bit
	}
	text = binary.AppendUvarint(text, n)
	before := 0
	for at, word := range e.set {
		for ; word != 0; word &= word - 1 {
			i := at<<6 + bits.TrailingZeros64(word)
			text = binary.AppendUvarint(text, uint64(i-before))
			before = i
		}
		e.set[at] = 0
	}
	return text
}

// inverse is the ids by row.
func (a *axis) inverse() []int32 {
	id := make([]int32, len(a.row))
	for i, row := range a.row {
		id[row] = int32(i)
	}
	return id
}
