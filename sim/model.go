package sim

import (
	"math"

	"bellows"
	"bellows/table"
)

// model computes the BSP tables clock by clock, in the plainest way.
func (j *job) model() {
	state := j.initial(sums)
	w := j.initial(weights)
	var squares []float32
	if j.schemas[weights].Rule.Name == "adagrad" {
		squares = make([]float32, len(w))
	}
	for c := bellows.Clock(0); ; c++ {
		j.sumsAt = append(j.sumsAt, append([]float32(nil), state...))
		j.weightsAt = append(j.weightsAt, append([]float32(nil), w...))
		if int(c) == j.clocks {
			return
		}
		j.sumClock(c, state)
		j.weightClock(c, w, squares)
	}
}

func (j *job) initial(t bellows.TableID) []float32 {
	s := &j.schemas[t]
	v := make([]float32, s.Rows*s.Width)
	for r := range s.Rows {
		s.Init.Fill(bellows.RowID(r), v[r*s.Width:(r+1)*s.Width])
	}
	return v
}

// sumClock adds a clock's deltas to sums, each value along the binary tree over split ids: the lower
// half of a subtree first, splits that do not touch the row left out.
func (j *job) sumClock(c bellows.Clock, state []float32) {
	before := append([]float32(nil), state...)
	size := 1
	for size < j.splits {
		size *= 2
	}
	for at := range state {
		row, col := at/sumWidth, at%sumWidth
		var sum func(first, size int) (float32, bool)
		sum = func(first, size int) (float32, bool) {
			if first >= j.splits {
				return 0, false
			}
			if size == 1 {
				s := bellows.SplitID(first)
				own, other := j.cells(s, c)
				return j.sumDelta(s, c, row, col, before[own*sumWidth], before[other*sumWidth]),
					j.touches(sums, s, c, sumRows, row)
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

// weightClock runs the rule of weights once for each row that a split touched in the clock.
func (j *job) weightClock(c bellows.Clock, w, squares []float32) {
	for row := range weightRows {
		units := make([]bellows.Unit, 0, splitsMax)
		for s := range j.splits {
			units = append(units, bellows.Unit{Split: bellows.SplitID(s), Clock: c})
		}
		j.descend(units, row, w, squares)
	}
}

// descend runs the rule of weights on one row with the sum of the units' gradients. Sums of small whole
// numbers are exact in any order.
func (j *job) descend(units []bellows.Unit, row int, w, squares []float32) {
	var g [weightWidth]float32
	touched := false
	for _, u := range units {
		if !j.touches(weights, u.Split, u.Clock, weightRows, row) {
			continue
		}
		touched = true
		for col := range g {
			g[col] += j.gradient(u.Split, u.Clock, row, col)
		}
	}
	if !touched {
		return
	}
	r := j.schemas[weights].Rule
	for col, g := range g {
		at := row*weightWidth + col
		if squares == nil {
			w[at] -= float32(r.Step * g)
			continue
		}
		squares[at] += float32(g * g)
		w[at] -= float32(float32(r.Step*g) / float32(float32(math.Sqrt(float64(squares[at])))+r.Epsilon))
	}
}

// barrier reports whether weights is BSP in this job.
func (j *job) barrier() bool { return j.schemas[weights].Consistency == table.BSP }
