package main

func rooflineKernels() {
	one := "func(n int, x *float32)"
	two := "func(n int, x, y *float32)"

	kernel("readAVX2", one, "loads n elements.")
	n, x := load64("n"), load64("x")
	elements("read", n, 8, []stream{x}, func(l lanes) { l.load(x) })
	finish()

	kernel("readTwoAVX2", two, "loads n elements of each.")
	n, x, y := load64("n"), load64("x"), load64("y")
	elements("readTwo", n, 4, []stream{x, y}, func(l lanes) {
		l.load(x)
		l.load(y)
	})
	finish()

	kernel("updateAVX2", one, "loads and stores n elements.")
	n, x = load64("n"), load64("x")
	elements("update", n, 4, []stream{x}, func(l lanes) { l.store(l.load(x), x) })
	finish()

	kernel("updateFromAVX2", two, "loads n elements of each and stores y's.")
	n, x, y = load64("n"), load64("x"), load64("y")
	elements("updateFrom", n, 4, []stream{x, y}, func(l lanes) {
		l.load(x)
		l.store(l.load(y), y)
	})
	finish()
}
