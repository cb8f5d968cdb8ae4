package main

import (
	"fmt"
	"math"
	"strings"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

func gemmKernels() {
	const column, rows = "a's rows are neighbours, stepA from step to step.", "a is row-major, stepA from row to row."
	tileKernel(narrow{}, 6, columnOfA, "", column)
	for _, columns := range []int{8, 16, 32} {
		tileKernel(newWide(columns), 12, columnOfA, "", column)
		tileKernel(newWide(columns), 12, rowsOfA, "Rows", rows)
	}
	// Few rows need tiles of more columns, so that enough sums are under way at a time.
	tileKernel(newWide(64), 6, columnOfA, "", column)
	tileKernel(newWide(64), 6, rowsOfA, "Rows", rows)
	// Tiles of inner products are for products of few columns: a and b both run along k, so no lane is wasted then.
	dotsKernel(dotSet{name: "dotsAVX2", rows: 2, columns: 3})
	dotsKernel(dotSet{name: "dotsAVX512", rows: 4, columns: 5, avx512: true})
	dotsAcrossKernel()
	packKernels()
}

// An outer is a tile's instruction set: a row of the tile is one or two vectors.
type outer interface {
	name() string
	vectors() int
	vector() reg.VecVirtual
	lanes() int
	clear(v reg.VecVirtual)
	prepare(cols reg.GPVirtual)         // masks for the columns present
	row(m Mem, half int) reg.VecVirtual // loads a vector of a row of b
	load(m Mem, half int) reg.VecVirtual
	store(v reg.VecVirtual, m Mem, half int)
}

// narrow is AVX2, 16 columns.
type narrow struct{}

func (narrow) name() string           { return "AVX2" }
func (narrow) vectors() int           { return 2 }
func (narrow) vector() reg.VecVirtual { return YMM() }
func (narrow) lanes() int             { return 8 }
func (narrow) clear(v reg.VecVirtual) { VXORPS(v, v, v) }

func (narrow) row(m Mem, _ int) reg.VecVirtual {
	v := YMM()
	VMOVUPS(m, v)
	return v
}

// wide is AVX-512, of at most 8, 16, 32 or 64 columns. It loads and stores by masks: a tile of fewer columns reads b where it lies.
type wide struct {
	columns int
	masks   []reg.OpmaskVirtual
}

func newWide(columns int) *wide { return &wide{columns: columns} }

func (*wide) name() string           { return "AVX512" }
func (w *wide) vectors() int         { return w.columns / w.lanes() }
func (w *wide) lanes() int           { return min(w.columns, 16) }
func (*wide) clear(v reg.VecVirtual) { VPXORD(v, v, v) }

func (w *wide) vector() reg.VecVirtual {
	if w.columns == 8 {
		return YMM()
	}
	return ZMM()
}

func (w *wide) prepare(cols reg.GPVirtual) {
	bits := GP64()
	MOVQ(I32(-1), bits)
	BZHIQ(cols, bits, bits)
	w.masks = nil
	for range w.vectors() {
		mask := K()
		KMOVW(bits.As32(), mask)
		SHRQ(Imm(16), bits)
		w.masks = append(w.masks, mask)
	}
}

func (w *wide) load(m Mem, half int) reg.VecVirtual {
	v := w.vector()
	VMOVUPS_Z(m, w.masks[half], v)
	return v
}

func (w *wide) row(m Mem, half int) reg.VecVirtual { return w.load(m, half) }

func (w *wide) store(v reg.VecVirtual, m Mem, half int) { VMOVUPS(v, w.masks[half], m) }

// filled is a tile with all columns present. AMD loads and stores a vector faster without a mask.
type filled struct{ *wide }

func (f filled) row(m Mem, half int) reg.VecVirtual { return f.load(m, half) }

func (f filled) load(m Mem, _ int) reg.VecVirtual {
	v := f.vector()
	VMOVUPS(m, v)
	return v
}

func (filled) store(v reg.VecVirtual, m Mem, _ int) { VMOVUPS(v, m) }

// A reader is how a tile reads a. element is the element of row i, ahead steps
// on; next follows each step, and pass each group of steps.
type reader struct {
	element func(i, ahead int) Mem
	next    func()
	pass    func(steps int)
}

// columnOfA reads a whose rows are neighbours: packed, or transposed. stepA is
// from one step to the next.
func columnOfA(int) reader {
	a, step := load64("a"), load64("stepA")
	return reader{
		element: func(i, _ int) Mem { return memAt(a, 4*i) },
		next:    func() { ADDQ(step, a) },
		pass:    func(int) {},
	}
}

// rowsOfA reads a where it lies, row-major. stepA is from one row to the next.
// One pointer serves three rows.
func rowsOfA(height int) reader {
	stride, pointers := load64("stepA"), []reg.GPVirtual{load64("a")}
	three := GP64()
	LEAQ(Mem{Base: stride, Index: stride, Scale: 2}, three)
	for i := 3; i < height; i += 3 {
		p := GP64()
		LEAQ(Mem{Base: pointers[len(pointers)-1], Index: three, Scale: 1}, p)
		pointers = append(pointers, p)
	}
	return reader{
		element: func(i, ahead int) Mem {
			m := memAt(pointers[i/3], 4*ahead)
			if i%3 > 0 {
				m = m.Idx(stride, uint8(i%3))
			}
			return m
		},
		next: func() {},
		pass: func(steps int) {
			for _, p := range pointers {
				ADDQ(Imm(uint64(4*steps)), p)
			}
		},
	}
}

// tilesDoc explains how a kernel finds the operands of its tiles.
const tilesDoc = "nextA, nextB and nextC are from tile to tile. Steps and strides are in bytes."

// tileKernel writes the kernel of all tiles of one width, up to a height.
func tileKernel(set outer, heightMax int, read func(height int) reader, suffix, doc string) {
	name := fmt.Sprintf("tile%d%s%s", set.vectors()*set.lanes(), suffix, set.name())
	kernel(name, "func(height, tiles, k int, a *float32, stepA, nextA int, b *float32, stepB, nextB int, alpha, beta float32, c *float32, strideC, nextC, cols int)",
		fmt.Sprintf("adds to tiles of height rows, up to %d, and cols columns of c;", heightMax), doc, tilesDoc)
	height := load64("height")
	for h := heightMax; h > 1; h-- {
		CMPQ(height, Imm(uint64(h)))
		JEQ(LabelRef(fmt.Sprintf("h%d", h)))
	}
	for h := 1; h <= heightMax; h++ {
		Label(fmt.Sprintf("h%d", h))
		if w, ok := set.(*wide); ok {
			cols, part := load64("cols"), fmt.Sprintf("h%d_part", h)
			CMPQ(cols, Imm(uint64(w.columns)))
			JL(LabelRef(part))
			tileLoop(fmt.Sprintf("h%d_", h), filled{w}, h, 4, read)
			Label(part)
			w.prepare(cols)
			tileLoop(part, w, h, 1, read)
			continue
		}
		tileLoop(fmt.Sprintf("h%d_", h), set, h, 4, read)
	}
}

// tileLoop emits the product of tiles of one height. For each step it loads a row of b, broadcasts each element of a column
// of a, and adds the products to the tile, which stays in registers. The arguments a, b, c and tiles are then those of the next
// tile. A pass of the loop has count steps.
func tileLoop(prefix string, set outer, height, count int, read func(height int) reader) {
	Label(prefix + "tile")
	a := read(height)
	k, b, stepB := load64("k"), load64("b"), load64("stepB")
	acc := make([][]reg.VecVirtual, height)
	for i := range acc {
		for range set.vectors() {
			v := set.vector()
			set.clear(v)
			acc[i] = append(acc[i], v)
		}
	}
	step := func(ahead int) {
		row := make([]reg.VecVirtual, set.vectors())
		for half := range row {
			row[half] = set.row(memAt(b, 4*set.lanes()*half), half)
		}
		for i := range acc {
			t := set.vector()
			VBROADCASTSS(a.element(i, ahead), t)
			for half := range row {
				VFMADD231PS(t, row[half], acc[i][half])
			}
		}
		a.next()
		ADDQ(stepB, b)
	}
	repeat(prefix+"step", k, count, step, a.pass)
	writeTile(prefix, set, acc)
}

// repeat emits the body n times over, in groups of count, with pass after each
// group. n is consumed.
func repeat(name string, n reg.GPVirtual, count int, body, pass func(i int)) {
	if count > 1 {
		Label(name + "_many")
		SUBQ(Imm(uint64(count)), n)
		JL(LabelRef(name + "_few"))
		for i := range count {
			body(i)
		}
		pass(count)
		JMP(LabelRef(name + "_many"))
		Label(name + "_few")
		ADDQ(Imm(uint64(count)), n)
		JZ(LabelRef(name + "_end"))
	}
	Label(name + "_one")
	body(0)
	pass(1)
	DECQ(n)
	JNZ(LabelRef(name + "_one"))
	Label(name + "_end")
}

// writeTile emits c = alpha*tile + beta*c, without reading c if beta is 0, and the step to the next tile or the return.
func writeTile(prefix string, set outer, acc [][]reg.VecVirtual) {
	c, stride, cols := load64("c"), load64("strideC"), load64("cols")
	if narrow, ok := set.(narrow); ok {
		CMPQ(cols, Imm(16))
		JL(LabelRef(prefix + "part"))
		writeRows(prefix, "whole", full{narrow}, acc, c, stride)
		Label(prefix + "part")
		set = &masked{narrow: narrow}
	}
	name := "whole"
	if _, ok := set.(*masked); ok {
		set.prepare(cols)
		name = "masked"
	}
	writeRows(prefix, name, set, acc, c, stride)
}

func writeRows(prefix, name string, set outer, acc [][]reg.VecVirtual, c, stride reg.GPVirtual) {
	name = prefix + name
	bits := GP32()
	MOVL(address("alpha"), bits)
	CMPL(bits, U32(math.Float32bits(1)))
	JEQ(LabelRef(name + "_scaled"))
	alpha := set.vector()
	VBROADCASTSS(address("alpha"), alpha)
	for _, row := range acc {
		for _, v := range row {
			VMULPS(alpha, v, v)
		}
	}
	Label(name + "_scaled")
	MOVL(address("beta"), bits)
	ADDL(bits, bits) // drops the sign: zero for either zero
	JZ(LabelRef(name + "_fresh"))
	beta := set.vector()
	VBROADCASTSS(address("beta"), beta)
	eachVector(set, acc, c, stride, func(v reg.VecVirtual, m Mem, half int) {
		old := set.load(m, half)
		VFMADD231PS(beta, old, v)
		set.store(v, m, half)
	})
	nextTile(prefix)
	Label(name + "_fresh")
	eachVector(set, acc, c, stride, set.store)
	nextTile(prefix)
}

// nextTile emits the jump to the next tile, or the return after the last.
func nextTile(prefix string) {
	for _, operand := range []string{"a", "b", "c"} {
		ADDQ(load64("next"+strings.ToUpper(operand)), address(operand))
	}
	DECQ(address("tiles"))
	JNZ(LabelRef(prefix + "tile"))
	finish()
}

// eachVector emits what do emits for each vector of a tile and its place in c.
func eachVector(set outer, acc [][]reg.VecVirtual, c, stride reg.GPVirtual, do func(v reg.VecVirtual, m Mem, half int)) {
	row := GP64()
	MOVQ(c, row)
	for i := range acc {
		for half, v := range acc[i] {
			do(v, memAt(row, 4*set.lanes()*half), half)
		}
		ADDQ(stride, row)
	}
}

func (narrow) prepare(reg.GPVirtual)                {}
func (narrow) load(m Mem, _ int) reg.VecVirtual     { panic("gen: choose full or masked") }
func (narrow) store(v reg.VecVirtual, m Mem, _ int) { panic("gen: choose full or masked") }

// full is all 16 columns.
type full struct{ narrow }

func (full) load(m Mem, _ int) reg.VecVirtual {
	v := YMM()
	VMOVUPS(m, v)
	return v
}

func (full) store(v reg.VecVirtual, m Mem, _ int) { VMOVUPS(v, m) }

// masked is fewer than 16 columns. The masks are fetched from the table at each
// use, for want of registers.
type masked struct {
	narrow
	starts [2]reg.GPVirtual // in the table of masks
}

func (p *masked) prepare(cols reg.GPVirtual) { p.starts = restMasks(cols) }

func (p *masked) mask(half int) reg.VecVirtual {
	v := YMM()
	VMOVUPS(memAt(p.starts[half], 0), v)
	return v
}

func (p *masked) load(m Mem, half int) reg.VecVirtual {
	v := YMM()
	VMASKMOVPS(m, p.mask(half), v)
	return v
}

func (p *masked) store(v reg.VecVirtual, m Mem, half int) { VMASKMOVPS(v, p.mask(half), m) }

// dotLanes is the number of partial sums of an inner product: element p of a row is added to partial sum p modulo 16. Lanes
// i and i+8 are added first, then the eight sums in the order of sums.
const dotLanes = 16

// A dotSet is an instruction set for inner products. An accumulator has dotLanes lanes, in one register or in two. So both
// sets sum in one order and agree to the bit; AVX-512 has the registers for larger tiles.
type dotSet struct {
	name          string
	rows, columns int // most of a tile
	avx512        bool
}

// vectors returns the number of registers of an accumulator.
func (s dotSet) vectors() int {
	if s.avx512 {
		return 1
	}
	return 2
}

// load returns the elements at m.
func (s dotSet) load(m Mem) reg.VecVirtual {
	v := YMM()
	if s.avx512 {
		v = ZMM()
	}
	VMOVUPS(m, v)
	return v
}

// rest returns, for each register of an accumulator, a load of those of its elements that are among the last n < 16. Other lanes
// are zero. Each load must be used before the next begins: AVX2 has one register for its masks.
func (s dotSet) rest(n reg.GPVirtual) []func(m Mem) reg.VecVirtual {
	if s.avx512 {
		mask := opmask(n)
		return []func(m Mem) reg.VecVirtual{func(m Mem) reg.VecVirtual {
			v := ZMM()
			VMOVUPS_Z(m, mask, v)
			return v
		}}
	}
	starts, mask := restMasks(n), YMM()
	var loads []func(m Mem) reg.VecVirtual
	for _, start := range starts {
		fetched := false
		loads = append(loads, func(m Mem) reg.VecVirtual {
			if !fetched {
				VMOVUPS(memAt(start, 0), mask)
				fetched = true
			}
			v := YMM()
			VMASKMOVPS(m, mask, v)
			return v
		})
	}
	return loads
}

// zeros returns n accumulators.
func (s dotSet) zeros(n int) [][]reg.VecVirtual {
	acc := make([][]reg.VecVirtual, n)
	for i := range acc {
		if s.avx512 {
			v := ZMM()
			VPXORD(v, v, v)
			acc[i] = []reg.VecVirtual{v}
		} else {
			acc[i] = zeros(2)
		}
	}
	return acc
}

// halve returns an accumulator's eight sums of lanes i and i+8.
func (s dotSet) halve(acc []reg.VecVirtual) reg.VecVirtual {
	if s.avx512 {
		low, high := acc[0].AsY().(reg.VecVirtual), YMM()
		VEXTRACTF64X4(Imm(1), acc[0], high)
		VADDPS(high, low, low)
		return low
	}
	VADDPS(acc[1], acc[0], acc[0])
	return acc[0]
}

// high returns the upper half of v, which has eight lanes.
func (s dotSet) high(v reg.VecVirtual) reg.VecVirtual {
	high := XMM()
	if s.avx512 {
		VEXTRACTF32X4(Imm(1), v, high)
	} else {
		VEXTRACTF128(Imm(1), v, high)
	}
	return high
}

func dotsKernel(set dotSet) {
	kernel(set.name, "func(rows, cols, tiles, k int, a *float32, strideA, nextA int, b *float32, strideB, nextB int, alpha, beta float32, c *float32, strideC, nextC int)",
		fmt.Sprintf("sets tiles of rows, up to %d, times cols, up to %d, elements of c", set.rows, set.columns),
		"by inner products of rows of a and rows of b.", tilesDoc)
	rows, cols := load64("rows"), load64("cols")
	label := func(r, c int) string { return fmt.Sprintf("r%dc%d", r, c) }
	for r := set.rows; r > 0; r-- {
		CMPQ(rows, Imm(uint64(r)))
		JNE(LabelRef(fmt.Sprintf("below%d", r)))
		for c := set.columns; c > 1; c-- {
			CMPQ(cols, Imm(uint64(c)))
			JEQ(LabelRef(label(r, c)))
		}
		JMP(LabelRef(label(r, 1)))
		Label(fmt.Sprintf("below%d", r))
	}
	RET()
	for r := 1; r <= set.rows; r++ {
		for c := 1; c <= set.columns; c++ {
			dotTiles(set, label(r, c), r, c)
		}
	}
}

func dotTiles(set dotSet, name string, rows, cols int) {
	Label(name)
	Label(name + "_tile")
	d := dots{dotSet: set, name: name}
	a, b := load64("a"), load64("b")
	d.a, d.b = rowsAt(a, load64("strideA"), rows), rowsAt(b, load64("strideB"), cols)
	for range rows {
		d.acc = append(d.acc, set.zeros(cols))
	}
	d.along(a, b)
	d.write()
	nextTile(name + "_")
}

// rowsAt returns the places of up to five rows, stride bytes apart.
func rowsAt(base, stride reg.GPVirtual, n int) []Mem {
	rows := []Mem{memAt(base, 0), {Base: base, Index: stride, Scale: 1}, {Base: base, Index: stride, Scale: 2}, {}, {Base: base, Index: stride, Scale: 4}}
	if n > 3 {
		three := GP64()
		LEAQ(Mem{Base: stride, Index: stride, Scale: 2}, three)
		rows[3] = Mem{Base: base, Index: three, Scale: 1}
	}
	return rows[:n]
}

// dots is a tile of inner products.
type dots struct {
	dotSet
	name string
	a, b []Mem                // where the rows are read
	acc  [][][]reg.VecVirtual // by row and column: the registers of an accumulator
}

// multiply adds the products of the elements at disp to register part of each accumulator.
func (d *dots) multiply(load func(m Mem) reg.VecVirtual, part, disp int) {
	disp += 4 * dotLanes / d.vectors() * part
	var as []reg.VecVirtual
	for _, m := range d.a {
		as = append(as, load(m.Offset(disp)))
	}
	for j, m := range d.b {
		v := load(m.Offset(disp))
		for i := range as {
			VFMADD231PS(v, as[i], d.acc[i][j][part])
		}
	}
}

// along emits the loop over k.
func (d *dots) along(a, b reg.GPVirtual) {
	k := load64("k")
	loop := func(label, next string, count int) {
		Label(label)
		SUBQ(Imm(uint64(dotLanes*count)), k)
		JL(LabelRef(next))
		for i := range count {
			for part := range d.vectors() {
				d.multiply(d.load, part, 4*dotLanes*i)
			}
		}
		ADDQ(U32(4*dotLanes*count), a)
		ADDQ(U32(4*dotLanes*count), b)
		JMP(LabelRef(label))
		Label(next)
		ADDQ(Imm(uint64(dotLanes*count)), k)
	}
	loop(d.name+"_two", d.name+"_one", 2)
	loop(d.name+"_last", d.name+"_rest", 1)
	JZ(LabelRef(d.name + "_sum"))
	for part, load := range d.rest(k) {
		d.multiply(load, part, 0)
	}
	Label(d.name + "_sum")
}

// write puts the sums in c. A fifth column is summed for all rows at once.
func (d *dots) write() {
	alpha, beta, bits, stride, c := XMM(), XMM(), GP32(), load64("strideC"), load64("c")
	VBROADCASTSS(address("alpha"), alpha)
	VBROADCASTSS(address("beta"), beta)
	MOVL(address("beta"), bits)
	ADDL(bits, bits)
	acc := make([][]reg.VecVirtual, len(d.acc))
	for i, row := range d.acc {
		for _, sum := range row {
			acc[i] = append(acc[i], d.halve(sum))
		}
	}
	rows, cols := len(acc), len(acc[0])
	if cols%4 == 1 && rows > 1 {
		cols--
		column := make([]reg.VecVirtual, rows)
		for i, row := range acc {
			column[i] = row[cols]
		}
		places := rowsAt(c, stride, rows)
		for i := range places {
			places[i] = places[i].Offset(4 * cols)
		}
		writeColumn(d.name+"_column", d.sums(column), places, alpha, beta, bits)
	}
	for i, row := range acc {
		for j := 0; j < cols; j += 4 {
			n := min(4, cols-j)
			writeSums(fmt.Sprintf("%s_write%d%d", d.name, i, j), d.sums(row[j:j+n]), n, memAt(c, 4*j), alpha, beta, bits)
		}
		ADDQ(stride, c)
	}
}

// writeColumn emits c = alpha*v + beta*c for lanes of v that lie below one another in c.
func writeColumn(name string, v reg.VecVirtual, c []Mem, alpha, beta reg.VecVirtual, bits reg.GPVirtual) {
	VMULPS(alpha, v, v)
	TESTL(bits, bits)
	JZ(LabelRef(name))
	old := XMM()
	VMOVSS(c[0], old)
	for i, m := range c[1:] {
		VINSERTPS(Imm(uint64(i+1)<<4), m, old, old)
	}
	VFMADD231PS(old, beta, v)
	Label(name)
	VMOVSS(v, c[0])
	for i, m := range c[1:] {
		VEXTRACTPS(Imm(uint64(i+1)), v, m)
	}
}

// sums returns up to four horizontal sums side by side, each summed in the same
// order.
func (d *dots) sums(acc []reg.VecVirtual) reg.VecVirtual {
	four := [4]reg.VecVirtual{acc[0], acc[0], acc[0], acc[0]}
	copy(four[:], acc)
	ab, cd, even, odd := YMM(), YMM(), YMM(), YMM()
	pair := func(x, y, to reg.VecVirtual) {
		VUNPCKLPS(y, x, even)
		VUNPCKHPS(y, x, odd)
		VADDPS(odd, even, to)
	}
	pair(four[0], four[1], ab)
	pair(four[2], four[3], cd)
	VUNPCKLPD(cd, ab, even)
	VUNPCKHPD(cd, ab, odd)
	VADDPS(odd, even, ab)
	VADDPS(d.high(ab), asX(ab), asX(ab))
	return asX(ab)
}

// writeSums emits c = alpha*v + beta*c for the first n lanes of v. bits is zero if beta is.
func writeSums(name string, v reg.VecVirtual, n int, c Mem, alpha, beta reg.VecVirtual, bits reg.GPVirtual) {
	VMULPS(alpha, v, v)
	TESTL(bits, bits)
	JZ(LabelRef(name))
	old := XMM()
	switch n {
	case 1:
		VMOVSS(c, old)
	case 2, 3:
		VMOVSD(c, old)
		if n == 3 {
			third := XMM()
			VMOVSS(c.Offset(8), third)
			VMOVLHPS(third, old, old)
		}
	default:
		VMOVUPS(c, old)
	}
	VFMADD231PS(old, beta, v)
	Label(name)
	switch n {
	case 1:
		VMOVSS(v, c)
	case 2, 3:
		VMOVLPS(v, c)
		if n == 3 {
			VEXTRACTPS(Imm(2), v, c.Offset(8))
		}
	default:
		VMOVUPS(v, c)
	}
}

// dotsAcrossKernel writes inner products of one row of a and columns of b, which lies row-major. A vector has the columns, and
// there is one for each partial sum of dotsKernel. So it gives the bits of dotsKernel without a transposed copy of b.
func dotsAcrossKernel() {
	kernel("dotsAcrossAVX512", "func(cols, k int, a *float32, b *float32, stepB int, alpha, beta float32, c *float32)",
		"sets up to 16 elements of a row of c by inner products of a row of a and columns of b.",
		"stepB is in bytes from row to row of b.")
	k, a, b, step := load64("k"), load64("a"), load64("b"), load64("stepB")
	mask := opmask(load64("cols"))
	acc := make([]reg.VecVirtual, dotLanes)
	for i := range acc {
		acc[i] = ZMM()
		VPXORD(acc[i], acc[i], acc[i])
	}
	multiply := func(lane int) {
		row := ZMM()
		VMOVUPS_Z(memAt(b, 0), mask, row)
		VFMADD231PS_BCST(memAt(a, 4*lane), row, acc[lane])
		ADDQ(step, b)
	}
	Label("steps")
	SUBQ(Imm(dotLanes), k)
	JL(LabelRef("rest"))
	for lane := range acc {
		multiply(lane)
	}
	ADDQ(Imm(4*dotLanes), a)
	JMP(LabelRef("steps"))

	Label("rest")
	ADDQ(Imm(dotLanes), k)
	JZ(LabelRef("sum"))
	for lane := range dotLanes - 1 {
		multiply(lane)
		CMPQ(k, Imm(uint64(lane+1)))
		JEQ(LabelRef(fmt.Sprintf("none%d", lane+1)))
	}
	// dotsKernel multiplies zeros in lanes without a step, which makes a negative zero positive.
	zero := ZMM()
	for lane := 1; lane < dotLanes; lane++ {
		Label(fmt.Sprintf("none%d", lane))
		VPXORD(zero, zero, zero)
		VADDPS(zero, acc[lane], acc[lane])
	}
	Label("sum")
	for i := range 8 {
		sum(acc[i+8], acc[i])
	}
	for _, pair := range [][2]int{{2, 0}, {3, 1}, {6, 4}, {7, 5}, {1, 0}, {5, 4}, {4, 0}} {
		sum(acc[pair[0]], acc[pair[1]])
	}
	total, scalar, bits, c := acc[0], ZMM(), GP32(), load64("c")
	VBROADCASTSS(address("alpha"), scalar)
	VMULPS(scalar, total, total)
	MOVL(address("beta"), bits)
	ADDL(bits, bits)
	JZ(LabelRef("store"))
	old := ZMM()
	VMOVUPS_Z(memAt(c, 0), mask, old)
	VBROADCASTSS(address("beta"), scalar)
	VFMADD231PS(old, scalar, total)
	Label("store")
	VMOVUPS(total, mask, memAt(c, 0))
	finish()
}

// packKernels copy matrices into the order in which tiles read them.
func packKernels() {
	transposeKernel()
	transposeColumnsKernel()
	for _, floats := range []int{4, 12, 16} {
		copyKernel(floats)
	}
}

func transposeKernel() {
	kernel("transpose4AVX2", "func(cols int, row0, row1, row2, row3, to *float32, stepTo int)", "writes the columns of four rows as rows of four, stepTo bytes apart.")
	cols, to, step := load64("cols"), load64("to"), load64("stepTo")
	rows := []reg.GPVirtual{load64("row0"), load64("row1"), load64("row2"), load64("row3")}
	three := GP64()
	LEAQ(Mem{Base: step, Index: step, Scale: 2}, three)
	Label("block")
	SUBQ(Imm(8), cols)
	JL(LabelRef("rest"))
	v := make([]reg.VecVirtual, 4)
	for i, r := range rows {
		v[i] = YMM()
		VMOVUPS(memAt(r, 0), v[i])
		ADDQ(Imm(32), r)
	}
	out, half := transposed(v), GP64()
	LEAQ(Mem{Base: to, Index: step, Scale: 4}, half)
	places := func(base reg.GPVirtual) []Mem {
		return []Mem{memAt(base, 0), {Base: base, Index: step, Scale: 1}, {Base: base, Index: step, Scale: 2}, {Base: base, Index: three, Scale: 1}}
	}
	for i, m := range places(to) {
		VMOVUPS(asX(out[i]), m)
	}
	for i, m := range places(half) {
		VEXTRACTF128(Imm(1), out[i], m)
	}
	LEAQ(Mem{Base: to, Index: step, Scale: 8}, to)
	JMP(LabelRef("block"))

	Label("rest")
	ADDQ(Imm(8), cols)
	JZ(LabelRef("end"))
	mask := restMask(cols)
	for i, r := range rows {
		v[i] = YMM()
		VMASKMOVPS(memAt(r, 0), mask, v[i])
	}
	out = transposed(v)
	for i := range 7 {
		if i < 4 {
			VMOVUPS(asX(out[i]), memAt(to, 0))
		} else {
			VEXTRACTF128(Imm(1), out[i-4], memAt(to, 0))
		}
		ADDQ(step, to)
		DECQ(cols)
		JZ(LabelRef("end"))
	}
	Label("end")
	finish()
}

// transposeColumnsKernel writes the transpose of few columns. It needs one call for all rows, where transposeKernel would need one
// for four rows.
func transposeColumnsKernel() {
	kernel("transposeColumnsAVX2", "func(rows, cols int, from *float32, stepFrom int, to *float32, stepTo int)",
		"writes up to 8 columns of rows, a multiple of 8, as rows. Steps are in bytes.")
	rows, cols, from, step := load64("rows"), load64("cols"), load64("from"), load64("stepFrom")
	to, stepTo := load64("to"), load64("stepTo")
	starts := restMasks(cols)
	mask := YMM()
	VMOVUPS(memAt(starts[0], 0), mask)
	three, last, out := GP64(), GP64(), GP64()
	LEAQ(Mem{Base: step, Index: step, Scale: 2}, three)
	Label("block")
	LEAQ(Mem{Base: from, Index: step, Scale: 4}, last)
	var v []reg.VecVirtual
	for _, base := range []reg.GPVirtual{from, last} {
		for _, m := range []Mem{memAt(base, 0), {Base: base, Index: step, Scale: 1}, {Base: base, Index: step, Scale: 2}, {Base: base, Index: three, Scale: 1}} {
			row := YMM()
			VMASKMOVPS(m, mask, row)
			v = append(v, row)
		}
	}
	LEAQ(Mem{Base: from, Index: step, Scale: 8}, from)
	upper, lower := transposed(v[:4]), transposed(v[4:]) // columns i and i+4 of four rows
	MOVQ(to, out)
	left := GP64()
	MOVQ(cols, left)
	column := YMM()
	for i := range 8 {
		if i < 4 {
			VINSERTF128(Imm(1), asX(lower[i]), upper[i], column)
		} else {
			VPERM2F128(Imm(0x31), lower[i-4], upper[i-4], column)
		}
		VMOVUPS(column, memAt(out, 0))
		if i < 7 {
			DECQ(left)
			JZ(LabelRef("next"))
			ADDQ(stepTo, out)
		}
	}
	Label("next")
	ADDQ(Imm(32), to)
	SUBQ(Imm(8), rows)
	JNZ(LabelRef("block"))
	finish()
}

// transposed returns the 4x4 transposes of the low and of the high halves.
func transposed(v []reg.VecVirtual) []reg.VecVirtual {
	low01, high01, low23, high23 := YMM(), YMM(), YMM(), YMM()
	VUNPCKLPS(v[1], v[0], low01)
	VUNPCKHPS(v[1], v[0], high01)
	VUNPCKLPS(v[3], v[2], low23)
	VUNPCKHPS(v[3], v[2], high23)
	out := []reg.VecVirtual{YMM(), YMM(), YMM(), YMM()}
	VUNPCKLPD(low23, low01, out[0])
	VUNPCKHPD(low23, low01, out[1])
	VUNPCKLPD(high23, high01, out[2])
	VUNPCKHPD(high23, high01, out[3])
	return out
}

func copyKernel(floats int) {
	name := fmt.Sprintf("copy%dAVX2", floats)
	kernel(name, "func(rows int, from *float32, stepFrom int, to *float32, stepTo int)",
		fmt.Sprintf("copies rows of %d elements. Steps are in bytes.", floats))
	rows, from, to := load64("rows"), load64("from"), load64("to")
	stepFrom, stepTo := load64("stepFrom"), load64("stepTo")
	Label("row")
	for i := 0; i < floats; i += width {
		v := YMM()
		if floats-i < width {
			v = asX(v)
		}
		VMOVUPS(memAt(from, 4*i), v)
		VMOVUPS(v, memAt(to, 4*i))
	}
	ADDQ(stepFrom, from)
	ADDQ(stepTo, to)
	DECQ(rows)
	JNZ(LabelRef("row"))
	finish()
}
