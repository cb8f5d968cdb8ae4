// Package seen encodes the list of items that each user has rated, for the saved models of app/mf. For each user in
// order it writes their number, then the items ascending, each as the difference from the previous one, the first as
// its index; all numbers are unsigned LEB128. A pair takes little more than a byte.
//
// Encode takes all pairs at once, an Encoder those of some users in order, whose texts the caller concatenates; both
// give the same bytes. Open checks the bytes, and decodes items on request. The package refuses bytes that do not match
// the numbers of users and items.
package seen

import (
	"encoding/binary"
	"math/bits"
	"slices"

	"bellows/data"
)

// RowsMost bounds the ratings that are sorted at a time, and with them the memory that it takes.
const RowsMost = 1 << 22

// Encode returns the bytes of a set of ratings, sorted so many at a time (but all of a user).
func Encode(set *data.RatingSet, rowsMost int) []byte {
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
		end := batchEnd(starts, first, rowsMost)
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
			out = appendItems(out, items[starts[u]-base:starts[u+1]-base])
		}
		first = end
	}
	return out
}

// batchEnd returns the end of the users from one on that are sorted at once; each begins with a row.
func batchEnd(starts []int, first, rowsMost int) int {
	end := first + 1
	for end+1 < len(starts) && starts[end+1]-starts[first] <= rowsMost {
		end++
	}
	return end
}

// appendItems appends the items of one user, which it sorts.
func appendItems(out []byte, items []int32) []byte {
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

// Items is what each user has, as the bytes have it; items are decoded when they are asked for.
type Items struct {
	text  []byte
	begin []int // of each user's part of the text
}

// Open checks bytes. It says whether they fit the numbers of users and items.
func Open(text []byte, users, items int) (*Items, bool) {
	out := &Items{text: text, begin: make([]int, users)}
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

// Lookup returns the items of a user, ascending; none for an unknown user.
func (s *Items) Lookup(user int32) []int32 {
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

// Pairs are of a user, by its number among some, and an item, by its place in a list of items.
type Pairs struct{ User, Item, IDs []int32 }

// Encoder encodes the items of some users in order, in memory of its own.
type Encoder struct {
	next  []int32  // by user: where its next item goes
	items []int32  // of all users, those of one after those of another
	set   []uint64 // a bit for each item that there is; empty between two users
}

// New makes an Encoder where there are so many items.
func New(items int) *Encoder { return &Encoder{set: make([]uint64, (items+63)/64)} }

// Encode returns the text of so many users in the order of their rows, and where that of each ends.
func (e *Encoder) Encode(users int, all []Pairs) (text []byte, ends []int) {
	e.next = append(e.next[:0], make([]int32, users+1)...)
	next := e.next
	for _, some := range all {
		for _, u := range some.User {
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
		item, ids := some.Item[:len(some.User)], some.IDs
		for j, u := range some.User {
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
func (e *Encoder) append(text []byte, items []int32) []byte {
	if len(e.set) > 16*len(items) {
		return appendItems(text, items)
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
