package limit

import (
	"fmt"
	"math"
	"runtime"
)

// Read loads every element of x.
func Read(x []float32) { read(x) }

// ReadTwo loads every element of x and of y, which have equal lengths.
func ReadTwo(x, y []float32) {
	same("ReadTwo", len(x), len(y))
	readTwo(x, y)
}

// Update loads every element of x and stores it again.
func Update(x []float32) { update(x) }

// UpdateFrom loads every element of x and of y, which have equal lengths, and
// stores y's again.
func UpdateFrom(x, y []float32) {
	same("UpdateFrom", len(x), len(y))
	updateFrom(x, y)
}

// Narrow loads every element of src and stores as many words of half the size in
// dst, which has the same length. What they are means nothing.
func Narrow(dst []uint16, src []float32) {
	same("Narrow", len(dst), len(src))
	n := narrow(dst, src)
	goNarrow(dst[n:], src[n:])
}

// Widen loads every element of src and stores as many words of twice the size in
// dst, which has the same length. What they are means nothing.
func Widen(dst []float32, src []uint16) {
	same("Widen", len(dst), len(src))
	n := widen(dst, src)
	goWiden(dst[n:], src[n:])
}

func same(name string, x, y int) {
	if x != y {
		panic(fmt.Sprintf("limit: %s: lengths differ: %d and %d", name, x, y))
	}
}

func goRead(x []float32) {
	var s float32
	for _, v := range x {
		s += v
	}
	runtime.KeepAlive(s) // or the compiler drops the loads
}

func goReadTwo(x, y []float32) {
	y = y[:len(x)]
	var s float32
	for i, v := range x {
		s += v + y[i]
	}
	runtime.KeepAlive(s) // or the compiler drops the loads
}

func goUpdate(x []float32) {
	for i, v := range x {
		x[i] = v * 1
	}
}

func goUpdateFrom(x, y []float32) {
	y = y[:len(x)]
	var s float32
	for i, v := range x {
		s += v
		y[i] *= 1
	}
	runtime.KeepAlive(s) // or the compiler drops the loads
}

func goNarrow(dst []uint16, src []float32) {
	dst = dst[:len(src)]
	for i, v := range src {
		dst[i] = uint16(math.Float32bits(v))
	}
}

func goWiden(dst []float32, src []uint16) {
	dst = dst[:len(src)]
	for i, v := range src {
		dst[i] = math.Float32frombits(uint32(v))
	}
}
