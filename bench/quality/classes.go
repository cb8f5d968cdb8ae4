package main

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"bellows/app/mlr"
	"bellows/bench/internal/pair"
	"bellows/bench/internal/sets"
	"bellows/bench/internal/trial"
	"bellows/data"
)

// How far above scikit-learn's log-loss ours may be: the mean over seeds, and the worst of them.
const (
	meanMost  = 1.03
	worstMost = 1.06
)

// strengths is the grid of C.
const strengths = "0.01,0.03,0.1,0.3,1,3,10,30,100,1000,10000"

// table is a set of the classes, with what scikit-learn came to on another day.
type table struct {
	name     string
	trains   string  // the word of its training file, where it is not train
	recorded float64 // scikit-learn's log-loss
}

var tables = []table{
	{name: "w8a", recorded: 0.0473}, {name: "frappe", trains: "valid", recorded: 0.2972}, {name: "shuttle", recorded: 0.1094},
	{name: "a9a", recorded: 0.3238}, {name: "letter", recorded: 0.8292}, {name: "dna", recorded: 0.1534},
}

// before is a set that scikit-learn is not fitted to, with our log-loss and accuracy before the ending learned to wait.
type before struct {
	name           string
	loss, accuracy float64
}

var befores = []before{{"mnist", 0.2670, 92.45}, {"20news_tfidf", 0.6969, 80.49}, {"imdb_bow", 0.2967, 87.95}}

// How far from them is the noise of eight seeds.
const (
	noiseLoss     = 1.003
	noiseAccuracy = 0.1 // points
)

// mixedRows and the others are the shape of the sets that are made.
const (
	mixedRows     = 2000
	mixedTest     = 4000
	mixedFeatures = 30
	mixedClasses  = 6
)

func (b *bench) wants(name string) bool { return b.set == "" || b.set == name }

// classes runs all sets of examples.
func (b *bench) classes() {
	if b.wants("mixed") {
		b.mixed()
	}
	if b.shelf.Generated() {
		b.Note("the other sets are left out: no --data")
		return
	}
	for _, t := range tables {
		if b.wants(t.name) {
			b.table(t)
		}
	}
	for _, t := range befores {
		if b.wants(t.name) {
			b.before(t)
		}
	}
}

// score is what the runs of all seeds came to.
type score struct {
	loss, accuracy, epochs, cpu []float64
}

// add trains once.
func (s *score) add(b *bench, seed int, train, test *data.Set) {
	out := trial.Setup{App: mlr.New(), Data: train, Test: test, Slots: b.slots, Seed: uint64(seed)}.Train()
	s.loss = append(s.loss, out.Score(test, "logloss"))
	s.accuracy = append(s.accuracy, 100*out.Score(test, "accuracy"))
	s.epochs = append(s.epochs, float64(len(out.Epochs)))
	s.cpu = append(s.cpu, out.Until(len(out.Epochs)).CPU.Seconds())
}

func average(x []float64) float64 {
	sum := 0.0
	for _, v := range x {
		sum += v
	}
	return sum / float64(len(x))
}

// note tells the seeds one by one.
func (b *bench) note(s *score) {
	var each []string
	for i, v := range s.loss {
		each = append(each, fmt.Sprintf("%.4f (%.0f)", v, s.epochs[i]))
	}
	b.Note("log-loss (epochs) by seed: %s", strings.Join(each, " "))
	b.Note("accuracy %.2f %%, CPU time of a run %.2f s, both the mean", average(s.accuracy), average(s.cpu))
}

// runs trains on a pair with every seed.
func (b *bench) runs(train, test *data.Set) *score {
	s := &score{}
	for seed := 1; seed <= b.seeds; seed++ {
		s.add(b, seed, train, test)
	}
	return s
}

// table holds a set against scikit-learn.
func (b *bench) table(t table) {
	p := b.shelf.FindAs(t.name, max(t.trains, "train"))
	train, test := p.Read(data.Examples)
	b.Section(p.Origin + ", " + train.Detected.String())
	s := b.runs(train, test)
	loss, found := b.tuned(p)
	who := "scikit-learn"
	if !found {
		loss, who = t.recorded, "recorded scikit-learn"
	}
	b.held(t.name, s, average(s.loss), slices.Max(s.loss), who, loss)
}

