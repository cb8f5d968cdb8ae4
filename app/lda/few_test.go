package lda

import (
	"testing"

	"bellows/app"
	"bellows/table"
)

// TestFewTopicsAreDrawnByTheConditional draws the first topic of a document with few topics many times. Its dense word has
// tokens in all topics, and topics that the document has not have most of the probability.
func TestFewTopicsAreDrawnByTheConditional(t *testing.T) {
	t.Parallel()
	const topics, draws = 200, 100000
	doc := []int32{0, 1, 1, 1, 1, 1}
	first := []int32{7, 7, 3, 3, 150, 199}
	p := problemOf(t, app.Input{Data: setOf([][]int32{doc, doc, doc}, 2), Seed: 1, Settings: map[string]string{"topics": "200", "beta": "0.5", "splits": "1"}})
	rng := newStream(3, 0, 0, 0)
	m := &memory{p: p, words: make([]float32, 2*p.stride())}
	counts, totals, alpha := table.Counts(m.words), make([]int32, topics), make([]float64, topics)
	for k := range topics {
		alpha[k] = 0.02 + 0.1*rng.uniform()
		for word := range 2 {
			n := int32(1 + rng.below(9))
			counts[word*p.stride()+k] = n
			totals[k] += n
		}
	}
	for i, k := range first {
		counts[int(doc[i])*p.stride()+int(k)]++
		totals[k]++
	}
	w := p.spaces.take(p)
	u := &portion{ends: []int32{int32(len(doc))}, token: doc, words: []int32{0, 1}, count: []int32{1, 5}}
	seen := make([]float64, topics)
	for i := range draws {
		w.begin(alpha, totals, 2)
		w.loadSparse(m, u, round{})
		z := append([]int32(nil), first...)
		w.sampleSparse(doc, z, newStream(7, 0, i, 0))
		w.leave(false, len(doc))
		seen[z[0]]++
	}
	if w.dense.Counts(0) == nil || !w.dense.HasFew(4) {
		t.Fatal("the dense word or the few topics of the document are missing")
	}
	want, sum, other := make([]float64, topics), 0.0, 0.0
	for k := range want {
		n, all, own := float64(counts[k]), float64(totals[k]), 0.0
		for _, z := range first[1:] {
			if int(z) == k {
				own++
			}
		}
		if k == int(first[0]) {
			n, all = n-1, all-1
		}
		want[k] = (own + alpha[k]) * (n + p.beta) / (all + p.beta*2)
		if sum += want[k]; own == 0 {
			other += want[k]
		}
	}
	squares := 0.0 // chi-squared of 199 degrees of freedom, with a deviation of 20
	for k, q := range want {
		expected := q / sum * draws
		squares += (seen[k] - expected) * (seen[k] - expected) / expected
	}
	if share := other / sum; share < 0.3 || share > 0.9 {
		t.Errorf("the other topics have %.2f of the probability", share)
	}
	if squares > 300 {
		t.Errorf("chi-squared %.0f of the conditional, want at most 300", squares)
	}
}
