package vec

import "fmt"

// GemmNN sets c to alpha*a*b + beta*c. The matrices are row-major: a is m times
// k with rows lda elements apart, b is k times n with rows ldb apart, c is m
// times n with rows ldc apart. Elements between a row's end and the next row
// are neither read nor written. c must not overlap a or b.
//
// With beta 0, c is written without being read, so it may hold NaN. With alpha
// 0 or k 0, a and b are not read. NaN and Inf follow from the arithmetic.
//
// A row of c depends on its own row of a and on b, n, k, alpha and beta, never
// on m, in every set and all three forms. So a batch can be cut by rows without
// changing a bit.
func GemmNN(m, n, k int, alpha float32, a []float32, lda int, b []float32, ldb int, beta float32, c []float32, ldc int) {
	checkGemm("GemmNN", m, n, k)
	checkMatrix("GemmNN", "a", m, k, a, lda)
	checkMatrix("GemmNN", "b", k, n, b, ldb)
	checkMatrix("GemmNN", "c", m, n, c, ldc)
	if scaleOnly(m, n, k, alpha) {
		scaleRows(m, n, beta, c, ldc)
		return
	}
	gemmNN(m, n, k, alpha, a, lda, b, ldb, beta, c, ldc)
}

// GemmNT computes [GemmNN] with b transposed: b is n times k with rows ldb apart, and c becomes alpha*a*bᵀ + beta*c.
func GemmNT(m, n, k int, alpha float32, a []float32, lda int, b []float32, ldb int, beta float32, c []float32, ldc int) {
	checkGemm("GemmNT", m, n, k)
	checkMatrix("GemmNT", "a", m, k, a, lda)
	checkMatrix("GemmNT", "b", n, k, b, ldb)
	checkMatrix("GemmNT", "c", m, n, c, ldc)
	if scaleOnly(m, n, k, alpha) {
		scaleRows(m, n, beta, c, ldc)
		return
	}
	gemmNT(m, n, k, alpha, a, lda, b, ldb, beta, c, ldc)
}

// GemmTN computes [GemmNN] with a transposed: a is k times m with rows lda apart, and c becomes alpha*aᵀ*b + beta*c.
func GemmTN(m, n, k int, alpha float32, a []float32, lda int, b []float32, ldb int, beta float32, c []float32, ldc int) {
	checkGemm("GemmTN", m, n, k)
	checkMatrix("GemmTN", "a", k, m, a, lda)
	checkMatrix("GemmTN", "b", k, n, b, ldb)
	checkMatrix("GemmTN", "c", m, n, c, ldc)
	if scaleOnly(m, n, k, alpha) {
		scaleRows(m, n, beta, c, ldc)
		return
	}
	gemmTN(m, n, k, alpha, a, lda, b, ldb, beta, c, ldc)
}

// checkGemm panics unless the sizes of a product are possible. It and checkMatrix are small, so that calls of them are compiled
// into the products.
func checkGemm(name string, m, n, k int) {
	if m|n|k < 0 {
		refuseSize(name, m, n, k)
	}
}

func refuseSize(name string, m, n, k int) {
	panic(fmt.Sprintf("vec: %s: negative size: m %d, n %d, k %d", name, m, n, k))
}

func checkMatrix(name, arg string, rows, cols int, x []float32, ld int) {
	if (ld < cols || len(x) < (rows-1)*ld+cols) && rows > 0 && cols > 0 {
		refuseMatrix(name, arg, rows, cols, len(x), ld)
	}
}

func refuseMatrix(name, arg string, rows, cols, length, ld int) {
	panic(fmt.Sprintf("vec: %s: %s has %d elements for %d rows of %d, %d apart", name, arg, length, rows, cols, ld))
}

// scaleOnly reports whether the product adds nothing to c, so that c = beta*c is all there is to do.
func scaleOnly(m, n, k int, alpha float32) bool { return m == 0 || n == 0 || k == 0 || alpha == 0 }

// scaleRows sets c to beta*c, without reading c if beta is 0.
func scaleRows(m, n int, beta float32, c []float32, ldc int) {
	if m == 0 || n == 0 {
		return
	}
	if ldc == n { // one long row
		m, n, ldc = 1, m*n, m*n
	}
	for i := range m {
		row := c[i*ldc : i*ldc+n]
		switch beta {
		case 0:
			clear(row)
		case 1:
		default:
			Scale(beta, row)
		}
	}
}

// goGemm computes all three forms; it is their reference: a's element (i, p) is at a[i*ai+p*ap], b's element (p, j) at
// b[p*bp+j*bj].
func goGemm(m, n, k int, alpha float32, a []float32, ai, ap int, b []float32, bp, bj int, beta float32, c []float32, ldc int) {
	for i := range m {
		row := c[i*ldc : i*ldc+n]
		if beta == 0 {
			clear(row)
		} else if beta != 1 {
			goScale(beta, row)
		}
		if bj == 1 {
			for p := range k {
				goAxpy(float32(alpha*a[i*ai+p*ap]), b[p*bp:p*bp+n], row)
			}
			continue
		}
		for j := range row {
			row[j] += float32(alpha * goDot(a[i*ai:i*ai+k], b[j*bj:j*bj+k]))
		}
	}
}
