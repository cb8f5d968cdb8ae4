package examples

import (
	"math"

	"bellows/vec"
)

// Curvature returns the largest eigenvalue of the scaled rows' second moments, from some of them by power iteration;
// rows is a row-major sample. The log-loss of classes bends by at most half of it, that of one score by a quarter.
func Curvature(rows []float32, width int) float64 {
	n := len(rows) / width
	v, u := make([]float32, width), make([]float32, width)
	for j := range v {
		v[j] = 1 + float32(j%7)/7 // in no eigenvector's null space but by accident
	}
	top := 0.0
	for range powerSteps {
		norm := math.Sqrt(float64(vec.SumSquares(v)))
		if norm == 0 || math.IsInf(norm, 0) {
			return top
		}
		vec.Scale(float32(1/norm), v)
		clear(u)
		for i := range n {
			x := rows[i*width : (i+1)*width]
			vec.Axpy(vec.Dot(x, v), x, u)
		}
		top = math.Sqrt(float64(vec.SumSquares(u))) / float64(n)
		u, v = v, u
	}
	return top
}

// powerSteps bounds the work of Curvature, and CurvatureRows is a sample that is large enough; ten per cent of error are no matter.
const (
	powerSteps    = 12
	CurvatureRows = 1024
)
