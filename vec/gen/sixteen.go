package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// sixteenKernels convert between float32 and the two 16-bit formats. With AVX2 they convert whole vectors of eight;
// with AVX-512, which has masks for 16-bit words in memory, any number.
func sixteenKernels() {
	narrow := "func(n int, dst *uint16, src *float32)"
	widen := "func(n int, dst *float32, src *uint16)"
	conversion{"toHalf", "ToHalf", narrow, 4, 2, toHalf8, toHalf16}.kernels()
	conversion{"toBrain", "ToBrain", narrow, 4, 2, toBrain8, toBrain16}.kernels()
	conversion{"fromHalf", "FromHalf", widen, 2, 4, fromHalf8, fromHalf16}.kernels()
	conversion{"fromBrain", "FromBrain", widen, 2, 4, fromBrain8, fromBrain16}.kernels()
}

// A conversion is a pair of kernels. eight and sixteen emit one vector, from
// memory to memory; a mask, if there is one, names the elements present.
type conversion struct {
	name, public, signature string
	from, to                int // bytes of an element
	eight                   func(src, dst Mem)
	sixteen                 func(src, dst Mem, mask reg.OpmaskVirtual)
}

func (c conversion) kernels() {
	name := c.name + "AVX2"
	kernel(name, c.signature, "computes "+c.public+" for n elements, a multiple of 8.")
	n, src, dst := load64("n"), load64("src"), load64("dst")
	c.loop(name+"_many", name+"_one", 8, 4, n, src, dst, c.eight)
	c.loop(name+"_one", name+"_end", 8, 1, n, src, dst, c.eight)
	Label(name + "_end")
	finish()

	name = c.name + "AVX512"
	kernel(name, c.signature, "computes "+c.public+" for n elements.")
	n, src, dst = load64("n"), load64("src"), load64("dst")
	whole := func(s, d Mem) { c.sixteen(s, d, nil) }
	c.loop(name+"_many", name+"_one", 16, 4, n, src, dst, whole)
	c.loop(name+"_one", name+"_rest", 16, 1, n, src, dst, whole)
	Label(name + "_rest")
	TESTQ(n, n)
	JZ(LabelRef(name + "_end"))
	c.sixteen(memAt(src, 0), memAt(dst, 0), opmask(n))
	Label(name + "_end")
	finish()
}

// loop emits a loop over count vectors of a number of lanes at a time, which jumps to next when fewer are left.
func (c conversion) loop(label, next string, lanes, count int, n, src, dst reg.GPVirtual, vector func(src, dst Mem)) {
	Label(label)
	CMPQ(n, U32(lanes*count))
	JL(LabelRef(next))
	for i := range count {
		vector(memAt(src, i*lanes*c.from), memAt(dst, i*lanes*c.to))
	}
	ADDQ(U32(c.from*lanes*count), src)
	ADDQ(U32(c.to*lanes*count), dst)
	SUBQ(U32(lanes*count), n)
	JMP(LabelRef(label))
}

// opmask returns a mask of the first n < 16 lanes.
func opmask(n reg.GPVirtual) reg.OpmaskVirtual {
	bits, mask := GP64(), K()
	MOVQ(I32(-1), bits)
	BZHIQ(n, bits, bits)
	KMOVW(bits.As32(), mask)
	return mask
}

// nearestEven is the rounding of VCVTPS2PH.
const nearestEven = 0

func toHalf8(src, dst Mem) {
	x := YMM()
	VMOVUPS(src, x)
	VCVTPS2PH(Imm(nearestEven), x, dst)
}

func toHalf16(src, dst Mem, mask reg.OpmaskVirtual) {
	x := ZMM()
	if mask == nil {
		VMOVUPS(src, x)
		VCVTPS2PH(Imm(nearestEven), x, dst)
		return
	}
	VMOVUPS_Z(src, mask, x)
	VCVTPS2PH(Imm(nearestEven), x, mask, dst)
}

func fromHalf8(src, dst Mem) {
	x := YMM()
	VCVTPH2PS(src, x)
	VMOVUPS(x, dst)
}

func fromHalf16(src, dst Mem, mask reg.OpmaskVirtual) {
	x := ZMM()
	if mask == nil {
		VCVTPH2PS(src, x)
		VMOVUPS(x, dst)
		return
	}
	VCVTPH2PS_Z(src, mask, x)
	VMOVUPS(x, mask, dst)
}

// toBrain8 keeps the upper half of each word. Adding 0x7fff, and 1 where the
// lower bit kept is odd, rounds to nearest even; NaN is made quiet instead, lest
// it round to infinity.
func toBrain8(src, dst Mem) {
	x, up, nan, quiet, high := YMM(), YMM(), YMM(), YMM(), XMM()
	VMOVUPS(src, x)
	VPSRLD(Imm(16), x, up)
	VPAND(constant(1), up, up)
	VPADDD(constant(0x7fff), up, up)
	VPADDD(x, up, up)
	VCMPPS(Imm(unordered), x, x, nan)
	VPOR(constant(quietBit), x, quiet)
	VBLENDVPS(nan, quiet, up, up)
	VPSRLD(Imm(16), up, up)
	VEXTRACTI128(Imm(1), up, high)
	VPACKUSDW(high, asX(up), high)
	VMOVDQU(high, dst)
}

// unordered is the comparison that NaN alone passes with itself, and quietBit
// the bit of the fraction that tells quiet NaN from signalling.
const (
	unordered = 3
	quietBit  = 0x00400000
)

func toBrain16(src, dst Mem, mask reg.OpmaskVirtual) {
	x, up, nan, words := ZMM(), ZMM(), K(), YMM()
	if mask == nil {
		VMOVUPS(src, x)
	} else {
		VMOVUPS_Z(src, mask, x)
	}
	VPSRLD(Imm(16), x, up)
	VPANDD_BCST(constant(1), up, up)
	VPADDD_BCST(constant(0x7fff), up, up)
	VPADDD(x, up, up)
	VCMPPS(Imm(unordered), x, x, nan)
	VPORD_BCST(constant(quietBit), x, nan, up)
	VPSRLD(Imm(16), up, up)
	if mask == nil {
		VPMOVDW(up, words)
		VMOVDQU(words, dst)
	} else {
		VPMOVDW(up, mask, dst)
	}
}

// fromBrain8 emits the upper half of a word, with NaN made quiet.
func fromBrain8(src, dst Mem) {
	x, nan := YMM(), YMM()
	VPMOVZXWD(src, x)
	VPSLLD(Imm(16), x, x)
	VCMPPS(Imm(unordered), x, x, nan)
	VPAND(constant(quietBit), nan, nan)
	VPOR(nan, x, x)
	VMOVUPS(x, dst)
}

func fromBrain16(src, dst Mem, mask reg.OpmaskVirtual) {
	x, nan := ZMM(), K()
	if mask == nil {
		VPMOVZXWD(src, x)
	} else {
		VPMOVZXWD_Z(src, mask, x)
	}
	VPSLLD(Imm(16), x, x)
	VCMPPS(Imm(unordered), x, x, nan)
	VPORD_BCST(constant(quietBit), x, nan, x)
	if mask == nil {
		VMOVUPS(x, dst)
	} else {
		VMOVUPS(x, mask, dst)
	}
}
