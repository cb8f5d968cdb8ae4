// Package keys assigns the 64-bit keys of sparse tables to partitions by a hash, and numbers the keys of a partition
// (Index).
//
// Partition returns where a key's row lives, by a pure function that is the same at every node. An Index numbers the
// keys of one partition, or of one update of it, in the order in which they first came, so that their rows can be
// consecutive. Its owner adds keys, keeps a row for each number, and resets the index together with the rows.
//
// The package does no locking, holds no rows, and gives a number back only by Reset. It refuses nothing: a caller
// that bounds memory asks Len before Add.
package keys

import (
	"math/bits"

	"bellows"
	"bellows/random"
)

// Hash spreads keys over 64 bits, by a bijection in which every bit of the key moves half of the
// bits.
func Hash(k bellows.Key) uint64 { return random.Mix(uint64(k)) }

// Partition returns the partition, of n, of a key: the upper bits of its hash. An index looks at the lower ones.
func Partition(k bellows.Key, n int) bellows.PartitionID {
	p, _ := bits.Mul64(Hash(k), uint64(n))
	return bellows.PartitionID(p)
}

// Index numbers keys from 0 in the order in which they were added. The zero Index is empty and
// ready.
//
// It is a table of open addressing with linear probing, at most two thirds full. A place holds a number and the upper
// half of the key's hash, eight bytes in all, so that a probe rarely looks at a key other than the one that it seeks.
// Rejected: a map, whose order does not repeat, so that a list of the keys would have to be kept as well.
//
// The hash is invertible, so keys can be made to fall on one place; then each costs a walk over all earlier ones.
// With a seed that the chooser of the keys does not know, such keys are like any others. The seed changes places and
// no result.
type Index struct {
	seed   uint64
	list   []bellows.Key // by number
	places []uint64      // hash's upper half << 32 | number+1; 0: free; as many as a power of two
}

// placesMin is the smallest table that is not empty.
const placesMin = 16

// Seed gives an empty index its seed, which stays through Reset. By default it is 0, which is public.
func (x *Index) Seed(seed uint64) { x.seed = seed }

// hash returns the hash of a key, by which its place is chosen; its upper half is stored there.
func (x *Index) hash(k bellows.Key) uint64 { return Hash(k ^ bellows.Key(x.seed)) }

// Len returns how many keys have a number.
func (x *Index) Len() int { return len(x.list) }

// Keys returns the keys by their numbers. The list stays the index's, and grows with the next Add.
func (x *Index) Keys() []bellows.Key { return x.list }

// Find returns the number of a key, or -1.
func (x *Index) Find(k bellows.Key) int {
	if len(x.places) == 0 {
		return -1
	}
	n, _ := x.find(k, x.hash(k))
	return n
}

// find returns the number of a key, or -1 and the place where it belongs. The table is not empty.
func (x *Index) find(k bellows.Key, hash uint64) (number int, place uint64) {
	mask := uint64(len(x.places) - 1)
	for at := hash & mask; ; at = (at + 1) & mask {
		p := x.places[at]
		if p == 0 {
			return -1, at
		}
		if n := uint32(p) - 1; p>>32 == hash>>32 && x.list[n] == k {
			return int(n), at
		}
	}
}

// Add returns the number of a key, which is the next one if the key is new. The index has fewer than 2^32 keys.
func (x *Index) Add(k bellows.Key) (number int, added bool) {
	if 3*(len(x.list)+1) > 2*len(x.places) {
		x.grow()
	}
	hash := x.hash(k)
	n, at := x.find(k, hash)
	if n >= 0 {
		return n, false
	}
	x.list = append(x.list, k)
	x.places[at] = hash>>32<<32 | uint64(len(x.list))
	return len(x.list) - 1, true
}

// grow doubles the table and puts every key in it again.
func (x *Index) grow() {
	x.places = make([]uint64, max(placesMin, 2*len(x.places)))
	mask := uint64(len(x.places) - 1)
	for n, k := range x.list {
		hash := x.hash(k)
		at := hash & mask
		for x.places[at] != 0 {
			at = (at + 1) & mask
		}
		x.places[at] = hash>>32<<32 | uint64(n+1)
	}
}

// Reset makes the index empty and keeps its memory. It costs what was added, or a sweep over the
// table where that is less.
func (x *Index) Reset() {
	if 8*len(x.list) > len(x.places) {
		clear(x.places)
	} else {
		mask := uint64(len(x.places) - 1)
		for n, k := range x.list {
			at := x.hash(k) & mask
			for uint32(x.places[at]) != uint32(n+1) { // over places that are free by now
				at = (at + 1) & mask
			}
			x.places[at] = 0
		}
	}
	x.list = x.list[:0]
}
