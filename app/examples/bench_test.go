package examples

import (
	"math/rand/v2"
	"testing"

	"bellows/data"
)

// BenchmarkScaleSparse measures rows like those of 20 Newsgroups: MB are those of indices and values.
func BenchmarkScaleSparse(b *testing.B) {
	const rows, features, each = 11_000, 17_000, 90
	rng := rand.New(rand.NewPCG(1, 9))
	set := &data.ExampleSet{Features: features, Label: make([]float32, rows), Offset: []int64{0}}
	train := make([]int32, rows)
	for r := range rows {
		train[r] = int32(r)
		for range each {
			set.Index, set.Value = append(set.Index, int32(features*rng.Float64()*rng.Float64()*rng.Float64())), append(set.Value, rng.Float32())
		}
		set.Offset = append(set.Offset, int64(len(set.Index)))
	}
	for _, scheme := range []string{ScaleAuto, ScaleStandard} {
		b.Run(scheme, func(b *testing.B) {
			b.SetBytes(8 * int64(len(set.Index)))
			for b.Loop() {
				Scale(nil, Source{ExampleSet: set, Width: features}, false, train, nil, scheme)
			}
		})
	}
}
