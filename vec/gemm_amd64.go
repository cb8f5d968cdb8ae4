package vec

// The matrix product by Goto and van de Geijn, "Anatomy of high-performance
// matrix multiplication" (2008): b is cut into panels that stay in the second
// and third caches, a into panels that stay in the second, and a tile of c is
// kept in registers while one panel of each runs by.
//
// Every path sums an element of c in the order of p within a stretch of at most
// stretchMax, then adds stretch after stretch to c, whatever the tile. So the
// paths, and the AVX2 and AVX-512 tiles, agree to the bit, except for the inner
// products of gemm_small_amd64.go. Those are chosen by n and k alone, so that the
// bits of a row of c do not depend on the number of rows.
const (
	stretchMax  = 384  // of k: kc in the paper
	heightMax   = 12   // rows of a tile: two AVX2 tiles of 6, one AVX-512 tile of 12
	tilesMax    = 8    // of one assembly call, which cannot be preempted
	rowsMax     = 528  // of a packed at once: mc
	columnsMax  = 2048 // of b packed at once: nc
	wideWidth   = 32   // columns of an AVX-512 tile; the last has 8, 16 or 32
	narrowWidth = 16   // columns of an AVX2 tile

	lowHeight    = 8   // rows of an AVX-512 tile for short sums
	shortStretch = 128 // the longest of them

	fewRows    = 6  // with no more rows, an AVX-512 tile has all rows
	broadWidth = 64 // and this many columns, so that enough sums are under way at a time

	directRows  = 48       // with no more rows, packing b costs more than it saves
	fewPanels   = 8        // of b: with no more, packing a costs more than it saves
	nearMax     = 1023     // elements from row to row: farther rows share sets of the first-level cache, and pages
	firstCache  = 8 << 10  // elements of an operand that stays in the first-level cache with a panel of the other operand
	secondCache = 64 << 10 // and in the second
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
	case n < small && k >= small, k >= longSums:
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

// A product is one call and how its operands lie. Packed panels are in a workspace, which it takes when it first packs and
// gives back at the end of the call (TestGemmDoesNotAllocate, TestGemmConcurrently). Element (i, p) of a is at
// a[i*lda+p], or a[p*lda+i] if transA; element (p, j) of b is at b[p*ldb+j], or
// b[j*ldb+p] if transB.
type product struct {
	m, n, k        int
	alpha, beta    float32
	a, b, c        []float32
	lda, ldb, ldc  int
	transA, transB bool
	wide           bool // AVX-512 tiles
	width          int  // columns of a tile
	height         int  // most rows of a tile
	space          *workspace
}

// workspace returns the memory for packed panels.
func (g *product) workspace() *workspace {
	if g.space == nil {
		g.space = takeWorkspace()
	}
	return g.space
}

func (g *product) run() {
	g.chooseWidth()
	if g.wide && g.k <= stretchMax && g.readsB() && g.readsA(g.k) {
		g.inPlace()
		return
	}
	stretches := (g.k + stretchMax - 1) / stretchMax
	if stretches == 1 && g.n <= columnsMax { // without divisions, which a small product would feel
		g.stretch(0, g.n, 0, g.k, g.beta)
		g.giveBack()
		return
	}
	for j := 0; j < g.n; j += columnsMax {
		beta := g.beta
		for s := range stretches {
			p := part(s, stretches, g.k)
			g.stretch(j, min(columnsMax, g.n-j), p, part(s+1, stretches, g.k)-p, beta)
			beta = 1
		}
	}
	g.giveBack()
}

// chooseWidth chooses the columns of a tile.
func (g *product) chooseWidth() {
	g.wide = active() == levelAVX512
	switch {
	case !g.wide:
		g.width = narrowWidth
	case g.m <= fewRows && g.n > wideWidth:
		g.width = broadWidth
	default:
		g.width = wideWidth
	}
}

// inPlace computes a product of one stretch with AVX-512 tiles. They read both operands where they lie. Small products need
// this short way: with 32 rows, columns and steps, the general way takes 0.05 of the time.
func (g *product) inPlace() {
	height := g.tileHeight(true, g.k)
	if g.m <= height {
		g.oneTileHigh()
		return
	}
	panels := panelsOf(g.m, height)
	low := g.m / panels
	higher := g.m - low*panels
	for j := 0; j < g.n; j += g.width {
		cols := min(g.width, g.n-j)
		for i, r := 0, 0; r < panels; {
			height, tiles := low, panels-r
			if r < higher {
				height, tiles = low+1, higher-r
			}
			tiles = min(tiles, tilesMax)
			below := 4 * height * g.ldc
			if g.transA {
				wideTiles(height, tiles, g.k, &g.a[i], 4*g.lda, 4*height, &g.b[j], 4*g.ldb, 0, g.alpha, g.beta, &g.c[i*g.ldc+j], 4*g.ldc, below, cols)
			} else {
				wideTilesRows(height, tiles, g.k, &g.a[i*g.lda], 4*g.lda, 4*height*g.lda, &g.b[j], 4*g.ldb, 0, g.alpha, g.beta, &g.c[i*g.ldc+j], 4*g.ldc, below, cols)
			}
			i += tiles * height
			r += tiles
		}
	}
}

// oneTileHigh works like inPlace if a tile has all rows: the tiles of one call are side by side.
func (g *product) oneTileHigh() {
	most := tilesMax * heightMax / g.m
	for j := 0; j < g.n; {
		tiles := 1
		if full := (g.n - j) / g.width; full > 1 {
			tiles = min(full, most)
		}
		cols := min(g.width, g.n-j)
		if g.transA {
			wideTiles(g.m, tiles, g.k, &g.a[0], 4*g.lda, 0, &g.b[j], 4*g.ldb, 4*g.width, g.alpha, g.beta, &g.c[j], 4*g.ldc, 4*g.width, cols)
		} else {
			wideTilesRows(g.m, tiles, g.k, &g.a[0], 4*g.lda, 0, &g.b[j], 4*g.ldb, 4*g.width, g.alpha, g.beta, &g.c[j], 4*g.ldc, 4*g.width, cols)
		}
		j += tiles * cols
	}
}

// giveBack returns the memory for packed panels, if any was taken.
func (g *product) giveBack() {
	if g.space != nil {
		g.space.giveBack()
	}
}

// part returns the start of piece i of n if total is divided as evenly as whole numbers allow.
func part(i, n, total int) int { return i * total / n }

// stretch adds the products over kb steps from p to the nb columns from j. If it needs a packed panel of b only once, it packs one
// panel at a time, which then stays in the second-level cache.
func (g *product) stretch(j, nb, p, kb int, beta float32) {
	directB, once := g.readsB(), g.m <= rowsMax
	if !directB && !once {
		w := g.workspace()
		w.b = grow(w.b, roundUp(nb, g.width)*kb)
		for q := 0; q < nb; q += g.width {
			g.packB(w.b[q*kb:], j+q, min(g.width, nb-q), p, kb)
		}
	}
	directA := g.readsA(kb)
	g.height = g.tileHeight(directA, kb)
	for i := 0; i < g.m; i += rowsMax {
		mb := min(rowsMax, g.m-i)
		if !directA {
			g.packPanels(i, mb, p, kb)
		}
		for q := 0; q < nb; q += g.width {
			cols := min(g.width, nb-q)
			b, stepB := g.panelB(directB, once, j, q, cols, p, kb)
			g.column(directA, i, mb, p, b, stepB, j+q, cols, kb, beta)
		}
	}
}

// tileHeight returns the most rows of a tile. Short sums are stored sooner: the stores of a low tile run while the next tile
// begins. Longer sums read each element of b less often with high tiles.
func (g *product) tileHeight(directA bool, kb int) int {
	switch {
	case g.width == broadWidth:
		return fewRows
	case g.wide && directA && kb <= shortStretch:
		return lowHeight
	}
	return heightMax
}

// readsA reports whether a is best read where it lies: if it fits the first-level cache, or b has few panels and a fits the second.
// Rows of a row-major a must not all fall into one set of the first-level cache, unless they are few.
func (g *product) readsA(kb int) bool {
	few := g.n <= fewPanels*g.width
	if g.transA {
		return kb*g.lda <= firstCache || few && kb*g.lda <= secondCache
	}
	return g.wide && (g.m <= fewRows || g.lda <= nearMax && (few || g.m*g.lda <= firstCache))
}

// readsB reports whether b is best read where it lies: if its rows are few columns apart, or a has few rows.
func (g *product) readsB() bool { return !g.transB && (g.m <= directRows || g.ldb <= nearMax) }

// packPanels packs mb rows of a from row i.
func (g *product) packPanels(i, mb, p, kb int) {
	w, panels := g.workspace(), panelsOf(mb, g.height)
	w.a = grow(w.a, panels*heightMax*kb)
	low := mb / panels
	higher := mb - low*panels
	for r := range panels {
		height := low
		if r < higher {
			height++
		}
		g.packA(w.a[r*heightMax*kb:], i, height, p, kb)
		i += height
	}
}

// panelB returns the panel of b from column j+q and the bytes from one step to the next: packed, or where b lies if a has few
// rows or the rows of b are near each other. An AVX2 tile reads whole rows, and b may end before, so that its last panel is packed.
func (g *product) panelB(direct, once bool, j, q, cols, p, kb int) (b []float32, stepB int) {
	switch {
	case direct && (g.wide || cols == g.width):
		return g.b[p*g.ldb+j+q:], 4 * g.ldb
	case !direct && !once:
		return g.space.b[q*kb:], 4 * g.width
	}
	w := g.workspace()
	w.b = grow(w.b, g.width*kb)
	g.packB(w.b, j+q, cols, p, kb)
	return w.b, 4 * g.width
}

// column runs all panels of a against one panel of b: first the higher panels, then those that have one row less.
func (g *product) column(direct bool, i, mb, p int, b []float32, stepB, j, cols, kb int, beta float32) {
	panels := panelsOf(mb, g.height)
	low := mb / panels
	higher := mb - low*panels
	for r := 0; r < panels; {
		height, tiles := low, panels-r
		if r < higher {
			height, tiles = low+1, higher-r
		}
		tiles = min(tiles, tilesMax)
		top := i + r*low + min(r, higher)
		c := g.c[top*g.ldc+j:]
		switch {
		case direct && g.transA:
			g.tiles(height, tiles, kb, g.a[p*g.lda+top:], 4*g.lda, height, false, b, stepB, beta, c, cols)
		case direct:
			g.tiles(height, tiles, kb, g.a[top*g.lda+p:], 4*g.lda, height*g.lda, true, b, stepB, beta, c, cols)
		default:
			g.tiles(height, tiles, kb, g.space.a[r*heightMax*kb:], 4*heightMax, heightMax*kb, false, b, stepB, beta, c, cols)
		}
		r += tiles
	}
}

// tiles adds to tiles of at most heightMax rows and g.width columns, one below another. The elements of a for one are nextA
// after those for the tile above. rows says that a is row-major, which only AVX-512 tiles read.
func (g *product) tiles(height, tiles, kb int, a []float32, stepA, nextA int, rows bool, b []float32, stepB int, beta float32, c []float32, cols int) {
	switch {
	case g.wide && rows:
		wideTilesRows(height, tiles, kb, &a[0], stepA, 4*nextA, &b[0], stepB, 0, g.alpha, beta, &c[0], 4*g.ldc, 4*height*g.ldc, cols)
		return
	case g.wide:
		wideTiles(height, tiles, kb, &a[0], stepA, 4*nextA, &b[0], stepB, 0, g.alpha, beta, &c[0], 4*g.ldc, 4*height*g.ldc, cols)
		return
	}
	upper := (height + 1) / 2
	if height <= heightMax/2 {
		upper = height
	}
	for t := range tiles {
		a, c := a[t*nextA:], c[t*height*g.ldc:]
		tile16AVX2(upper, 1, kb, &a[0], stepA, 0, &b[0], stepB, 0, g.alpha, beta, &c[0], 4*g.ldc, 0, cols)
		if upper < height {
			tile16AVX2(height-upper, 1, kb, &a[upper], stepA, 0, &b[0], stepB, 0, g.alpha, beta, &c[upper*g.ldc], 4*g.ldc, 0, cols)
		}
	}
}

// wideTiles takes the narrowest AVX-512 kernel that holds cols columns.
func wideTiles(height, tiles, k int, a *float32, stepA, nextA int, b *float32, stepB, nextB int, alpha, beta float32, c *float32, strideC, nextC, cols int) {
	switch {
	case cols > 32:
		tile64AVX512(height, tiles, k, a, stepA, nextA, b, stepB, nextB, alpha, beta, c, strideC, nextC, cols)
	case cols > 16:
		tile32AVX512(height, tiles, k, a, stepA, nextA, b, stepB, nextB, alpha, beta, c, strideC, nextC, cols)
	case cols > 8:
		tile16AVX512(height, tiles, k, a, stepA, nextA, b, stepB, nextB, alpha, beta, c, strideC, nextC, cols)
	default:
		tile8AVX512(height, tiles, k, a, stepA, nextA, b, stepB, nextB, alpha, beta, c, strideC, nextC, cols)
	}
}

// wideTilesRows works like wideTiles for a row-major a.
func wideTilesRows(height, tiles, k int, a *float32, stepA, nextA int, b *float32, stepB, nextB int, alpha, beta float32, c *float32, strideC, nextC, cols int) {
	switch {
	case cols > 32:
		tile64RowsAVX512(height, tiles, k, a, stepA, nextA, b, stepB, nextB, alpha, beta, c, strideC, nextC, cols)
	case cols > 16:
		tile32RowsAVX512(height, tiles, k, a, stepA, nextA, b, stepB, nextB, alpha, beta, c, strideC, nextC, cols)
	case cols > 8:
		tile16RowsAVX512(height, tiles, k, a, stepA, nextA, b, stepB, nextB, alpha, beta, c, strideC, nextC, cols)
	default:
		tile8RowsAVX512(height, tiles, k, a, stepA, nextA, b, stepB, nextB, alpha, beta, c, strideC, nextC, cols)
	}
}

// panelsOf returns how many panels of at most height rows are needed.
func panelsOf(rows, height int) int { return (rows + height - 1) / height }

// packA writes kb columns of height rows of a, as kb rows of heightMax. Lanes
// beyond height hold anything: no tile stores what comes of them.
func (g *product) packA(to []float32, i, height, p, kb int) {
	if g.transA {
		packRows(kb, height, g.a[p*g.lda+i:], g.lda, to, heightMax)
	} else {
		transpose(height, kb, g.a[i*g.lda+p:], g.lda, to, heightMax)
	}
}

// packB writes kb rows of cols columns of b, as rows of g.width.
func (g *product) packB(to []float32, j, cols, p, kb int) {
	if g.transB {
		transpose(cols, kb, g.b[j*g.ldb+p:], g.ldb, to, g.width)
	} else {
		packRows(kb, cols, g.b[p*g.ldb+j:], g.ldb, to, g.width)
	}
}

// packRows copies rows of cols elements. The end of a row that fills no vector is copied with its last vector, which overlaps
// the previous vector.
func packRows(rows, cols int, from []float32, stride int, to []float32, strideTo int) {
	j := 0
	for ; j+16 <= cols; j += 16 {
		copy16AVX2(rows, &from[j], 4*stride, &to[j], 4*strideTo)
	}
	for ; j+12 <= cols; j += 12 {
		copy12AVX2(rows, &from[j], 4*stride, &to[j], 4*strideTo)
	}
	for cols >= 4 && j < cols {
		k := min(j, cols-4)
		copy4AVX2(rows, &from[k], 4*stride, &to[k], 4*strideTo)
		j += 4
	}
	for ; j < cols; j++ {
		for p := range rows {
			to[p*strideTo+j] = from[p*stride+j]
		}
	}
}

// transpose writes the columns of a rows times cols matrix as rows, strideTo
// elements apart. Rows that are left over from groups of four are done with the
// last group of four once more.
func transpose(rows, cols int, from []float32, stride int, to []float32, strideTo int) {
	if cols <= 16 && rows >= 8 {
		transposeColumns(rows, cols, from, stride, to, strideTo)
		return
	}
	if rows < 4 {
		for i := range rows {
			for p, v := range from[i*stride : i*stride+cols] {
				to[p*strideTo+i] = v
			}
		}
		return
	}
	for block := max(64, transposeMax/strideTo&^7); cols > block; cols -= block {
		transpose(rows, block, from, stride, to, strideTo)
		from, to = from[block:], to[block*strideTo:]
	}
	for i := 0; i < rows; i += 4 {
		k := min(i, rows-4)
		transpose4AVX2(cols, &from[k*stride], &from[(k+1)*stride], &from[(k+2)*stride], &from[(k+3)*stride], &to[k], 4*strideTo)
	}
}

// transposeColumns works like transpose for few columns. Rows and columns that are left over from groups of eight are done with the
// last group of eight once more.
func transposeColumns(rows, cols int, from []float32, stride int, to []float32, strideTo int) {
	group := min(cols, 8)
	for j := 0; j < cols; j += 8 {
		j := min(j, cols-group)
		transposeColumnsAVX2(rows&^7, group, &from[j], 4*stride, &to[j*strideTo], 4*strideTo)
		if rows%8 > 0 {
			i := rows - 8
			transposeColumnsAVX2(8, group, &from[i*stride+j], 4*stride, &to[j*strideTo+i], 4*strideTo)
		}
	}
}

// transposeMax is the number of elements that are written before the next columns, so that the first-level cache holds them
// until their cache lines are full.
const transposeMax = 4 << 10

func roundUp(n, to int) int { return (n + to - 1) / to * to }
