package linear

import (
	"math"

	"bellows"
	"bellows/app"
	"bellows/app/linear/internal/loss"
	"bellows/train"
	"bellows/vec"
)

// Newton's method, for losses with two derivatives and features that are few. An epoch has three clocks:
//
//  1. gather: every split adds what its rows say of the gradient and the Hessian at the weights to the moments. The first split adds the part of the last
//     direction that was good to the weights, and takes the direction back.
//  2. solve: the first split solves for a direction, and takes the moments back, exactly, since x - x is 0.
//  3. measure: every split scores its rows at some lengths of the step. The policy chooses the best, so that no epoch makes the objective worse.
//
// The weights of an epoch are those of the table and a part of the direction, which the policy knows.
const (
	newtonClocks = 2
	newtonMost   = 512 // features; the Hessian of more takes longer than what it gains
)

// lengths are the parts of a direction that are tried. 0 is the last, so that what is best is never worse than what was.
var lengths = [...]float64{1, 0.5, 0.25, 1.0 / 16, 1.0 / 256, 0}

// The tables of Newton's method, in their order.
const (
	weightsTable   train.Table = iota // row j: the weight of scaled feature j; last row: of the bias
	directionTable                    // likewise
	momentsTable                      // row j: the Hessian's row of the losses, and the gradient
)

// argLength is, for a task of Newton's method, the part of the direction that belongs to the weights.
const argLength = 1

// The results of a task of Newton's method that measures: blocks of as many as there are lengths, and three.
const (
	triedLoss      = iota * len(lengths) // of training rows
	triedRight                           // of training rows: on the right side, or squared errors
	triedSpread                          // of training rows: the curvature of the loss
	triedTest                            // loss of test rows
	triedTestRight                       // of test rows
	triedSquares                         // of weights
	triedAll
)

// newton runs the tasks of one split. All that it holds is scratch.
type newton struct {
	p                          *problem
	loss                       loss.Curved
	weights, direction, change []float32
	moments, bent              []float32
	x                          []float32 // rows of a batch, with the bias
}

// batchNewton is rows that are multiplied at a time.
const batchNewton = 64

func (e *newton) end() bellows.RowID { return bellows.RowID(e.p.features + 1) }

// RunTask implements train.Executor.
func (e *newton) RunTask(t *train.Task) error {
	switch e.p.work().Place(t.Clock()) {
	case 0:
		e.gather(t)
	case 1:
		return e.solve(t)
	default:
		e.measure(t)
	}
	return nil
}

// pull is the table's weights and the direction.
func (e *newton) pull(t *train.Task) (weights, direction []float32) {
	e.weights = append(e.weights[:0], t.PullRange(weightsTable, 0, e.end())...)
	e.direction = append(e.direction[:0], t.PullRange(directionTable, 0, e.end())...)
	return e.weights, e.direction
}

// gather adds up the moments of the split's rows.
func (e *newton) gather(t *train.Task) {
	weights, direction := e.pull(t)
	part, size := float32(t.Args()[argLength]), len(weights)
	change := append(e.change[:0], direction...)
	e.change = change
	vec.Scale(part, change)
	vec.Add(change, weights)
	if t.Split() == 0 {
		t.PushRange(weightsTable, 0, change)
		vec.Scale(-1, direction)
		t.PushRange(directionTable, 0, direction)
	}
	moments := reserve(&e.moments, size*(size+1))
	clear(moments)
	u := &e.p.blocks[t.Split()]
	if u.offset == nil {
		e.gatherDense(u, weights, moments)
	} else {
		e.gatherSparse(u, weights, moments)
	}
	t.PushRange(momentsTable, 0, moments)
	t.SignalTaskCompletion(0)
}

func (e *newton) gatherDense(u *block, weights, moments []float32) {
	size := len(weights)
	x, bent := reserve(&e.x, batchNewton*size), reserve(&e.bent, batchNewton*(size+1))
	for lo := 0; lo < len(u.target); lo += batchNewton {
		rows := min(batchNewton, len(u.target)-lo)
		for i := range rows {
			own := x[i*size : (i+1)*size]
			copy(own, u.row(lo+i, size-1))
			own[size-1] = e.p.bias
			first, second := e.loss.Slopes(float64(vec.Dot(own, weights)), float64(u.target[lo+i]))
			row := bent[i*(size+1) : (i+1)*(size+1)]
			copy(row, own)
			vec.Scale(float32(second), row[:size])
			row[size] = float32(first)
		}
		vec.GemmTN(size, size+1, rows, 1, x, size, bent, size+1, 1, moments, size+1)
	}
}

