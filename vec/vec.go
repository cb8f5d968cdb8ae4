package vec

import "fmt"

// chunk is the number of elements handed to one assembly call. Assembly cannot
// be preempted, so a call must end within some tens of microseconds.
const chunk = 1 << 15

// Axpy adds alpha times x to y: y[i] += alpha*x[i], with one rounding per
// element in the assembly sets and two in "go". The lengths must be equal.
func Axpy(alpha float32, x, y []float32) {
	same("Axpy", len(x), len(y))
	for len(x) > chunk {
		axpy(alpha, x[:chunk], y[:chunk])
		x, y = x[chunk:], y[chunk:]
	}
	axpy(alpha, x, y)
}

// Add adds x to y: y[i] += x[i]. The lengths must be equal.
func Add(x, y []float32) {
	same("Add", len(x), len(y))
	for len(x) > chunk {
		add(x[:chunk], y[:chunk])
		x, y = x[chunk:], y[chunk:]
	}
	add(x, y)
}

// AddThree adds x, p and q to y in two pairs: y[i] = (y[i] + x[i]) + (p[i] + q[i]), the bits of Add(p, q), Add(x, y) and
// Add(q, y), with half their traffic. The lengths must be equal. q stays as it is.
func AddThree(x, p, q, y []float32) {
	same("AddThree", len(x), len(y))
	same("AddThree", len(p), len(y))
	same("AddThree", len(q), len(y))
	for len(x) > chunk {
		addThree(x[:chunk], p[:chunk], q[:chunk], y[:chunk])
		x, p, q, y = x[chunk:], p[chunk:], q[chunk:], y[chunk:]
	}
	addThree(x, p, q, y)
}

// AddInt32 adds x to y: y[i] += x[i], wrapping on overflow. The lengths must be
// equal.
func AddInt32(x, y []int32) {
	same("AddInt32", len(x), len(y))
	for len(x) > chunk {
		addInt32(x[:chunk], y[:chunk])
		x, y = x[chunk:], y[chunk:]
	}
	addInt32(x, y)
}

// Scale multiplies x by alpha: x[i] *= alpha.
func Scale(alpha float32, x []float32) {
	for len(x) > chunk {
		scale(alpha, x[:chunk])
		x = x[chunk:]
	}
	scale(alpha, x)
}

// Dot returns the sum of x[i]*y[i]. Partial sums of up to 32,768 elements are
// in single precision, their total in double. The lengths must be equal.
func Dot(x, y []float32) float32 {
	same("Dot", len(x), len(y))
	var sum float64
	for len(x) > chunk {
		sum += float64(dot(x[:chunk], y[:chunk]))
		x, y = x[chunk:], y[chunk:]
	}
	return float32(sum + float64(dot(x, y)))
}

// SumSquares returns the sum of x[i]*x[i], summed as [Dot] does.
func SumSquares(x []float32) float32 {
	var sum float64
	for len(x) > chunk {
		sum += float64(sumSquares(x[:chunk]))
		x = x[chunk:]
	}
	return float32(sum + float64(sumSquares(x)))
}

// CopyRow copies a row of dst's length, without a call where it has few values.
func CopyRow(dst, src []float32) {
	switch len(dst) {
	case 1:
		dst[0] = src[0]
	case 4:
		*(*[4]float32)(dst) = *(*[4]float32)(src)
	case 8:
		*(*[8]float32)(dst) = *(*[8]float32)(src)
	default:
		copy(dst, src)
	}
}

// AbsMax returns the largest |x[i]|, 0 for an empty slice, and NaN if any
// element is NaN.
func AbsMax(x []float32) float32 {
	var top float32
	for len(x) > chunk {
		top = max(top, absMax(x[:chunk]))
		x = x[chunk:]
	}
	return max(top, absMax(x))
}

// Exp sets y[i] to e to the power x[i], within 1.1 units in the last
// place, where the result is subnormal too. Exp(-Inf) is 0, overflow is +Inf, NaN
// stays NaN. x and y have equal lengths and may be the same slice, but must not
// overlap otherwise.
func Exp(x, y []float32) { pieces("Exp", x, y, exp) }

// Log sets y[i] to the natural logarithm of x[i], within 1 unit in the last place.
// Log(±0) is -Inf, Log(x<0) is NaN, Log(+Inf) is +Inf, NaN stays NaN.
// x and y have equal lengths and may be the same slice, but must not overlap
// otherwise.
func Log(x, y []float32) { pieces("Log", x, y, log) }

// Sigmoid sets y[i] to 1/(1+e^-x[i]), within 2.5 units in the last place, for
// large negative x too, where the result is subnormal and then 0. NaN stays
// NaN. x and y have equal lengths and may be the same slice, but must not
// overlap otherwise.
func Sigmoid(x, y []float32) { pieces("Sigmoid", x, y, sigmoid) }

// Softmax replaces each row of the row-major matrix x, of rows times cols
// elements, by e^(x-max) divided by its sum over the row. A row with a NaN, a
// +Inf, or nothing but -Inf becomes all NaN.
func Softmax(rows, cols int, x []float32) {
	if rows < 0 || cols < 0 || len(x) != rows*cols {
		panic(fmt.Sprintf("vec: Softmax: %d elements are not %d rows of %d columns", len(x), rows, cols))
	}
	if cols == 0 {
		return
	}
	step := max(1, chunk/4/cols)
	for rows > step {
		softmax(step, cols, x[:step*cols])
		x, rows = x[step*cols:], rows-step
	}
	softmax(rows, cols, x)
}

// pieces calls f for two slices of one length, chunk by chunk. It is for kernels that take long for an element, whose callers
// do not mind that slices of theirs escape to the heap.
func pieces(name string, x, y []float32, f func(x, y []float32)) {
	same(name, len(x), len(y))
	for len(x) > chunk {
		f(x[:chunk], y[:chunk])
		x, y = x[chunk:], y[chunk:]
	}
	f(x, y)
}

func same(name string, x, y int) {
	if x != y {
		lengths(name, x, y)
	}
}

func lengths(name string, x, y int) {
	panic(fmt.Sprintf("vec: %s: lengths differ: %d and %d", name, x, y))
}
