package memory

import (
	"slices"
	"unsafe"
)

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
