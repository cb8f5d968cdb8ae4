package linear

import (
	"math"
	"slices"

	"bellows"
	"bellows/app"
	"bellows/app/examples"
	"bellows/app/linear/internal/loss"
	"bellows/train"
	"bellows/vec"
)

// Newton's method, of all losses and both penalties. An epoch has three clocks:
//
//  1. gather: every split scores its rows at the weights, and adds what they say of the gradient and the Hessian to the moments. The first split adds the part of
//     the last direction that was good to the weights, and takes the direction back.
//  2. solve: the first split finds the direction to the least of the quadratic model, and takes the moments back, exactly, since x - x is 0. Where features are
//     too many for a Hessian, every split goes down along its own features instead (columns.go), and rows give their slopes and not moments.
//  3. measure: every split scores its rows at some lengths of the step. The policy chooses the best, so that no epoch makes the objective worse.
//
// The weights of an epoch are those of the table and a part of the direction, which the policy knows.
//
// A loss with corners is smoothed about dual variables that rows keep (loss.Smoothed), and when a whole step was good, the dual variables become those of
// the smooth loss, and that is made sharper: the method of multipliers, which comes to the best of the loss itself (Rockafellar 1976, "Augmented Lagrangians and applications of the
// proximal point algorithm"; with Newton's method inside, Li, Sun and Toh 2018, "A highly efficient semismooth Newton augmented Lagrangian method for solving lasso problems").
const (
	newtonClocks = 2
	newtonMost   = 1024 // features; the Hessian of more takes longer than what it gains
)

// lengths are the parts of a direction that are tried. 0 is the last, so that what is best is never worse than what was. Twice the direction is for the logistic loss alone, which bends less the farther it is
// from where it began: from weights of 0 a step as long as that comes twice as near.
var lengths = loss.Lengths

// longest returns the place of the first length that is tried.
func (p *problem) longest() int { return 1 - int(ones(p.inLine())) }

// inLine reports whether rows are added up along a line.
func (p *problem) inLine() bool { return p.name == lossLogistic && p.l1 == 0 && !p.seekL1 }

// The tables of Newton's method, in their order.
const (
	weightsTable     train.Table = iota // row j: the weight of scaled feature j; last row: of the bias
	directionTable                      // row j: the change of that weight; last row: of the bias
	limitsTable                         // row of a split: the largest slope of its features, without l1
	momentsTable                        // row j: the Hessian's row of the losses, and the gradient; of columns, row of a split: both slopes of each of its rows
	multipliersTable                    // row of a split: the dual variables of its rows; of losses with corners
)

// The arguments of a task of Newton's method, beside those of all.
const (
	argLength = argCount + iota // the part of the direction that belongs to the weights
	argSharp                    // curvature of a loss with corners, where it is smooth
	// the curvature of the previous epoch; its dual variables become those of the rows; 0: they stay
	argTaken
	argDamp // of columns: how many times the curvature along a direction may be what a split sees of it
	argNewton
)

// The results of a task of Newton's method that measures: blocks of as many as there are lengths, and what is so at length 0.
const (
	triedLoss      = iota * len(lengths) // of training rows
	triedSmooth                          // the same of the smoothed loss
	triedRight                           // of training rows: on the right side, or squared errors
	triedSpread                          // of training rows: the curvature of the loss
	triedTest                            // loss of test rows
	triedTestRight                       // of test rows
	triedSquares                         // of weights
	triedSizes                           // of weights
	triedHeld                            // loss of training rows that are kept aside
	triedCount                           // weights that are not 0
	triedDual                            // of training rows, once
	triedAll       = triedDual + 1
)

// newton runs the tasks of one split. All that it holds is scratch.
type newton struct {
	p                          *problem
	weights, direction, change []float32
	moments, bent              []float32
	x                          []float32 // rows of a batch, with the bias
	gradient                   []float64
	descent                    descent
}

// batchNewton is rows that are multiplied at a time.
const batchNewton = 128

