package vec

import (
	"math"
	"slices"
	"testing"
)

const lengthsMax = 200

// eachPlace calls test with every length up to lengthsMax and every offset from
// 0 to 15; to keep it short, lengths above 70 get two offsets each.
func eachPlace(test func(n, offset int)) {
	for n := 0; n <= lengthsMax; n++ {
		for offset := range 16 {
			if n <= 70 || offset == n%16 || offset == 1 {
				test(n, offset)
			}
		}
	}
}

func TestElementwiseAgainstReference(t *testing.T) {
	const alpha = 0.7310586
	cases := []struct {
		name       string
		fast, slow func(x, y []float32)
		tolerance  func(x, y float32) float64
	}{
		{"Axpy", func(x, y []float32) { Axpy(alpha, x, y) }, func(x, y []float32) { goAxpy(alpha, x, y) },
			func(x, y float32) float64 { return 2.5e-7 * (math.Abs(float64(x)) + math.Abs(float64(y))) }},
		{"Add", Add, goAdd, exact},
		{"Scale", func(_, y []float32) { Scale(alpha, y) }, func(_, y []float32) { goScale(alpha, y) }, exact},
	}
	eachSet(t, func(t *testing.T) {
		for _, c := range cases {
			r := source(1)
			eachPlace(func(n, offset int) {
				x := sprinkle(r, values(r, n))
				y := fieldOf(offset, sprinkle(r, values(r, n)))
				want := slices.Clone(y.x)
				before := slices.Clone(y.x)
				c.slow(x, want)
				c.fast(fieldOf(15-offset, x).x, y.x)
				for i, v := range y.x {
					if !near(v, want[i], c.tolerance(x[i], before[i])) {
						t.Fatalf("%s: %s: element %d is %v, want %v", c.name, place(n, offset), i, v, want[i])
					}
				}
				y.intact(t, c.name+": "+place(n, offset))
			})
		}
	})
}

func exact(_, _ float32) float64 { return 0 }

// TestAddThreeIsThreeAdditions also holds that what is added stays as it is, and that the long slices are crossed.
func TestAddThreeIsThreeAdditions(t *testing.T) {
	check := func(t *testing.T, n, offset int) {
		r := source(5)
		x, p, q := sprinkle(r, values(r, n)), sprinkle(r, values(r, n)), sprinkle(r, values(r, n))
		y := fieldOf(offset, sprinkle(r, values(r, n)))
		want, pair := slices.Clone(y.x), slices.Clone(p)
		goAdd(q, pair)
		goAdd(x, want)
		goAdd(pair, want)
		right := fieldOf(15-offset, q)
		AddThree(x, p, right.x, y.x)
		for i, v := range y.x {
			if !sameFloat(v, want[i]) {
				t.Fatalf("%s: element %d is %v, want %v", place(n, offset), i, v, want[i])
			}
		}
		y.intact(t, place(n, offset))
		right.intact(t, place(n, offset))
	}
	eachSet(t, func(t *testing.T) {
		eachPlace(func(n, offset int) { check(t, n, offset) })
		check(t, 2*chunk+13, 3)
	})
}

func TestAddInt32(t *testing.T) {
	eachSet(t, func(t *testing.T) {
		r := source(2)
		eachPlace(func(n, offset int) {
			x, buffer := make([]int32, n), make([]int32, offset+n+8)
			for i := range x {
				x[i] = int32(r.Uint32())
			}
			for i := range buffer {
				buffer[i] = int32(r.Uint32())
			}
			want := slices.Clone(buffer)
			goAddInt32(x, want[offset:offset+n])
			AddInt32(x, buffer[offset:offset+n])
			if !slices.Equal(buffer, want) {
				t.Fatalf("AddInt32: %s: got %v, want %v", place(n, offset), buffer, want)
			}
		})
	})
}

