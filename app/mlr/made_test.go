package mlr

import (
	"math"
	"math/rand/v2"
	"testing"

	"bellows/app"
	"bellows/app/apptest"
	"bellows/data"
	"bellows/train"
)

// made returns rows of which each belongs to the class whose hidden direction it lies along, with noise;
// label y is the class times step plus base.
func made(rows, features, classes int, seed uint64, base, step float32) *data.ExampleSet {
	rng := rand.New(rand.NewPCG(seed, 7))
	hidden := rand.New(rand.NewPCG(99, 7)) // the same for every seed, so that a test set fits
	direction := make([]float64, classes*features)
	for i := range direction {
		direction[i] = hidden.NormFloat64()
	}
	e := &data.ExampleSet{Features: features, Dense: make([]float32, rows*features)}
	for r := range rows {
		best, most := 0, math.Inf(-1)
		x := e.Dense[r*features : (r+1)*features]
		for j := range x {
			x[j] = float32(rng.NormFloat64())
			if rng.IntN(2) == 0 {
				x[j] = 0
			}
		}
		for c := range classes {
			score := 0.5 * rng.NormFloat64()
			for j, v := range x {
				score += float64(v) * direction[c*features+j]
			}
			if score > most {
				best, most = c, score
			}
		}
		e.Label = append(e.Label, base+step*float32(best))
	}
	return e
}

// sparsely returns the same rows with their zeros left out.
func sparsely(e *data.ExampleSet) *data.ExampleSet {
	s := &data.ExampleSet{Label: e.Label, Features: e.Features, Offset: []int64{0}, IndexBase: 1}
	for r := range e.Rows() {
		for j, v := range e.Dense[r*e.Features : (r+1)*e.Features] {
			if v != 0 {
				s.Index = append(s.Index, int32(j))
				s.Value = append(s.Value, v)
			}
		}
		s.Offset = append(s.Offset, int64(len(s.Index)))
	}
	return s
}

// rarely returns sparse rows of many features, few of them in each.
func rarely(rows, features, classes int, seed uint64) *data.ExampleSet {
	rng := rand.New(rand.NewPCG(seed, 8))
	e := &data.ExampleSet{Features: features, Offset: []int64{0}}
	for range rows {
		y := rng.IntN(classes)
		at := rng.IntN(features / 5)
		for at < features {
			if at%classes == y || rng.IntN(4) == 0 {
				e.Index = append(e.Index, int32(at))
				e.Value = append(e.Value, rng.Float32())
			}
			at += 1 + rng.IntN(features/5)
		}
		e.Label = append(e.Label, float32(y))
		e.Offset = append(e.Offset, int64(len(e.Index)))
	}
	return e
}

// trained makes the run of an input and trains it to its end.
func trained(t *testing.T, in app.Input, slots int) (*app.Run, [][]float32, []train.Epoch) {
	t.Helper()
	return apptest.Trained(t, New(), in, slots)
}

func problemOf(t *testing.T, in app.Input) *problem {
	t.Helper()
	c, err := newConfig(in, application{"mlr"})
	if err != nil {
		t.Fatal(err)
	}
	p, err := newProblem(in, c)
	if err != nil {
		t.Fatal(err)
	}
	return p
}
