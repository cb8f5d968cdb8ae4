package main

import (
	. "github.com/mmcloughlin/avo/build"
)

func limitKernels() {
	one := "func(n int, x *float32)"
	two := "func(n int, x, y *float32)"

	TEXT("readAVX2", NOSPLIT, one)
	Pragma("noescape")
	Doc("readAVX2 loads n elements.")
	n, x := load64("n"), load64("x")
	elements("read", n, 8, []stream{x}, func(l lanes) { l.load(x) })
	finish()

	TEXT("readTwoAVX2", NOSPLIT, two)
	Pragma("noescape")
	Doc("readTwoAVX2 loads n elements of each.")
	n, x, y := load64("n"), load64("x"), load64("y")
	elements("readTwo", n, 4, []stream{x, y}, func(l lanes) {
		l.load(x)
		l.load(y)
	})
	finish()

	TEXT("updateAVX2", NOSPLIT, one)
	Pragma("noescape")
	Doc("updateAVX2 loads and stores n elements.")
	n, x = load64("n"), load64("x")
	elements("update", n, 4, []stream{x}, func(l lanes) { l.store(l.load(x), x) })
	finish()

	TEXT("updateFromAVX2", NOSPLIT, two)
	Pragma("noescape")
	Doc("updateFromAVX2 loads n elements of each and stores y's.")
	n, x, y = load64("n"), load64("x"), load64("y")
	elements("updateFrom", n, 4, []stream{x, y}, func(l lanes) {
		l.load(x)
		l.store(l.load(y), y)
	})
	finish()
}