func TestReductionsAgainstDoublePrecision(t *testing.T) {
	eachSet(t, func(t *testing.T) {
		r := source(3)
		eachPlace(func(n, offset int) {
			x, y := fieldOf(offset, values(r, n)).x, fieldOf(15-offset, values(r, n)).x
			var dot, size, squares, top float64
			for i, v := range x {
				p := float64(v) * float64(y[i])
				dot += p
				size += math.Abs(p)
				squares += float64(v) * float64(v)
				top = max(top, math.Abs(float64(v)))
			}
			if got := Dot(x, y); !near(got, float32(dot), 1e-6*size) {
				t.Fatalf("Dot: %s: got %v, want %v", place(n, offset), got, dot)
			}
			if got := SumSquares(x); !near(got, float32(squares), 1e-6*squares) {
				t.Fatalf("SumSquares: %s: got %v, want %v", place(n, offset), got, squares)
			}
			if got := AbsMax(x); float64(got) != top {
				t.Fatalf("AbsMax: %s: got %v, want %v", place(n, offset), got, top)
			}
		})
	})
}

// TestReductionsSeeEachElement plants one odd element at each place: a kernel
// that skips or doubles a lane fails.
func TestReductionsSeeEachElement(t *testing.T) {
	eachSet(t, func(t *testing.T) {
		for n := 1; n <= 100; n++ {
			for i := range n {
				x, ones := make([]float32, n), make([]float32, n)
				for j := range ones {
					ones[j] = 1
				}
				for _, v := range []float32{-3, float32(math.NaN()), float32(math.Inf(-1)), math.SmallestNonzeroFloat32} {
					x[i] = v
					if got := Dot(x, ones); !sameFloat(got, v) {
						t.Fatalf("Dot: %v at %d of %d gives %v", v, i, n, got)
					}
					if got, want := SumSquares(x), v*v; !sameFloat(got, want) {
						t.Fatalf("SumSquares: %v at %d of %d gives %v", v, i, n, got)
					}
					want := float32(math.Abs(float64(v)))
					if got := AbsMax(x); !sameFloat(got, want) {
						t.Fatalf("AbsMax: %v at %d of %d gives %v", v, i, n, got)
					}
				}
			}
		}
	})
}

// TestLongSlices crosses the pieces in which the assembly is called.
func TestLongSlices(t *testing.T) {
	const n = 2*chunk + 13
	eachSet(t, func(t *testing.T) {
		x, y := make([]float32, n), make([]float32, n)
		for i := range x {
			x[i], y[i] = float32(i%7), float32(i%5)
		}
		Axpy(2, x, y)
		Add(x, y)
		Scale(0.5, y)
		var want, squares float64
		for i := range x {
			v := float32(0.5 * (3*float64(i%7) + float64(i%5)))
			if y[i] != v {
				t.Fatalf("element %d is %v, want %v", i, y[i], v)
			}
			want += float64(x[i]) * float64(v)
			squares += float64(v) * float64(v)
		}
		if got := Dot(x, y); got != float32(want) {
			t.Errorf("Dot: got %v, want %v", got, want)
		}
		if got := SumSquares(y); got != float32(squares) {
			t.Errorf("SumSquares: got %v, want %v", got, squares)
		}
		y[3], y[chunk+1] = float32(math.NaN()), -100
		if got := AbsMax(y[chunk:]); got != 100 {
			t.Errorf("AbsMax: got %v, want 100", got)
		}
		if got := AbsMax(y); got == got {
			t.Errorf("AbsMax: got %v, want NaN", got)
		}
		counts := make([]int32, n)
		counts[chunk], counts[n-1] = 7, 9
		AddInt32(counts, counts)
		if counts[chunk] != 14 || counts[n-1] != 18 || counts[0] != 0 {
			t.Errorf("AddInt32: got %d and %d, want 14 and 18", counts[chunk], counts[n-1])
		}
	})
}

// TestAlignmentChangesNothing: the sum kernels give the same bits wherever the
// slices start.
func TestAlignmentChangesNothing(t *testing.T) {
	eachSet(t, func(t *testing.T) {
		r := source(4)
		for _, n := range []int{5, 31, 100, 1000} {
			x, y := values(r, n), values(r, n)
			dot, squares := Dot(x, y), SumSquares(x)
			for offset := range 16 {
				a, b := fieldOf(offset, x).x, fieldOf(15-offset, y).x
				if Dot(a, b) != dot || SumSquares(a) != squares {
					t.Fatalf("%s: the sum changes with the offset", place(n, offset))
				}
			}
		}
	})
}

