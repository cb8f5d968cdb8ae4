package lda

import (
	"math"
	"slices"

	"bellows"
	"bellows/app"
	"bellows/data"
	"bellows/progress"
	"bellows/train"
)

// metricNames are what Examine knows.
var metricNames = []string{"loglik_per_token", "perplexity", "npmi"}

// Examine implements app.Examiner: the mean log-likelihood of a token, perplexity, which is exp of its negative, and
// how often each topic's first ten words occur together in the documents of the data.
func (p *predictor) Examine(set *data.Set, metrics []string) (*app.Examination, error) {
	return app.ExamineAll(p, set, metrics)
}

// Count implements app.Counter.
func (p *predictor) Count(metrics []string) (app.Counting, error) {
	for _, m := range metrics {
		if !slices.Contains(metricNames, m) {
			return nil, app.UnknownMetric(name, m, metricNames...)
		}
	}
	c := &counting{asked: metrics}
	if c.wants("npmi") {
		c.together = newTogether(p.topWords())
	}
	return c, nil
}

// counting sums the likelihood of scored tokens, and counts topics' words that occur together.
type counting struct {
	asked    []string // none: all
	sum      float64
	scored   int64
	together *together // nil: not asked for
}

func (c *counting) wants(metric string) bool {
	return len(c.asked) == 0 || slices.Contains(c.asked, metric)
}

// Step implements app.Counting.
func (c *counting) Step() int { return 1 << 14 }

// Scorer implements app.Counting.
func (c *counting) Scorer(by app.Predictor, set *data.Set) (app.Scorer, error) {
	p := by.(*predictor)
	docs, table, err := p.documents(set, "evaluate")
	if err != nil {
		return nil, err
	}
	p.meter.Begin(progress.Part{Doing: "scoring", Unit: "documents", Total: int64(docs.Rows())})
	likely := c.wants("loglik_per_token") || c.wants("perplexity")
	sums := make([]float64, min(c.Step(), docs.Rows()))
	return func(lo, hi int) (func(), error) {
		scored := int64(0)
		for d := lo; d < hi && likely; d++ {
			if err := p.meter.Add(1); err != nil {
				return nil, err
			}
			word, count := docs.Doc(d)
			b := newBag(word, count, table)
			scored += scoredOf(word, count, table)
			p.learnWords(b.word)
			sums[d-lo] = p.completed(b)
		}
		return func() {
			for _, sum := range sums[:hi-lo] {
				c.sum += sum
			}
			c.scored += scored
			for d := lo; d < hi && c.together != nil; d++ {
				word, _ := docs.Doc(d)
				c.together.document(word, table)
			}
		}, nil
	}, nil
}

// Examination implements app.Counting.
func (c *counting) Examination() (*app.Examination, error) {
	out := &app.Examination{}
	if c.wants("loglik_per_token") || c.wants("perplexity") {
		if c.scored == 0 {
			return nil, bellows.Errorf(bellows.BadData, "evaluate", name, "no document has two tokens that the model knows").
				Hinted("the words must be those of the training documents")
		}
		each := c.sum / float64(c.scored)
		if c.wants("loglik_per_token") {
			out.Metrics = append(out.Metrics, train.Metric{Name: "loglik_per_token", Value: each})
		}
		if c.wants("perplexity") {
			out.Metrics = append(out.Metrics, train.Metric{Name: "perplexity", Value: math.Exp(-each)})
		}
	}
	if c.together != nil {
		if v := c.together.coherence(); !math.IsNaN(v) {
			out.Metrics = append(out.Metrics, train.Metric{Name: "npmi", Value: v})
		}
	}
	return out, nil
}

// together counts the documents that have topics' first words, and those that have two of one topic.
type together struct {
	tops  [][]int       // first words by topic
	place map[int32]int // of a word among all of them
	at    [][]int       // by place: the topics that have it, each with the place that it has there
	in    []int64       // documents by place
	both  [][]int64     // by topic: documents with its words i and j < i, row by row of a triangle
	here  [][]int       // of the current document: by topic, which of its words occur
	some  []int         // topics with a word in the document
	docs  int64
}

func newTogether(tops [][]int) *together {
	t := &together{tops: tops, place: map[int32]int{}, both: make([][]int64, len(tops)), here: make([][]int, len(tops))}
	for k, words := range tops {
		t.both[k] = make([]int64, len(words)*(len(words)-1)/2)
		for i, w := range words {
			at, ok := t.place[int32(w)]
			if !ok {
				at = len(t.place)
				t.place[int32(w)] = at
				t.at, t.in = append(t.at, nil), append(t.in, 0)
			}
			t.at[at] = append(t.at[at], k, i)
		}
	}
	return t
}

// document counts one document. table renumbers its words; nil: they are the model's.
func (t *together) document(word, table []int32) {
	t.docs++
	for _, w := range word {
		if table != nil {
			w = table[w]
		}
		at, ok := t.place[w]
		if !ok {
			continue
		}
		t.in[at]++
		for of := t.at[at]; len(of) > 0; of = of[2:] {
			k, i := of[0], of[1]
			if len(t.here[k]) == 0 {
				t.some = append(t.some, k)
			}
			for _, j := range t.here[k] {
				t.both[k][pairOf(i, j)]++
			}
			t.here[k] = append(t.here[k], i)
		}
	}
	for _, k := range t.some {
		t.here[k] = t.here[k][:0]
	}
	t.some = t.some[:0]
}

// pairOf returns where two different places stand in a triangle.
func pairOf(i, j int) int {
	i, j = max(i, j), min(i, j)
	return i*(i-1)/2 + j
}

// coherence returns the mean over topics, and over the pairs of each topic's first ten words, of the normalised
// pointwise mutual information of the words in whole documents (Bouma 2009; Lau, Newman and Baldwin 2014):
// log(p(a,b)/(p(a)p(b))) / -log p(a,b), which is -1 for words that never occur together and 1 for those that always
// do. Words that the documents lack do not count, and neither do topics without tokens.
func (t *together) coherence() float64 {
	sum, pairs, n := 0.0, 0.0, float64(t.docs)
	for k, words := range t.tops {
		for i, a := range words {
			for j, b := range words[:i] {
				inA, inB := t.in[t.place[int32(a)]], t.in[t.place[int32(b)]]
				if inA == 0 || inB == 0 {
					continue
				}
				sum += npmi(float64(inA)/n, float64(inB)/n, float64(t.both[k][pairOf(i, j)])/n)
				pairs++
			}
		}
	}
	return sum / pairs
}

// npmi returns the normalised pointwise mutual information of two events by their probabilities and that of both.
func npmi(a, b, both float64) float64 {
	switch both {
	case 0:
		return -1
	case 1:
		return 1
	}
	return math.Log(both/(a*b)) / -math.Log(both)
}
