package main

import (
	"fmt"
	"math"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// width is the number of float32 in a YMM register.
const width = 8

// A stream is a pointer that moves through a slice of four-byte elements.
type stream = reg.GPVirtual

// lanes are up to eight neighbouring elements of every stream. load and store
// touch only elements inside the slices.
type lanes struct {
	index int // which accumulator or temporary set of the unrolled body this is
	load  func(s stream) reg.VecVirtual
	store func(v reg.VecVirtual, s stream)
	mask  reg.VecVirtual // the elements present, or nil for all eight
}

// kernel begins a function with pointers that do not escape. doc is the comment of its stub, without the name.
func kernel(name, signature string, doc ...string) {
	TEXT(name, NOSPLIT, signature)
	Pragma("noescape")
	doc[0] = name + " " + doc[0]
	Doc(doc...)
}

func memAt(p reg.Register, disp int) Mem { return Mem{Base: p, Disp: disp} }

// elements emits a loop over n elements of all streams: the body unrolled, then
// one vector at a time, then a masked rest. n and the streams are consumed. The
// same instructions work on every element, so its result does not depend on
// where it lies.
func elements(name string, n reg.GPVirtual, unroll int, streams []stream, body func(lanes)) {
	loop := func(label, next string, count int) {
		Label(label)
		CMPQ(n, U32(width*count))
		JL(LabelRef(next))
		for i := range count {
			body(whole(i))
		}
		for _, s := range streams {
			ADDQ(U32(4*width*count), s)
		}
		SUBQ(U32(width*count), n)
		JMP(LabelRef(label))
	}
	if unroll > 1 {
		loop(name+"_many", name+"_one", unroll)
	}
	loop(name+"_one", name+"_rest", 1)
	Label(name + "_rest")
	TESTQ(n, n)
	JZ(LabelRef(name + "_end"))
	body(rest(name, n))
	Label(name + "_end")
}

func whole(i int) lanes {
	return lanes{
		index: i,
		load: func(s stream) reg.VecVirtual {
			v := YMM()
			VMOVUPS(memAt(s, 4*width*i), v)
			return v
		},
		store: func(v reg.VecVirtual, s stream) { VMOVUPS(v, memAt(s, 4*width*i)) },
	}
}

// rest gives the last n < 8 elements; lanes beyond load as zero.
func rest(name string, n reg.GPVirtual) lanes {
	mask := restMask(n)
	stores := 0
	return lanes{
		mask: mask,
		load: func(s stream) reg.VecVirtual {
			v := YMM()
			VMASKMOVPS(memAt(s, 0), mask, v)
			return v
		},
		store: func(v reg.VecVirtual, s stream) {
			storeRest(fmt.Sprintf("%s_store%d", name, stores), n, v, s)
			stores++
		},
	}
}

// restMask returns a vector whose first n < 8 lanes are all ones.
func restMask(n reg.GPVirtual) reg.VecVirtual {
	table, back, mask := GP64(), GP64(), YMM()
	LEAQ(maskTable(), table)
	MOVQ(n, back)
	NEGQ(back)
	VMOVUPS(Mem{Base: table, Index: back, Scale: 4, Disp: 4 * width}, mask)
	return mask
}

// restMasks returns where in the table of masks those of the lower and the upper eight lanes begin, of which the first n
// lanes, at most 16, are all ones.
func restMasks(n reg.GPVirtual) (starts [2]reg.GPVirtual) {
	tables, most, least := GP64(), GP64(), GP64()
	LEAQ(maskTable(), tables)
	MOVQ(U32(width), most)
	XORQ(least, least)
	for half := range starts {
		present := GP64() // lanes, 0 to 8
		MOVQ(n, present)
		if half == 1 {
			SUBQ(Imm(width), present)
			CMOVQLT(least, present)
		}
		CMPQ(present, Imm(width))
		CMOVQGT(most, present)
		NEGQ(present)
		starts[half] = GP64()
		LEAQ(Mem{Base: tables, Index: present, Scale: 4, Disp: 4 * width}, starts[half])
	}
	return starts
}

// storeRest stores the first n < 8 lanes of v, in pieces of 4, 2 and 1: masked
// stores are slow on some CPUs. It consumes v and s.
func storeRest(name string, n reg.GPVirtual, v reg.VecVirtual, s stream) {
	x := asX(v)
	TESTQ(U32(4), n)
	JZ(LabelRef(name + "_two"))
	VMOVUPS(x, memAt(s, 0))
	ADDQ(Imm(16), s)
	VEXTRACTF128(Imm(1), v, x)
	Label(name + "_two")
	TESTQ(U32(2), n)
	JZ(LabelRef(name + "_last"))
	VMOVLPS(x, memAt(s, 0))
	ADDQ(Imm(8), s)
	VPERMILPS(Imm(0x4e), x, x)
	Label(name + "_last")
	TESTQ(U32(1), n)
	JZ(LabelRef(name + "_done"))
	VMOVSS(x, memAt(s, 0))
	Label(name + "_done")
}

var tables = map[string]Mem{}

// maskTable returns eight words of ones, then eight of zeros.
func maskTable() Mem {
	return table("restmask", func() {
		for i := range 16 {
			word := uint32(0)
			if i < 8 {
				word = math.MaxUint32
			}
			DATA(4*i, U32(word))
		}
	})
}

// constant returns a constant vector with the given word in each lane.
func constant(word uint32) Mem {
	return table(fmt.Sprintf("all%08x", word), func() {
		for i := range width {
			DATA(4*i, U32(word))
		}
	})
}

func allFloat(v float32) Mem { return constant(math.Float32bits(v)) }

func table(name string, fill func()) Mem {
	if m, ok := tables[name]; ok {
		return m
	}
	m := GLOBL(name, 8|16) // RODATA|NOPTR
	fill()
	tables[name] = m
	return m
}

func zeros(n int) []reg.VecVirtual {
	acc := make([]reg.VecVirtual, n)
	for i := range acc {
		acc[i] = YMM()
		VXORPS(acc[i], acc[i], acc[i])
	}
	return acc
}

// fold combines all lanes of all accumulators into lane 0 of the result, in
// pairs: the order depends only on how many there are.
func fold(acc []reg.VecVirtual, combine func(a, b reg.VecVirtual)) reg.VecVirtual {
	for s := len(acc) / 2; s >= 1; s /= 2 {
		for i := range s {
			combine(acc[i+s], acc[i])
		}
	}
	high, low := XMM(), asX(acc[0])
	VEXTRACTF128(Imm(1), acc[0], high)
	combine(high, low)
	VPERMILPS(Imm(0x4e), low, high)
	combine(high, low)
	VPERMILPS(Imm(0xb1), low, high)
	combine(high, low)
	return low
}

func sum(a, b reg.VecVirtual) { VADDPS(a, b, b) }

func broadcast(param string) reg.VecVirtual {
	v := YMM()
	VBROADCASTSS(address(param), v)
	return v
}

// address returns the place of an argument in the frame.
func address(param string) Mem {
	b, err := Param(param).Resolve()
	if err != nil {
		panic(err)
	}
	return b.Addr
}

func load64(param string) reg.GPVirtual {
	return Load(Param(param), GP64()).(reg.GPVirtual)
}

// asX returns the low half of a vector register.
func asX(v reg.VecVirtual) reg.VecVirtual { return v.AsX().(reg.VecVirtual) }