func TestMapsAgainstMath(t *testing.T) {
	cases := []struct {
		name  string
		fast  func(x, y []float32)
		exact func(x float64) float64
		ulps  float64
	}{
		{"Exp", Exp, math.Exp, 1.1},
		{"Log", Log, math.Log, 1},
		{"Sigmoid", Sigmoid, func(x float64) float64 { return 1 / (1 + math.Exp(-x)) }, 2.5},
	}
	// Bit patterns of every sign and exponent, at a stride that is odd.
	const stride = 14009
	x := slices.Clone(special)
	for bits := uint64(0); bits < 1<<32; bits += stride {
		x = append(x, math.Float32frombits(uint32(bits)))
	}
	for i := range 20000 {
		x = append(x, float32(i-10000)/90, 1+float32(i-10000)/1e5)
	}
	y := make([]float32, len(x))
	eachSet(t, func(t *testing.T) {
		for _, c := range cases {
			c.fast(x, y)
			worst := 0.0
			for i, v := range x {
				u := ulps(y[i], c.exact(float64(v)))
				worst = max(worst, u)
				if u > c.ulps {
					t.Fatalf("%s(%v) = %v, want %v: %v units in the last place", c.name, v, y[i], c.exact(float64(v)), u)
				}
			}
			t.Logf("%s: at most %.2f units in the last place", c.name, worst)
		}
	})
}

func TestMapsAtEachPlace(t *testing.T) {
	maps := []struct {
		name       string
		fast, slow func(x, y []float32)
	}{{"Exp", Exp, goExp}, {"Log", Log, goLog}, {"Sigmoid", Sigmoid, goSigmoid}}
	eachSet(t, func(t *testing.T) {
		for _, c := range maps {
			r := source(5)
			eachPlace(func(n, offset int) {
				x := sprinkle(r, values(r, n))
				y, want := newField(offset, n), make([]float32, n)
				inPlace := fieldOf(offset, x)
				c.slow(x, want)
				c.fast(fieldOf(15-offset, x).x, y.x)
				c.fast(inPlace.x, inPlace.x)
				for i, v := range y.x {
					if ulps(v, float64(want[i])) > 4 || !sameFloat(v, inPlace.x[i]) {
						t.Fatalf("%s: %s: of %v is %v (in place %v), want %v", c.name, place(n, offset), x[i], v, inPlace.x[i], want[i])
					}
				}
				y.intact(t, c.name)
				inPlace.intact(t, c.name)
			})
		}
	})
}

func TestSoftmax(t *testing.T) {
	eachSet(t, func(t *testing.T) {
		r := source(6)
		for cols := 1; cols <= 70; cols++ {
			for rows := range 5 {
				x := fieldOf(cols%16, values(r, rows*cols))
				Scale(20, x.x)
				want := slices.Clone(x.x)
				exactSoftmax(rows, cols, want)
				Softmax(rows, cols, x.x)
				for i, v := range x.x {
					if !near(v, want[i], 1e-5*float64(want[i])+1e-37) {
						t.Fatalf("%d rows of %d: element %d is %v, want %v", rows, cols, i, v, want[i])
					}
				}
				x.intact(t, "Softmax")
			}
		}
	})
}

func exactSoftmax(rows, cols int, x []float32) {
	for i := range rows {
		row := x[i*cols : (i+1)*cols]
		top, sum := float64(slices.Max(row)), 0.0
		for _, v := range row {
			sum += math.Exp(float64(v) - top)
		}
		for j, v := range row {
			row[j] = float32(math.Exp(float64(v)-top) / sum)
		}
	}
}

// TestSoftmaxSpecialRows: an odd row spoils itself and no other.
func TestSoftmaxSpecialRows(t *testing.T) {
	inf := float32(math.Inf(1))
	nan := float32(math.NaN())
	eachSet(t, func(t *testing.T) {
		for _, cols := range []int{1, 3, 8, 10, 16, 21} {
			for odd := range cols {
				for _, v := range []float32{inf, nan} {
					x := make([]float32, 3*cols)
					x[cols+odd] = v
					Softmax(3, cols, x)
					for i, got := range x {
						if (i/cols == 1) != (got != got) {
							t.Fatalf("%v in row 1 of width %d: element %d is %v", v, cols, i, got)
						}
					}
				}
				x := slices.Repeat([]float32{-inf}, cols)
				x[odd] = -1e30
				Softmax(1, cols, x)
				for i, got := range x {
					if (got == 1) != (i == odd) || got != 0 && got != 1 {
						t.Fatalf("one finite element at %d of %d: got %v", odd, cols, x)
					}
				}
			}
			x := slices.Repeat([]float32{-inf}, cols)
			Softmax(1, cols, x)
			if x[0] == x[0] {
				t.Fatalf("a row of -Inf, width %d: got %v, want NaN", cols, x)
			}
		}
	})
}

