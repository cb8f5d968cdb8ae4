package memory

import (
	"encoding/binary"
	"slices"
	"unsafe"
)

// Swapped says that the machine's order of bytes is not the wire's, which is little-endian. Where it is, arrays of numbers are looked
// at in place and never copied; elsewhere their bytes are turned around, on the way out in a copy, on the way in in the payload
// itself, which nobody else sees. Tests turn it around.
var Swapped = binary.NativeEndian.Uint16([]byte{1, 0}) != 1

// Word is an element of an array.
type Word interface {
	~uint16 | ~uint32 | ~float32 | ~uint64
}

// Size is how many bytes an element has.
func Size[T Word]() int { return int(unsafe.Sizeof(*new(T))) }

// Bytes is the memory of an array.
func Bytes[T Word](v []T) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(v))), Size[T]()*len(v))
}

// Words is an array that lies in b, whose first byte is aligned; bytes beyond the last element are left out. It has no
// room to grow, since what follows belongs to others.
func Words[T Word](b []byte) []T {
	return unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(b))), len(b)/Size[T]())
}

// Turn reverses the bytes of each element.
func Turn[T Word](b []byte) {
	for n := Size[T](); len(b) >= n; b = b[n:] {
		slices.Reverse(b[:n])
	}
}

// Aligned reports whether arrays in b can be looked at in place.
func Aligned(b []byte) bool {
	return uintptr(unsafe.Pointer(unsafe.SliceData(b)))%8 == 0
}
