package loss

import (
	"math"
	"math/rand/v2"
	"testing"
)

// TestAlongIsTheLossItself holds the sums along a line against the loss of each row at each length, for rows that are near, far out and beyond what is taken.
func TestAlongIsTheLossItself(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for _, size := range []float64{0.01, 1, 10, 60} {
		got, refused := NewAlong(), 0
		var wantLoss, wantSpread, gotLoss, gotSpread [len(Lengths)]float64
		for range 2000 {
			margin, step := size*r.NormFloat64(), size*r.NormFloat64()
			if !got.Add(margin, step) {
				refused++
				continue
			}
			for k, part := range Lengths {
				a := margin + part*step
				wantLoss[k] += Logistic{}.Value(a, 1)
				_, second := Logistic{}.Slopes(a, 1)
				wantSpread[k] += second
			}
		}
		got.AddTo(gotLoss[:], gotSpread[:])
		for k := range Lengths {
			if math.Abs(gotLoss[k]-wantLoss[k]) > 1e-11*wantLoss[k] || math.Abs(gotSpread[k]-wantSpread[k]) > 1e-11*wantSpread[k] {
				t.Errorf("size %v, length %v: loss %v and spread %v, want %v and %v", size, Lengths[k], gotLoss[k], gotSpread[k], wantLoss[k], wantSpread[k])
			}
		}
		if far := size == 60; far != (refused > 0) {
			t.Errorf("size %v: %d rows refused", size, refused)
		}
	}
	for _, bad := range []float64{math.NaN(), math.Inf(1), alongMost} {
		if s := NewAlong(); s.Add(bad, 1) || s != NewAlong() {
			t.Errorf("a margin of %v was added", bad)
		}
	}
}
