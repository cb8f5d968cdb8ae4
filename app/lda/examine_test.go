package lda

import (
	"math"
	"testing"

	"bellows/data"
)

// TestNPMI knows the ends of the scale and the middle.
func TestNPMI(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ a, b, both, want float64 }{
		{0.5, 0.5, 0, -1}, {0.5, 0.5, 0.5, 1}, {1, 1, 1, 1}, {0.5, 0.5, 0.25, 0}, {0.5, 0.25, 0.25, 0.5},
	} {
		if got := npmi(c.a, c.b, c.both); math.Abs(got-c.want) > 1e-12 {
			t.Errorf("%v: %v, want %v", c, got, c.want)
		}
	}
}

// TestCoherenceByHand uses a topic with words that occur together, one with words that avoid each other, and a word
// that the documents lack.
func TestCoherenceByHand(t *testing.T) {
	t.Parallel()
	p := newPredictor([]string{"a", "b", "c", "d", "e"}, []int32{5, 0, 4, 0, 0, 3, 0, 2, 1, 0}, []int32{10, 5}, details{Alpha: []float64{1, 1}, Beta: 0.1})
	docs := &data.DocumentSet{Offset: []int64{0, 3, 6, 7, 7}, Word: []int32{0, 1, 2, 0, 1, 3, 4}, Count: []int32{1, 1, 1, 1, 1, 1, 1}, Vocab: []string{"a", "b", "c", "d", "new"}}
	table := []int32{0, 1, 2, 3, -1}
	// a and b always together: 1. c and d never: -1. e, of the first topic, occurs nowhere.
	pairs := newTogether(p.topWords())
	for d := range docs.Rows() {
		word, _ := docs.Doc(d)
		pairs.document(word, table)
	}
	if got := pairs.coherence(); math.Abs(got-0) > 1e-12 {
		t.Errorf("%v", got)
	}
}