// panelNewton is columns of the Hessian that are multiplied at a time, each panel from its diagonal down.
const panelNewton = 128

func (e *newton) end() bellows.RowID { return bellows.RowID(e.p.Features + 1) }

// RunTask implements train.Executor.
func (e *newton) RunTask(t *train.Task) error {
	switch e.p.Work().Place(t.Clock()) {
	case 0:
		e.gather(t)
	case 1:
		if e.p.solver == solverDescent {
			e.descend(t)
			return nil
		}
		return e.solve(t)
	default:
		e.measure(t)
	}
	return nil
}

// pull returns the table's weights and the direction.
func (e *newton) pull(t *train.Task) (weights, direction []float32) {
	t.CopyRange(weightsTable, 0, e.end(), examples.Reserve(&e.weights, int(e.end())))
	t.CopyRange(directionTable, 0, e.end(), examples.Reserve(&e.direction, int(e.end())))
	return e.weights, e.direction
}

// bender is the loss of a split's rows, and whether a row is kept aside.
type bender struct {
	loss.Bender
	rests func(i int) bool
}

// bender returns the bender of a task's split.
func (e *newton) bender(t *train.Task) bender {
	b := bender{loss.NewBender(e.p.loss, t.Args()[argSharp]), func(int) bool { return false }}
	if t.Args()[argHold] != 0 {
		first := e.p.first(int(t.Split()), 0)
		b.rests = func(i int) bool { return e.p.heldAside(first + i) }
	}
	if e.p.corners {
		b.Dual = t.PullRow(multipliersTable, bellows.RowID(t.Split()))
	}
	return b
}

// gather adds up what the split's rows say.
func (e *newton) gather(t *train.Task) {
	weights, direction := e.pull(t)
	part := float32(t.Args()[argLength])
	change := append(e.change[:0], direction...)
	e.change = change
	vec.Scale(part, change)
	vec.Add(change, weights)
	if t.Split() == 0 {
		t.PushRange(weightsTable, 0, change)
		vec.Scale(-1, direction)
		t.PushRange(directionTable, 0, direction)
	}
	u := &e.p.blocks[t.Split()]
	e.take(t, u, weights)
	b := e.bender(t)
	if e.p.solver == solverDescent {
		e.slopes(t, u, b, weights)
	} else {
		e.gatherMoments(t, u, b, weights)
	}
	t.SignalTaskCompletion(0)
}

// take makes the dual variables of the smooth loss those of the rows.
func (e *newton) take(t *train.Task, u *block, weights []float32) {
	if t.Args()[argTaken] == 0 || !e.p.corners {
		return
	}
	b := e.bender(t)
	b.Sharp = t.Args()[argTaken]
	moves := examples.Reserve(&e.moments, len(b.Dual))
	clear(moves)
	for i, y := range u.target {
		first, _ := b.Slopes(i, u.score(weights, i, e.p.bias, plain), float64(y))
		moves[i] = float32(-first) - b.Dual[i]
	}
	t.PushRow(multipliersTable, bellows.RowID(t.Split()), moves)
}

func (e *newton) gatherMoments(t *train.Task, u *block, b bender, weights []float32) {
	size := len(weights)
	moments := examples.Reserve(&e.moments, size*(size+1))
	clear(moments)
	if cap(e.gradient) < size {
		e.gradient = make([]float64, size)
	}
	e.gradient = e.gradient[:size]
	clear(e.gradient)
	if u.Offset == nil {
		e.gatherDense(u, b, weights, moments)
	} else {
		e.gatherSparse(u, b, weights, moments)
	}
	for j, g := range e.gradient {
		moments[j*(size+1)+size] = float32(g)
	}
	t.PushRange(momentsTable, 0, moments)
}

