package examples

import (
	"math/rand/v2"

	"bellows/data"
)

// Source reads rows of examples as a model of some number of features sees them: features that a
// file lacks are zero, and those that the model does not know are left out.
type Source struct {
	*data.ExampleSet
	Width int       // features of the model
	Lift  []float64 // by class: what scores have beside values and weights, see the function Lift; nil: nothing
}

// Lifted returns the Lift of a class.
func (s Source) Lifted(class int) float64 {
	if s.Lift == nil {
		return 0
	}
	return s.Lift[class]
}

// Vector returns row r: a view where the layout allows, else written into buf, of the model's width.
func (s Source) Vector(r int, buf []float32) []float32 {
	if !s.Sparse() {
		row := s.Dense[r*s.Features : (r+1)*s.Features]
		if s.Features >= s.Width {
			return row[:s.Width]
		}
		clear(buf[copy(buf, row):])
		return buf
	}
	clear(buf)
	index, value := s.Entries(r)
	for i, j := range index {
		buf[j] = value[i]
	}
	return buf
}

// Entries returns the entries of row r of a sparse set.
func (s Source) Entries(r int) ([]int32, []float32) {
	lo, hi := s.Offset[r], s.Offset[r+1]
	for hi > lo && int(s.Index[hi-1]) >= s.Width {
		hi--
	}
	return s.Index[lo:hi], s.Value[lo:hi]
}

// Unknown counts the entries of features that the model does not have.
func (s Source) Unknown() (n int64) {
	if !s.Sparse() {
		return int64(max(0, s.Features-s.Width)) * int64(s.Rows())
	}
	for r := range s.Rows() {
		known, _ := s.Entries(r)
		n += s.Offset[r+1] - s.Offset[r] - int64(len(known))
	}
	return n
}

// Divide keeps rows out of training and shuffles the others, so that a file sorted by label does not
// give every split another class.
func Divide(rows int, seed uint64, percent int) (training, held []int32) {
	training, held = data.HoldOut(seed, rows, percent)
	rng := rand.New(rand.NewPCG(seed, 0x6d6c72))
	rng.Shuffle(len(training), func(i, j int) { training[i], training[j] = training[j], training[i] })
	return training, held
}
