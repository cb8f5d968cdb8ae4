package alias

import (
	"math"
	"math/rand/v2"
	"testing"
)

func TestAliasTablesDrawByWeight(t *testing.T) {
	t.Parallel()
	var a Tables
	a.Add([]uint16{9}, []float32{4})
	from := len(a.Slots)
	topics, weights := []uint16{2, 5, 7, 11, 12}, []float32{1, 0, 6, 2.5, 0.5}
	want := map[int32]float64{2: 0.1, 7: 0.6, 11: 0.25, 12: 0.05}
	if sum := a.Add(topics, weights); math.Abs(float64(sum)-10) > 1e-5 {
		t.Errorf("sum %v", sum)
	}
	seen, rng := map[int32]float64{}, rand.New(rand.NewPCG(5, 0))
	const draws = 100000
	for range draws {
		seen[Pick(a.Slots[from:], rng.Uint64())] += 1.0 / draws
	}
	for k, q := range want {
		if math.Abs(seen[k]-q) > 0.01 {
			t.Errorf("topic %d was drawn with %.3f, not %.3f", k, seen[k], q)
		}
	}
	if seen[5] != 0 || Pick(a.Slots[:from], rng.Uint64()) != 9 {
		t.Error("a topic without weight was drawn")
	}
}
