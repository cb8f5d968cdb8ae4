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
func openSeen(r *model.Reader, users, items int) seen {
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

// seen is the items that each user has seen, ascending.
type seen [][]int32

// decodeSeen reads the bytes of the tensor. It says whether they fit the numbers of users and items.
func decodeSeen(text []byte, users, items int) (seen, bool) {
	out := make(seen, users)
	all := make([]int32, 0, len(text))
	next := func() (uint64, bool) {
		n, size := binary.Uvarint(text)
		if size <= 0 {
			return 0, false
		}
		text = text[size:]
		return n, true
	}
	for u := range out {
		n, ok := next()
		if !ok || n > uint64(items) || n > uint64(len(text)) {
			return nil, false
		}
		first, item := len(all), uint64(0)
		for k := range n {
			step, ok := next()
			item += step
			if !ok || step > uint64(items) || item >= uint64(items) || k > 0 && step == 0 {
				return nil, false
			}
			all = append(all, int32(item))
		}
		out[u] = all[first:]
	}
	return out, len(text) == 0
}

// of is the items of a user, none of one that is not known.
func (s seen) of(user int32) []int32 {
	if user < 0 || int(user) >= len(s) {
		return nil
	}
	return s[user]
}
