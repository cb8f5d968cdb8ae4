package main

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"

	"bellows/app/linear"
	"bellows/bench/internal/pair"
	"bellows/bench/internal/sets"
	"bellows/bench/internal/trial"
	"bellows/data"
)

// dealt is how often the rows of a set of numbers are dealt anew, and in how many percent of them are tested.
const (
	dealt  = 20
	tested = 20
)

// splits measures the mean of R² over deals of each set's rows, compared with ridge that is tuned on each deal's
// training rows.
func splits(b *pair.Bench, shelf *sets.Shelf) {
	for _, name := range numbersSets {
		p := shelf.Find(name)
		one, two := p.Read(data.Examples)
		all := &data.ExampleSet{Features: one.Examples.Features, Dense: slices.Concat(one.Examples.Dense, two.Examples.Dense), Label: slices.Concat(one.Examples.Label, two.Examples.Label)}
		b.Section(fmt.Sprintf("%s, %d rows, dealt %d times", p.Origin, all.Rows(), dealt))
		ours, theirs := 0.0, 0.0
		for seed := range uint64(dealt) {
			train, test := parted(all, seed+1, tested)
			out := trial.Setup{App: linear.New(), Data: setOf(train), Test: setOf(test), Slots: 1, Seed: seed + 1, Settings: map[string]string{"loss": "squared"}}.Train()
			r2, _ := tuned(train, test)
			ours, theirs = ours+out.Score(setOf(test), "r2")/dealt, theirs+r2/dealt
		}
		b.AddFact(pair.Fact{Figure: "mean test R², our defaults", Ours: ours, Peer: fmt.Sprintf("ridge %.4f, - %g:", theirs, below), Bound: theirs - below, Least: true, Exact: true})
	}
}

// How far accuracy may be below, in points, and how far log-loss above, when C is chosen by cross-validation; and how often the differences are drawn anew.
const (
	pointsBelow = -0.3
	lossMost    = 1.02
	draws       = 10_000
	seeds       = 8
	grid        = "0.01,0.1,1,10,100,1000"
)

// tunedSets is sets of classes, and whether they have test rows of their own; else a fifth of the rows are.
var tunedSets = []struct {
	name string
	loss string
	test bool
}{{"dna", "softmax", true}, {"a9a", "logistic", true}, {"w8a", "logistic", true}, {"imdb_bow", "logistic", false}, {"letter", "softmax", true}, {"20news_tfidf", "softmax", true}}

// against holds our defaults against logistic regression whose C has the best log-loss over five parts of the training rows. Each seed leaves a tenth of the training rows out for both;
// C is found once, of all of them. Test rows choose nothing.
func against(b *pair.Bench, shelf *sets.Shelf, python *pair.Child) {
	for _, set := range tunedSets {
		p := shelf.Alone(set.name)
		var rest, test *data.ExampleSet
		if set.test {
			one, two := shelf.Find(set.name).Read(data.Examples)
			rest, test = one.Examples, two.Examples
		} else {
			rest, test = parted(readAlone(p).Examples, 1, tested)
		}
		b.Section(fmt.Sprintf("%s, %d test rows, seeds 1 to %d", p.Origin, test.Rows(), seeds))
		best, err := python.Ask(fmt.Sprintf("tune\t%s\t%s", file(shelf, set.name+".against.rest", rest), grid))
		if err != nil {
			b.Note("scikit-learn is not measured: %v", err)
			return
		}
		differences, ours, theirs, kept := make([]float64, 0, seeds), 0.0, 0.0, file(shelf, set.name+".against.test", test)
		for seed := range uint64(seeds) {
			train, _ := parted(rest, seed+1, 10)
			answer, err := python.Ask(fmt.Sprintf("fit\t%s\t%s\t%g", file(shelf, set.name+".against.train."+strconv.Itoa(int(seed)), train), kept, best[3]))
			if err != nil {
				b.Note("scikit-learn is not measured: %v", err)
				return
			}
			out := trial.Setup{App: linear.New(), Data: setOf(train), Test: setOf(test), Slots: 1, Seed: seed + 1, Settings: map[string]string{"loss": set.loss}}.Train()
			differences = append(differences, 100*(out.Score(setOf(test), "accuracy")-answer[4]))
			ours, theirs = ours+out.Score(setOf(test), "logloss")/seeds, theirs+answer[3]/seeds
		}
		low := lowest(differences)
		b.AddFact(pair.Fact{Figure: "accuracy beside tuned, 95 % at least", Unit: "points", Ours: low, Peer: "wanted", Bound: pointsBelow, Least: true, Exact: true})
		b.AddFact(pair.Fact{Figure: "log-loss beside tuned", Unit: "times", Ours: ours / theirs, Peer: "wanted", Bound: lossMost, Exact: true})
		b.Note("log-loss %.4f, tuned %.4f at C=%.3g; differences of accuracy in points: %.2f", ours, theirs, best[3], differences)
	}
}

// lowest returns the mean that one in forty of those is below that are drawn from the list with replacement.
func lowest(list []float64) float64 {
	r, means := rand.New(rand.NewPCG(27, 28)), make([]float64, draws)
	for i := range means {
		for range list {
			means[i] += list[r.IntN(len(list))] / float64(len(list))
		}
	}
	slices.Sort(means)
	return means[draws/40]
}
