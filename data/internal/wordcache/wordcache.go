// Package wordcache keeps the numbers of recent short words. It forgets words, but gives no wrong number.
//
// The caller's duties: Grow as words are numbered; Touch the words that it is about to look up; Find each; look up by
// other means what is not found, and Add it.
package wordcache

import "math/bits"

// A Word is a word of 1 to 16 bytes other than 0, as two little-endian numbers. Bytes after its end are 0.
type Word struct{ Lo, Hi uint64 }

// Len returns the number of bytes.
func (w Word) Len() int {
	if w.Hi != 0 {
		return 16 - bits.LeadingZeros64(w.Hi)>>3
	}
	return 8 - bits.LeadingZeros64(w.Lo)>>3
}

// A Cache is a cache of the numbers of words. A set has room for few words, the most recently used first, and a new
// word replaces the last. A cache starts with few sets, because a text may be one line. It grows to the size of a
// core's own cache, because few words make up most of a text.
type Cache struct {
	sets    []set
	shift   int    // of a hash to a set
	touched uint64 // keeps the compiler from dropping the reads of Touch
}

const (
	ways  = 3 // words of a set
	least = 8 // bits of the least number of sets
	most  = 16
)

// A set fills a cache line.
type set struct {
	lo, hi [ways]uint64
	at     [ways]int32 // the word's number
	_      int32
}

// Grow makes room for the given number of different words. When it grows, it forgets all words.
func (c *Cache) Grow(words int) {
	had := len(c.sets)
	if words < had || had == 1<<most {
		return
	}
	size := least
	for size < most && 1<<size <= 2*words {
		size++
	}
	c.sets, c.shift = make([]set, 1<<size), 64-size
}

// set returns the set of a word.
func (c *Cache) set(w Word) *set {
	high, low := bits.Mul64(w.Lo^0x9e3779b97f4a7c15, w.Hi^0xc2b2ae3d27d4eb4f)
	return &c.sets[(high^low)>>(c.shift&63)]
}

// Touch reads the set of each word, so that Find has it in the processor's cache. No read waits for another.
func (c *Cache) Touch(words []Word) {
	sum := uint64(0)
	for _, w := range words {
		sum += c.set(w).lo[0]
	}
	c.touched = sum
}

// Find returns the number of a word, if the cache has it.
func (c *Cache) Find(w Word) (at int32, ok bool) {
	s := c.set(w)
	if s.lo[0] == w.Lo && s.hi[0] == w.Hi {
		return s.at[0], true
	}
	for k := 1; k < ways; k++ {
		if s.lo[k] == w.Lo && s.hi[k] == w.Hi {
			at = s.at[k]
			s.lo[k], s.hi[k], s.at[k] = s.lo[k-1], s.hi[k-1], s.at[k-1]
			s.lo[k-1], s.hi[k-1], s.at[k-1] = w.Lo, w.Hi, at
			return at, true
		}
	}
	return 0, false
}

// Add puts a word into the cache.
func (c *Cache) Add(w Word, at int32) {
	s := c.set(w)
	copy(s.lo[1:], s.lo[:])
	copy(s.hi[1:], s.hi[:])
	copy(s.at[1:], s.at[:])
	s.lo[0], s.hi[0], s.at[0] = w.Lo, w.Hi, at
}

// Clear makes the cache forget all words.
func (c *Cache) Clear() { clear(c.sets) }

// Empty reports whether the cache has never grown.
func (c *Cache) Empty() bool { return c.sets == nil }