// thinned returns how many rows there are for one whose bend is in the Hessian: where rows are many beside features
// and multiplying them is what takes the time, a quarter of them says nearly the same, and the gradient is that of
// all (Byrd et al. 2011, "On the use of stochastic Hessian information in optimization methods for machine
// learning"). By all, MNIST's halves take 3.7 s of CPU time in 6 epochs, by a quarter 1.7 s in as many. Of
// squared_hinge, of whose rows few bend, it took more.
func (p *problem) thinned() int {
	if !p.Dense || p.name != lossLogistic || p.l1 > 0 || p.Features < thinFeatures {
		return 1
	}
	return max(1, min(thinMost, len(p.Rows)/(thinRows*p.Features)))
}

// The bounds of thinned: features, rows a feature that are left, and rows for one.
const (
	thinFeatures = 256
	thinRows     = 16
	thinMost     = 4
)

// bend returns both slopes of a row that trains, and of one that is kept aside 0.
func (e *newton) bend(u *block, b bender, weights []float32, i int, y float64) (first, second float64) {
	if b.rests(i) {
		return 0, 0
	}
	first, second = b.Slopes(i, u.score(weights, i, e.p.bias, plain), y)
	w := u.weight.Weight(i)
	return w * first, w * second
}

// gatherDense multiplies the rows that bend in batches; those that do not are in the gradient alone.
func (e *newton) gatherDense(u *block, b bender, weights, moments []float32) {
	size := len(weights)
	x, bent := examples.Reserve(&e.x, batchNewton*size), examples.Reserve(&e.bent, batchNewton*size)
	full := 0
	for i, y := range u.target {
		row := u.row(i, size-1)
		first, second := e.bend(u, b, weights, i, float64(y))
		if first != 0 {
			for j, v := range row {
				e.gradient[j] += first * float64(v)
			}
			e.gradient[size-1] += first * float64(e.p.bias)
		}
		if second != 0 && i%e.p.thin == 0 {
			second *= float64(e.p.thin)
			own := x[full*size : (full+1)*size]
			copy(own, row)
			own[size-1] = e.p.bias
			copy(bent[full*size:], own)
			vec.Scale(float32(second), bent[full*size:(full+1)*size])
			full++
		}
		if full == batchNewton || i == len(u.target)-1 {
			for from := 0; from < size; from += panelNewton { // the lower half, and what of the upper lies in the panels
				vec.GemmTN(size-from, min(panelNewton, size-from), full, 1, x[from:], size, bent[from:], size, 1, moments[from*(size+1)+from:], size+1)
			}
			full = 0
		}
	}
}

func (e *newton) gatherSparse(u *block, b bender, weights, moments []float32) {
	size := len(weights)
	last := size - 1
	for i, y := range u.target {
		first, second := e.bend(u, b, weights, i, float64(y))
		index, value := u.Entries(i)
		if first != 0 {
			for k, j := range index {
				e.gradient[j] += first * float64(value[k])
			}
			e.gradient[last] += first * float64(e.p.bias)
		}
		if second == 0 {
			continue
		}
		// The lower half: indices ascend, and the bias is last.
		for k, j := range index {
			x := float32(second) * value[k]
			row := moments[int(j)*(size+1):]
			for l, other := range index[:k+1] {
				row[other] += float32(x * value[l])
			}
		}
		x := float32(second) * e.p.bias
		row := moments[last*(size+1):]
		for l, other := range index {
			row[other] += float32(x * value[l])
		}
		row[last] += x * e.p.bias
	}
}

