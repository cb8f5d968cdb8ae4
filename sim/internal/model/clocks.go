package model

import (
	"math"

	"bellows"
	"bellows/table"
)

// model computes the BSP tables clock by clock, in the plainest way.
func (j *Job) model() {
	state := j.initial(Sums)
	w := j.initial(Weights)
	var squares []float32
	if j.Schemas[Weights].Rule.Name == "adagrad" {
		squares = make([]float32, len(w))
	}
	for c := bellows.Clock(0); ; c++ {
		j.SumsAt = append(j.SumsAt, append([]float32(nil), state...))
		j.WeightsAt = append(j.WeightsAt, append([]float32(nil), w...))
		j.squaresAt = append(j.squaresAt, append([]float32(nil), squares...))
		if int(c) == j.Clocks {
			return
		}
		j.sumClock(c, state)
		j.weightClock(c, w, squares)
	}
}

func (j *Job) initial(t bellows.TableID) []float32 {
	s := &j.Schemas[t]
	v := make([]float32, s.Rows*s.Width)
	for r := range s.Rows {
		s.Init.Fill(bellows.RowID(r), v[r*s.Width:(r+1)*s.Width])
	}
	return v
}

// sumClock adds a clock's deltas to sums, each value along the binary tree over split ids: the lower
// half of a subtree first, splits that do not touch the row left out. A split is the sum of its units, one after the
// other.
func (j *Job) sumClock(c bellows.Clock, state []float32) {
	before := append([]float32(nil), state...)
	size := 1
	for size < j.Splits {
		size *= 2
	}
	for at := range state {
		row, col := at/SumWidth, at%SumWidth
		var sum func(first, size int) (float32, bool)
		sum = func(first, size int) (float32, bool) {
			if first >= j.Splits {
				return 0, false
			}
			if size == 1 {
				return j.sumUnits(bellows.SplitID(first), c, row, col, before)
			}
			a, hasA := sum(first, size/2)
			b, hasB := sum(first+size/2, size/2)
			switch {
			case hasA && hasB:
				return float32(a + b), true
			case hasA:
				return a, true
			}
			return b, hasB
		}
		if d, any := sum(0, size); any {
			state[at] = float32(before[at] + d)
		}
	}
}

// sumUnits returns the sum of what the units of a split's clock add to one value of sums, and reports whether any adds to it.
func (j *Job) sumUnits(s bellows.SplitID, c bellows.Clock, row, col int, before []float32) (sum float32, touched bool) {
	own, other := j.Cells(s, c)
	n := j.Units(s, c)
	for i := range n {
		u := bellows.Unit{Split: s, Clock: c, Items: j.Items(s, c).Part(i, n)}
		if !j.TouchesSum(u, row) {
			continue
		}
		d := j.SumDelta(u, row, col, before[own*SumWidth], before[other*SumWidth])
		if !touched {
			sum, touched = d, true
			continue
		}
		sum = float32(sum + d)
	}
	return sum, touched
}

// weightClock runs the rule of weights once for each row that a split touched in the clock.
func (j *Job) weightClock(c bellows.Clock, w, squares []float32) {
	for row := range WeightRows {
		units := make([]bellows.Unit, 0, SplitsMax)
		for s := range j.Splits {
			units = append(units, bellows.Unit{Split: bellows.SplitID(s), Clock: c, Items: j.Items(bellows.SplitID(s), c)})
		}
		j.descend(units, row, w, squares)
	}
}

// descend runs the rule of weights on one row with the sum of the units' gradients. Sums of small whole
// numbers are exact in any order.
func (j *Job) descend(units []bellows.Unit, row int, w, squares []float32) {
	var g [WeightWidth]float32
	touched := false
	for _, u := range units {
		if !j.Touches(Weights, u, WeightRows, row) {
			continue
		}
		touched = true
		for col := range g {
			g[col] += j.Gradient(u.Split, u.Clock, row, col)
		}
	}
	if !touched {
		return
	}
	r := j.Schemas[Weights].Rule
	for col, g := range g {
		at := row*WeightWidth + col
		if squares == nil {
			w[at] -= float32(r.Step * g)
			continue
		}
		squares[at] += float32(g * g)
		w[at] -= float32(float32(r.Step*g) / float32(float32(math.Sqrt(float64(squares[at])))+r.Epsilon))
	}
}

// Barrier reports whether weights is BSP in this job.
func (j *Job) Barrier() bool { return j.Schemas[Weights].Consistency == table.BSP }
