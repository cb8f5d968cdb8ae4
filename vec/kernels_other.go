//go:build !amd64

package vec

// detect returns the best kernel set of this CPU: no assembly for it yet.
func detect() level { return levelGo }

func axpy(alpha float32, x, y []float32)  { goAxpy(alpha, x, y) }
func add(x, y []float32)                  { goAdd(x, y) }
func addThree(x, p, q, y []float32)       { goAddThree(x, p, q, y) }
func addInt32(x, y []int32)               { goAddInt32(x, y) }
func scale(alpha float32, x []float32)    { goScale(alpha, x) }
func dot(x, y []float32) float32          { return goDot(x, y) }
func sumSquares(x []float32) float32      { return goSumSquares(x) }
func absMax(x []float32) float32          { return goAbsMax(x) }
func exp(x, y []float32)                  { goExp(x, y) }
func log(x, y []float32)                  { goLog(x, y) }
func sigmoid(x, y []float32)              { goSigmoid(x, y) }
func softmax(rows, cols int, x []float32) { goSoftmax(rows, cols, x) }

func checksum(at uint32, x []float32) uint64 { return goChecksum(at, x) }

func adaGrad(step, epsilon float32, g, s, w []float32) { goAdaGrad(step, epsilon, g, s, w) }
func momentum(decay, step float32, g, v, w []float32)  { goMomentum(decay, step, g, v, w) }
func nesterov(decay, step float32, g, v, w []float32)  { goNesterov(decay, step, g, v, w) }

func adam(beta1, beta2, step, epsilon float32, g, m, v, w []float32) {
	goAdam(beta1, beta2, step, epsilon, g, m, v, w)
}

func toHalf(dst []uint16, src []float32)    { goToHalf(dst, src) }
func fromHalf(dst []float32, src []uint16)  { goFromHalf(dst, src) }
func toBrain(dst []uint16, src []float32)   { goToBrain(dst, src) }
func fromBrain(dst []float32, src []uint16) { goFromBrain(dst, src) }

func factorRatings(f *Factors, learn bool, users, items int, user, item []int32, rating []float32) (int, float64) {
	return goFactorRatings(f, learn, users, items, user, item, rating)
}

func gemmNN(m, n, k int, alpha float32, a []float32, lda int, b []float32, ldb int, beta float32, c []float32, ldc int) {
	goGemm(m, n, k, alpha, a, lda, 1, b, ldb, 1, beta, c, ldc)
}

func gemmNT(m, n, k int, alpha float32, a []float32, lda int, b []float32, ldb int, beta float32, c []float32, ldc int) {
	goGemm(m, n, k, alpha, a, lda, 1, b, 1, ldb, beta, c, ldc)
}

func gemmTN(m, n, k int, alpha float32, a []float32, lda int, b []float32, ldb int, beta float32, c []float32, ldc int) {
	goGemm(m, n, k, alpha, a, 1, lda, b, ldb, 1, beta, c, ldc)
}

func countSums[C int32 | uint16](weight []float32, count []C, plus float32, sums []float32, _ []C) float32 {
	return goCountSums(weight, count, plus, sums)
}

func axpyCounts(alpha float32, count []int32, y []float32) { goAxpyCounts(alpha, count, y) }
func narrowCounts(dst []uint16, src []int32)               { goNarrowCounts(dst, src) }

func sparseDot(index []int32, value, x []float32, _ int) float32 { return goSparseDot(index, value, x) }
func sparseAxpy(alpha float32, index []int32, value, y []float32) {
	goSparseAxpy(alpha, index, value, y)
}
