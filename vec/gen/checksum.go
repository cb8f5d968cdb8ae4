package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// What package vec's goChecksum multiplies with and turns over.
const (
	checksumOdd  = 0x9e3779b1
	checksumFlip = 0xb5297a4d
)

// checksumKernels write the sum of products of 32 bits by 32. Elements of even and odd number have sums of their own: one
// multiplication takes every other word.
func checksumKernels() {
	kernel("checksumAVX2", "func(n int, at uint32, x *float32) uint64", "computes Checksum for n elements.")
	n, x := load64("n"), load64("x")
	factors, step, flip := broadcast("at"), YMM(), YMM()
	VPMULLD(constant(checksumOdd), factors, factors)
	VPADDD(table("checksum_first", func() {
		odd := uint32(checksumOdd)
		for i := range uint32(width) {
			DATA(int(4*i), U32(i*odd))
		}
	}), factors, factors)
	VMOVDQU(constant(uint32(width*checksumOdd&0xffffffff)), step)
	VMOVDQU(constant(checksumFlip), flip)
	acc := zeros(4)
	elements("checksum", n, 4, []stream{x}, func(l lanes) {
		even, odd, factor := l.load(x), YMM(), YMM()
		VPXOR(flip, even, even)
		if l.mask != nil {
			VPAND(l.mask, even, even)
		}
		VMOVSHDUP(even, odd)
		VMOVSHDUP(factors, factor)
		VPMULUDQ(factors, even, even)
		VPMULUDQ(factor, odd, odd)
		VPADDQ(even, acc[l.index%2], acc[l.index%2])
		VPADDQ(odd, acc[2+l.index%2], acc[2+l.index%2])
		VPADDD(step, factors, factors)
	})
	for _, a := range acc[1:] {
		VPADDQ(a, acc[0], acc[0])
	}
	high, low := XMM(), asX(acc[0])
	VEXTRACTI128(Imm(1), acc[0], high)
	VPADDQ(high, low, low)
	VPSHUFD(Imm(0x4e), low, high)
	VPADDQ(high, low, low)
	sum := GP64()
	VMOVQ(low, sum)
	VZEROUPPER()
	Store(reg.GPVirtual(sum), ReturnIndex(0))
	RET()
}
