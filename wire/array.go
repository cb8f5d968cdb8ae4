package wire

import (
	"encoding/binary"
	"unsafe"
)

// Arrays of four-byte numbers are little-endian on the wire. Where the machine is too they are looked at in
// place and never copied; elsewhere their bytes are turned around, on the way out in a copy, on the way in
// in the payload itself, which nobody else sees.

// swapped says that the machine's order of bytes is not the wire's.
var swapped = binary.NativeEndian.Uint16([]byte{1, 0}) != 1

// word is an element of an array on the wire.
type word interface{ ~uint32 | ~float32 }

// bytesOf is the memory of an array.
func bytesOf[T word](v []T) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(v))), 4*len(v))
}

// wordsOf is an array that lies in b, whose length is a multiple of four and whose first byte is aligned. It
// has no room to grow, since what follows belongs to others.
func wordsOf[T word](b []byte) []T {
	return unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(b))), len(b)/4)
}

// turn reverses the bytes of each word.
func turn(b []byte) {
	for ; len(b) >= 4; b = b[4:] {
		b[0], b[1], b[2], b[3] = b[3], b[2], b[1], b[0]
	}
}

// aligned reports whether words in b can be looked at in place.
func aligned(b []byte) bool {
	return uintptr(unsafe.Pointer(unsafe.SliceData(b)))%4 == 0
}
