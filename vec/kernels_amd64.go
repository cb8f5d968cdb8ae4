package vec

import "golang.org/x/sys/cpu"

// detect returns the best kernel set of this CPU and operating system.
// Decision 0130 says why the number of AVX-512 multipliers does not matter.
func detect() level {
	x := &cpu.X86
	switch {
	case !x.HasAVX2 || !x.HasFMA || !x.HasBMI2 || !x.HasF16C:
		return levelGo
	case !x.HasAVX512F || !x.HasAVX512VL:
		return levelAVX2
	}
	return levelAVX512
}

// The functions below choose by a branch that is always predicted. A table of
// function values would make every slice escape to the heap.

func axpy(alpha float32, x, y []float32) {
	if active() == levelGo {
		goAxpy(alpha, x, y)
	} else if len(x) > 0 {
		axpyAVX2(len(x), alpha, &x[0], &y[0])
	}
}

func add(x, y []float32) {
	if active() == levelGo {
		goAdd(x, y)
	} else if len(x) > 0 {
		addAVX2(len(x), &x[0], &y[0])
	}
}

func addThree(x, p, q, y []float32) {
	if active() == levelGo {
		goAddThree(x, p, q, y)
	} else if len(x) > 0 {
		addThreeAVX2(len(x), &x[0], &p[0], &q[0], &y[0])
	}
}

func addInt32(x, y []int32) {
	if active() == levelGo {
		goAddInt32(x, y)
	} else if len(x) > 0 {
		addInt32AVX2(len(x), &x[0], &y[0])
	}
}

func scale(alpha float32, x []float32) {
	if active() == levelGo {
		goScale(alpha, x)
	} else if len(x) > 0 {
		scaleAVX2(len(x), alpha, &x[0])
	}
}

func dot(x, y []float32) float32 {
	switch {
	case active() == levelGo:
		return goDot(x, y)
	case len(x) == 0:
		return 0
	}
	return dotAVX2(len(x), &x[0], &y[0])
}

func sumSquares(x []float32) float32 {
	switch {
	case active() == levelGo:
		return goSumSquares(x)
	case len(x) == 0:
		return 0
	}
	return sumSquaresAVX2(len(x), &x[0])
}

func absMax(x []float32) float32 {
	switch {
	case active() == levelGo:
		return goAbsMax(x)
	case len(x) == 0:
		return 0
	}
	top := float32(0)
	if n := len(x) &^ 63; n > 0 && active() == levelAVX512 {
		if top = absMaxAVX512(n, &x[0]); n == len(x) {
			return top
		}
		x = x[n:]
	}
	return max(top, absMaxAVX2(len(x), &x[0]))
}

func exp(x, y []float32) {
	if active() == levelGo {
		goExp(x, y)
	} else if len(x) > 0 {
		expAVX2(len(x), &x[0], &y[0])
	}
}

func log(x, y []float32) {
	if active() == levelGo {
		goLog(x, y)
	} else if len(x) > 0 {
		logAVX2(len(x), &x[0], &y[0])
	}
}

func sigmoid(x, y []float32) {
	if active() == levelGo {
		goSigmoid(x, y)
	} else if len(x) > 0 {
		sigmoidAVX2(len(x), &x[0], &y[0])
	}
}

// softmax requires cols > 0.
func softmax(rows, cols int, x []float32) {
	if active() == levelGo {
		goSoftmax(rows, cols, x)
	} else if rows > 0 {
		softmaxAVX2(rows, cols, &x[0])
	}
}

// checksum leaves a few elements to plain Go, which has them before assembly would begin.
func checksum(at uint32, x []float32) uint64 {
	if len(x) < 8 || active() == levelGo {
		return goChecksum(at, x)
	}
	return checksumAVX2(len(x), at, &x[0])
}
