package roofline

import (
	"fmt"
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
