package dense

import (
	"math"
	"math/rand/v2"
	"testing"
)

// A dense word's topics are drawn by the conditional distribution of the token, computed here in double precision.
func TestDrawsFollowTheConditional(t *testing.T) {
	t.Parallel()
	const topics, stride, draws, own, beta = 150, 160, 100000, 37, 0.1
	rng := rand.New(rand.NewPCG(2, 0))
	weight, counts := make([]float32, stride), make([]int32, stride)
	for k := range topics {
		weight[k] = (0.01 + rng.Float32()) / float32(50+rng.IntN(100))
		if rng.IntN(3) > 0 {
			counts[k] = int32(rng.IntN(40))
		}
	}
	counts[own]++ // the token in hand
	want, sum := make([]float64, topics), 0.0
	for k := range want {
		n := float64(counts[k])
		if k == own {
			n--
		}
		want[k] = float64(weight[k]) * (n + beta)
		sum += want[k]
	}
	var x Rows
	x.Begin(3, stride)
	x.Add(1, make([]int32, stride), 0)
	x.Add(2, counts, 1)
	if x.Counts(0) != nil || x.Counts(1)[own] != 0 || x.Counts(2)[own] != uint16(counts[own]) {
		t.Fatal("the rows are not those of their words")
	}
	seen := make([]int, stride)
	for i := range draws {
		seen[x.Draw(weight, x.Counts(2), x.Counts(1), beta, own, weight[own], (float32(i)+0.5)/draws)]++
	}
	for k, n := range seen[:topics] {
		if q := want[k] / sum * draws; math.Abs(float64(n)-q) > 3 {
			t.Errorf("topic %d is drawn %d times, not %.1f", k, n, q)
		}
	}
	if k := x.Draw(weight, x.Counts(2), x.Counts(1), beta, own, weight[own], 1); k >= topics {
		t.Errorf("the end of the sum is topic %d of %d", k, topics)
	}
	if k := x.Draw(make([]float32, stride), x.Counts(2), nil, beta, own, 0, 0.5); k != own {
		t.Errorf("without weights topic %d is drawn, not the previous one", k)
	}
}

func TestRowsAreReused(t *testing.T) {
	var x Rows
	counts := make([]int32, 64)
	task := func() {
		x.Begin(20, 64)
		for word := range 20 {
			x.Add(word, counts, 1)
		}
	}
	task()
	if n := testing.AllocsPerRun(5, task); n != 0 {
		t.Errorf("%v allocations in a later task", n)
	}
}