func (e *newton) gatherSparse(u *block, weights, moments []float32) {
	size := len(weights)
	last := size - 1
	for i, y := range u.target {
		first, second := e.loss.Slopes(u.score(weights, i, e.p.bias, plain), float64(y))
		index, value := u.entries(i)
		g, h := float32(first), float32(second)
		add := func(j int, x float32) {
			row := moments[j*(size+1) : (j+1)*(size+1)]
			for k, other := range index {
				row[other] += float32(h * float32(x*value[k]))
			}
			row[last] += float32(h * float32(x*e.p.bias))
			row[size] += float32(g * x)
		}
		for k, j := range index {
			add(int(j), value[k])
		}
		add(last, e.p.bias)
	}
}

// solve finds the direction, and says how far the objective is from the best at most: |gradient|²/(2 l2), as the objective bends by l2 at least.
func (e *newton) solve(t *train.Task) error {
	if t.Split() != 0 {
		t.SignalTaskCompletion(0)
		return nil
	}
	weights := t.PullRange(weightsTable, 0, e.end())
	moments := t.PullRange(momentsTable, 0, e.end())
	n, size := float64(len(e.p.rows)), len(weights)
	pull := t.Args()[argL2] * n
	hessian, gradient, squares := make([]float64, size*size), make([]float64, size), 0.0
	for j := range size {
		row := moments[j*(size+1) : (j+1)*(size+1)]
		for k, h := range row[:size] {
			hessian[j*size+k] = float64(h)
		}
		hessian[j*size+j] += pull
		gradient[j] = float64(row[size]) + pull*float64(weights[j])
		squares += gradient[j] * gradient[j]
	}
	if !solve(hessian, gradient, size) {
		return bellows.Errorf(bellows.BadData, "train", name, "the features are so much alike that rounding hides what tells them apart").
			Hinted("give a larger l2, such as --set l2=0.001")
	}
	change := reserve(&e.change, size)
	for j, d := range gradient {
		change[j] = float32(-d)
	}
	t.PushRange(directionTable, 0, change)
	back := append(e.moments[:0], moments...)
	e.moments = back
	vec.Scale(-1, back)
	t.PushRange(momentsTable, 0, back)
	t.SignalTaskCompletion(squares / (n * n) / (2 * t.Args()[argL2]))
	return nil
}

// solve replaces b by a⁻¹ b, for a symmetric matrix a that is positive: a becomes its Cholesky factor. It says whether a is positive.
func solve(a, b []float64, n int) bool {
	for j := range n {
		row := a[j*n : j*n+j+1]
		for k := range j + 1 {
			other, sum := a[k*n:k*n+k+1], row[k]
			for i := range k {
				sum -= row[i] * other[i]
			}
			if k < j {
				row[k] = sum / other[k]
				continue
			}
			if !(sum > 0) {
				return false
			}
			row[j] = math.Sqrt(sum)
		}
		for k := range j {
			b[j] -= row[k] * b[k]
		}
		b[j] /= row[j]
	}
	for j := n - 1; j >= 0; j-- {
		b[j] /= a[j*n+j]
		for k := range j {
			b[k] -= a[j*n+k] * b[j]
		}
	}
	return true
}

// plain makes scores of weights themselves.
var plain = penalty{factor: 1}

// measure scores the split's training rows and its part of the test rows, at all lengths.
func (e *newton) measure(t *train.Task) {
	weights, direction := e.pull(t)
	var got [triedAll]float64
	split := int(t.Split())
	each := func(u *block, visit func(k int, score, y float64)) {
		for i, y := range u.target {
			score, step := u.score(weights, i, e.p.bias, plain), u.score(direction, i, e.p.bias, plain)
			for k, part := range lengths {
				visit(k, score+part*step, float64(y))
			}
		}
	}
	each(&e.p.blocks[split], func(k int, score, y float64) {
		got[triedLoss+k] += e.loss.Value(score, y)
		got[triedRight+k] += e.p.judge(score, y)
		_, second := e.loss.Slopes(score, y)
		got[triedSpread+k] += second
	})
	each(&e.p.scored[split], func(k int, score, y float64) {
		got[triedTest+k] += e.p.cost(score, y)
		got[triedTestRight+k] += e.p.judge(score, y)
	})
	for j := app.Share(len(weights), split, e.p.splits); j < app.Share(len(weights), split+1, e.p.splits); j++ {
		for k, part := range lengths {
			w := float64(weights[j]) + part*float64(direction[j])
			got[triedSquares+k] += w * w
		}
	}
	t.SignalTaskCompletion(got[:]...)
}
