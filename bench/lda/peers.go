package main

import (
	_ "embed"
	"encoding/binary"
	"fmt"
	"os"
	"strings"

	"bellows/app"
	"bellows/app/lda"
	"bellows/bench/internal/pair"
)

//go:embed peer/peer.py
var peerSource string

// fit is one way in which a peer is trained.
type fit struct {
	name    string
	request string // verb and arguments of peer.py, with %d for the topics
	quick   bool   // in the quick form too
}

// The settings are the libraries' own but for those named; one thread each. More passes give the peers better topics for more time, so
// every one of these is a race of its own.
var fits = []fit{
	{"gensim LdaModel, 1 pass", "gensim\tLdaModel\t" + `{"num_topics":%d}`, true},
	{"gensim LdaMulticore, 1 worker, 1 pass", "gensim\tLdaMulticore\t" + `{"num_topics":%d,"workers":1}`, true},
	{"gensim LdaModel, 10 passes, learnt priors", "gensim\tLdaModel\t" + `{"num_topics":%d,"passes":10,"alpha":"auto","eta":"auto"}`, false},
	{"gensim LdaMulticore, 1 worker, 10 passes", "gensim\tLdaMulticore\t" + `{"num_topics":%d,"workers":1,"passes":10}`, false},
	{"scikit-learn online, 1 pass", "sklearn\t" + `{"n_components":%d,"learning_method":"online","max_iter":1}`, false},
	{"scikit-learn online, 10 passes", "sklearn\t" + `{"n_components":%d,"learning_method":"online","max_iter":10}`, false},
	{"scikit-learn batch, 3 passes", "sklearn\t" + `{"n_components":%d,"learning_method":"batch","max_iter":3}`, true},
	{"scikit-learn batch, 10 passes", "sklearn\t" + `{"n_components":%d,"learning_method":"batch","max_iter":10}`, false},
	{"scikit-learn batch, 20 passes, priors 0.05", "sklearn\t" + `{"n_components":%d,"learning_method":"batch","max_iter":20,"doc_topic_prior":0.05,"topic_word_prior":0.05}`, false},
	{"scikit-learn batch, 50 passes", "sklearn\t" + `{"n_components":%d,"learning_method":"batch","max_iter":50}`, false},
}

// alphas are weights of topics for a peer's mixtures, tried besides its own: the best counts.
var alphas = []float64{0.01, 0.02, 0.05, 0.1}

// sweepsMost ends a race that we do not win.
const sweepsMost = 400

// peers races our training to the likelihood that each fit of the peers comes to.
func (b *bench) peers(c *corpus) {
	peer, err := b.Python("python", b.python, peerSource, "python3-gensim and python3-sklearn")
	if err != nil {
		b.Note("no peer: %v", err)
		return
	}
	path := b.shelf.Path("corpus.i32")
	c.write(path)
	if _, err := peer.Ask("corpus\t" + path); err != nil {
		b.Note("no peer: %v", err)
		return
	}
	for _, f := range fits {
		if b.wants(f) {
			b.race(c, peer, f)
		}
	}
	pair.Check(peer.Close())
}

func (b *bench) wants(f fit) bool {
	if b.fit != "" {
		return strings.Contains(f.name, b.fit)
	}
	return f.quick || b.Full
}

// race takes one fit of a peer, and our training until it predicts as well. The peer has one turn, which is long; the
// target is that it takes at least our time.
func (b *bench) race(c *corpus, peer *pair.Child, f fit) {
	out := b.shelf.Path("topics.f32")
	var theirs pair.Turn
	if err := pair.Attempt(func() { theirs = peer.Side(fmt.Sprintf(f.request, speedTopics) + "\t" + out).Run() }); err != nil {
		b.Note("no %s: %v", f.name, err)
		return
	}
	value, alpha, err := c.score(out)
	pair.Check(err)
	setup := c.setup(speedTopics, sweepsMost, samplers[0])
	setup.Goal = &app.Goal{Metric: loglik, Value: value}
	ours := setup.Train()
	best, sweeps := ours.First(loglik, value)
	b.AddFact(pair.Fact{Figure: f.name, Unit: "nats", Ours: best, Peer: "theirs", Bound: value, Least: true, Exact: true})
	took := ours.Until(sweeps)
	took.Work, theirs.Work = 1, 1
	took.Wall, theirs.Wall = 0, 0 // ours would be without scoring
	b.Add(pair.Row{Figure: fmt.Sprintf("  to that likelihood: %d sweeps", sweeps), Unit: "s", Cost: true, Clock: pair.CPU, Target: 1,
		Ours: pair.Series{Name: "bellows", Turns: []pair.Turn{took}}, Peer: pair.Series{Name: "theirs", Turns: []pair.Turn{theirs}}})
	if alpha > 0 {
		b.Note("their topics score best with %g as the weight of each topic, not with their own", alpha)
	}
}

// score reads the topics of a peer and scores them with the weights that suit them best; alpha is 0 when those are its
// own.
func (c *corpus) score(path string) (best, alpha float64, err error) {
	raw, err := os.ReadFile(path)
	if err != nil {
		return 0, 0, fmt.Errorf("lda: %w", err)
	}
	words := len(c.train.Documents.Vocab)
	if want := 4 * speedTopics * (words + 1); len(raw) != want {
		return 0, 0, fmt.Errorf("lda: the peer gave %d bytes for %d topics of %d words, not %d", len(raw), speedTopics, words, want)
	}
	values := make([]float32, len(raw)/4)
	if _, err := binary.Decode(raw, binary.LittleEndian, values); err != nil {
		return 0, 0, err
	}
	topics := lda.Topics{Vocab: c.train.Documents.Vocab, Words: values[:speedTopics*words], Alpha: make([]float64, speedTopics)}
	for k, a := range values[speedTopics*words:] {
		topics.Alpha[k] = float64(a)
	}
	if best, err = topics.LogLikelihood(c.test); err != nil {
		return 0, 0, err
	}
	for _, a := range alphas {
		for k := range topics.Alpha {
			topics.Alpha[k] = a
		}
		got, err := topics.LogLikelihood(c.test)
		if err != nil {
			return 0, 0, err
		}
		if got > best {
			best, alpha = got, a
		}
	}
	return best, alpha, nil
}
