package memory

import (
	"encoding/binary"
	"slices"
	"unsafe"
)

// Swapped says that the machine's byte order is not the wire's, which is little-endian. With the wire's order, arrays
// of numbers are used in place and never copied. Otherwise their bytes are swapped: in a copy when sent, in the payload
// itself when received, since only the message uses it. Tests change it.
var Swapped = binary.NativeEndian.Uint16([]byte{1, 0}) != 1

// Word is an element of an array.
type Word interface {
	~uint16 | ~uint32 | ~float32 | ~uint64
}

// Size returns how many bytes an element has.
func Size[T Word]() int { return int(unsafe.Sizeof(*new(T))) }

// Bytes returns the memory of an array.
func Bytes[T Word](v []T) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(v))), Size[T]()*len(v))
}

// Words returns an array that lies in b, whose first byte is aligned; bytes beyond the last element are left out. Its
// capacity is its length, since the bytes after it belong to others.
func Words[T Word](b []byte) []T {
	return unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(b))), len(b)/Size[T]())
}

// Front takes an array of n elements from the front of b, which begins after it then: nil if n is negative, and empty if it is 0.
func Front[T Word](b *[]byte, n int) []T {
	switch {
	case n < 0:
		return nil
	case n == 0:
		return []T{}
	}
	list := Words[T]((*b)[:n*Size[T]()])
	*b = (*b)[n*Size[T]():]
	return list
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
