package main

import "math"

// row is one equation: the sum of counts times costs, in nanoseconds.
type row struct {
	counts counts
	total  float64
}

// leastSquares finds the costs, none of them negative, that miss the totals least, by the sum of the squared relative
// errors: it moves one cost after the other to where it is best given the others, until none moves any more. The sum is
// convex, so that there is nowhere else to end. Trying all sets of costs that may be zero, each by elimination, was turned down:
// it needs care for those that cannot be told apart.
func leastSquares(rows []row) (x counts) {
	var gram [len(x)]counts // of the counts, each row in units of its total
	var sums counts
	for _, r := range rows {
		for i := range x {
			for j := range x {
				gram[i][j] += r.counts[i] / r.total * r.counts[j] / r.total
			}
			sums[i] += r.counts[i] / r.total
		}
	}
	for range sweepsMost {
		moved := 0.0
		for i := range x {
			if gram[i][i] == 0 {
				continue // nothing had this cost
			}
			slope := sums[i]
			for j := range x {
				slope -= gram[i][j] * x[j]
			}
			to := max(0, x[i]+slope/gram[i][i])
			moved = max(moved, math.Abs(to-x[i])*math.Sqrt(gram[i][i]))
			x[i] = to
		}
		if moved < stillMoves {
			break
		}
	}
	return x
}

// A cost that moves by less than this is still, by what it changes of the totals, relative to them. A few hundred thousand
// sweeps are some tens of milliseconds.
const (
	stillMoves = 1e-13
	sweepsMost = 300_000
)
