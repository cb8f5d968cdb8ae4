package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

func factorKernels() {
	for _, biases := range []bool{false, true} {
		for _, rank := range []int{0, 16, 32} {
			ratingsKernel("factorBlock", "FactorBlock", rank, biases, (*block).learn)
			ratingsKernel("factorScore", "FactorScore", rank, biases, (*block).score)
		}
	}
}

// A pair is a row of the users and a row of the items, of one rank: known to
// the generator and held in registers between product and update, or any.
//
// The product is summed in the same order either way: two accumulators take
// turns, vector by vector.
type pair struct {
	name   string
	p, q   reg.GPVirtual // rows
	nextP  reg.GPVirtual // rows to fetch
	nextQ  reg.GPVirtual
	bytes  reg.GPVirtual // 4*rank, when the generator does not know it
	offset reg.GPVirtual
	rank   int // 0: any
	ps, qs []reg.VecVirtual
}

func (f *pair) row(row reg.GPVirtual, disp int) Mem {
	return Mem{Base: row, Index: f.offset, Scale: 1, Disp: disp}
}

// product returns p·q and fetches the next rows.
func (f *pair) product() reg.VecVirtual {
	if f.rank > 0 {
		return f.productInRegisters()
	}
	acc := zeros(2)
	multiply := func(i int) {
		v, w := YMM(), YMM()
		VMOVUPS(f.row(f.p, 32*i), v)
		VMOVUPS(f.row(f.q, 32*i), w)
		VFMADD231PS(v, w, acc[i])
	}
	f.overRow("product", func(vectors int) {
		PREFETCHT0(f.row(f.nextP, 0))
		PREFETCHT0(f.row(f.nextQ, 0))
		for i := range vectors {
			multiply(i)
		}
	}, func(n reg.GPVirtual) {
		mask, v, w := restMask(n), YMM(), YMM()
		VMASKMOVPS(f.row(f.p, 0), mask, v)
		VMASKMOVPS(f.row(f.q, 0), mask, w)
		VFMADD231PS(v, w, acc[1])
	})
	return fold(acc, sum)
}

func (f *pair) productInRegisters() reg.VecVirtual {
	vectors := f.rank / width
	var acc []reg.VecVirtual
	for i := range vectors {
		v, w := YMM(), YMM()
		VMOVUPS(memAt(f.p, 32*i), v)
		VMOVUPS(memAt(f.q, 32*i), w)
		f.ps, f.qs = append(f.ps, v), append(f.qs, w)
		if i < 2 {
			a := YMM()
			VMULPS(v, w, a)
			acc = append(acc, a)
		} else {
			VFMADD231PS(v, w, acc[i%2])
		}
	}
	for line := 0; line < 4*f.rank; line += 64 {
		PREFETCHT0(memAt(f.nextP, line))
		PREFETCHT0(memAt(f.nextQ, line))
	}
	return fold(acc, sum)
}

// update emits the step of both rows.
func (f *pair) update(step, decay reg.VecVirtual) {
	both := func(v, w reg.VecVirtual) (newV, newW reg.VecVirtual) {
		newV, newW = YMM(), YMM()
		VMULPS(v, decay, newV)
		VMULPS(w, decay, newW)
		VFMADD231PS(w, step, newV)
		VFMADD231PS(v, step, newW)
		return newV, newW
	}
	if f.rank > 0 {
		for i := range f.ps {
			v, w := both(f.ps[i], f.qs[i])
			VMOVUPS(v, memAt(f.p, 32*i))
			VMOVUPS(w, memAt(f.q, 32*i))
		}
		return
	}
	f.overRow("update", func(vectors int) {
		for i := range vectors {
			v, w := YMM(), YMM()
			VMOVUPS(f.row(f.p, 32*i), v)
			VMOVUPS(f.row(f.q, 32*i), w)
			v, w = both(v, w)
			VMOVUPS(v, f.row(f.p, 32*i))
			VMOVUPS(w, f.row(f.q, 32*i))
		}
	}, func(n reg.GPVirtual) {
		mask, v, w := restMask(n), YMM(), YMM()
		VMASKMOVPS(f.row(f.p, 0), mask, v)
		VMASKMOVPS(f.row(f.q, 0), mask, w)
		v, w = both(v, w)
		f.storeRest("p", n, v, f.p)
		f.storeRest("q", n, w, f.q)
	})
}

func (f *pair) storeRest(name string, n reg.GPVirtual, v reg.VecVirtual, row reg.GPVirtual) {
	end := GP64()
	LEAQ(f.row(row, 0), end)
	storeRest(f.name+"_update_"+name, n, v, end)
}

// overRow emits a loop over a row: two vectors at a time, one, and the rest.
func (f *pair) overRow(name string, body func(vectors int), rest func(n reg.GPVirtual)) {
	label := func(s string) string { return fmt.Sprintf("%s_%s_%s", f.name, name, s) }
	left := GP64()
	XORQ(f.offset, f.offset)
	MOVQ(f.bytes, left)
	Label(label("two"))
	CMPQ(left, Imm(64))
	JL(LabelRef(label("one")))
	body(2)
	ADDQ(Imm(64), f.offset)
	SUBQ(Imm(64), left)
	JMP(LabelRef(label("two")))
	Label(label("one"))
	TESTQ(left, left)
	JZ(LabelRef(label("end")))
	CMPQ(left, Imm(32))
	JL(LabelRef(label("rest")))
	body(1)
	ADDQ(Imm(32), f.offset)
	SUBQ(Imm(32), left)
	JZ(LabelRef(label("end")))
	Label(label("rest"))
	SHRQ(Imm(2), left)
	rest(left)
	Label(label("end"))
}

