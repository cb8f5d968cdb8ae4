package main

import "math"

// row is one equation: the sum of counts times costs, in nanoseconds.
type row struct {
	counts counts
	total  float64
}

// leastSquares finds the costs, none of them negative, that miss the totals least, by the sum of the squared relative
// errors. It tries which of them are zero: with so few, all ways can be.
func leastSquares(rows []row) counts {
	var best counts
	least := math.Inf(1)
	for used := range 1 << len(best) {
		x, ok := solve(rows, used)
		if !ok {
			continue
		}
		if e := misses(rows, x); e < least {
			best, least = x, e
		}
	}
	return best
}

func misses(rows []row, x counts) (sum float64) {
	for _, r := range rows {
		predicted := 0.0
		for i, c := range r.counts {
			predicted += c * x[i]
		}
		e := predicted/r.total - 1
		sum += e * e
	}
	return sum
}

// solve is least squares over the unknowns in the set used, by the normal equations; ok is false where they do not
// determine the unknowns, or one would be negative.
func solve(rows []row, used int) (x counts, ok bool) {
	var at []int
	for i := range x {
		if used>>i&1 == 1 {
			at = append(at, i)
		}
	}
	n := len(at)
	m := make([][]float64, n) // the normal matrix and, last, the right side
	for i := range m {
		m[i] = make([]float64, n+1)
		for _, r := range rows {
			a := r.counts[at[i]] / r.total
			for j := range at {
				m[i][j] += a * r.counts[at[j]] / r.total
			}
			m[i][n] += a
		}
	}
	if !eliminate(m) {
		return x, false
	}
	for i, v := range m {
		if v[n] < 0 {
			return x, false
		}
		x[at[i]] = v[n]
	}
	return x, true
}

// determined is the least that elimination may leave of a diagonal element, relative to what it was.
const determined = 1e-9

// eliminate solves a system of equations in place (Gauss-Jordan): the solution is the last column. It reports false for
// one that is not determined. The matrix is that of a quadratic form, so that its diagonal gives the pivots.
func eliminate(m [][]float64) bool {
	n := len(m)
	diagonal := make([]float64, n)
	for k := range m {
		diagonal[k] = m[k][k]
	}
	for k := range m {
		pivot := m[k][k]
		if !(pivot > determined*diagonal[k]) {
			return false
		}
		for j := k; j <= n; j++ {
			m[k][j] /= pivot
		}
		for i := range m {
			if factor := m[i][k]; i != k {
				for j := k; j <= n; j++ {
					m[i][j] -= factor * m[k][j]
				}
			}
		}
	}
	return true
}
