package lda

import (
	"math"
	"slices"
	"strings"
	"testing"

	"bellows"
	"bellows/app"
	"bellows/app/apptest"
	"bellows/data"
)

// asOther returns the topics of a trained model as another program would hand them over.
func asOther(t *testing.T, set *data.Set, topics string) (own float64, other Topics) {
	t.Helper()
	run, tables, _ := trained(t, app.Input{Data: set, Seed: 1, Epochs: 5, Settings: map[string]string{"topics": topics}}, 1)
	m := apptest.Model(t, run, tables)
	p, err := openModel(m)
	if err != nil {
		t.Fatal(err)
	}
	scores := apptest.Evaluate(t, p, set)
	words := len(p.vocab)
	other = Topics{Vocab: slices.Clone(p.vocab), Words: make([]float32, p.topics*words), Alpha: make([]float64, p.topics)}
	for k := range p.topics {
		other.Alpha[k] = float64(p.alpha[k])
		for w := range words {
			other.Words[k*words+w] = (float32(p.counts[w*p.topics+k]) + p.beta) / (float32(p.totals[k]) + p.beta*float32(words))
		}
	}
	return apptest.Metric(t, scores, "loglik_per_token"), other
}

// The topics of a model score the same, whether they are ours or come from elsewhere with words in another order.
func TestTopicsFromElsewhereScoreAlike(t *testing.T) {
	t.Parallel()
	set := planted(60, 4, 11)
	own, other := asOther(t, set, "6")
	got, err := other.LogLikelihood(set)
	if err != nil || math.Abs(got-own) > 1e-4 {
		t.Errorf("likelihood %v, %v; the model's own is %v", got, err, own)
	}
	words := len(other.Vocab)
	slices.Reverse(other.Vocab)
	for k := range other.Alpha {
		slices.Reverse(other.Words[k*words : (k+1)*words])
	}
	if got, err = other.LogLikelihood(set); err != nil || math.Abs(got-own) > 1e-4 {
		t.Errorf("with words in reverse order likelihood %v, %v; the model's own is %v", got, err, own)
	}
	flat := Topics{Vocab: other.Vocab, Words: make([]float32, words), Alpha: []float64{1}}
	for w := range flat.Words {
		flat.Words[w] = 1 / float32(words)
	}
	if got, err = flat.LogLikelihood(set); err != nil || math.Abs(got+math.Log(float64(words))) > 1e-4 {
		t.Errorf("one flat topic has likelihood %v, %v; want %v", got, err, -math.Log(float64(words)))
	}
}

func TestTopicsFromElsewhereAreChecked(t *testing.T) {
	t.Parallel()
	set := planted(20, 2, 12)
	for want, spoil := range map[string]func(x *Topics){
		"are not those of":    func(x *Topics) { x.Words = x.Words[1:] },
		"of 16 words in 0":    func(x *Topics) { x.Alpha = nil },
		"alpha of topic 1 is": func(x *Topics) { x.Alpha[1] = math.Inf(1) },
		"in topic 2 is 0":     func(x *Topics) { x.Words[2*len(x.Vocab)+3] = 0 },
		"in topic 0 is NaN":   func(x *Topics) { x.Words[1] = float32(math.NaN()) },
		"topic 0 add up to":   func(x *Topics) { x.Words[0] += 0.01 },
		"two tokens": func(x *Topics) {
			for i := range x.Vocab {
				x.Vocab[i] += " elsewhere"
			}
		},
	} {
		_, other := asOther(t, set, "3")
		spoil(&other)
		if _, err := other.LogLikelihood(set); err == nil || !strings.Contains(err.Error(), want) || bellows.KindOf(err) != bellows.BadData {
			t.Errorf("want an error about %q, got %v", want, err)
		}
	}
	_, other := asOther(t, set, "3")
	if _, err := other.LogLikelihood(&data.Set{Kind: data.Ratings}); bellows.KindOf(err) != bellows.BadData {
		t.Errorf("ratings were scored: %v", err)
	}
}
