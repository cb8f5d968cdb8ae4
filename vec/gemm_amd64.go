package vec

// The matrix product by Goto and van de Geijn, "Anatomy of high-performance
// matrix multiplication" (2008): b is cut into panels that stay in the second
// and third caches, a into panels that stay in the second, and a tile of c is
// kept in registers while one panel of each runs by.
//
// Every path sums an element of c in the order of p within a stretch of at most
// stretchMax, then adds stretch after stretch to c, whatever the tile. So the
// paths, and the AVX2 and AVX-512 tiles, agree to the bit, except for the inner
// products of gemm_small_amd64.go.
const (
	stretchMax  = 384  // of k: kc in the paper
	heightMax   = 12   // rows of a tile: two AVX2 tiles of 6, one AVX-512 tile of 12
	rowsMax     = 336  // of a packed at once: mc
	columnsMax  = 2048 // of b packed at once: nc
	wideWidth   = 32   // columns of an AVX-512 tile
	narrowWidth = 16   // columns of an AVX2 tile
	directRows  = 48   // with no more rows, packing b costs more than it saves
)

func gemmNN(m, n, k int, alpha float32, a []float32, lda int, b []float32, ldb int, beta float32, c []float32, ldc int) {
	switch {
	case active() == levelGo:
		goGemm(m, n, k, alpha, a, lda, 1, b, ldb, 1, beta, c, ldc)
	case n < small && k >= small:
		fewColumnsNN(m, n, k, alpha, a, lda, b, ldb, beta, c, ldc)
	default:
		g := product{m: m, n: n, k: k, alpha: alpha, beta: beta, a: a, b: b, c: c, lda: lda, ldb: ldb, ldc: ldc}
		g.run()
	}
}

func gemmNT(m, n, k int, alpha float32, a []float32, lda int, b []float32, ldb int, beta float32, c []float32, ldc int) {
	switch {
	case active() == levelGo:
		goGemm(m, n, k, alpha, a, lda, 1, b, 1, ldb, beta, c, ldc)
	case n < small && k >= small:
		dots(m, n, k, alpha, a, lda, b, ldb, beta, c, ldc)
	case m < small && k >= small:
		fewRowsNT(m, n, k, alpha, a, lda, b, ldb, beta, c, ldc)
	default:
		g := product{m: m, n: n, k: k, alpha: alpha, beta: beta, a: a, b: b, c: c, lda: lda, ldb: ldb, ldc: ldc, transB: true}
		g.run()
	}
}

func gemmTN(m, n, k int, alpha float32, a []float32, lda int, b []float32, ldb int, beta float32, c []float32, ldc int) {
	switch {
	case active() == levelGo:
		goGemm(m, n, k, alpha, a, 1, lda, b, ldb, 1, beta, c, ldc)
	case n < small:
		fewColumnsTN(m, n, k, alpha, a, lda, b, ldb, beta, c, ldc)
	default:
		g := product{m: m, n: n, k: k, alpha: alpha, beta: beta, a: a, b: b, c: c, lda: lda, ldb: ldb, ldc: ldc, transA: true}
		g.run()
	}
}

// A product is one call and how its operands lie. Element (i, p) of a is at
// a[i*lda+p], or a[p*lda+i] if transA; element (p, j) of b is at b[p*ldb+j], or
// b[j*ldb+p] if transB.
type product struct {
	m, n, k        int
	alpha, beta    float32
	a, b, c        []float32
	lda, ldb, ldc  int
	transA, transB bool
	width          int // columns of a tile
}

func (g *product) run() {
	w := takeWorkspace()
	defer w.giveBack()
	g.width = narrowWidth
	if active() == levelAVX512 && g.n > narrowWidth {
		g.width = wideWidth
	}
	stretches := (g.k + stretchMax - 1) / stretchMax
	for j := 0; j < g.n; j += columnsMax {
		beta := g.beta
		for s := range stretches {
			p := part(s, stretches, g.k)
			g.stretch(w, j, min(columnsMax, g.n-j), p, part(s+1, stretches, g.k)-p, beta)
			beta = 1
		}
	}
}

// part is where piece i of n starts when total is cut as evenly as whole
// numbers allow.
func part(i, n, total int) int { return i * total / n }

