package mf

import (
	"encoding/binary"
	"slices"

	"bellows/data"
	"bellows/model"
)

// seenTensor is what each user has rated, in the model: for each user in the order of users.txt the number of items, then the items
// ascending, each as its distance from the one before, the first as its index; all numbers are unsigned LEB128. A rating takes little more than a byte.
const seenTensor = "seen"

// seenRows bounds the ratings that are sorted at a time, and with them the memory that it takes.
const seenRows = 1 << 22

// encodeSeen is the tensor's bytes for a set of ratings, sorted so many at a time (but all of a user).
func encodeSeen(set *data.RatingSet, rowsMost int) []byte {
	starts := make([]int, len(set.Users)+1)
	for _, u := range set.User {
		starts[u+1]++
	}
	for u := range set.Users {
		starts[u+1] += starts[u]
	}
	out := make([]byte, 0, len(set.User)+2*len(set.Users))
	place := make([]int, len(set.Users))
	var items []int32
	for first := 0; first < len(set.Users); {
		end := first + 1
		for end < len(set.Users) && starts[end+1]-starts[first] <= rowsMost {
			end++
		}
		base := starts[first]
		copy(place[first:end], starts[first:end])
		items = slices.Grow(items[:0], starts[end]-base)[:starts[end]-base]
		for r, u := range set.User {
			if int(u) >= first && int(u) < end {
				items[place[u]-base] = set.Item[r]
				place[u]++
			}
		}
		for u := first; u < end; u++ {
			out = appendSeen(out, items[starts[u]-base:starts[u+1]-base])
		}
		first = end
	}
	return out
}

// appendSeen appends the items of one user, which it sorts.
func appendSeen(out []byte, items []int32) []byte {
	slices.Sort(items)
	items = slices.Compact(items)
	out = binary.AppendUvarint(out, uint64(len(items)))
	before := int32(0)
	for _, i := range items {
		out = binary.AppendUvarint(out, uint64(i-before))
		before = i
	}
	return out
}

// openSeen is what users have seen by a model, nil where it does not say.
func openSeen(r *model.Reader, users, items int) *seen {
	text := r.Bytes(seenTensor)
	if text == nil {
		return nil
	}
	s, ok := decodeSeen(text, users, items)
	if !ok {
		_ = r.Refuse("tensor %s is not of %d users and %d items", seenTensor, users, items)
	}
	return s
}

// seen is the items that each user has seen, as the tensor has them; they are decoded when they are asked for.
type seen struct {
	text  []byte
	begin []int // of each user's part of the text
}

// decodeSeen checks the bytes of the tensor. It says whether they fit the numbers of users and items.
func decodeSeen(text []byte, users, items int) (*seen, bool) {
	out := &seen{text: text, begin: make([]int, users)}
	at := 0
	for u := range out.begin {
		out.begin[u] = at
		n, size := binary.Uvarint(text[at:])
		if at += size; size <= 0 || n > uint64(items) {
			return nil, false
		}
		item := uint64(0)
		for k := range n {
			var step uint64
			if at < len(text) && text[at] < 0x80 { // as most are
				step, at = uint64(text[at]), at+1
			} else if step, size = binary.Uvarint(text[at:]); size > 0 {
				at += size
			} else {
				return nil, false
			}
			item += step
			if step > uint64(items) || item >= uint64(items) || k > 0 && step == 0 {
				return nil, false
			}
		}
	}
	return out, at == len(text)
}

// of is the items of a user, ascending, none of one that is not known.
func (s *seen) of(user int32) []int32 {
	if s == nil || user < 0 || int(user) >= len(s.begin) {
		return nil
	}
	text := s.text[s.begin[user]:]
	n, size := binary.Uvarint(text)
	list, item := make([]int32, n), uint64(0)
	for k := range list {
		text = text[size:]
		var step uint64
		step, size = binary.Uvarint(text)
		item += step
		list[k] = int32(item)
	}
	return list
}