func TestSoftmaxManyRows(t *testing.T) {
	eachSet(t, func(t *testing.T) {
		const rows, cols = 2*chunk/4/10 + 3, 10
		x := make([]float32, rows*cols)
		Softmax(rows, cols, x)
		for i, v := range x {
			if v != 0.1 {
				t.Fatalf("element %d is %v, want 0.1", i, v)
			}
		}
		Softmax(7, 0, nil)
	})
}

func TestSetsAgree(t *testing.T) {
	sets := Sets()
	if len(sets) < 3 {
		t.Logf("this CPU has the sets %v only: nothing to compare", sets)
		return
	}
	run := func() []float32 {
		r := source(8)
		x, y := values(r, 1003), values(r, 1003)
		out := []float32{Dot(x, y), SumSquares(x), AbsMax(x)}
		Axpy(0.3, x, y)
		Exp(x, x)
		Sigmoid(x, x)
		Softmax(17, 59, x)
		return append(append(out, x...), y...)
	}
	pin(t, "avx512")
	wide := run()
	pin(t, "avx2")
	if !slices.Equal(wide, run()) {
		t.Error("avx2 and avx512 give different bits")
	}
}

func TestUse(t *testing.T) {
	before := Kernels()
	t.Cleanup(func() { Use(before) })
	for _, name := range Sets() {
		if err := Use(name); err != nil || Kernels() != name {
			t.Errorf("Use(%q): %v; in use: %s", name, err, Kernels())
		}
	}
	if err := Use("sse9"); err == nil || Kernels() != "go" {
		t.Errorf("an unknown set: error %v, in use %s", err, Kernels())
	}
	if before != Sets()[0] {
		t.Errorf("started with %q, want the best set, %q", before, Sets()[0])
	}
}

func TestWrongLengthsPanic(t *testing.T) {
	two, three := make([]float32, 2), make([]float32, 3)
	mustPanic(t, "Axpy", func() { Axpy(1, two, three) })
	mustPanic(t, "Add", func() { Add(three, two) })
	mustPanic(t, "AddThree", func() { AddThree(two, two, two, three) })
	mustPanic(t, "AddThree", func() { AddThree(two, three, two, two) })
	mustPanic(t, "AddThree", func() { AddThree(two, two, three, two) })
	mustPanic(t, "AddInt32", func() { AddInt32(make([]int32, 1), nil) })
	mustPanic(t, "Dot", func() { Dot(two, three) })
	mustPanic(t, "Exp", func() { Exp(two, three) })
	mustPanic(t, "Log", func() { Log(three, two) })
	mustPanic(t, "Sigmoid", func() { Sigmoid(two, three) })
	mustPanic(t, "Softmax", func() { Softmax(2, 2, three) })
}

func TestKernelsDoNotAllocate(t *testing.T) {
	x, y := make([]float32, 100), make([]float32, 100)
	index := make([]int32, 100)
	eachSet(t, func(t *testing.T) {
		allocs := testing.AllocsPerRun(10, func() {
			var local [10]float32 // must stay on the stack
			Axpy(1, local[:], y[:10])
			Add(x, y)
			AddThree(local[:], x[:10], x[10:20], y[:10])
			AddInt32(index, index)
			Scale(0.5, y)
			x[0] = Dot(x, y) + SumSquares(x) + AbsMax(y)
			Exp(x, x)
			Log(x, x)
			Sigmoid(x, x)
			Softmax(10, 10, x)
		})
		if allocs != 0 {
			t.Errorf("%v allocations per call", allocs)
		}
	})
}

// TestCopyRow copies rows of each length up to 9 from longer ones, and writes nothing after them.
func TestCopyRow(t *testing.T) {
	src := []float32{1, 2, 3, 4, 5, 6, 7, 8, 9, 10}
	for n := range len(src) {
		dst := make([]float32, len(src))
		CopyRow(dst[:n], src)
		if !slices.Equal(dst[:n], src[:n]) || slices.Max(dst[n:]) != 0 {
			t.Errorf("%d values: %v", n, dst)
		}
	}
}
