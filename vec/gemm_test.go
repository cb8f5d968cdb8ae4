package vec

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
)

type gemm = func(m, n, k int, alpha float32, a []float32, lda int, b []float32, ldb int, beta float32, c []float32, ldc int)

var forms = []struct {
	name           string
	run            gemm
	transA, transB bool
}{
	{"NN", GemmNN, false, false}, {"NT", GemmNT, false, true}, {"TN", GemmTN, true, false},
}

// A matrix is stored with gaps between its rows, and guards in them.
type matrix struct {
	field
	rows, cols, stride int
}

func newMatrix(r *rand.Rand, rows, cols, gap int) matrix {
	m := matrix{newField(r.IntN(16), max(0, (rows-1)*(cols+gap)+cols)), rows, cols, cols + gap}
	for i := range rows {
		for j := range cols {
			m.x[i*m.stride+j] = float32(r.NormFloat64())
		}
	}
	return m
}

// gapsIntact fails the test if anything but the matrix was written.
func (m matrix) gapsIntact(t *testing.T, what string) {
	t.Helper()
	m.intact(t, what)
	for i, v := range m.x {
		if i%m.stride >= m.cols && v != guard {
			t.Fatalf("%s: wrote behind the end of row %d", what, i/m.stride)
		}
	}
}

// operands makes a and b for one form.
func operands(r *rand.Rand, m, n, k, gap int, transA, transB bool) (a, b matrix) {
	if transA {
		a = newMatrix(r, k, m, gap)
	} else {
		a = newMatrix(r, m, k, gap)
	}
	if transB {
		b = newMatrix(r, n, k, gap)
	} else {
		b = newMatrix(r, k, n, gap)
	}
	return a, b
}

// exactGemm returns alpha*a*b + beta*c in double precision, and a bound on the
// sizes of the terms.
func exactGemm(m, n, k int, alpha float32, a matrix, transA bool, b matrix, transB bool, beta float32, c matrix) (want, size []float64) {
	want, size = make([]float64, m*n), make([]float64, m*n)
	for i := range m {
		for j := range n {
			var sum, abs float64
			for p := range k {
				x, y := i*a.stride+p, p*b.stride+j
				if transA {
					x = p*a.stride + i
				}
				if transB {
					y = j*b.stride + p
				}
				v := float64(a.x[x]) * float64(b.x[y])
				sum += v
				abs += math.Abs(v)
			}
			old := 0.0
			if beta != 0 {
				old = float64(beta) * float64(c.x[i*c.stride+j])
			}
			want[i*n+j] = float64(alpha)*sum + old
			size[i*n+j] = math.Abs(float64(alpha))*abs + math.Abs(old)
		}
	}
	return want, size
}

func checkOne(t *testing.T, r *rand.Rand, form int, m, n, k, gap int, alpha, beta float32) {
	t.Helper()
	f := forms[form]
	a, b := operands(r, m, n, k, gap, f.transA, f.transB)
	c := newMatrix(r, m, n, gap)
	if beta == 0 {
		for i := range m * n {
			c.x[i/n*c.stride+i%n] = float32(math.NaN())
		}
	}
	want, size := exactGemm(m, n, k, alpha, a, f.transA, b, f.transB, beta, c)
	f.run(m, n, k, alpha, a.x, a.stride, b.x, b.stride, beta, c.x, c.stride)
	what := fmt.Sprintf("Gemm%s m %d n %d k %d gap %d alpha %v beta %v", f.name, m, n, k, gap, alpha, beta)
	for i := range m {
		for j := range n {
			if got, w := float64(c.x[i*c.stride+j]), want[i*n+j]; !(math.Abs(got-w) <= 2e-6*size[i*n+j]) {
				t.Fatalf("%s: (%d, %d) is %v, want %v", what, i, j, got, w)
			}
		}
	}
	c.gapsIntact(t, what)
	a.gapsIntact(t, what)
	b.gapsIntact(t, what)
}

// TestGemmSmallShapes goes through the edges of all tiles and both small paths.
func TestGemmSmallShapes(t *testing.T) {
	sizes := []int{1, 2, 3, 5, 6, 7, 10, 12, 13, 16, 17, 31, 32, 33, 49}
	depths := []int{1, 32, 3, 40, 8, 17, 31, 4, 33, 2, 47}
	scalars := [][2]float32{{1, 0}, {1, 1}, {-0.5, 0}, {2, 0.25}}
	eachSet(t, func(t *testing.T) {
		r, turn := source(21), 0
		for _, m := range sizes {
			for _, n := range sizes {
				for range 4 {
					k := depths[turn%len(depths)]
					s := scalars[turn/3%len(scalars)]
					for form := range forms {
						checkOne(t, r, form, m, n, k, turn%5, s[0], s[1])
					}
					turn++
				}
			}
		}
	})
}

