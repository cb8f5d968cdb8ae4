package vec

import "math"

// The reference kernels. Every product is converted to float32 before it is
// added: the language lets a compiler fuse x*y+z otherwise, and arm64 does, so
// that machines would disagree.

func goAxpy(alpha float32, x, y []float32) {
	y = y[:len(x)]
	for i, v := range x {
		y[i] += float32(alpha * v)
	}
}

func goAdd(x, y []float32) {
	y = y[:len(x)]
	for i, v := range x {
		y[i] += v
	}
}

func goAddThree(x, p, q, y []float32) {
	p, q, y = p[:len(x)], q[:len(x)], y[:len(x)]
	for i, v := range x {
		y[i] = (y[i] + v) + (p[i] + q[i])
	}
}

func goAddInt32(x, y []int32) {
	y = y[:len(x)]
	for i, v := range x {
		y[i] += v
	}
}

func goScale(alpha float32, x []float32) {
	for i := range x {
		x[i] *= alpha
	}
}

func goDot(x, y []float32) float32 {
	y = y[:len(x)]
	var s0, s1, s2, s3 float32
	i := 0
	for ; i+4 <= len(x); i += 4 {
		a, b := x[i:i+4:i+4], y[i:i+4:i+4]
		s0 += float32(a[0] * b[0])
		s1 += float32(a[1] * b[1])
		s2 += float32(a[2] * b[2])
		s3 += float32(a[3] * b[3])
	}
	for ; i < len(x); i++ {
		s0 += float32(x[i] * y[i])
	}
	return (s0 + s1) + (s2 + s3)
}

func goSumSquares(x []float32) float32 { return goDot(x, x) }

func goAbsMax(x []float32) float32 {
	// Non-negative floats order as their bits do, and NaN comes above Inf.
	var top uint32
	for _, v := range x {
		top = max(top, math.Float32bits(v)&0x7fffffff)
	}
	return math.Float32frombits(top)
}

func goExp(x, y []float32) {
	y = y[:len(x)]
	for i, v := range x {
		y[i] = float32(exp64(float64(v)))
	}
}

func goLog(x, y []float32) {
	y = y[:len(x)]
	for i, v := range x {
		y[i] = float32(log64(float64(v)))
	}
}

func goSigmoid(x, y []float32) {
	y = y[:len(x)]
	for i, v := range x {
		y[i] = float32(1 / (1 + exp64(-float64(v))))
	}
}

func goSoftmax(rows, cols int, x []float32) {
	for ; rows > 0; rows-- {
		row := x[:cols]
		x = x[cols:]
		top := row[0]
		for _, v := range row {
			top = max(top, v)
		}
		var sum float32
		for i, v := range row {
			row[i] = float32(exp64(float64(v) - float64(top)))
			sum += row[i]
		}
		for i := range row {
			row[i] /= sum
		}
	}
}

// exp64 computes e^x in double precision, good to well over single precision, with the same bits on every machine.
// Package math has assembly for some. Cody-Waite reduction to |r| <= ln(2)/2, then the Taylor series to r^13.
func exp64(x float64) float64 {
	switch {
	case x != x:
		return x
	case x > 709:
		return math.Inf(1)
	case x < -745:
		return 0
	}
	const (
		ln2Hi = 6.93147180369123816490e-01
		ln2Lo = 1.90821492927058770002e-10
	)
	n := math.Floor(float64(x*math.Log2E) + 0.5)
	r := (x - float64(n*ln2Hi)) - float64(n*ln2Lo)
	sum := 1.0
	for k := 13; k > 0; k-- {
		sum = 1 + float64(float64(r*sum)/float64(k))
	}
	return math.Ldexp(sum, int(n))
}

// log64 computes the natural logarithm in double precision, with the same guarantees as exp64: log(m 2^e) = e ln 2 + 2
// artanh((m-1)/(m+1)) with m within sqrt(2) of 1.
func log64(x float64) float64 {
	switch {
	case x != x || math.IsInf(x, 1):
		return x
	case x < 0:
		return math.NaN()
	case x == 0:
		return math.Inf(-1)
	}
	m, e := math.Frexp(x)
	if m < math.Sqrt2/2 {
		m *= 2
		e--
	}
	s := (m - 1) / (m + 1)
	s2 := float64(s * s)
	var sum float64
	for k := 21; k > 0; k -= 2 {
		sum = 1/float64(k) + float64(s2*sum)
	}
	return float64(2*s*sum) + float64(float64(e)*math.Ln2)
}
