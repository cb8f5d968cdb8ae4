package vec

// sparseDot leaves rows longer than a chunk to plain Go, which the scheduler can interrupt.
func sparseDot(index []int32, value, x []float32, ahead int) float32 {
	if active() == levelGo || len(index) == 0 || len(index) > chunk {
		return goSparseDot(index, value, x)
	}
	return sparseDotAVX2(len(index), 4*ahead, &index[0], &value[0], &x[0])
}

func sparseAxpy(alpha float32, index []int32, value, y []float32) {
	if active() == levelGo || len(index) > chunk {
		goSparseAxpy(alpha, index, value, y)
	} else if len(index) > 0 {
		sparseAxpyAVX2(len(index), alpha, &index[0], &value[0], &y[0])
	}
}