// TestGemmLargerShapes crosses the blocks in m, n and k.
func TestGemmLargerShapes(t *testing.T) {
	eachSet(t, func(t *testing.T) {
		r := source(22)
		for _, s := range [][3]int{{rowsTested + 5, 40, 35}, {33, 2060, 5}, {33, 32, 390}, {10, 33, 1030}, {12, 10, 1030}, {65, 96, 33}, {8200, 5, 3}} {
			for form := range forms {
				checkOne(t, r, form, s[0], s[1], s[2], 1, 0.5, 0.75)
			}
		}
	})
}

const rowsTested = 540 // more rows than are packed at once

// TestGemmDegenerate: nothing to add means c = beta*c, and a and b unread.
func TestGemmDegenerate(t *testing.T) {
	nan := float32(math.NaN())
	bad := slices.Repeat([]float32{nan}, 64)
	eachSet(t, func(t *testing.T) {
		for _, f := range forms {
			c := []float32{1, 2, guard, 3, 4}
			f.run(2, 2, 8, 0, bad, 8, bad, 8, 2, c, 3)
			if want := []float32{2, 4, guard, 6, 8}; !slices.Equal(c, want) {
				t.Errorf("Gemm%s, alpha 0: got %v, want %v", f.name, c, want)
			}
			c[0] = nan
			f.run(2, 2, 0, 1, nil, 8, nil, 8, 0, c, 3)
			if want := []float32{0, 0, guard, 0, 0}; !slices.Equal(c, want) {
				t.Errorf("Gemm%s, k 0: got %v, want %v", f.name, c, want)
			}
			f.run(0, 5, 5, 1, nil, 5, bad, 5, 0, nil, 5)
			f.run(5, 0, 5, 1, bad, 5, nil, 5, 0, nil, 5)
		}
	})
}

// TestGemmCarriesNaN: one NaN in a reaches its row of c and no other.
func TestGemmCarriesNaN(t *testing.T) {
	eachSet(t, func(t *testing.T) {
		for _, n := range []int{10, 40} {
			r := source(23)
			const m, k, row = 37, 50, 19
			for _, f := range forms {
				a, b := operands(r, m, n, k, 0, f.transA, f.transB)
				if f.transA {
					a.x[7*a.stride+row] = float32(math.NaN())
				} else {
					a.x[row*a.stride+7] = float32(math.NaN())
				}
				c := make([]float32, m*n)
				f.run(m, n, k, 1, a.x, a.stride, b.x, b.stride, 0, c, n)
				for i, v := range c {
					if (v != v) != (i/n == row) {
						t.Fatalf("Gemm%s n %d: (%d, %d) is %v", f.name, n, i/n, i%n, v)
					}
				}
			}
		}
	})
}

// TestGemmRowsAreIndependent computes a product of 131 rows, and the same with each number of rows from 1 to 130 at a
// time: a row has the same bits, however many others are computed with it, whether it adds to c or not.
func TestGemmRowsAreIndependent(t *testing.T) {
	eachSet(t, func(t *testing.T) {
		r := source(24)
		const m = 131
		for _, s := range [][2]int{{1, 20}, {10, 32}, {31, 33}, {32, 32}, {33, 1}, {45, 390}, {70, 20}, {40, 129}, {48, 33}, {34, 95}, {36, 96}} {
			n, k := s[0], s[1]
			for _, f := range forms {
				for _, beta := range []float32{0, 0.7} {
					a, b := operands(r, m, n, k, 0, f.transA, f.transB)
					whole, part := newMatrix(r, m, n, 0).x, make([]float32, m*n)
					begin := slices.Clone(whole)
					f.run(m, n, k, 0.3, a.x, a.stride, b.x, b.stride, beta, whole, n)
					for rows := 1; rows < m; rows++ {
						i := (rows * 7) % (m - rows + 1)
						start := i * a.stride
						if f.transA {
							start = i
						}
						copy(part[:rows*n], begin[i*n:])
						f.run(rows, n, k, 0.3, a.x[start:], a.stride, b.x, b.stride, beta, part[:rows*n], n)
						if !slices.Equal(whole[i*n:(i+rows)*n], part[:rows*n]) {
							t.Fatalf("Gemm%s n %d k %d beta %v: %d rows from row %d have other bits than among %d", f.name, n, k, beta, rows, i, m)
						}
					}
				}
			}
		}
	})
}

