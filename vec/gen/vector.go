package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

func vectorKernels() {
	axpyKernel()
	addKernel("addAVX2", "func(n int, x, y *float32)", func(a, b reg.VecVirtual) { VADDPS(a, b, b) })
	addKernel("addInt32AVX2", "func(n int, x, y *int32)", func(a, b reg.VecVirtual) { VPADDD(a, b, b) })
	addThreeKernel()
	scaleKernel()
	dotKernel()
	sumSquaresKernel()
	absMaxKernel()
	absMaxWideKernel()
	mapKernel("expAVX2", "Exp, y = e^x.", expLanes)
	mapKernel("logAVX2", "Log, y = ln x.", logLanes)
	mapKernel("sigmoidAVX2", "Sigmoid, y = 1/(1+e^-x).", sigmoidLanes)
	softmaxKernel()
}

func axpyKernel() {
	kernel("axpyAVX2", "func(n int, alpha float32, x, y *float32)", "computes y += alpha*x for n elements.")
	n, alpha := load64("n"), broadcast("alpha")
	x, y := load64("x"), load64("y")
	elements("axpy", n, 4, []stream{x, y}, func(l lanes) {
		a, b := l.load(x), l.load(y)
		VFMADD231PS(a, alpha, b)
		l.store(b, y)
	})
	finish()
}

func addKernel(name, signature string, op func(a, b reg.VecVirtual)) {
	kernel(name, signature, "computes y += x for n elements.")
	n, x, y := load64("n"), load64("x"), load64("y")
	elements("add", n, 4, []stream{x, y}, func(l lanes) {
		a, b := l.load(x), l.load(y)
		op(a, b)
		l.store(b, y)
	})
	finish()
}

func addThreeKernel() {
	TEXT("addThreeAVX2", NOSPLIT, "func(n int, x, p, q, y *float32)")
	Pragma("noescape")
	Doc("addThreeAVX2 computes y = (y + x) + (p + q) for n elements.")
	n, x, p, q, y := load64("n"), load64("x"), load64("p"), load64("q"), load64("y")
	elements("addThree", n, 4, []stream{x, p, q, y}, func(l lanes) {
		a, b, c, d := l.load(x), l.load(p), l.load(q), l.load(y)
		VADDPS(a, d, d)
		VADDPS(b, c, c)
		VADDPS(c, d, d)
		l.store(d, y)
	})
	finish()
}

func scaleKernel() {
	kernel("scaleAVX2", "func(n int, alpha float32, x *float32)", "computes x *= alpha for n elements.")
	n, alpha, x := load64("n"), broadcast("alpha"), load64("x")
	elements("scale", n, 4, []stream{x}, func(l lanes) {
		a := l.load(x)
		VMULPS(a, alpha, a)
		l.store(a, x)
	})
	finish()
}

func dotKernel() {
	kernel("dotAVX2", "func(n int, x, y *float32) float32", "computes the sum of x*y over n elements.")
	n, x, y := load64("n"), load64("x"), load64("y")
	acc := zeros(8)
	elements("dot", n, 8, []stream{x, y}, func(l lanes) {
		a, b := l.load(x), l.load(y)
		VFMADD231PS(a, b, acc[l.index])
	})
	finishWith(fold(acc, sum))
}

func sumSquaresKernel() {
	kernel("sumSquaresAVX2", "func(n int, x *float32) float32", "computes the sum of x*x over n elements.")
	n, x := load64("n"), load64("x")
	acc := zeros(8)
	elements("sumSquares", n, 8, []stream{x}, func(l lanes) {
		a := l.load(x)
		VFMADD231PS(a, a, acc[l.index])
	})
	finishWith(fold(acc, sum))
}

// absMaxKernel compares the bits as integers: non-negative floats are in the
// same order, and NaN is above Inf, so that it wins.
func absMaxKernel() {
	kernel("absMaxAVX2", "func(n int, x *float32) float32", "computes the largest |x| of n elements, NaN if there is one.")
	n, x := load64("n"), load64("x")
	acc, magnitude := zeros(8), YMM()
	VMOVUPS(constant(0x7fffffff), magnitude)
	elements("absMax", n, 8, []stream{x}, func(l lanes) {
		a := l.load(x)
		VPAND(a, magnitude, a)
		VPMAXSD(a, acc[l.index], acc[l.index])
	})
	finishWith(fold(acc, func(a, b reg.VecVirtual) { VPMAXSD(a, b, b) }))
}

