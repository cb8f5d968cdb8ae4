package mlr

import (
	"math/rand/v2"

	"bellows/data"
)

// source reads rows of examples as a model of some number of features sees them: features that a
// file lacks are zero, and those that the model does not know are left out.
type source struct {
	*data.ExampleSet
	features int
}

// dense is row r: a view where the layout allows, else written into buf, of the model's width.
func (s source) dense(r int, buf []float32) []float32 {
	if !s.Sparse() {
		row := s.Dense[r*s.Features : (r+1)*s.Features]
		if s.Features >= s.features {
			return row[:s.features]
		}
		clear(buf[copy(buf, row):])
		return buf
	}
	clear(buf)
	index, value := s.sparse(r)
	for i, j := range index {
		buf[j] = value[i]
	}
	return buf
}

// sparse is the entries of row r of a sparse set.
func (s source) sparse(r int) ([]int32, []float32) {
	lo, hi := s.Offset[r], s.Offset[r+1]
	for hi > lo && int(s.Index[hi-1]) >= s.features {
		hi--
	}
	return s.Index[lo:hi], s.Value[lo:hi]
}

// unknown counts the entries of features that the model does not have.
func (s source) unknown() (n int64) {
	if !s.Sparse() {
		return int64(max(0, s.Features-s.features)) * int64(s.Rows())
	}
	for r := range s.Rows() {
		known, _ := s.sparse(r)
		n += s.Offset[r+1] - s.Offset[r] - int64(len(known))
	}
	return n
}

// divide keeps rows out of training and shuffles the others, so that a file sorted by label does not
// give every split another class.
func divide(rows int, seed uint64, percent int) (training, held []int32) {
	training, held = data.HoldOut(seed, rows, percent)
	rng := rand.New(rand.NewPCG(seed, 0x6d6c72))
	rng.Shuffle(len(training), func(i, j int) { training[i], training[j] = training[j], training[i] })
	return training, held
}