// solve finds the direction, and says how far the objective is from the best at most, without l1: |gradient|²/(2 l2), as the objective bends by l2 at least.
func (e *newton) solve(t *train.Task) error {
	if t.Split() != 0 {
		t.SignalTaskCompletion(0)
		return nil
	}
	weights := t.PullRange(weightsTable, 0, e.end())
	moments := t.PullRange(momentsTable, 0, e.end())
	n, size, args := e.p.trains(t.Args()[argHold] != 0), len(weights), t.Args()
	pull, limit := args[argL2]*n, 0.0
	hessian, gradient, squares := make([]float64, size*size), make([]float64, size), 0.0
	for j := range size {
		row := moments[j*(size+1) : (j+1)*(size+1)]
		for k, h := range row[:j+1] {
			hessian[j*size+k], hessian[k*size+j] = float64(h), float64(h)
		}
		hessian[j*size+j] += pull
		gradient[j] = float64(row[size]) + pull*float64(weights[j])
		squares += gradient[j] * gradient[j]
		limit = max(limit, math.Abs(gradient[j]))
	}
	change := examples.Reserve(&e.change, size)
	if args[argL1] > 0 {
		shrink(hessian, gradient, weights, args[argL1]*n, change)
	} else {
		if !solve(hessian, gradient, size) {
			return bellows.Errorf(bellows.BadData, "train", name, "the features are so much alike that rounding hides what tells them apart").
				Hinted("give a larger l2, such as --set l2=0.001")
		}
		for j, d := range gradient {
			change[j] = float32(-d)
		}
	}
	t.PushRange(directionTable, 0, change)
	back := append(e.moments[:0], moments...)
	e.moments = back
	vec.Scale(-1, back)
	t.PushRange(momentsTable, 0, back)
	e.limit(t, limit)
	t.SignalTaskCompletion(beyond(squares, n, args[argL2]))
	return nil
}

// beyond returns how far the objective is from the best at most, by the square of its gradient; 0 where l2 is 0, and
// the dual alone says it.
func beyond(squares, n, l2 float64) float64 {
	if l2 > 0 {
		return squares / (n * n) / (2 * l2)
	}
	return 0
}

// limit tells all splits the largest slope of this one's features.
func (e *newton) limit(t *train.Task, slope float64) {
	was := t.PullRow(limitsTable, bellows.RowID(t.Split()))[0]
	t.PushRow(limitsTable, bellows.RowID(t.Split()), []float32{float32(slope) - was})
}

// The end of shrink: sweeps, and the part of the first sweep's gain that is too little to continue.
const (
	shrinkMost  = 1000
	shrinkLeast = 1e-14
)

// shrink writes the change d of weights w with the least gradient·d + d·hessian·d/2 + threshold |w+d|₁, by coordinate
// descent. A weight that is zero at the optimum becomes exactly zero.
func shrink(hessian, gradient []float64, w []float32, threshold float64, d []float32) {
	size, slope := len(w), slices.Clone(gradient)
	at := make([]float64, size)
	for j, v := range w {
		at[j] = float64(v)
	}
	first := 0.0
	for sweep := range shrinkMost {
		gain := 0.0
		for j, v := range at {
			bend := hessian[j*size+j]
			if bend <= 0 {
				continue
			}
			move := soft(bend*v-slope[j], threshold)/bend - v
			if move == 0 {
				continue
			}
			at[j] += move
			if math.Abs(at[j]) < tiny*math.Abs(v) {
				at[j] = 0
			}
			gain += bend * move * move
			for k, h := range hessian[j*size : (j+1)*size] {
				slope[k] += h * move
			}
		}
		if sweep == 0 {
			first = gain
		}
		if gain <= shrinkLeast*first {
			break
		}
	}
	for j, v := range at {
		d[j] = float32(v - float64(w[j]))
		if v == 0 {
			d[j] = -w[j]
		}
	}
}

// tiny is a part of a weight that rounding leaves where there should be none.
const tiny = 1e-13