// held adds the rows of a set.
func (b *bench) held(name string, s *score, mean, worst float64, who string, loss float64) {
	of := func(most float64) (peer string, bound float64) {
		if loss == 0 {
			return "", 0
		}
		return fmt.Sprintf("%s %.4f times %.2f:", who, loss, most), loss * most
	}
	peer, bound := of(meanMost)
	b.AddFact(pair.Fact{Figure: fmt.Sprintf("%s, test log-loss, mean of %d seeds", name, b.seeds), Ours: mean, Peer: peer, Bound: bound, Exact: true})
	peer, bound = of(worstMost)
	b.AddFact(pair.Fact{Figure: name + ", the worst of them", Ours: worst, Peer: peer, Bound: bound, Exact: true})
	b.note(s)
}

// tuned returns scikit-learn's log-loss on the test file.
func (b *bench) tuned(p sets.Pair) (loss float64, found bool) {
	if b.peer == nil {
		return 0, false
	}
	answer, err := b.peer.Ask("tuned\t" + p.Train + "\t" + p.Test + "\t" + strengths)
	if err != nil {
		b.Note("no peer: %v", err)
		return 0, false
	}
	b.Note("scikit-learn: log-loss %.4f, accuracy %.2f %%, C %g, CPU time %.1f s with its cross-validation", answer[3], 100*answer[4], answer[5], answer[2])
	return answer[3], true
}

// mixed compares the quality on sets made from seeds, one for each, with scikit-learn's on the same rows.
func (b *bench) mixed() {
	b.Section(fmt.Sprintf("mixed: %d x %d rows of %d classes, made from each seed", mixedRows, mixedFeatures, mixedClasses))
	s, worst, theirs := &score{}, 0.0, []float64(nil)
	for seed := 1; seed <= b.seeds; seed++ {
		p := b.shelf.Mixed(uint64(seed), mixedRows, mixedTest, mixedFeatures, mixedClasses)
		train, test := p.Read(data.Examples)
		s.add(b, seed, train, test)
		if loss, found := b.tuned(p); found {
			theirs = append(theirs, loss)
			worst = max(worst, s.loss[seed-1]/loss)
		}
	}
	if len(theirs) < b.seeds {
		b.held("mixed", s, average(s.loss), slices.Max(s.loss), "", 0)
		return
	}
	b.held("mixed", s, average(s.loss), worst*average(theirs), "scikit-learn", average(theirs))
}

// divide keeps a fifth of the rows for the test.
func divide(p sets.Pair) (train, test *data.Set) {
	set := pair.Must(data.Read(context.Background(), []string{p.Train}, data.Examples, data.Options{}))
	training, held := data.HoldOut(1, set.Rows(), 20)
	return set.Select(training), set.Select(held)
}

// before holds a set against what we had.
func (b *bench) before(t before) {
	var p sets.Pair
	var train, test *data.Set
	switch t.name {
	case "mnist":
		p = b.shelf.Digits(0)
		train, test = p.Read(data.Examples)
	case "imdb_bow":
		p = b.shelf.Alone(t.name)
		train, test = divide(p)
	default:
		p = b.shelf.Find(t.name)
		train, test = p.Read(data.Examples)
	}
	b.Section(p.Origin + ", " + train.Detected.String())
	s := b.runs(train, test)
	b.AddFact(pair.Fact{Figure: fmt.Sprintf("%s, test log-loss, mean of %d seeds", t.name, b.seeds), Ours: average(s.loss),
		Peer: fmt.Sprintf("before %.4f, and its noise:", t.loss), Bound: noiseLoss * t.loss, Exact: true})
	b.AddFact(pair.Fact{Figure: t.name + ", test accuracy", Unit: "%", Ours: average(s.accuracy),
		Peer: fmt.Sprintf("before %.2f, less noise:", t.accuracy), Bound: t.accuracy - noiseAccuracy, Least: true, Exact: true})
	b.note(s)
}
