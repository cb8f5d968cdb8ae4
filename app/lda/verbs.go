package lda

import (
	"cmp"
	"math"
	"slices"

	"bellows"
	"bellows/app"
)

const wordFlag = "word"

// Verbs implements app.Asker.
func (application) Verbs() []app.Verb {
	return []app.Verb{{
		Name: "similar", Short: "List the items or words that are most similar to one",
		Example: "--word river --top 5",
		Flags:   []app.Flag{{Name: wordFlag, Value: "WORD", Usage: "a WORD of the vocabulary"}, app.Top()},
		Columns: []string{"rank", "name", "similarity"},
		Answer:  similar,
	}}
}

// similar lists the words with the most similar topics to those of a word: by the cosine of p(topic | word), which is
// proportional to the word's count in the topic plus β. β keeps rare words from looking more certain than they are.
func similar(q *app.Question) ([][]any, error) {
	most, err := q.Top()
	if err != nil {
		return nil, err
	}
	want := q.Flag(wordFlag)
	if want == "" {
		return nil, bellows.Errorf(bellows.Usage, "similar", "", "it must be told to what").Hinted("give --word WORD of the vocabulary")
	}
	p, err := openModel(q.Model)
	if err != nil {
		return nil, err
	}
	of := slices.Index(p.vocab, want)
	if of < 0 {
		return nil, bellows.Errorf(bellows.BadData, "similar", "", "the model does not know the word %q", want).
			Hinted("see vocab.txt in the model's folder")
	}
	type scored struct {
		word  int
		score float64
	}
	list, own := make([]scored, 0, len(p.vocab)), p.product(of, of)
	for w := range p.vocab {
		if w != of {
			list = append(list, scored{w, p.product(of, w) / math.Sqrt(own*p.product(w, w))})
		}
	}
	slices.SortFunc(list, func(a, b scored) int { return cmp.Or(cmp.Compare(b.score, a.score), cmp.Compare(a.word, b.word)) })
	var rows [][]any
	for k, s := range list[:min(most, len(list))] {
		rows = append(rows, []any{k + 1, p.vocab[s.word], s.score})
	}
	return rows, nil
}

// product returns the inner product of the topics of two words.
func (p *predictor) product(a, b int) float64 {
	x, y, sum := p.counts[a*p.topics:][:p.topics], p.counts[b*p.topics:][:p.topics], 0.0
	for k, n := range x {
		sum += (float64(n) + float64(p.beta)) * (float64(y[k]) + float64(p.beta))
	}
	return sum
}
