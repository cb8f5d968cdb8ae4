package vec

import (
	"math"
	"slices"
	"testing"
)

// sparseEntries returns n entries of a row of so many features. Features may occur twice.
func sparseEntries(seed uint64, n, features int) ([]int32, []float32) {
	r, index := source(seed), make([]int32, n)
	for i := range index {
		index[i] = int32(r.IntN(features))
	}
	return index, values(r, n)
}

func TestSparseProductsMatchTheReference(t *testing.T) {
	const features = 50
	eachSet(t, func(t *testing.T) {
		for n := range 70 {
			testSparse(t, n, features)
		}
		testSparse(t, 1000, features)
		testSparse(t, chunk+5, features)
	})
}

func testSparse(t *testing.T, n, features int) {
	t.Helper()
	index, value := sparseEntries(uint64(n), n, features)
	x := values(source(3), features)
	got, want := SparseDot(index, value, x), goSparseDot(index, value, x)
	if math.Float32bits(got) != math.Float32bits(want) {
		t.Errorf("%d entries: the product is %v, not %v", n, got, want)
	}
	for _, ahead := range []int{1, -1, 1 << 40, -1 << 40} {
		if got := SparseDotAhead(index, value, x, ahead); math.Float32bits(got) != math.Float32bits(want) {
			t.Errorf("%d entries, fetched %d ahead: the product is %v, not %v", n, ahead, got, want)
		}
	}
	exact, size := 0.0, 0.0
	for k, j := range index {
		exact += float64(value[k]) * float64(x[j])
		size += math.Abs(float64(value[k]) * float64(x[j]))
	}
	if math.Abs(float64(got)-exact) > 1e-5*size {
		t.Errorf("%d entries: the product is %v, not near %v", n, got, exact)
	}
	y, sums := fieldOf(1, x), slices.Clone(x)
	SparseAxpy(-0.37, index, value, y.x)
	goSparseAxpy(-0.37, index, value, sums)
	y.intact(t, "SparseAxpy")
	if !slices.Equal(y.x, sums) {
		t.Errorf("%d entries: the sums are %v, not %v", n, y.x, sums)
	}
}

func TestSparseAxpyAddsEachEntry(t *testing.T) {
	eachSet(t, func(t *testing.T) {
		y := []float32{1, 2, 3}
		SparseAxpy(2, []int32{2, 0, 2, 2, 2}, []float32{1, 10, 1, 1, 1}, y)
		if want := []float32{21, 2, 11}; !slices.Equal(y, want) {
			t.Errorf("got %v, want %v", y, want)
		}
	})
}

func TestCheckIndicesPanics(t *testing.T) {
	panics := func(index []int32, n int) (is bool) {
		defer func() { is = recover() != nil }()
		CheckIndices(index, n)
		return false
	}
	for _, c := range []struct {
		index []int32
		n     int
		want  bool
	}{{nil, 0, false}, {[]int32{0, 4, 2}, 5, false}, {[]int32{0, 5, 2}, 5, true}, {[]int32{3, -1}, 5, true}, {[]int32{math.MaxInt32}, math.MaxInt32, true}} {
		if panics(c.index, c.n) != c.want {
			t.Errorf("indices %v of %d elements: panics %v, want %v", c.index, c.n, !c.want, c.want)
		}
	}
}
