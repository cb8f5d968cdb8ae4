package vec

// Products with fewer than small rows or columns, and those with b transposed that have long sums. Tiles 16 or 32 columns wide
// would leave lanes idle there, and packing would cost as much as it saves.
const small = 32

// longSums is the number of steps from which products with b transposed are sums of inner products, whatever their rows and
// columns (decision 0135). Tiles that read b in panels are faster for many rows and fewer steps, but not for a few rows.
const longSums = 96

// dotStretchMax is how much of k one inner product covers before it is added to
// c: b's part of that length must stay in the first-level cache.
const dotStretchMax = 1024

// dotLanes is the number of partial sums of an inner product.
const dotLanes = 16

// dotBlock is how many elements of b go by all rows of a before the next columns: few enough to stay in the second-level cache.
const dotBlock = 32 << 10

// dotRowsMax is how many rows of a go by before the next columns: few enough
// to stay in the second-level cache.
const dotRowsMax = 16

// dots computes the product with b transposed by inner products: both operands run along k, no lane is
// idle, nothing is packed.
func dots(m, n, k int, alpha float32, a []float32, lda int, b []float32, ldb int, beta float32, c []float32, ldc int) {
	stretches := (k + dotStretchMax - 1) / dotStretchMax
	for s := range stretches {
		p := part(s, stretches, k)
		kb := part(s+1, stretches, k) - p
		block, height := max(dotBlock/kb, small), dotRowsMax
		if n <= dotColumns() {
			height = max(dotBlock/kb, dotRowsMax)
		}
		for j := 0; j < n; j += block {
			cols := min(block, n-j)
			for i := 0; i < m; i += height {
				rows := min(height, m-i)
				dotGroups(rows, cols, kb, a[i*lda+p:], lda, b[j*ldb+p:], ldb, alpha, beta, c[i*ldc+j:], ldc)
			}
		}
		beta = 1
	}
}

// dotGroups computes some rows, by groups of columns as even as can be.
func dotGroups(rows, n, k int, a []float32, lda int, b []float32, ldb int, alpha, beta float32, c []float32, ldc int) {
	groups := panelsOf(n, dotColumns())
	low := n / groups
	higher := n - low*groups
	if rows <= dotHeight() {
		if higher > 0 {
			dotTiles(rows, low+1, higher, k, &a[0], 4*lda, 0, &b[0], 4*ldb, 4*(low+1)*ldb, alpha, beta, &c[0], 4*ldc, 4*(low+1))
		}
		j := higher * (low + 1)
		dotTiles(rows, low, groups-higher, k, &a[0], 4*lda, 0, &b[j*ldb], 4*ldb, 4*low*ldb, alpha, beta, &c[j], 4*ldc, 4*low)
		return
	}
	for g, j := 0, 0; g < groups; g++ {
		cols := low
		if g < higher {
			cols++
		}
		dotRows(rows, cols, k, a, lda, b[j*ldb:], ldb, alpha, beta, c[j:], ldc)
		j += cols
	}
}

// dotColumns returns the most columns of a tile of inner products. The sum of an element does not depend on it.
func dotColumns() int {
	if active() == levelAVX512 {
		return 5
	}
	return 3
}

// dotHeight returns the most rows.
func dotHeight() int {
	if active() == levelAVX512 {
		return 4
	}
	return 2
}

// dotRows computes some rows of at most dotColumns columns.
func dotRows(rows, cols, k int, a []float32, lda int, b []float32, ldb int, alpha, beta float32, c []float32, ldc int) {
	height := dotHeight()
	tiles := rows / height
	dotTiles(height, cols, tiles, k, &a[0], 4*lda, 4*height*lda, &b[0], 4*ldb, 0, alpha, beta, &c[0], 4*ldc, 4*height*ldc)
	if rest := rows % height; rest > 0 {
		top := tiles * height
		dotTiles(rest, cols, 1, k, &a[top*lda], 4*lda, 0, &b[0], 4*ldb, 0, alpha, beta, &c[top*ldc], 4*ldc, 0)
	}
}