func TestGemmSetsAgree(t *testing.T) {
	if !slices.Contains(Sets(), "avx512") {
		t.Logf("this CPU has the sets %v only: nothing to compare", Sets())
		return
	}
	run := func(f gemm, transA, transB bool, m, n, k int, beta float32) []float32 {
		r := source(25)
		a, b := operands(r, m, n, k, 3, transA, transB)
		c := newMatrix(r, m, n, 0)
		f(m, n, k, 0.3, a.x, a.stride, b.x, b.stride, beta, c.x, c.stride)
		return c.x
	}
	for _, s := range [][3]int{{1, 1, 1}, {7, 50, 33}, {13, 17, 40}, {40, 10, 900}, {100, 49, 500}, {64, 64, 64}, {3, 48, 9}, {97, 40, 128}, {97, 40, 129}, {5, 70, 33}, {6, 64, 500}, {33, 70, 95}, {33, 1100, 96}, {19, 50, 1100},
		{1, 10, 100}, {1, 31, 1100}, {1, 1, 40}, {50, 1, 40}, {2, 130, 500}, {6, 100, 40}, {8, 96, 20}, {540, 40, 390}} {
		for _, f := range forms {
			for _, beta := range []float32{0, 0.7, 1} {
				pin(t, "avx512")
				wide := run(f.run, f.transA, f.transB, s[0], s[1], s[2], beta)
				pin(t, "avx2")
				if !slices.Equal(wide, run(f.run, f.transA, f.transB, s[0], s[1], s[2], beta)) {
					t.Errorf("Gemm%s %v beta %v: avx2 and avx512 give different bits", f.name, s, beta)
				}
			}
		}
	}
}

// TestGemmSignOfZero multiplies small numbers. Their products are too small for a float32, so that sums are zeros of either sign. A row
// has the same zeros alone and with another, though the kernels differ.
func TestGemmSignOfZero(t *testing.T) {
	eachSet(t, func(t *testing.T) {
		const n, k = 10, 37
		a, b := slices.Repeat([]float32{1e-30}, 2*k), slices.Repeat([]float32{-1e-30}, n*k)
		one, two := make([]float32, n), make([]float32, 2*n)
		GemmNN(1, n, k, 1, a, k, b, n, 0, one, n)
		GemmNN(2, n, k, 1, a, k, b, n, 0, two, n)
		for j := range one {
			if math.Float32bits(one[j]) != math.Float32bits(two[j]) {
				t.Errorf("column %d is %v in one row and %v in two", j, one[j], two[j])
			}
		}
	})
}

func TestGemmConcurrently(t *testing.T) {
	const m, n, k, callers = 60, 70, 90, 8
	r := source(26)
	a, b := operands(r, m, n, k, 0, false, false)
	want := make([]float32, m*n)
	GemmNN(m, n, k, 1, a.x, a.stride, b.x, b.stride, 0, want, n)
	got := make([][]float32, callers)
	var wait sync.WaitGroup
	for i := range got {
		got[i] = make([]float32, m*n)
		wait.Go(func() {
			for range 20 {
				GemmNN(m, n, k, 1, a.x, a.stride, b.x, b.stride, 0, got[i], n)
			}
		})
	}
	wait.Wait()
	for i := range got {
		if !slices.Equal(got[i], want) {
			t.Errorf("caller %d got another product", i)
		}
	}
}

func TestGemmDoesNotAllocate(t *testing.T) {
	eachSet(t, func(t *testing.T) {
		r := source(27)
		for _, f := range forms {
			for _, n := range []int{10, 40} {
				const m, k = 50, 60
				a, b := operands(r, m, n, k, 0, f.transA, f.transB)
				c := make([]float32, m*n)
				allocs := testing.AllocsPerRun(10, func() {
					f.run(m, n, k, 1, a.x, a.stride, b.x, b.stride, 1, c, n)
				})
				if allocs != 0 {
					t.Errorf("Gemm%s n %d: %v allocations per call", f.name, n, allocs)
				}
			}
		}
	})
}

func TestGemmRefuses(t *testing.T) {
	x := make([]float32, 12)
	for _, f := range forms {
		mustPanic(t, "negative size", func() { f.run(-1, 2, 2, 1, x, 4, x, 4, 0, x, 4) })
		mustPanic(t, "short a", func() { f.run(3, 3, 3, 1, x[:8], 3, x, 3, 0, x, 3) })
		mustPanic(t, "short b", func() { f.run(3, 3, 3, 1, x, 3, x[:8], 3, 0, x, 3) })
		mustPanic(t, "short c", func() { f.run(3, 3, 3, 1, x, 3, x, 3, 0, x[:8], 3) })
		mustPanic(t, "stride of a", func() { f.run(3, 3, 3, 1, x, 2, x, 3, 0, x, 3) })
		mustPanic(t, "stride of c", func() { f.run(3, 3, 3, 1, x, 3, x, 3, 0, x, 2) })
	}
}
