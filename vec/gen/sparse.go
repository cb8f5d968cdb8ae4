package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// sparseKernels write products with rows of few entries. They load entry by entry: gathers are slower than single loads
// on some processors, and scatters on all. They round after every operation, so that plain Go gives the same bits.
func sparseKernels() {
	sparseDot()
	sparseAxpy()
}

// sparseDot emits the product. The four lanes of one register are its four sums.
func sparseDot() {
	kernel("sparseDotAVX2", "func(n, ahead int, index *int32, value, x *float32) float32",
		"computes SparseDot for n entries, and fetches those that are so many bytes ahead.")
	n, ahead, index, value, x := load64("n"), load64("ahead"), load64("index"), load64("value"), load64("x")
	acc := XMM()
	VXORPS(acc, acc, acc)
	fetch := func() {
		PREFETCHT0(Mem{Base: index, Index: ahead, Scale: 1})
		PREFETCHT0(Mem{Base: value, Index: ahead, Scale: 1})
	}
	four := func(at int) {
		v, j := XMM(), [4]reg.GPVirtual{GP64(), GP64(), GP64(), GP64()}
		for i := range j {
			MOVL(memAt(index, 4*(at+i)), j[i].As32())
		}
		VMOVSS(Mem{Base: x, Index: j[0], Scale: 4}, v)
		for i := 1; i < 4; i++ {
			VINSERTPS(Imm(uint64(i<<4)), Mem{Base: x, Index: j[i], Scale: 4}, v, v)
		}
		VMULPS(memAt(value, 4*at), v, v)
		VADDPS(v, acc, acc)
	}
	Label("sparse_dot_many")
	CMPQ(n, Imm(16))
	JL(LabelRef("sparse_dot_last"))
	fetch()
	for at := 0; at < 16; at += 4 {
		four(at)
	}
	ADDQ(Imm(64), index)
	ADDQ(Imm(64), value)
	SUBQ(Imm(16), n)
	JMP(LabelRef("sparse_dot_many"))
	Label("sparse_dot_last")
	fetch()
	entries("sparse_dot", n, index, value, four)
	// The rest goes to the first lane.
	Label("sparse_dot_rest")
	TESTQ(n, n)
	JZ(LabelRef("sparse_dot_end"))
	j, v := GP64(), XMM()
	MOVL(memAt(index, 0), j.As32())
	VMOVSS(memAt(value, 0), v)
	VMULSS(Mem{Base: x, Index: j, Scale: 4}, v, v)
	VADDSS(v, acc, v)
	VBLENDPS(Imm(1), v, acc, acc)
	ADDQ(Imm(4), index)
	ADDQ(Imm(4), value)
	DECQ(n)
	JMP(LabelRef("sparse_dot_rest"))
	Label("sparse_dot_end")
	pairs, high := XMM(), XMM()
	VMOVSHDUP(acc, pairs)
	VADDPS(pairs, acc, acc) // lanes 0 and 2 have the sums of two
	VMOVHLPS(acc, acc, high)
	VADDSS(high, acc, acc)
	Store(acc, ReturnIndex(0))
	RET()
}

func sparseAxpy() {
	kernel("sparseAxpyAVX2", "func(n int, alpha float32, index *int32, value, y *float32)", "computes SparseAxpy for n entries.")
	n, index, value, y := load64("n"), load64("index"), load64("value"), load64("y")
	alpha := Load(Param("alpha"), XMM()).(reg.VecVirtual)
	one := func(at int) {
		j, v := GP64(), XMM()
		MOVL(memAt(index, 4*at), j.As32())
		VMULSS(memAt(value, 4*at), alpha, v)
		VADDSS(Mem{Base: y, Index: j, Scale: 4}, v, v)
		VMOVSS(v, Mem{Base: y, Index: j, Scale: 4})
	}
	entries("sparse_axpy", n, index, value, func(at int) {
		for i := range 4 {
			one(at + i)
		}
	})
	Label("sparse_axpy_rest")
	TESTQ(n, n)
	JZ(LabelRef("sparse_axpy_end"))
	one(0)
	ADDQ(Imm(4), index)
	ADDQ(Imm(4), value)
	DECQ(n)
	JMP(LabelRef("sparse_axpy_rest"))
	Label("sparse_axpy_end")
	RET()
}

// entries emits a loop over four entries at a time, which continues at the label name_rest with fewer.
func entries(name string, n, index, value reg.GPVirtual, body func(at int)) {
	Label(name + "_four")
	CMPQ(n, Imm(4))
	JL(LabelRef(name + "_rest"))
	body(0)
	ADDQ(Imm(16), index)
	ADDQ(Imm(16), value)
	SUBQ(Imm(4), n)
	JMP(LabelRef(name + "_four"))
}
