package mf

import (
	"math"

	"bellows/vec"
)

// details is the application's part of the manifest: the strength of L2 when the model was kept, as a weight for each
// rating in units of the model's factors and biases, and with loss=weighted the weight of unobserved pairs, otherwise
// 0. With it a new user gets factors as in training.
type details struct {
	L2         float64 `json:"l2"`
	BiasL2     float64 `json:"bias_l2,omitempty"`
	Unobserved float64 `json:"unobserved,omitempty"`
	Origin     float64 `json:"origin,omitempty"` // of ratings: what is added to what the factors, the biases and the mean predict
}

// given is a rating of a user that the model does not know.
type given struct {
	item   int32
	rating float32
}

// fold returns a new user's factors and bias that minimise the squared error on the ratings, with the items unchanged:
//
//	sum over ratings of (rating - mean - item bias - bias - p·q)² + l2·|p|² + bias_l2·bias²
//
// It is ridge regression, with one variable more than factors, solved by its normal equations. If the model has no
// biases, the new user gets none.
func (d *predictor) fold(list []given) taste {
	if d.implicit {
		return d.foldWeighted(list)
	}
	biased := vec.AbsMax(d.ub) > 0 || vec.AbsMax(d.qb) > 0
	n := d.rank
	if biased {
		n++
	}
	s := newSystem(n)
	row := make([]float64, n)
	for _, g := range list {
		for k, v := range d.item(int(g.item)) {
			row[k] = float64(v)
		}
		if biased {
			row[d.rank] = 1
		}
		s.add(row, 1, float64(g.rating)-float64(d.mean)-float64(d.qb[g.item]))
	}
	for k := range n {
		l2 := d.folding.L2
		if k == d.rank {
			l2 = d.folding.BiasL2
		}
		s.ridge(k, l2*float64(len(list)))
	}
	x := s.solve()
	out := taste{factors: make([]float32, d.rank)}
	for k := range d.rank {
		out.factors[k] = float32(x[k])
	}
	if biased {
		out.bias = float32(x[d.rank])
	}
	return out
}

// system is a symmetric positive definite system of linear equations; only its lower triangle is kept.
type system struct {
	n int
	a []float64 // row-major
	b []float64
}

func newSystem(n int) *system { return &system{n, make([]float64, n*n), make([]float64, n)} }

// add adds weight·row·rowᵀ to the matrix and weight·row·y to the right side.
func (s *system) add(row []float64, weight, y float64) {
	for i, v := range row {
		w := weight * v
		s.b[i] += w * y
		to := s.a[i*s.n:][:i+1]
		for j := range to {
			to[j] += w * row[j]
		}
	}
}

// ridge adds to a place of the diagonal. A little is added in any case, so that there is one solution.
func (s *system) ridge(k int, weight float64) {
	at := k*s.n + k
	s.a[at] += weight + 1e-9*(1+s.a[at])
}

// solve returns the solution, by Cholesky's decomposition. The matrix and the right side are overwritten.
func (s *system) solve() []float64 {
	for i := range s.n {
		row := s.a[i*s.n:][:i+1]
		for j := range row {
			other, sum := s.a[j*s.n:][:j+1], row[j]
			for k := range j {
				sum -= row[k] * other[k]
			}
			if row[j] = sum / other[j]; i == j {
				row[j] = math.Sqrt(max(sum, math.SmallestNonzeroFloat32))
			}
		}
	}
	x := s.b
	for i := range s.n {
		for j, v := range s.a[i*s.n:][:i] {
			x[i] -= v * x[j]
		}
		x[i] /= s.a[i*s.n+i]
	}
	for i := s.n - 1; i >= 0; i-- {
		x[i] /= s.a[i*s.n+i]
		for j, v := range s.a[i*s.n:][:i] {
			x[j] -= v * x[i]
		}
	}
	return x
}