func soft(x, threshold float64) float64 {
	return math.Copysign(max(0, math.Abs(x)-threshold), x)
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
	split, l2, b := int(t.Split()), t.Args()[argL2], e.bender(t)
	fits := e.fits(t)
	u, evidence := &e.p.blocks[split], e.p.evident()
	inLine, longest := e.p.inLine(), e.p.longest()
	many := loss.NewAlong()
	for i, target := range u.target {
		y, score, step := float64(target), u.score(weights, i, e.p.bias, plain), u.score(direction, i, e.p.bias, plain)
		w := u.weight.Weight(i)
		if b.rests(i) {
			for k := longest; k < len(lengths); k++ {
				part := lengths[k]
				got[triedHeld+k] += w * e.p.loss.Value(score+part*step, y)
			}
			continue
		}
		if inLine && w == 1 && many.Add(y*score, y*step) {
			for k := longest; k < len(lengths); k++ {
				part := lengths[k]
				got[triedRight+k] += u.count.Weight(i) * e.p.judge(score+part*step, y)
			}
			continue
		}
		for k := longest; k < len(lengths); k++ {
			part := lengths[k]
			a := score + part*step
			got[triedLoss+k] += w * e.p.loss.Value(a, y)
			got[triedRight+k] += u.count.Weight(i) * e.p.judge(a, y)
			if e.p.corners {
				got[triedSmooth+k] += w * b.Value(i, a, y)
			}
			if evidence {
				_, second := b.Slopes(i, a, y)
				got[triedSpread+k] += w * second
			}
		}
		first, _ := b.Slopes(i, score, y)
		if dual := -fits * first; t.Args()[argL1] > 0 {
			got[triedDual] += w * e.p.loss.Dual(dual, y)
		} else if e.p.corners {
			got[triedDual] += w * (e.p.loss.Dual(dual, y) - dual*score)
		}
	}
	many.AddTo(got[triedLoss:], got[triedSpread:])
	if v := &e.p.scored[split]; len(v.target) > 0 {
		many := loss.NewAlong()
		for i, target := range v.target {
			y, score, step := float64(target), v.score(weights, i, e.p.bias, plain), v.score(direction, i, e.p.bias, plain)
			if inLine && v.count.Weight(i) == 1 && many.Add(y*score, y*step) {
				for k := longest; k < len(lengths); k++ {
					part := lengths[k]
					got[triedTestRight+k] += e.p.judge(score+part*step, y)
				}
				continue
			}
			for k := longest; k < len(lengths); k++ {
				part := lengths[k]
				got[triedTest+k] += v.count.Weight(i) * e.p.cost(score+part*step, y)
				got[triedTestRight+k] += v.count.Weight(i) * e.p.judge(score+part*step, y)
			}
		}
		many.AddTo(got[triedTest:], nil)
	}
	for j := app.Share(len(weights), split, e.p.Splits); j < app.Share(len(weights), split+1, e.p.Splits); j++ {
		for k := longest; k < len(lengths); k++ {
			part := lengths[k]
			w := float64(weights[j]) + part*float64(direction[j])
			got[triedSquares+k] += w * w
			got[triedSizes+k] += math.Abs(w)
			got[triedCount+k] += ones(w != 0 && j < e.p.Features)
		}
		if t.Args()[argL1] > 0 {
			w := fits * float64(weights[j])
			got[triedDual] -= e.p.trains(t.Args()[argHold] != 0) * l2 / 2 * w * w
		}
	}
	t.SignalTaskCompletion(got[:]...)
}

// fits returns the part of the slopes of the rows by which they are dual variables of an objective with l1, where no
// feature may pull harder than l1 does; 1 without l1.
//
// l2 is taken as further rows there, one a feature, of the squared loss of √(l2 n) w: their dual variables are what makes the limit that of the slope with l2, and they cost
// l2/2 |w|² times the square of the part. So the gap goes to 0 with and without l2.
func (e *newton) fits(t *train.Task) float64 {
	threshold, limit := t.Args()[argL1]*e.p.trains(t.Args()[argHold] != 0), 0.0
	if threshold == 0 {
		return 1
	}
	for _, v := range t.PullRange(limitsTable, 0, bellows.RowID(e.p.Splits)) {
		limit = max(limit, float64(v)*(1+limitSlack))
	}
	return min(1, threshold/max(limit, math.SmallestNonzeroFloat64))
}

// limitSlack is what rounding of a limit may come to.
const limitSlack = 1e-6