// dotTiles takes the kernel of the set in use.
func dotTiles(rows, cols, tiles, k int, a *float32, strideA, nextA int, b *float32, strideB, nextB int, alpha, beta float32, c *float32, strideC, nextC int) {
	if active() == levelAVX512 {
		dotsAVX512(rows, cols, tiles, k, a, strideA, nextA, b, strideB, nextB, alpha, beta, c, strideC, nextC)
	} else {
		dotsAVX2(rows, cols, tiles, k, a, strideA, nextA, b, strideB, nextB, alpha, beta, c, strideC, nextC)
	}
}

// fewColumnsNN takes inner products. For one row, AVX-512 reads b where it lies; otherwise b, which is small, is transposed.
func fewColumnsNN(m, n, k int, alpha float32, a []float32, lda int, b []float32, ldb int, beta float32, c []float32, ldc int) {
	switch {
	case n == 1 && ldb == 1:
		dots(m, n, k, alpha, a, lda, b, k, beta, c, ldc)
		return
	case m == 1 && active() == levelAVX512:
		dotsAcross(n, k, alpha, a, b, ldb, beta, c)
		return
	}
	w := takeWorkspace()
	defer w.giveBack()
	stride := roundUp(k, 8)
	if stride%512 == 0 {
		stride += 16 // otherwise all columns share sets of the first-level cache
	}
	w.b = grow(w.b, n*stride)
	transpose(k, n, b, ldb, w.b, stride)
	dots(m, n, k, alpha, a, lda, w.b, stride, beta, c, ldc)
}

// dotsAcross computes a row of c by the same sums as dots of a transposed copy of b, in the same order.
func dotsAcross(n, k int, alpha float32, a, b []float32, ldb int, beta float32, c []float32) {
	stretches := (k + dotStretchMax - 1) / dotStretchMax
	for s := range stretches {
		p := part(s, stretches, k)
		kb := part(s+1, stretches, k) - p
		for j := 0; j < n; j += dotLanes {
			dotsAcrossAVX512(min(dotLanes, n-j), kb, &a[p], &b[p*ldb+j], 4*ldb, alpha, beta, &c[j])
		}
		beta = 1
	}
}

// fewRowsNT computes the transposed product, b*aᵀ, with tiles as narrow as a has rows: b is read where it lies, and not
// transposed for a few rows of a. Each element is summed as by the tiles of many rows, so that the bits of a row do not
// depend on the number of rows (TestGemmRowsAreIndependent).
func fewRowsNT(m, n, k int, alpha float32, a []float32, lda int, b []float32, ldb int, beta float32, c []float32, ldc int) {
	w := takeWorkspace()
	defer w.giveBack()
	w.c = grow(w.c, m*n)
	if beta != 0 {
		transpose(m, n, c, ldc, w.c, m)
	}
	g := product{m: n, n: m, k: k, alpha: alpha, beta: beta, a: b, b: a, c: w.c, lda: ldb, ldb: lda, ldc: m, transB: true}
	g.run()
	transpose(n, m, w.c, m, c, ldc)
}

// fewColumnsTN computes the transposed product, whose rows are long: bᵀ*a, with
// a read where it lies. One column that lies like a row of c is computed in place.
func fewColumnsTN(m, n, k int, alpha float32, a []float32, lda int, b []float32, ldb int, beta float32, c []float32, ldc int) {
	g := product{m: n, n: m, k: k, alpha: alpha, a: b, b: a, lda: ldb, ldb: lda, ldc: m, transA: true}
	if n == 1 && ldc == 1 && (beta == 0 || beta == 1) {
		g.beta, g.c = beta, c
		g.run()
		return
	}
	w := takeWorkspace()
	defer w.giveBack()
	w.c = grow(w.c, m*n)
	g.c = w.c
	g.run()
	addTransposed(w, n, m, w.c, beta, c, ldc)
}

// addTransposed sets c, of cols rows, to the transpose of t, which has cols
// columns, plus beta*c.
func addTransposed(w *workspace, rows, cols int, t []float32, beta float32, c []float32, ldc int) {
	if beta == 0 {
		transpose(rows, cols, t, cols, c, ldc)
		return
	}
	w.t = grow(w.t, rows*cols)
	transpose(rows, cols, t, cols, w.t, rows)
	scaleRows(cols, rows, beta, c, ldc)
	if ldc == rows {
		Add(w.t, c[:rows*cols])
		return
	}
	for i := range cols {
		add(w.t[i*rows:(i+1)*rows], c[i*ldc:i*ldc+rows])
	}
}
