package lines

import "math/bits"

// near remembers the numbers of words of at most nearBytes bytes by their letters, as two numbers of which the first is never 0. It forgets: a set has room for few words, of which the one that was asked for
// last comes first, and a new one takes the place of the last. It begins with few sets, since a text may be a line, and grows to what a core's own cache has room for: most words of a text are few.
type near struct {
	sets  []nearSet
	shift int // of a hash to a set
}

const (
	nearBytes = 16 // of the longest word
	nearWays  = 3  // words of a set
	nearLeast = 8  // bits of how many sets there are
	nearMost  = 16
)

// nearSet is a line of the cache.
type nearSet struct {
	lo, hi [nearWays]uint64
	at     [nearWays]int32 // its number, or leftOut
	_      int32
}

// grow makes room for so many different words, and forgets all of them when it does.
func (m *near) grow(words int) {
	had := len(m.sets)
	if words < had || had == 1<<nearMost {
		return
	}
	size := nearLeast
	for size < nearMost && 1<<size <= 2*words {
		size++
	}
	m.sets, m.shift = make([]nearSet, 1<<size), 64-size
}

// set is where a word is remembered.
func (m *near) set(lo, hi uint64) *nearSet {
	high, low := bits.Mul64(lo^0x9e3779b97f4a7c15, hi^0xc2b2ae3d27d4eb4f)
	return &m.sets[(high^low)>>(m.shift&63)]
}

// find is the number of a word, if it is remembered.
func (m *near) find(lo, hi uint64) (at int32, ok bool) {
	s := m.set(lo, hi)
	if s.lo[0] == lo && s.hi[0] == hi {
		return s.at[0], true
	}
	for k := 1; k < nearWays; k++ {
		if s.lo[k] == lo && s.hi[k] == hi {
			at = s.at[k]
			s.lo[k], s.hi[k], s.at[k] = s.lo[k-1], s.hi[k-1], s.at[k-1]
			s.lo[k-1], s.hi[k-1], s.at[k-1] = lo, hi, at
			return at, true
		}
	}
	return 0, false
}

// add remembers a word.
func (m *near) add(lo, hi uint64, at int32) {
	s := m.set(lo, hi)
	copy(s.lo[1:], s.lo[:])
	copy(s.hi[1:], s.hi[:])
	copy(s.at[1:], s.at[:])
	s.lo[0], s.hi[0], s.at[0] = lo, hi, at
}
