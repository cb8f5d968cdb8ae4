package lda

import (
	"math"

	"bellows"
	"bellows/data"
)

// Topics is a topic model that another program made, as the likelihood needs it.
type Topics struct {
	Vocab []string  // the words, in the order of Words' columns
	Words []float32 // [topics, vocabulary], row-major: φ_kw, smoothed, so that each is above 0; a row sums to 1
	Alpha []float64 // [topics] α_k, each topic's weight in an empty document
}

// sumSlack is how far from 1 the probabilities of a topic may add up, for makers that count in 32 bits.
const sumSlack = 1e-3

// LogLikelihood returns the mean log-likelihood of a token in nats, by the same arithmetic that scores models of this
// package, so that the two can be compared: every other token of a document estimates its mixture, θ_dk =
// (n_dk+α_k)/(N_d+Σα), and the others are scored under Σ_k θ_dk φ_kw. Words that the model does not know are left out.
//
// It is an error of kind BadData when the set is not one of documents, none of them has two known tokens, or the
// topics are not distributions.
func (t Topics) LogLikelihood(set *data.Set) (float64, error) {
	if err := t.check(); err != nil {
		return 0, err
	}
	p := &predictor{vocab: t.Vocab, topics: len(t.Alpha), place: make([]int32, len(t.Vocab))}
	// With β of 0 no word has a floor, and a weight is φ itself.
	alpha, sum := make([]float32, p.topics), 0.0
	names, weight := make([]uint16, p.topics), make([]float32, p.topics)
	for k, a := range t.Alpha {
		alpha[k], names[k] = float32(a), uint16(k)
		sum += a
	}
	p.begin(alpha, make([]float32, p.topics), sum, 0)
	p.add = func(word int32) {
		for k := range weight {
			weight[k] = t.Words[k*len(t.Vocab)+int(word)]
		}
		p.words.put(names, weight)
	}
	metrics, err := p.Evaluate(set)
	if err != nil {
		return 0, err
	}
	return metrics[0].Value, nil
}

// check wants distributions.
func (t Topics) check() error {
	topics, words := len(t.Alpha), len(t.Vocab)
	if topics < 1 || topics > topicsMax || words < 1 || len(t.Words) != topics*words {
		return bellows.Errorf(bellows.BadData, "evaluate", name, "%d probabilities are not those of %d words in %d topics", len(t.Words), words, topics)
	}
	for k, a := range t.Alpha {
		if !(a > 0) || math.IsInf(a, 0) {
			return bellows.Errorf(bellows.BadData, "evaluate", name, "alpha of topic %d is %v", k, a)
		}
		sum := 0.0
		for w, v := range t.Words[k*words : (k+1)*words] {
			if !(v > 0) {
				return bellows.Errorf(bellows.BadData, "evaluate", name, "the probability of %q in topic %d is %v", t.Vocab[w], k, v)
			}
			sum += float64(v)
		}
		if !(math.Abs(sum-1) <= sumSlack) {
			return bellows.Errorf(bellows.BadData, "evaluate", name, "the probabilities of topic %d add up to %v", k, sum)
		}
	}
	return nil
}
