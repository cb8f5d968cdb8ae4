package vec

import (
	"fmt"
	"math"
	"slices"
	"testing"
)

// someCounts returns n counts, most of them small.
func someCounts[C int32 | uint16](seed uint64, n int) []C {
	r, c := source(seed), make([]C, n)
	for i := range c {
		switch r.IntN(4) {
		case 0:
			c[i] = C(r.IntN(60000))
		case 1:
			c[i] = C(r.IntN(100))
		}
	}
	return c
}

func testCountSums[C int32 | uint16](t *testing.T) {
	for _, blocks := range []int{0, 1, 2, 3, 4, 5, 33, 1024, 1025} {
		n := blocks * CountBlock
		weight, count := values(source(3), n), someCounts[C](4, n)
		want, sums := make([]float32, blocks), newField(1, blocks)
		total := CountSums(weight, count, 0.25, sums.x)
		sums.intact(t, "CountSums")
		if blocks <= 1024 { // one call of the reference
			if all := goCountSums(weight, count, 0.25, want); math.Float32bits(all) != math.Float32bits(total) || !slices.Equal(sums.x, want) {
				t.Errorf("%d blocks: %v and %v, not %v and %v", blocks, total, sums.x, all, want)
			}
			if ahead := CountSumsAhead(weight, count, 0.25, want, slices.Clone(count)); ahead != total || !slices.Equal(sums.x, want) {
				t.Errorf("%d blocks with counts to fetch: %v and %v, not %v and %v", blocks, ahead, want, total, sums.x)
			}
		}
		exact, size := 0.0, 0.0
		for b, got := range sums.x {
			sum := 0.0
			for i := b * CountBlock; i < (b+1)*CountBlock; i++ {
				v := float64(weight[i]) * (float64(count[i]) + 0.25)
				sum += v
				size += math.Abs(v)
			}
			exact += sum
			if math.Abs(float64(got)-sum) > 1e-6*(size+1) {
				t.Errorf("%d blocks: sum %d is %v, not %v", blocks, b, got, sum)
			}
		}
		if math.Abs(float64(total)-exact) > 1e-5*(size+1) {
			t.Errorf("%d blocks: %v in all, not %v", blocks, total, exact)
		}
	}
}

func TestCountSumsMatchesTheReference(t *testing.T) {
	eachSet(t, func(t *testing.T) {
		t.Run("int32", testCountSums[int32])
		t.Run("uint16", testCountSums[uint16])
	})
}

func TestAxpyCountsMatchesTheReference(t *testing.T) {
	eachSet(t, func(t *testing.T) {
		for _, n := range []int{0, 1, 7, 8, 31, 32, 45, 1000, chunk + 3} {
			count, y := someCounts[int32](5, n), fieldOf(3, values(source(6), n))
			want := slices.Clone(y.x)
			goAxpyCounts(-0.37, count, want)
			AxpyCounts(-0.37, count, y.x)
			y.intact(t, "AxpyCounts")
			if !slices.Equal(y.x, want) {
				t.Errorf("%d elements differ from the reference", n)
			}
			if n > 0 && y.x[0] != values(source(6), 1)[0]+float32(-0.37*float32(count[0])) {
				t.Errorf("the first of %d elements is %v", n, y.x[0])
			}
		}
	})
}

func TestNarrowCountsKeepsSixteenBits(t *testing.T) {
	eachSet(t, func(t *testing.T) {
		for _, blocks := range []int{0, 1, 5, 1025} {
			src := make([]int32, blocks*CountBlock)
			for i := range src {
				src[i] = int32(i * 0x01234567)
			}
			dst := make([]uint16, len(src)+1)
			dst[len(src)] = 12345
			NarrowCounts(dst[:len(src)], src)
			for i, n := range src {
				if dst[i] != uint16(n) {
					t.Fatalf("%d blocks: element %d is %#x, not the low bits of %#x", blocks, i, dst[i], n)
				}
			}
			if dst[len(src)] != 12345 {
				t.Fatal("wrote behind the slice")
			}
		}
	})
}

func TestCountKernelsRefuseOtherLengths(t *testing.T) {
	for name, call := range map[string]func(){
		"weights": func() { CountSums(make([]float32, 64), make([]int32, 64), 1, make([]float32, 1)) },
		"counts":  func() { CountSums(make([]float32, 32), make([]uint16, 64), 1, make([]float32, 1)) },
		"axpy":    func() { AxpyCounts(1, make([]int32, 3), make([]float32, 4)) },
		"narrow":  func() { NarrowCounts(make([]uint16, 33), make([]int32, 33)) },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: wrong lengths were taken", name)
				}
			}()
			call()
		}()
	}
}

func TestCountKernelsTakeNoMemory(t *testing.T) {
	weight, wide, narrow := make([]float32, 64), make([]int32, 64), make([]uint16, 64)
	if n := testing.AllocsPerRun(10, func() {
		var sums [2]float32
		NarrowCounts(narrow, wide)
		CountSums(weight, wide, 1, sums[:])
		CountSums(weight, narrow, 1, sums[:])
		AxpyCounts(1, wide, weight)
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func BenchmarkCountSums(b *testing.B) {
	for _, n := range []int{1024, 4096} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			weight, count, sums := values(source(1), n), someCounts[uint16](2, n), make([]float32, n/CountBlock)
			for b.Loop() {
				CountSums(weight, count, 0.05, sums)
			}
		})
	}
}
