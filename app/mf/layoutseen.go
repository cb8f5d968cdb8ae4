package mf

import (
	"sync"

	"bellows/app"
	"bellows/app/mf/internal/seen"
	"bellows/data"
)

// encodeSeen returns the bytes of the tensor of what users have seen, from the layout: the data's own rows are not
// needed any more. It is what encodeSeen of the data gives (TestTheLayoutKnowsWhatUsersHaveSeen).
func (p *problem) encodeSeen() []byte {
	itemOf := p.items.inverse()
	texts, ends := make([][]byte, p.splits), make([][]int, p.splits)
	var scratch sync.Pool // of *seen.Encoder
	app.ForEach(p.splits, func(split int) {
		e, _ := scratch.Get().(*seen.Encoder)
		if e == nil {
			e = seen.New(len(itemOf))
		}
		texts[split], ends[split] = e.Encode(p.users.rows(split), p.seenIn(split, itemOf))
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

// seenBy returns the bytes of that tensor, of the layout or, where splits are laid out apart, of the data.
func (p *problem) seenBy(set *data.RatingSet) []byte {
	if p.apart {
		return seen.Encode(set, seen.RowsMost)
	}
	return p.encodeSeen()
}

// seenIn returns all that the users of a split have in the data.
func (p *problem) seenIn(split int, itemOf []int32) (all []seen.Pairs) {
	s, order := &p.shares[split], p.rotation()
	for c := range p.clocks {
		block := s.block(c)
		if p.schedule == ssp {
			ids := make([]int32, len(s.pulls[c].rows))
			for j, row := range s.pulls[c].rows {
				ids[j] = itemOf[row]
			}
			all = append(all, seen.Pairs{User: block.user, Item: block.item, IDs: ids})
			continue
		}
		all = append(all, seen.Pairs{User: block.user, Item: block.item, IDs: itemOf[p.items.bounds[order.part(split, c)]:]})
	}
	for part := range p.parts() {
		pairs := s.held.group(part).pairs
		all = append(all, seen.Pairs{User: pairs.user, Item: pairs.item, IDs: itemOf[p.items.bounds[part]:]})
	}
	return append(all, s.rest)
}

// inverse returns the ids by row.
func (a *axis) inverse() []int32 {
	id := make([]int32, len(a.row))
	for i, row := range a.row {
		id[row] = int32(i)
	}
	return id
}
