package lda

import (
	"cmp"
	"io"
	"slices"
	"strconv"

	"bellows"
	"bellows/app"
	"bellows/data"
	"bellows/progress"
	"bellows/train"
)

// predictor answers for one model. It is not for several goroutines at once.
type predictor struct {
	vocab  []string
	topics int
	counts []int32 // words x topics
	totals []int32
	scoring
	found finder
	place []int32          // of each word in scoring.words + 1, or 0
	add   func(word int32) // appends to scoring.words
	meter *progress.Meter
	about details
}

// Pace implements app.Paced.
func (p *predictor) Pace(m *progress.Meter) { p.meter = m }

// Share implements app.Shared.
func (p *predictor) Share() app.Predictor { return newPredictor(p.vocab, p.counts, p.totals, p.about) }

func newPredictor(vocab []string, counts, totals []int32, d details) *predictor {
	p := &predictor{vocab: vocab, topics: len(totals), counts: counts, totals: totals, place: make([]int32, len(vocab)), about: d}
	alpha, inv := make([]float32, p.topics), make([]float32, p.topics)
	sum := 0.0
	betaSum := float32(d.Beta * float64(len(vocab)))
	for k, n := range totals {
		alpha[k], inv[k] = float32(d.Alpha[k]), 1/(float32(n)+betaSum)
		sum += d.Alpha[k]
	}
	p.begin(alpha, inv, sum, d.Beta)
	p.add = func(word int32) {
		p.words.add(p.found.find(p.counts[int(word)*p.topics:(int(word)+1)*p.topics]), p.inv)
	}
	return p
}

// Evaluate implements app.Predictor: the mean log-likelihood of a token, where every other token of a document
// estimates its mixture and the others are scored. Tokens of unknown words are left out.
func (p *predictor) Evaluate(set *data.Set) ([]train.Metric, error) {
	out, err := app.CountAll(p, &counting{asked: []string{"loglik_per_token"}}, set)
	if err != nil {
		return nil, err
	}
	return out.Metrics, nil
}

// shareLeast is the smallest share of a document that makes a topic worth naming.
const shareLeast = 0.01

// Predict implements app.Predictor. A line is a document's likeliest topic, and then topic:share for every topic of at
// least 1 % of the document, the largest first, separated by tabs. A document without a known word has the mixture that
// α gives. The output has no header.
func (p *predictor) Predict(set *data.Set, out io.Writer) error {
	docs, table, err := p.documents(set, "predict")
	if err != nil {
		return err
	}
	order := make([]int, p.topics)
	return app.WriteLines(out, docs.Rows(), func(line []byte, d int) []byte {
		word, count := docs.Doc(d)
		return p.mixture(line, word, count, table, order)
	})
}

// Fields implements app.Named.
func (p *predictor) Fields() app.Fields { return app.Fields{Of: "shares"} }

// mixture appends the topics of one document.
func (p *predictor) mixture(line []byte, word, count, table []int32, order []int) []byte {
	known, counts := knownOf(word, count, table)
	p.learnWords(known)
	all := float32(p.fold(known, counts) + p.alphaSum)
	for k := range order {
		order[k] = k
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(p.theta[b], p.theta[a]) })
	line = strconv.AppendInt(line, int64(order[0]), 10)
	for i, k := range order {
		share := p.theta[k] / all
		if i > 0 && share < shareLeast {
			break
		}
		line = append(strconv.AppendInt(append(line, '\t'), int64(k), 10), ':')
		line = strconv.AppendFloat(line, float64(share), 'f', 4, 32)
	}
	return line
}

// documents returns the set's documents, and the table that renumbers their words.
func (p *predictor) documents(set *data.Set, op string) (*data.DocumentSet, []int32, error) {
	if set == nil || set.Kind != data.Documents {
		return nil, nil, bellows.Errorf(bellows.BadData, op, name, "the data must be documents")
	}
	docs := set.Documents
	return docs, renumber(docs.Vocab, p.vocab), nil
}

// learnWords replaces each word's number by its place among the words with loaded topics, loading those that a document
// needs first.
func (p *predictor) learnWords(word []int32) {
	for i, w := range word {
		if p.place[w] == 0 {
			p.add(w)
			p.place[w] = int32(len(p.words.start) - 1)
		}
		word[i] = p.place[w] - 1
	}
}
