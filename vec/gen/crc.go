package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// Folding constants of CRC-32C in the reflected domain (Gopal et al., "Fast CRC Computation for Generic Polynomials
// Using PCLMULQDQ", Intel 2009): for a distance of d bits, x^(d+32) and x^(d-32) modulo 0x11edc6f41, reflected and shifted
// left by one. The first multiplies the low half of 128 bits, the second the high half.
var folds = map[int][2]uint64{
	2048: {0xdcb17aa4, 0xb9e02b86},
	512:  {0x740eef02, 0x9e4addf8},
	128:  {0xf20c0dfe, 0x14cd00bd6},
}

// foldConstant puts the constants of a distance into memory, 16 bytes.
func foldConstant(name string, bits int) Mem {
	g := GLOBL(name, RODATA|NOPTR)
	DATA(0, U64(folds[bits][0]))
	DATA(8, U64(folds[bits][1]))
	return g
}

// crcKernels write the sum of whole blocks of 256 bytes: four vectors of 64 bytes are folded into the next four, then into
// one, then its four parts of 16 bytes into one, whose remainder the CRC32 instruction takes.
func crcKernels() {
	far, near, lane := foldConstant("fold2048", 2048), foldConstant("fold512", 512), foldConstant("fold128", 128)
	kernel("foldAVX512", "func(state uint32, p *byte, n int) uint32", "continues a sum, without its inversions, over n bytes: a multiple of 256, and at least 256.")
	state := Load(Param("state"), GP32()).(reg.GPVirtual)
	p, n := load64("p"), load64("n")
	k, t := ZMM(), ZMM()
	var z [4]reg.VecVirtual
	for i := range z {
		z[i] = ZMM()
		VMOVDQU64(memAt(p, 64*i), z[i])
	}
	first := XMM()
	VMOVD(state, first)
	VPXORQ(first.AsZ(), z[0], z[0])
	VBROADCASTI32X4(far, k)
	ADDQ(U32(256), p)
	SUBQ(U32(256), n)
	JZ(LabelRef("fold_end"))
	Label("fold_block")
	for i := range z {
		VPCLMULQDQ(Imm(0), k, z[i], t)
		VPCLMULQDQ(Imm(0x11), k, z[i], z[i])
		VPTERNLOGQ(Imm(0x96), memAt(p, 64*i), t, z[i])
	}
	ADDQ(U32(256), p)
	SUBQ(U32(256), n)
	JNZ(LabelRef("fold_block"))
	Label("fold_end")
	VBROADCASTI32X4(near, k)
	for i := range 3 {
		VPCLMULQDQ(Imm(0), k, z[i], t)
		VPCLMULQDQ(Imm(0x11), k, z[i], z[i])
		VPTERNLOGQ(Imm(0x96), t, z[i], z[i+1])
	}
	remainder(z[3], lane)
}

// remainder folds four parts into one and returns its sum.
func remainder(z reg.VecVirtual, lane Mem) {
	k, t, u, sum := XMM(), XMM(), XMM(), XMM()
	VMOVDQU(lane, k)
	VEXTRACTI32X4(Imm(0), z, sum)
	for i := 1; i < 4; i++ {
		VPCLMULQDQ(Imm(0), k, sum, t)
		VPCLMULQDQ(Imm(0x11), k, sum, u)
		VEXTRACTI32X4(U8(i), z, sum)
		VPXOR(t, sum, sum)
		VPXOR(u, sum, sum)
	}
	low, high, state := GP64(), GP64(), GP64()
	VMOVQ(sum, low)
	VPEXTRQ(Imm(1), sum, high)
	XORQ(state, state)
	CRC32Q(low, state)
	CRC32Q(high, state)
	VZEROUPPER()
	Store(state.As32(), ReturnIndex(0))
	RET()
}
