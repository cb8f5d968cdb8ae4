package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// countKernels write the kernels over weights and counts. They round after every operation, without fused
// multiply-add, so that plain Go gives the same bits.
func countKernels() {
	const signature = "func(blocks int, plus float32, weight *float32, count, next *%s, sums *float32) float32"
	for _, c := range []counts{
		{"countSums", "int32", 4, func(at Mem, v reg.VecVirtual) { VCVTDQ2PS(at, v) }},
		{"countSums16", "uint16", 2, func(at Mem, v reg.VecVirtual) {
			VPMOVZXWD(at, v)
			VCVTDQ2PS(v, v)
		}},
	} {
		c.sums(c.name+"AVX2", fmt.Sprintf(signature, c.element), c.eight, func() reg.VecVirtual { return YMM() })
		c.sums(c.name+"AVX512", fmt.Sprintf(signature, c.element), c.halved, func() reg.VecVirtual { return ZMM() })
	}
	axpyCounts()
	narrowCounts()
}

// countBlock is the number of elements in a sum of CountSums.
const countBlock = 4 * width

// counts is one format of counts.
type counts struct {
	name, element string
	bytes         int                            // of an element
	load          func(at Mem, v reg.VecVirtual) // emits the load of a vector of counts, as floats
}

// product emits weight*(count+plus) for the vector of n lanes that begins at an element of a block.
func (c counts) product(v, plus reg.VecVirtual, weight, count reg.GPVirtual, at int) {
	c.load(memAt(count, c.bytes*at), v)
	VADDPS(plus, v, v)
	VMULPS(memAt(weight, 4*at), v, v)
}

// eight emits the products of a block in vectors of eight, added to one.
func (c counts) eight(weight, count reg.GPVirtual, plus reg.VecVirtual) reg.VecVirtual {
	var v [4]reg.VecVirtual
	for i := range v {
		v[i] = YMM()
		c.product(v[i], plus, weight, count, width*i)
	}
	VADDPS(v[2], v[0], v[0])
	VADDPS(v[3], v[1], v[1])
	VADDPS(v[1], v[0], v[0])
	return v[0]
}

// sixteen emits the products of a block in vectors of sixteen, added to one. The order of eight then adds its upper half
// to its lower half.
func (c counts) sixteen(weight, count reg.GPVirtual, plus reg.VecVirtual, block int) reg.VecVirtual {
	var v [2]reg.VecVirtual
	for i := range v {
		v[i] = ZMM()
		c.product(v[i], plus, weight, count, countBlock*block+2*width*i)
	}
	VADDPS(v[1], v[0], v[0])
	return v[0]
}

// halved emits the products of a block, added to one vector of eight.
func (c counts) halved(weight, count reg.GPVirtual, plus reg.VecVirtual) reg.VecVirtual {
	v := c.sixteen(weight, count, plus, 0)
	high, low := YMM(), v.AsY().(reg.VecVirtual)
	VEXTRACTF64X4(Imm(1), v, high)
	VADDPS(high, low, low)
	return low
}

// folded adds two vectors of four parts each up in pairs of parts: even ones with odd ones where apart is 1, the first
// two with the last two where it is 2. The result has the pairs of a, and then those of b.
func folded(a, b reg.VecVirtual, apart int) reg.VecVirtual {
	first, second := Imm(0x88), Imm(0xdd)
	if apart == 2 {
		first, second = Imm(0x44), Imm(0xee)
	}
	sum, other := ZMM(), ZMM()
	VSHUFF64X2(first, b, a, sum)
	VSHUFF64X2(second, b, a, other)
	VADDPS(other, sum, sum)
	return sum
}

