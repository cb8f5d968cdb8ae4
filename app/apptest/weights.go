package apptest

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"bellows/data"
)

// Heavy gives rows weights of 1 to 4, and repeated has each row as often as it weighs.
func Heavy(e *data.ExampleSet) (weighted, repeated *data.Set) {
	rng := rand.New(rand.NewPCG(5, 6))
	w, rows := *e, []int32(nil)
	w.Weight = make([]float32, e.Rows())
	for r := range w.Weight {
		n := 1 + rng.IntN(4)
		w.Weight[r] = float32(n)
		rows = append(rows, slices.Repeat([]int32{int32(r)}, n)...)
	}
	all := &data.Set{Kind: data.Examples, Examples: e}
	return &data.Set{Kind: data.Examples, Examples: &w}, all.Select(rows)
}

// Rises wants a function that is finite and does not fall, between two places and a little beyond them.
func Rises(t *testing.T, low, high float64, of func(float64) float64) {
	t.Helper()
	before := math.Inf(-1)
	for k := range 201 {
		at := low - 1 + (high-low+2)*float64(k)/200
		a := of(at)
		if math.IsNaN(a) || math.IsInf(a, 0) || a < before-1e-9 {
			t.Fatalf("%v behind %v at %v", a, before, at)
		}
		before = a
	}
}
