package main

import (
	"bellows/data"
	"bellows/vec"
)

// bare is softmax regression as a loop over mini-batches and nothing else: the arithmetic of a hand-written PyTorch loop
// on our kernels.
type bare struct {
	x        []float32 // rows x features
	class    []int32
	features int
	classes  int
	weights  []float32 // features x classes
	bias     []float32
	scores   []float32 // one batch x classes
}

func newBare(set *data.Set) *bare {
	e := set.Examples
	labels := e.Classes(1 << 10)
	number := data.NewIndex(labels)
	m := &bare{x: make([]float32, len(e.Dense)), features: e.Features, classes: len(labels),
		weights: make([]float32, e.Features*len(labels)), bias: make([]float32, len(labels))}
	copy(m.x, e.Dense)
	vec.Scale(1.0/255, m.x)
	m.class = e.Number(func(label string) int32 { return number[label] }, 0)
	return m
}

// epoch visits every row once and returns how many there are.
func (m *bare) epoch(batch int) float64 {
	const rate = 0.1
	f, c := m.features, m.classes
	m.scores = make([]float32, batch*c)
	for lo := 0; lo < len(m.class); lo += batch {
		hi := min(lo+batch, len(m.class))
		x, z := m.x[lo*f:hi*f], m.scores[:(hi-lo)*c]
		for i := range hi - lo {
			copy(z[i*c:], m.bias)
		}
		vec.GemmNN(hi-lo, c, f, 1, x, f, m.weights, c, 1, z, c)
		vec.Softmax(hi-lo, c, z)
		for i, class := range m.class[lo:hi] {
			z[i*c+int(class)]--
		}
		step := -rate / float32(hi-lo)
		vec.GemmTN(f, c, hi-lo, step, x, f, z, c, 1, m.weights, c)
		for ; len(z) > 0; z = z[c:] {
			vec.Axpy(step, z[:c], m.bias)
		}
	}
	return float64(len(m.class))
}