// absMaxWideKernel works like absMaxKernel, on vectors of twice the width: both instructions of an element run on two ports,
// so that narrow vectors wait for these ports, and not for the load.
//
// Rejected: VRANGEPS, which does both in one instruction, but passes over NaN.
func absMaxWideKernel() {
	kernel("absMaxAVX512", "func(n int, x *float32) float32", "computes the largest |x| of n elements, NaN if there is one: a multiple of 64, and at least 64.")
	n, x, magnitude := load64("n"), load64("x"), ZMM()
	VPTERNLOGD(Imm(0xff), magnitude, magnitude, magnitude)
	VPSRLD(Imm(1), magnitude, magnitude)
	var acc [4]reg.VecVirtual
	for i := range acc {
		acc[i] = ZMM()
		VPANDD(memAt(x, 64*i), magnitude, acc[i])
	}
	Label("absMaxWide_many")
	ADDQ(U32(4*64), x)
	SUBQ(U32(4*16), n)
	JZ(LabelRef("absMaxWide_end"))
	for i := range acc {
		a := ZMM()
		VPANDD(memAt(x, 64*i), magnitude, a)
		VPMAXSD(a, acc[i], acc[i])
	}
	JMP(LabelRef("absMaxWide_many"))
	Label("absMaxWide_end")
	VPMAXSD(acc[2], acc[0], acc[0])
	VPMAXSD(acc[3], acc[1], acc[1])
	VPMAXSD(acc[1], acc[0], acc[0])
	high := YMM()
	VEXTRACTI64X4(Imm(1), acc[0], high)
	low := acc[0].AsY().(reg.VecVirtual)
	VPMAXSD(high, low, low)
	finishWith(fold([]reg.VecVirtual{low}, func(a, b reg.VecVirtual) { VPMAXSD(a, b, b) }))
}

func mapKernel(name, doc string, f func(x reg.VecVirtual) reg.VecVirtual) {
	kernel(name, "func(n int, x, y *float32)", "computes "+doc)
	n, x, y := load64("n"), load64("x"), load64("y")
	elements("map", n, 1, []stream{x, y}, func(l lanes) { l.store(f(l.load(x)), y) })
	finish()
}

// softmaxKernel makes three passes over each row: largest element, exponentials
// and their sum, division.
func softmaxKernel() {
	kernel("softmaxAVX2", "func(rows, cols int, x *float32)", "computes Softmax for rows > 0 and cols > 0.")
	rows, x := load64("rows"), load64("x")
	n, s := GP64(), GP64()
	start := func() {
		Load(Param("cols"), n)
		MOVQ(x, s)
	}

	Label("row")
	start()
	top, lowest := YMM(), YMM()
	VMOVUPS(constant(0xff800000), lowest)
	VMOVAPS(lowest, top)
	elements("top", n, 1, []stream{s}, func(l lanes) {
		a := l.load(s)
		if l.mask != nil {
			VBLENDVPS(l.mask, a, lowest, a)
		}
		VMAXPS(a, top, top)
	})
	topX := fold([]reg.VecVirtual{top}, func(a, b reg.VecVirtual) { VMAXPS(a, b, b) })
	VBROADCASTSS(topX, top)

	start()
	total := zeros(1)
	elements("exp", n, 1, []stream{s}, func(l lanes) {
		a := l.load(s)
		VSUBPS(top, a, a)
		e := expLanes(a)
		if l.mask != nil {
			VANDPS(l.mask, e, e)
		}
		VADDPS(e, total[0], total[0])
		l.store(e, s)
	})
	totalX := fold(total, sum)
	VBROADCASTSS(totalX, total[0])

	start()
	elements("divide", n, 1, []stream{s}, func(l lanes) {
		a := l.load(s)
		VDIVPS(total[0], a, a)
		l.store(a, s)
	})
	Load(Param("cols"), n)
	LEAQ(Mem{Base: x, Index: n, Scale: 4}, x)
	DECQ(rows)
	JNZ(LabelRef("row"))
	finish()
}

func finish() {
	VZEROUPPER()
	RET()
}

func finishWith(x reg.VecVirtual) {
	VZEROUPPER()
	Store(x, ReturnIndex(0))
	RET()
}