// ratingsKernel emits a loop over ratings; one emits the work for rating j. A known rank gives a loop without branches
// except its own and the two checks of the indices. All such kernels take the same arguments, used or not.
func ratingsKernel(name, public string, rank int, biases bool, one func(b *block)) {
	doc := ""
	if biases {
		name += "Biased"
		doc = ", with biases"
	}
	if rank > 0 {
		name += fmt.Sprint(rank)
		doc += fmt.Sprintf(", at rank %d", rank)
	}
	kernel(name+"AVX2", "func(n, ahead int, user, item *int32, rating *float32, users, items int, p, q *float32, rank, stride int, "+
		"mean, step, decay float32, userBias, itemBias *float32, biasStride int, biasDecay float32) (done int, sumSquares float64)",
		"computes "+public+doc+". Of ratings at ahead and beyond, rows are not fetched.", "Strides are in bytes.")
	b := newBlock(rank, biases)
	Label("rating")
	b.rows()
	one(b)
	INCQ(b.j)
	CMPQ(b.j, address("n"))
	JL(LabelRef("rating"))
	Label("stop")
	VZEROUPPER()
	Store(b.j, Return("done"))
	Store(b.sum, Return("sumSquares"))
	RET()
}

type block struct {
	pair
	biases             bool
	j                  reg.GPVirtual // the rating
	user, item, rating reg.GPVirtual
	userBias, itemBias reg.GPVirtual // of the rating
	sum                reg.VecVirtual
}

func newBlock(rank int, biases bool) *block {
	b := &block{biases: biases, j: GP64(), user: load64("user"), item: load64("item"), rating: load64("rating"), sum: XMM()}
	b.name, b.rank, b.offset = "row", rank, GP64()
	XORQ(b.j, b.j)
	VXORPS(b.sum, b.sum, b.sum)
	return b
}

// rows finds the rows of rating j, or goes to stop, and those to fetch.
func (b *block) rows() {
	const ahead = 6
	u, i, later := GP64(), GP64(), GP64()
	MOVL(Mem{Base: b.user, Index: b.j, Scale: 4}, u.As32())
	MOVL(Mem{Base: b.item, Index: b.j, Scale: 4}, i.As32())
	CMPQ(u, address("users"))
	JAE(LabelRef("stop"))
	CMPQ(i, address("items"))
	JAE(LabelRef("stop"))
	LEAQ(Mem{Base: b.j, Disp: ahead}, later)
	CMPQ(later, address("ahead"))
	CMOVQGE(b.j, later)
	if b.biases {
		b.userBias, b.itemBias = GP64(), GP64()
		b.row(b.userBias, u, "biasStride", "userBias")
		b.row(b.itemBias, i, "biasStride", "itemBias")
	}
	b.p, b.q, b.nextP, b.nextQ = GP64(), GP64(), GP64(), GP64()
	b.row(b.p, u, "stride", "p")
	b.row(b.q, i, "stride", "q")
	MOVL(Mem{Base: b.user, Index: later, Scale: 4}, b.nextP.As32())
	MOVL(Mem{Base: b.item, Index: later, Scale: 4}, b.nextQ.As32())
	b.row(b.nextP, b.nextP, "stride", "p")
	b.row(b.nextQ, b.nextQ, "stride", "q")
}

// row sets pointer to the row of an index in a slab.
func (b *block) row(pointer, index reg.GPVirtual, stride, slab string) {
	if pointer != index {
		MOVQ(index, pointer)
	}
	IMULQ(address(stride), pointer)
	ADDQ(address(slab), pointer)
}

// residual returns the residual of rating j.
func (b *block) residual() reg.VecVirtual {
	e := XMM()
	VMOVSS(Mem{Base: b.rating, Index: b.j, Scale: 4}, e)
	VSUBSS(address("mean"), e, e)
	if b.biases {
		VSUBSS(memAt(b.userBias, 0), e, e)
		VSUBSS(memAt(b.itemBias, 0), e, e)
	}
	if b.rank == 0 {
		b.bytes = load64("rank")
		SHLQ(Imm(2), b.bytes)
	}
	b.ps, b.qs = nil, nil
	VSUBSS(b.product(), e, e)
	return e
}

// count adds the square of a residual.
func (b *block) count(e reg.VecVirtual) {
	double := XMM()
	VCVTSS2SD(e, e, double)
	VFMADD231SD(double, double, b.sum)
}

// score counts rating j.
func (b *block) score() { b.count(b.residual()) }

// learn applies rating j.
func (b *block) learn() {
	e, a := b.residual(), XMM()
	VMULSS(address("step"), e, a)
	step := YMM()
	VBROADCASTSS(a, step)
	b.update(step, broadcast("decay"))
	if b.biases {
		for _, bias := range []reg.GPVirtual{b.userBias, b.itemBias} {
			v := XMM()
			VMOVSS(address("biasDecay"), v)
			VFMADD132SS(memAt(bias, 0), a, v)
			VMOVSS(v, memAt(bias, 0))
		}
	}
	b.count(e)
}
