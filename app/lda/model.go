package lda

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"

	"bellows"
	"bellows/app"
	"bellows/data"
	"bellows/model"
	"bellows/table"
)

// Names of the model's tensors and its id file.
const (
	wordTopic  = "word_topic" // [vocabulary, topics], counts
	topicTotal = "topic"      // [topics], counts: the sums of word_topic's columns
	vocabFile  = "vocab.txt"
)

// details is the application's part of the manifest.
type details struct {
	Alpha []float64 `json:"alpha"` // by topic
	Beta  float64   `json:"beta"`  // of these counts: the setting, times the sweeps that they are of
}

// newModel makes the model of a run's tables: of the counts of the last sweep, or of the sums of some samples, with as
// many times the β, so that the topics are the mean of the samples'. Where rows have no counts but the topics', the model
// keeps the table itself.
func newModel(p *problem, tables [][]float32, alpha []float64, samples int) (*model.Model, error) {
	stride, beta := p.width*p.chunks, p.beta
	if len(tables) != len(p.tables()) || len(tables[wordTable]) != len(p.vocab)*stride || len(tables[topicTable]) != p.topics {
		return nil, bellows.Errorf(bellows.Bug, "make model", name, "the tables are not those of the job")
	}
	words, topics := wordTable, topicTable
	if samples > 0 {
		words, topics, beta = sumTable, sumTopicTable, float64(samples)*beta
	}
	counts := table.Counts(tables[words])
	if stride != p.topics {
		from := counts
		counts = make([]int32, len(p.vocab)*p.topics)
		for w := range p.vocab {
			copy(counts[w*p.topics:(w+1)*p.topics], from[w*stride:])
		}
	}
	about, err := json.Marshal(details{Alpha: alpha, Beta: beta})
	if err != nil {
		return nil, bellows.Errorf(bellows.Bug, "make model", name, "%w", err)
	}
	m := &model.Model{
		App: name, Settings: p.values.Map(), Metrics: map[string]float64{}, Details: about,
		Tensors: []model.Tensor{
			{Name: wordTopic, Shape: []int{len(p.vocab), p.topics}, Counts: counts},
			{Name: topicTotal, Shape: []int{p.topics}, Counts: slices.Clone(table.Counts(tables[topics]))},
		},
		IDs: []model.IDs{{File: vocabFile, Names: p.vocab}},
	}
	if _, err := openModel(m); err != nil {
		return nil, bellows.Errorf(bellows.Bug, "make model", name, "%w", err)
	}
	return m, nil
}

// Open implements app.Application.
func (application) Open(m *model.Model) (app.Predictor, error) { return openModel(m) }

// openModel checks the parts of a model against each other.
func openModel(m *model.Model) (*predictor, error) {
	r, vocab := m.Reader(name), m.Names(vocabFile)
	words := r.Counts(wordTopic, len(vocab), model.Any)
	topics := len(words) / max(1, len(vocab))
	totals := r.Counts(topicTotal, topics)
	var d details
	r.ReadDetails(&d)
	switch {
	case r.Err() != nil:
		return nil, r.Err()
	case topics > topicsMax:
		return nil, r.Refuse("it has %d topics, more than %d", topics, topicsMax)
	case len(d.Alpha) != topics || !(d.Beta > 0) || math.IsInf(d.Beta, 0):
		return nil, r.Refuse("its alpha has %d numbers for %d topics, its beta is %v", len(d.Alpha), topics, d.Beta)
	}
	for k, a := range d.Alpha {
		if !(a > 0) || math.IsInf(a, 0) {
			return nil, r.Refuse("alpha of topic %d is %v", k, a)
		}
	}
	sums := make([]int64, topics)
	for i, n := range words {
		if n < 0 {
			return nil, r.Refuse("the count of %q in topic %d is %d", vocab[i/topics], i%topics, n)
		}
		sums[i%topics] += int64(n)
	}
	for k, n := range totals {
		if int64(n) != sums[k] {
			return nil, r.Refuse("topic %d has %d tokens, and its words %d", k, n, sums[k])
		}
	}
	return newPredictor(vocab, words, totals, d), nil
}

// topWords is how many words Learned names of each topic.
const topWords = 10

// Learned implements app.Teller: a line for each topic, the largest first, with its share of all
// tokens and the words that it has the most of.
func (application) Learned(m *model.Model) ([]string, error) {
	p, err := openModel(m)
	if err != nil {
		return nil, err
	}
	all, order := int64(0), make([]int, p.topics)
	for k, n := range p.totals {
		all += int64(n)
		order[k] = k
	}
	slices.SortStableFunc(order, func(a, b int) int { return int(p.totals[b]) - int(p.totals[a]) })
	tops := p.topWords()
	var out []string
	for _, k := range order {
		var names []string
		for _, w := range tops[k] {
			names = append(names, p.vocab[w])
		}
		out = append(out, fmt.Sprintf("topic %-5d %5.1f %%  %s", k, 100*float64(p.totals[k])/float64(max(1, all)), strings.Join(names, " ")))
	}
	return out, nil
}

// topWords returns the words of each topic with the largest counts, in descending order; equal ones in
// that of the vocabulary.
func (p *predictor) topWords() [][]int {
	tops := make([][]int, p.topics)
	for w := range p.vocab {
		for k, n := range p.counts[w*p.topics : (w+1)*p.topics] {
			if n == 0 {
				continue
			}
			t := tops[k]
			at, _ := slices.BinarySearchFunc(t, n, func(o int, n int32) int {
				if p.counts[o*p.topics+k] >= n {
					return -1
				}
				return 1
			})
			if at == topWords {
				continue
			}
			if len(t) == topWords {
				t = t[:topWords-1]
			}
			tops[k] = slices.Insert(t, at, w)
		}
	}
	return tops
}

// Read implements app.Predictor.
func (p *predictor) Read() (data.Kind, data.Options) {
	return data.Documents, data.Options{Words: p.vocab}
}
