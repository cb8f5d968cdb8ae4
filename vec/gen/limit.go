package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

func limitKernels() {
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

	kernel("narrowAVX2", "func(n int, dst *uint16, src *float32)", "loads n elements, a multiple of 16, and stores half of their bytes.")
	resize("narrow", 4, 2, func(src, dst reg.GPVirtual, i int) {
		a, b := YMM(), YMM()
		VMOVUPS(at(src, 64*i), a)
		VMOVUPS(at(src, 64*i+32), b)
		VMOVUPS(a, at(dst, 32*i))
	})

	kernel("widenAVX2", "func(n int, dst *float32, src *uint16)", "loads n elements, a multiple of 16, and stores their bytes twice.")
	resize("widen", 2, 4, func(src, dst reg.GPVirtual, i int) {
		a := YMM()
		VMOVUPS(at(src, 32*i), a)
		VMOVUPS(a, at(dst, 64*i))
		VMOVUPS(a, at(dst, 64*i+32))
	})
}

// resize emits a loop over 16 elements of so many bytes at a time.
func resize(name string, from, to uint32, sixteen func(src, dst reg.GPVirtual, i int)) {
	n, src, dst := load64("n"), load64("src"), load64("dst")
	for _, count := range []uint32{4, 1} {
		label := fmt.Sprintf("%s_%d", name, count)
		Label(label)
		CMPQ(n, U32(16*count))
		JL(LabelRef(label + "_end"))
		for i := range int(count) {
			sixteen(src, dst, i)
		}
		ADDQ(U32(16*from*count), src)
		ADDQ(U32(16*to*count), dst)
		SUBQ(U32(16*count), n)
		JMP(LabelRef(label))
		Label(label + "_end")
	}
	finish()
}
