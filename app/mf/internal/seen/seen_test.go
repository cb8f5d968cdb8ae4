package seen

import (
	"encoding/binary"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"bellows/data"
)

// ratings returns random ones, many given twice: the first user has all items, the second none, and the others a few,
// few or not among many items.
func ratings(r *rand.Rand, users, items int) *data.RatingSet {
	set := &data.RatingSet{Users: make([]string, users), Items: make([]string, items)}
	add := func(u, i int) { set.User, set.Item = append(set.User, int32(u)), append(set.Item, int32(i)) }
	for _, i := range r.Perm(items) {
		add(0, i)
	}
	for range 5 * users {
		add(2+r.IntN(users-2), r.IntN(items))
	}
	r.Shuffle(len(set.User), func(i, j int) {
		set.User[i], set.User[j] = set.User[j], set.User[i]
		set.Item[i], set.Item[j] = set.Item[j], set.Item[i]
	})
	return set
}

// TestItemsComeBack encodes ratings at once, a few at a time, and by an Encoder that is used again: the bytes are the same, and have what each user has.
func TestItemsComeBack(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 2))
	for _, items := range []int{3, 64, 200, 4000} {
		const users = 40
		set := ratings(r, users, items)
		want := make([][]int32, users)
		for k, u := range set.User {
			want[u] = append(want[u], set.Item[k])
		}
		text := Encode(set, RowsMost)
		for _, most := range []int{1, 20, items} {
			if !slices.Equal(Encode(set, most), text) {
				t.Errorf("%d items, sorted %d at a time, are other bytes", items, most)
			}
		}
		s, ok := Open(text, users, items)
		if !ok {
			t.Fatalf("%d items: its own bytes are refused", items)
		}
		for u := range want {
			slices.Sort(want[u])
			want[u] = slices.Compact(want[u])
			if got := s.Lookup(int32(u)); !slices.Equal(got, want[u]) {
				t.Fatalf("of %d items user %d has %v, want %v", items, u, got, want[u])
			}
		}
		for _, u := range []int32{-1, users} {
			if s.Lookup(u) != nil || (*Items)(nil).Lookup(0) != nil {
				t.Errorf("user %d has items", u)
			}
		}
		e := New(items)
		place, ids := make([]int32, items), make([]int32, items) // a list of items in another order
		for i, id := range r.Perm(items) {
			ids[i], place[id] = int32(id), int32(i)
		}
		for range 2 {
			all := []Pairs{{IDs: ids}, {IDs: ids}}
			for k, u := range set.User {
				p := &all[r.IntN(2)]
				p.User, p.Item = append(p.User, u), append(p.Item, place[set.Item[k]])
			}
			got, ends := e.Encode(users, all)
			if !slices.Equal(got, text) || len(ends) != users {
				t.Fatalf("an encoder of %d items makes %d bytes of %d users, want %d", items, len(got), len(ends), len(text))
			}
			for u, end := range ends {
				if next := slices.Concat(s.begin, []int{len(text)})[u+1]; end != next {
					t.Fatalf("user %d ends at %d, want %d", u, end, next)
				}
			}
		}
	}
}

// TestUsersAreSortedTogether so far as their rows are no more than may be, and at least one.
func TestUsersAreSortedTogether(t *testing.T) {
	t.Parallel()
	starts := []int{0, 4, 6, 6, 9, 10}
	for _, c := range []struct{ first, most, want int }{{0, 1, 1}, {0, 5, 1}, {0, 6, 3}, {1, 2, 3}, {1, 5, 4}, {3, 3, 4}, {0, 10, 5}, {4, 1, 5}} {
		if got := batchEnd(starts, c.first, c.most); got != c.want {
			t.Errorf("from user %d on, at most %d rows: up to %d, want %d", c.first, c.most, got, c.want)
		}
	}
}

// TestBytesOfOthersAreRefused: for two users and 300 items.
func TestBytesOfOthersAreRefused(t *testing.T) {
	t.Parallel()
	text := func(numbers ...uint64) (out []byte) {
		for _, x := range numbers {
			out = binary.AppendUvarint(out, x)
		}
		return out
	}
	good := text(2, 0, 299, 1, 200)
	if _, ok := Open(good, 2, 300); !ok {
		t.Fatal("right bytes are refused")
	}
	for n := range good {
		if _, ok := Open(good[:n], 2, 300); ok {
			t.Errorf("%d of %d bytes are taken", n, len(good))
		}
	}
	for name, bad := range map[string][]byte{
		"something behind them":         append(good, 0),
		"an item too many":              text(1, 300, 0),
		"one behind the last":           text(2, 299, 1, 0),
		"an item twice":                 text(2, 7, 0, 0),
		"more items than there are":     text(301, 0, 0),
		"a number that is none":         append(slices.Repeat([]byte{0x80}, 10), 1, 0),
		"an item without a number":      append(append([]byte{1}, slices.Repeat([]byte{0x80}, 10)...), 1, 0),
		"a distance that goes backward": text(2, 7, math.MaxUint64-1, 0),
	} {
		if _, ok := Open(bad, 2, 300); ok {
			t.Errorf("%s: %v is taken", name, bad)
		}
	}
}
