package vec

import "fmt"

// SparseDot returns the sum of each value times the element of x that its index names. It rounds after each operation and
// has four sums that take turns. All sets give the same bits. index and value have equal lengths.
//
// The indices must be at least 0 and below len(x). The assembly does not check them: [CheckIndices] does, once for all
// calls.
func SparseDot(index []int32, value, x []float32) float32 {
	return SparseDotAhead(index, value, x, 0)
}

// SparseDotAhead works like [SparseDot]. Meanwhile it fetches the entries that lie so many places ahead in both lists, or
// behind, into the processor's cache; they may lie outside.
func SparseDotAhead(index []int32, value, x []float32, ahead int) float32 {
	same("SparseDot", len(index), len(value))
	return sparseDot(index, value, x, ahead)
}

// SparseAxpy adds alpha times each value to the element of y that its index names, one after the other, with two
// roundings. All sets give the same bits. index and value have equal lengths, and indices are as for [SparseDot].
func SparseAxpy(alpha float32, index []int32, value, y []float32) {
	same("SparseAxpy", len(index), len(value))
	sparseAxpy(alpha, index, value, y)
}

// CheckIndices panics unless each index is at least 0 and below n.
func CheckIndices(index []int32, n int) {
	most := uint32(0) // a negative index is more than any other
	for _, j := range index {
		most = max(most, uint32(j))
	}
	if len(index) > 0 && int64(most) >= int64(n) {
		panic(fmt.Sprintf("vec: index %d of %d elements", int32(most), n))
	}
}

// goSparseDot computes SparseDot in four sums, since one alone would wait for each addition.
func goSparseDot(index []int32, value, x []float32) float32 {
	var a, b, c, d float32
	value = value[:len(index)]
	for len(index) >= 4 && len(value) >= 4 {
		a += float32(value[0] * x[index[0]])
		b += float32(value[1] * x[index[1]])
		c += float32(value[2] * x[index[2]])
		d += float32(value[3] * x[index[3]])
		index, value = index[4:], value[4:]
	}
	for k, j := range index {
		a += float32(value[k] * x[j])
	}
	return (a + b) + (c + d)
}

func goSparseAxpy(alpha float32, index []int32, value, y []float32) {
	value = value[:len(index)]
	for k, j := range index {
		y[j] += float32(alpha * value[k])
	}
}
