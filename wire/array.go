package wire

import (
	"encoding/binary"
	"slices"
	"unsafe"
)

// Arrays of numbers are little-endian on the wire. Where the machine is too they are looked at in
// place and never copied; elsewhere their bytes are turned around, on the way out in a copy, on the way in
// in the payload itself, which nobody else sees.

// swapped says that the machine's order of bytes is not the wire's.
var swapped = binary.NativeEndian.Uint16([]byte{1, 0}) != 1

// word is an element of an array on the wire.
type word interface{ ~uint32 | ~float32 | ~uint64 }

// sizeOf is how many bytes an element has.
func sizeOf[T word]() int { return int(unsafe.Sizeof(*new(T))) }

// bytesOf is the memory of an array.
func bytesOf[T word](v []T) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(v))), sizeOf[T]()*len(v))
}

// wordsOf is an array that lies in b, whose length is a multiple of an element's and whose first byte is
// aligned. It has no room to grow, since what follows belongs to others.
func wordsOf[T word](b []byte) []T {
	return unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(b))), len(b)/sizeOf[T]())
}

// turn reverses the bytes of each element.
func turn[T word](b []byte) {
	for n := sizeOf[T](); len(b) >= n; b = b[n:] {
		slices.Reverse(b[:n])
	}
}

// aligned reports whether arrays in b can be looked at in place.
func aligned(b []byte) bool {
	return uintptr(unsafe.Pointer(unsafe.SliceData(b)))%8 == 0
}
