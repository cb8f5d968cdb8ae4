package lines

import "math/bits"

// wordCache is a cache of the numbers of short words, of at most nearBytes bytes. A word is two numbers of its letters,
// the first of which is never 0. The cache forgets: a set has room for few words, the most recently used first, and a
// new word replaces the last. It starts with few sets, because a text may be one line, and grows to the size of a
// core's own cache, because few words make up most of a text.
type wordCache struct {
	sets  []wordCacheSet
	shift int // of a hash to a set
}

const (
	nearBytes = 16 // of the longest word
	nearWays  = 3  // words of a set
	nearLeast = 8  // bits of the least number of sets
	nearMost  = 16
)

// wordCacheSet fills a cache line.
type wordCacheSet struct {
	lo, hi [nearWays]uint64
	at     [nearWays]int32 // the word's number, or leftOut
	_      int32
}

// grow makes room for the given number of different words. When it grows, it forgets all words.
func (m *wordCache) grow(words int) {
	had := len(m.sets)
	if words < had || had == 1<<nearMost {
		return
	}
	size := nearLeast
	for size < nearMost && 1<<size <= 2*words {
		size++
	}
	m.sets, m.shift = make([]wordCacheSet, 1<<size), 64-size
}

// set returns the set of a word.
func (m *wordCache) set(lo, hi uint64) *wordCacheSet {
	high, low := bits.Mul64(lo^0x9e3779b97f4a7c15, hi^0xc2b2ae3d27d4eb4f)
	return &m.sets[(high^low)>>(m.shift&63)]
}

// find returns the number of a word, if the cache has it.
func (m *wordCache) find(lo, hi uint64) (at int32, ok bool) {
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

// add puts a word into the cache.
func (m *wordCache) add(lo, hi uint64, at int32) {
	s := m.set(lo, hi)
	copy(s.lo[1:], s.lo[:])
	copy(s.hi[1:], s.hi[:])
	copy(s.at[1:], s.at[:])
	s.lo[0], s.hi[0], s.at[0] = lo, hi, at
}
