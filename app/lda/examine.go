package lda

import (
	"math"
	"math/bits"
	"slices"

	"bellows/app"
	"bellows/data"
	"bellows/train"
)

// metricNames are what Examine knows.
var metricNames = []string{"loglik_per_token", "perplexity", "npmi"}

// Examine implements app.Examiner: the mean log-likelihood of a token, perplexity, which is exp of its negative, and how well the first ten
// words of topics go together in the documents of the data.
func (p *predictor) Examine(set *data.Set, metrics []string) (*app.Examination, error) {
	for _, m := range metrics {
		if !slices.Contains(metricNames, m) {
			return nil, app.UnknownMetric(name, m, metricNames...)
		}
	}
	asked := func(name string) bool { return len(metrics) == 0 || slices.Contains(metrics, name) }
	out := &app.Examination{}
	if asked("loglik_per_token") || asked("perplexity") {
		list, err := p.Evaluate(set)
		if err != nil {
			return nil, err
		}
		out.Metrics = append(list, train.Metric{Name: "perplexity", Value: math.Exp(-list[0].Value)})
		out.Metrics = slices.DeleteFunc(out.Metrics, func(m train.Metric) bool { return !asked(m.Name) })
	}
	if !asked("npmi") {
		return out, nil
	}
	docs, table, err := p.documents(set, "evaluate")
	if err != nil {
		return nil, err
	}
	if v := p.coherence(docs, table); !math.IsNaN(v) {
		out.Metrics = append(out.Metrics, train.Metric{Name: "npmi", Value: v})
	}
	return out, nil
}

// coherence is the mean over topics, and over the pairs of each topic's first ten words, of the normalised pointwise mutual information of
// the words in whole documents (Bouma 2009; Lau, Newman and Baldwin 2014): log(p(a,b)/(p(a)p(b))) / -log p(a,b), which is -1 for words that never occur
// together and 1 for those that always do. Words that the documents lack do not count, and neither do topics without tokens.
func (p *predictor) coherence(docs *data.DocumentSet, table []int32) float64 {
	tops := p.topWords()
	place := map[int32]int{} // of a word among those whose documents are noted
	for _, words := range tops {
		for _, w := range words {
			if _, ok := place[int32(w)]; !ok {
				place[int32(w)] = len(place)
			}
		}
	}
	length := (docs.Rows() + 63) / 64
	in := make([]uint64, len(place)*length) // a bit for each document
	for d := range docs.Rows() {
		word, _ := docs.Doc(d)
		for _, w := range word {
			if table != nil { // else the words are those of the model
				w = table[w]
			}
			if at, ok := place[w]; ok {
				in[at*length+d/64] |= 1 << (d % 64)
			}
		}
	}
	of := func(w int) []uint64 { return in[place[int32(w)]*length:][:length] }
	sum, pairs, n := 0.0, 0.0, float64(docs.Rows())
	for _, words := range tops {
		for i, a := range words {
			for _, b := range words[:i] {
				inA, inB, both := together(of(a), of(b))
				if inA == 0 || inB == 0 {
					continue
				}
				sum += npmi(inA/n, inB/n, both/n)
				pairs++
			}
		}
	}
	return sum / pairs
}

// together counts the documents of two words, and those of both.
func together(a, b []uint64) (inA, inB, both float64) {
	for i, x := range a {
		inA += float64(bits.OnesCount64(x))
		inB += float64(bits.OnesCount64(b[i]))
		both += float64(bits.OnesCount64(x & b[i]))
	}
	return inA, inB, both
}

// npmi is the normalised pointwise mutual information of two events by their probabilities and that of both.
func npmi(a, b, both float64) float64 {
	switch both {
	case 0:
		return -1
	case 1:
		return 1
	}
	return math.Log(both/(a*b)) / -math.Log(both)
}
