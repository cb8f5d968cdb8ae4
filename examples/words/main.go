// Command words is an example with a sparse table: logistic regression on the words in text lines. A feature is a
// word's 64-bit hash: there is no vocabulary, and the sparse table of weights gets a row for each word when an update
// of it commits.
package main

import (
	"context"
	"fmt"
	"hash/fnv"
	"log"
	"math"
	"math/rand/v2"
	"slices"

	"bellows"
	"bellows/node"
	"bellows/table"
	"bellows/train"
)

const splits, lines, clocks, weights = 8, 250, 8, train.Table(0)

// example is a line as the hashes of its words, and what is to be learned of it.
type example struct {
	words  []bellows.Key
	praise float32 // 1, or 0 for a line that blames
}

// read makes the lines of a split from a seed. Words of even number praise, the others blame.
func read(split bellows.SplitID) []example {
	random, list := rand.New(rand.NewPCG(3, uint64(split))), make([]example, lines)
	for i := range list {
		praised := 0
		for range 15 {
			n, h := int(math.Exp(random.Float64()*6)), fnv.New64a() // a few are common, many rare
			fmt.Fprintf(h, "word%d", n)
			list[i].words = append(list[i].words, bellows.Key(h.Sum64()))
			praised += 1 - n%2*2
		}
		list[i].praise = float32(min(max(praised, 0), 1))
	}
	return list
}

// score returns a number above 0 if the model predicts that a line praises. Weights are given by ascending key.
func score(e example, list []bellows.Key, w []float32) (sum float64) {
	for _, k := range e.words {
		if i, found := slices.BinarySearch(list, k); found {
			sum += float64(w[i])
		}
	}
	return sum
}

// executor holds the lines of one split.
type executor []example

func (all executor) RunTask(t *train.Task) error {
	var list []bellows.Key
	for _, e := range all {
		list = append(list, e.words...)
	}
	list = slices.Compact(slices.Sorted(slices.Values(list)))
	w, gradient := make([]float32, len(list)), make([]float32, len(list))
	t.PullKeys(weights, list, w) // missing keys weigh 0
	for _, e := range all {
		slope := float32(1/(1+math.Exp(-score(e, list, w)))) - e.praise
		for _, k := range e.words {
			i, _ := slices.BinarySearch(list, k)
			gradient[i] += slope
		}
	}
	t.PushKeys(weights, list, gradient)
	return nil
}

func job() train.Job {
	return train.Job{
		Tables: []table.Schema{{Name: "weights", Sparse: true, Rows: 1 << 15, Width: 1,
			Rule: table.Rule{Name: "adagrad", Step: 0.5, Epsilon: 1e-6}}},
		Splits:      splits,
		Items:       func(bellows.SplitID, bellows.Clock) bellows.Range { return bellows.Range{End: lines} },
		Driver:      &train.Clocks{Splits: splits, Count: clocks},
		NewExecutor: func(s bellows.SplitID) (train.Executor, error) { return executor(read(s)), nil },
	}
}

func main() {
	result, err := node.Train(context.Background(), job(), node.Options{Slots: 2})
	if err != nil {
		log.Fatal(err)
	}
	right, fresh := 0, read(splits) // lines that no split has
	for _, e := range fresh {
		if (score(e, result.Keys[weights], result.Tables[weights]) > 0) == (e.praise == 1) {
			right++
		}
	}
	fmt.Printf("%d words; %d %% of new lines are told right\n", len(result.Keys[weights]), 100*right/len(fresh))
}
