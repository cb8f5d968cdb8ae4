// Package memory is the memory of payloads: pooled, known again by a stamp, and looked at as arrays of numbers in place.
package memory

import (
	"encoding/binary"
	"math/bits"
	"math/rand/v2"
	"sync"
	"unsafe"
)

// Pooled memory comes in powers of two from 64 bytes to twice the largest payload, a pool for each. Its
// last eight bytes, which no payload uses, hold the stamp by which it is known again: memory that somebody
// else made, or cut out of ours, is left to the garbage collector and never pooled.
const (
	stampSize = 8
	leastBits = 6 // of the smallest
)

var (
	pools [21 + 1]sync.Pool // of *byte, by size: 1<<(leastBits+i)
	stamp = rand.Uint64()
)

// Get is n bytes of the pools, or new ones, aligned to eight, with any content.
func Get(n int) []byte {
	class := max(bits.Len64(uint64(n)+stampSize-1), leastBits) - leastBits
	if class >= len(pools) {
		return New(n)
	}
	if p, ok := pools[class].Get().(*byte); ok {
		return unsafe.Slice(p, 1<<(class+leastBits))[:n]
	}
	b := New(1 << (class + leastBits))
	binary.NativeEndian.PutUint64(b[len(b)-stampSize:], stamp^uint64(len(b)))
	return b[:n]
}

// New is memory that belongs to no pool, aligned to eight.
func New(n int) []byte {
	w := make([]uint64, (n+7)/8)
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(w))), 8*len(w))[:n]
}

// Put takes memory back if it came from Get.
func Put(b []byte) {
	if Pooled(b) {
		pools[classOf(cap(b))].Put(unsafe.SliceData(b))
	}
}

// classOf is the pool of memory of a size, if there is one of exactly that size.
func classOf(size int) int { return bits.Len64(uint64(size)) - 1 - leastBits }

// Pooled reports whether memory came from Get and goes back to a pool.
func Pooled(b []byte) bool {
	size := cap(b)
	class := classOf(size)
	if class < 0 || class >= len(pools) || size != 1<<(class+leastBits) {
		return false
	}
	return binary.NativeEndian.Uint64(b[:size][size-stampSize:]) == stamp^uint64(size)
}