// four emits the sums of four blocks at a time, as long as there are four. It adds the lanes of four blocks up together:
// for one block that takes longer than its products. Each sum has the order of fold.
func (c counts) four(name string, blocks, weight, count, next, sums reg.GPVirtual, plus, total reg.VecVirtual) {
	order := ZMM()
	VMOVDQU32(table("firstOfFour", func() {
		for i := range 16 {
			DATA(4*i, U32(4*i%16))
		}
	}), order)
	Label(name + "_four")
	CMPQ(blocks, U32(4))
	JL(LabelRef(name + "_rest"))
	c.ahead(next, 4)
	var pairs [2]reg.VecVirtual
	for i := range pairs {
		a := c.sixteen(weight, count, plus, 2*i)
		b := c.sixteen(weight, count, plus, 2*i+1)
		pairs[i] = folded(a, b, 2)
		high := YMM()
		VADDPS(pairs[i].AsY(), total, total)
		VEXTRACTF64X4(Imm(1), pairs[i], high)
		VADDPS(high, total, total)
	}
	v, other := folded(pairs[0], pairs[1], 1), ZMM()
	for _, by := range []uint64{0x4e, 0xb1} {
		VPERMILPS(Imm(by), v, other)
		VADDPS(other, v, v)
	}
	VPERMPS(v, order, v)
	VMOVUPS(v.AsX(), memAt(sums, 0))
	ADDQ(U32(4*4*countBlock), weight)
	ADDQ(U32(4*c.bytes*countBlock), count)
	ADDQ(U32(4*4), sums)
	SUBQ(U32(4), blocks)
	JMP(LabelRef(name + "_four"))
	Label(name + "_rest")
	TESTQ(blocks, blocks)
	JZ(LabelRef(name + "_end"))
}

// ahead emits the prefetch of some blocks of the counts that come next.
func (c counts) ahead(next reg.GPVirtual, blocks int) {
	const line = 64
	all := blocks * c.bytes * countBlock
	for at := 0; at < all; at += line {
		PREFETCHT0(memAt(next, at))
	}
	ADDQ(U32(all), next)
}

// sums writes one kernel. block emits the products of a block, added to one vector of eight.
func (c counts) sums(name, signature string, block func(weight, count reg.GPVirtual, plus reg.VecVirtual) reg.VecVirtual, vector func() reg.VecVirtual) {
	kernel(name, signature, "computes the sums of CountSums for a number of blocks.")
	blocks, weight, count, next, sums := load64("blocks"), load64("weight"), load64("count"), load64("next"), load64("sums")
	plus, total := vector(), zeros(1)
	VBROADCASTSS(address("plus"), plus)
	if plus.Size() == 8*width { // of sixteen lanes
		c.four(name, blocks, weight, count, next, sums, plus, total[0])
	}
	Label(name + "_block")
	c.ahead(next, 1)
	v := block(weight, count, plus)
	VADDPS(v, total[0], total[0])
	VMOVSS(fold([]reg.VecVirtual{v}, sum), memAt(sums, 0))
	ADDQ(U32(4*countBlock), weight)
	ADDQ(U32(c.bytes*countBlock), count)
	ADDQ(U32(4), sums)
	DECQ(blocks)
	JNZ(LabelRef(name + "_block"))
	Label(name + "_end")
	finishWith(fold(total, sum))
}

func axpyCounts() {
	kernel("axpyCountsAVX2", "func(n int, alpha float32, count *int32, y *float32)", "computes AxpyCounts for n elements.")
	n, count, y := load64("n"), load64("count"), load64("y")
	alpha := broadcast("alpha")
	elements("axpycounts", n, 4, []stream{count, y}, func(l lanes) {
		v := l.load(count)
		VCVTDQ2PS(v, v)
		VMULPS(alpha, v, v)
		VADDPS(l.load(y), v, v)
		l.store(v, y)
	})
	finish()
}

func narrowCounts() {
	kernel("narrowCountsAVX2", "func(blocks int, dst *uint16, src *int32)", "computes NarrowCounts for a number of blocks.")
	blocks, dst, src := load64("blocks"), load64("dst"), load64("src")
	low := YMM()
	VMOVDQU(constant(0xffff), low)
	Label("narrow_block")
	for i := range 2 {
		a, b := YMM(), YMM()
		VPAND(memAt(src, 8*width*i), low, a)
		VPAND(memAt(src, 8*width*i+4*width), low, b)
		VPACKUSDW(b, a, a)
		VPERMQ(Imm(0xd8), a, a)
		VMOVDQU(a, memAt(dst, 4*width*i))
	}
	ADDQ(U32(4*countBlock), src)
	ADDQ(U32(2*countBlock), dst)
	DECQ(blocks)
	JNZ(LabelRef("narrow_block"))
	finish()
}
