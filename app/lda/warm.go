package lda

import (
	"slices"

	"bellows/app"
)

// warm is a saved model that a run starts from: tokens of words that it knows get their first topics by its counts,
// others at random.
type warm struct {
	*predictor
	words []int32 // by word in the data: the model's, or -1
	total []int64 // of each of the model's words: tokens
	alpha []float64
}

// begin reads the model that the input names, nil for none, and settles what follows from it.
func (c *config) begin(in *app.Input) (*warm, error) {
	if in.From == nil {
		return nil, nil
	}
	p, err := openModel(in.From)
	if err != nil {
		return nil, err
	}
	c.topics = c.values.Inherit("topics", p.topics)
	w := &warm{predictor: p, words: app.Places(in.Data.Documents.Vocab, p.vocab), total: make([]int64, len(p.vocab))}
	for i := range p.vocab {
		for _, n := range p.counts[i*p.topics : (i+1)*p.topics] {
			w.total[i] += int64(n)
		}
	}
	for _, a := range p.scoring.alpha {
		w.alpha = append(w.alpha, float64(a))
	}
	return w, c.values.Err()
}

// draw returns a first topic of a token: in proportion to the word's count in it plus β.
func (w *warm) draw(word int32, rng *stream) int32 {
	word = w.words[word]
	if word < 0 {
		return int32(rng.below(w.topics))
	}
	at := rng.uniform() * (float64(w.total[word]) + float64(w.beta)*float64(w.topics))
	if at >= float64(w.total[word]) {
		return int32(rng.below(w.topics))
	}
	for k, n := range w.counts[int(word)*w.topics:][:w.topics] {
		if at -= float64(n); at < 0 {
			return int32(k)
		}
	}
	return int32(w.topics - 1)
}

// headline says how many words continue from the model.
func (w *warm) headline() string {
	return app.FromModel(app.Known{Of: "words", At: w.words})
}

// first returns the initial α by topic.
func (w *warm) first() []float64 { return slices.Clone(w.alpha) }
