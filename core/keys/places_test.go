package keys

import (
	"slices"
	"testing"

	"bellows"
)

// steps returns how many places finding every key of an index looks at.
func (x *Index) steps() (n int) {
	mask := uint64(len(x.places) - 1)
	for number, k := range x.list {
		n++
		for at := x.hash(k) & mask; uint32(x.places[at]) != uint32(number+1); at = (at + 1) & mask {
			n++
		}
	}
	return n
}

// TestSeedSpreadsCollidingKeys takes keys that lie on one place of an index with the default seed. With another seed
// they cost what random keys do.
func TestSeedSpreadsCollidingKeys(t *testing.T) {
	const count = 4000
	var made []bellows.Key
	for k := bellows.Key(0); len(made) < count; k++ {
		if Hash(k)&0x7ff == 0 {
			made = append(made, k)
		}
	}
	fill := func(seed uint64, list func(i int) bellows.Key) int {
		var x Index
		x.Seed(seed)
		for i := range count {
			x.Add(list(i))
		}
		steps := x.steps()
		x.Reset()
		if x.Add(list(0)); x.seed != seed || x.Find(list(0)) != 0 || x.Find(list(1)) != -1 {
			t.Errorf("seed %d: after a reset the index is another", seed)
		}
		return steps
	}
	any := fill(0, func(i int) bellows.Key { return bellows.Key(i) })
	collide := func(i int) bellows.Key { return made[i] }
	if n := fill(0, collide); n < 100*any {
		t.Errorf("the keys look at %d places, any keys at %d: they do not collide", n, any)
	}
	for _, seed := range []uint64{1, 0x9e3779b97f4a7c15, 1 << 63} {
		if n := fill(seed, collide); n > 2*any {
			t.Errorf("seed %#x: the keys look at %d places, any keys at %d", seed, n, any)
		}
	}
}

// TestIndexIsAtMostTwoThirdsFull adds keys one after the other: the table is the smallest that is no fuller.
func TestIndexIsAtMostTwoThirdsFull(t *testing.T) {
	t.Parallel()
	var x Index
	size := placesMin
	for n := range 5000 {
		if x.Add(bellows.Key(n)); 3*(n+1) > 2*size {
			size *= 2
		}
		if len(x.places) != size {
			t.Fatalf("%d keys have %d places, not %d", n+1, len(x.places), size)
		}
	}
}

// TestResetCostsWhatWasAdded resets indexes around the number of keys from which a sweep costs less. Entries of keys
// that were never added show which places Reset has touched: all in a sweep, else none, even if they look like what
// is sought.
func TestResetCostsWhatWasAdded(t *testing.T) {
	t.Parallel()
	const size = 1 << 10
	var made []bellows.Key // for one place
	for k := bellows.Key(0); len(made) < size/8+1; k++ {
		if Hash(k)&(size-1) == 100 {
			made = append(made, k)
		}
	}
	for n, swept := range map[int]bool{0: false, 2: false, size / 8: false, size/8 + 1: true} {
		x := Index{places: make([]uint64, size)}
		for _, k := range made[:n] {
			x.Add(k)
		}
		var free []int
		for at := range x.places {
			if x.places[at] == 0 {
				x.places[at] = uint64(max(n, 1)) // the number of the last key, at the end of its walk
				free = append(free, at)
			}
		}
		x.Reset()
		marked := 0
		for _, at := range free {
			if x.places[at] != 0 {
				marked++
			}
			x.places[at] = 0
		}
		if want := map[bool]int{false: len(free)}[swept]; marked != want {
			t.Errorf("%d keys of %d places: %d marks of %d are left, want %d", n, size, marked, len(free), want)
		}
		if slices.Max(x.places) != 0 {
			t.Errorf("%d keys of %d places: not all are gone", n, size)
		}
	}
}
