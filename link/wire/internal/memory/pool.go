// Package memory pools the memory of payloads, recognises it by a stamp when it comes back, and views it as arrays of
// numbers in place.
package memory

import (
	"encoding/binary"
	"math/bits"
	"math/rand/v2"
	"sync"
	"unsafe"
)

// Pooled memory comes in sizes from 64 bytes to somewhat more than a GiB, four to each doubling, a pool for each. Its
// last eight bytes, which no payload uses, hold the stamp that identifies it: memory from elsewhere, or cut out of
// ours, is left to the garbage collector and never pooled.
const (
	stampSize = 8
	leastBits = 6 // of the smallest
	mostBits  = 30
	steps     = 4
)

var (
	pools [(mostBits-leastBits)*steps + 2]sync.Pool // of *byte, by class
	stamp = rand.Uint64()
)

// classFor returns the smallest class whose memory has n bytes.
func classFor(n int) int {
	n = max(n, 1<<leastBits)
	octave := bits.Len64(uint64(n)-1) - 1 // 2^octave < n <= 2^(octave+1)
	step := 1 << octave / steps
	return (octave-leastBits)*steps + (n-1<<octave+step-1)/step
}

// sizeOf returns the size of a class's memory.
func sizeOf(class int) int {
	least := 1 << (leastBits + class/steps)
	return least + class%steps*(least/steps)
}

// Get returns n bytes of the pools, or new ones, aligned to eight, with any content.
func Get(n int) []byte {
	class := classFor(n + stampSize)
	if class >= len(pools) {
		return New(n)
	}
	size := sizeOf(class)
	if p, ok := pools[class].Get().(*byte); ok {
		return unsafe.Slice(p, size)[:n]
	}
	b := New(size)
	binary.NativeEndian.PutUint64(b[len(b)-stampSize:], stamp^uint64(len(b)))
	return b[:n]
}

// New returns memory that belongs to no pool, aligned to eight.
func New(n int) []byte {
	w := make([]uint64, (n+7)/8)
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(w))), 8*len(w))[:n]
}

// Put takes memory back if it came from Get.
func Put(b []byte) {
	if Pooled(b) {
		pools[classFor(cap(b))].Put(unsafe.SliceData(b))
	}
}

// Pooled reports whether memory came from Get and goes back to a pool.
func Pooled(b []byte) bool {
	size := cap(b)
	if class := classFor(size); class >= len(pools) || size != sizeOf(class) {
		return false
	}
	return binary.NativeEndian.Uint64(b[:size][size-stampSize:]) == stamp^uint64(size)
}