// stretch adds the products over kb steps from p to the nb columns from j.
func (g *product) stretch(w *workspace, j, nb, p, kb int, beta float32) {
	direct := g.m <= directRows && !g.transB
	if !direct {
		w.b = grow(w.b, roundUp(nb, g.width)*kb)
		for q := 0; q < nb; q += g.width {
			g.packB(w.b[q*kb:], j+q, min(g.width, nb-q), p, kb)
		}
	}
	for i := 0; i < g.m; i += rowsMax {
		mb := min(rowsMax, g.m-i)
		panels := (mb + heightMax - 1) / heightMax
		w.a = grow(w.a, panels*heightMax*kb)
		for r := range panels {
			top := part(r, panels, mb)
			g.packA(w.a[r*heightMax*kb:], i+top, part(r+1, panels, mb)-top, p, kb)
		}
		for q := 0; q < nb; q += g.width {
			b, stepB := g.panelB(w, direct, j, q, nb, p, kb)
			g.column(w.a, i, mb, panels, b, stepB, j+q, min(g.width, nb-q), kb, beta)
		}
	}
}

// panelB returns the panel of b from column j+q and the bytes from one step to
// the next: packed, or where b lies if that is read once or twice only.
func (g *product) panelB(w *workspace, direct bool, j, q, nb, p, kb int) (b []float32, stepB int) {
	if !direct {
		return w.b[q*kb:], 4 * g.width
	}
	if nb-q >= g.width {
		return g.b[p*g.ldb+j+q:], 4 * g.ldb
	}
	w.b = grow(w.b, g.width*kb) // the tile reads whole rows; b may end before
	g.packB(w.b, j+q, nb-q, p, kb)
	return w.b, 4 * g.width
}

// column runs all panels of a against one panel of b.
func (g *product) column(a []float32, i, mb, panels int, b []float32, stepB, j, cols, kb int, beta float32) {
	for r := range panels {
		top := part(r, panels, mb)
		height := part(r+1, panels, mb) - top
		c := g.c[(i+top)*g.ldc+j:]
		panel := a[r*heightMax*kb:]
		if g.width == wideWidth && cols > narrowWidth {
			wideTile(height, kb, &panel[0], &b[0], stepB, g.alpha, beta, &c[0], 4*g.ldc, cols)
			continue
		}
		upper := (height + 1) / 2
		if height <= heightMax/2 {
			upper = height
		}
		narrowTile(upper, kb, &panel[0], &b[0], stepB, g.alpha, beta, &c[0], 4*g.ldc, cols)
		if upper < height {
			narrowTile(height-upper, kb, &panel[upper], &b[0], stepB, g.alpha, beta, &c[upper*g.ldc], 4*g.ldc, cols)
		}
	}
}

// packA writes kb columns of height rows of a, as kb rows of heightMax. Lanes
// beyond height hold anything: no tile stores what comes of them.
func (g *product) packA(to []float32, i, height, p, kb int) {
	if g.transA {
		packRows(kb, height, g.a[p*g.lda+i:], g.lda, to, heightMax)
	} else {
		transpose(height, kb, g.a[i*g.lda+p:], g.lda, to, heightMax, true)
	}
}

// packB writes kb rows of cols columns of b, as rows of g.width.
func (g *product) packB(to []float32, j, cols, p, kb int) {
	if g.transB {
		transpose(cols, kb, g.b[j*g.ldb+p:], g.ldb, to, g.width, true)
	} else {
		packRows(kb, cols, g.b[p*g.ldb+j:], g.ldb, to, g.width)
	}
}

// packRows copies rows of cols elements.
func packRows(rows, cols int, from []float32, stride int, to []float32, strideTo int) {
	j := 0
	for ; j+16 <= cols; j += 16 {
		copy16AVX2(rows, &from[j], 4*stride, &to[j], 4*strideTo)
	}
	for ; j+4 <= cols; j += 4 {
		copy4AVX2(rows, &from[j], 4*stride, &to[j], 4*strideTo)
	}
	for ; j < cols; j++ {
		for p := range rows {
			to[p*strideTo+j] = from[p*stride+j]
		}
	}
}

// transpose writes the columns of a rows times cols matrix as rows, strideTo
// elements apart. If padded, up to three elements behind each are overwritten.
func transpose(rows, cols int, from []float32, stride int, to []float32, strideTo int, padded bool) {
	blocks := cols / 8
	i := 0
	for ; i+4 <= rows || padded && i < rows; i += 4 {
		row := func(r int) []float32 { return from[min(i+r, rows-1)*stride:] }
		r0, r1, r2, r3 := row(0), row(1), row(2), row(3)
		if blocks > 0 {
			transpose4AVX2(blocks, &r0[0], &r1[0], &r2[0], &r3[0], &to[i], 4*strideTo)
		}
		for p := 8 * blocks; p < cols; p++ {
			four := to[p*strideTo+i : p*strideTo+i+4]
			four[0], four[1], four[2], four[3] = r0[p], r1[p], r2[p], r3[p]
		}
	}
	for ; i < rows; i++ {
		for p := range cols {
			to[p*strideTo+i] = from[i*stride+p]
		}
	}
}

func roundUp(n, to int) int { return (n + to - 1) / to * to }
