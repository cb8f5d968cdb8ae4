package wire

import (
	"encoding/binary"
	"math/bits"
	"math/rand/v2"
	"sync"
	"unsafe"
)

// Payload memory comes in powers of two from 64 bytes to twice the largest payload, a pool for each. Its
// last eight bytes, which no payload uses, hold the stamp by which it is known again: memory that somebody
// else made, or cut out of ours, is left to the garbage collector and never pooled.
const (
	stampSize   = 8
	payloadBits = 6 // of the smallest
)

var (
	payloads [21 + 1]sync.Pool // of *byte, by size: 1<<(payloadBits+i)
	stamp    = rand.Uint64()
)

// Payload is memory for the payload of a frame with this header: Length bytes, aligned to eight, with any
// content. It goes back to where it came from when Decode or Free has done with it. Only a header from
// ParseHeader should be asked.
func (h Header) Payload() []byte { return payloadMemory(int(h.Length)) }

// payloadMemory is memory of the pools, or new, for n bytes.
func payloadMemory(n int) []byte {
	class := max(bits.Len64(uint64(n)+stampSize-1), payloadBits) - payloadBits
	if class >= len(payloads) {
		return alignedBytes(n)
	}
	if p, ok := payloads[class].Get().(*byte); ok {
		return unsafe.Slice(p, 1<<(class+payloadBits))[:n]
	}
	b := alignedBytes(1 << (class + payloadBits))
	binary.NativeEndian.PutUint64(b[len(b)-stampSize:], stamp^uint64(len(b)))
	return b[:n]
}

// alignedBytes is new memory whose first byte is aligned to eight.
func alignedBytes(n int) []byte {
	w := make([]uint64, (n+7)/8)
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(w))), 8*len(w))[:n]
}

// givePayload takes payload memory back if it came from here.
func givePayload(b []byte) {
	if known(b) {
		payloads[classOf(cap(b))].Put(unsafe.SliceData(b))
	}
}

// classOf is the pool of memory of a size, if there is one of exactly that size.
func classOf(size int) int { return bits.Len64(uint64(size)) - 1 - payloadBits }

// known reports whether memory came from Payload.
func known(b []byte) bool {
	size := cap(b)
	class := classOf(size)
	if class < 0 || class >= len(payloads) || size != 1<<(class+payloadBits) {
		return false
	}
	return binary.NativeEndian.Uint64(b[:size][size-stampSize:]) == stamp^uint64(size)
}
