package main

import (
	"bufio"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"slices"

	"bellows/bench/internal/pair"
	"bellows/bench/internal/sets"
	"bellows/data"
)

// setOf returns examples as a set.
func setOf(e *data.ExampleSet) *data.Set { return &data.Set{Kind: data.Examples, Examples: e} }

// standardised returns dense rows whose columns have mean 0 and deviation 1; a constant column is 0. So are their
// labels.
func standardised(e *data.ExampleSet) *data.ExampleSet {
	n, f := e.Rows(), e.Features
	out := &data.ExampleSet{Features: f, Dense: slices.Clone(e.Dense), Label: slices.Clone(e.Label)}
	column := func(list []float32, first, step int) {
		mean, square := 0.0, 0.0
		for i := first; i < len(list); i += step {
			mean += float64(list[i]) / float64(n)
		}
		for i := first; i < len(list); i += step {
			d := float64(list[i]) - mean
			square += d * d / float64(n)
		}
		for i := first; i < len(list); i += step {
			if d := float64(list[i]) - mean; square > 0 {
				list[i] = float32(d / math.Sqrt(square))
			} else {
				list[i] = 0
			}
		}
	}
	for j := range f {
		column(out.Dense, j, f)
	}
	column(out.Label, 0, 1)
	return out
}

// halves returns rows of two classes: those of the first half of the labels are -1. Dense values are divided by the
// largest.
func halves(e *data.ExampleSet) *data.ExampleSet {
	labels := slices.Compact(slices.Sorted(slices.Values(e.Label)))
	out := &data.ExampleSet{Features: e.Features, IndexBase: e.IndexBase, Dense: e.Dense, Offset: e.Offset, Index: e.Index, Value: e.Value, Weight: e.Weight,
		FeatureNames: e.FeatureNames, Label: make([]float32, len(e.Label))}
	for i, y := range e.Label {
		if out.Label[i] = -1; y >= labels[len(labels)/2] {
			out.Label[i] = 1
		}
	}
	if !e.Sparse() {
		out.Dense = slices.Clone(e.Dense)
		most := slices.Max(out.Dense)
		for i := range out.Dense {
			out.Dense[i] /= most
		}
	}
	return out
}

// selected returns the listed rows of a set.
func selected(e *data.ExampleSet, rows []int) *data.ExampleSet {
	out := &data.ExampleSet{Features: e.Features, IndexBase: e.IndexBase, LabelNames: e.LabelNames}
	if e.Sparse() {
		out.Offset = []int64{0}
	}
	for _, r := range rows {
		out.Label = append(out.Label, e.Label[r])
		if !e.Sparse() {
			out.Dense = append(out.Dense, e.Dense[r*e.Features:(r+1)*e.Features]...)
			continue
		}
		lo, hi := e.Offset[r], e.Offset[r+1]
		out.Index, out.Value = append(out.Index, e.Index[lo:hi]...), append(out.Value, e.Value[lo:hi]...)
		out.Offset = append(out.Offset, int64(len(out.Index)))
	}
	return out
}

// parted deals rows to two sets; the second gets so many percent.
func parted(e *data.ExampleSet, seed uint64, percent int) (train, test *data.ExampleSet) {
	order := rand.New(rand.NewPCG(seed, 23)).Perm(e.Rows())
	n := len(order) * percent / 100
	return selected(e, order[n:]), selected(e, order[:n])
}

// entries visits the values of row r that are not 0.
func entries(e *data.ExampleSet, r int, visit func(j int, v float32)) {
	if e.Sparse() {
		for i := e.Offset[r]; i < e.Offset[r+1]; i++ {
			visit(int(e.Index[i]), e.Value[i])
		}
		return
	}
	for j, v := range e.Dense[r*e.Features : (r+1)*e.Features] {
		if v != 0 {
			visit(j, v)
		}
	}
}

// file writes rows in LIBSVM's format, with all digits.
func file(shelf *sets.Shelf, name string, e *data.ExampleSet) string {
	path := shelf.Path(name)
	f := pair.Must(os.Create(path))
	w := bufio.NewWriter(f)
	for r, y := range e.Label {
		fmt.Fprint(w, y)
		entries(e, r, func(j int, v float32) { fmt.Fprintf(w, " %d:%g", j+1, v) })
		w.WriteByte('\n')
	}
	pair.Check(w.Flush())
	pair.Check(f.Close())
	return path
}

// The shape of the rows that are like those of RCV1: news of two halves of topics, words by the logarithm of their counts and by how rare they are, rows of length 1.
const (
	newsRows   = 20_242
	newsWords  = 47_236
	newsOwn    = 76 // about, in a row
	newsTopics = 50
	newsTopic  = 400 // in a topic
)

// news generates such rows from a seed. A third of a row's words are its topic's; the others follow Zipf's law.
func news() *data.ExampleSet {
	r := rand.New(rand.NewPCG(25, 26))
	zipf := rand.NewZipf(r, 1.1, 20, newsWords-1)
	var topic [newsTopics][newsTopic]int32
	for k := range topic {
		for i := range topic[k] {
			topic[k][i] = int32(r.IntN(newsWords))
		}
	}
	e := &data.ExampleSet{Features: newsWords, Offset: []int64{0}, IndexBase: 1}
	for range newsRows {
		k, count := r.IntN(newsTopics), map[int32]float64{}
		for range newsOwn/2 + r.IntN(2*newsOwn) {
			word := int32(zipf.Uint64())
			if r.IntN(3) == 0 {
				word = topic[k][r.IntN(newsTopic)]
			}
			count[word]++
		}
		index, sum := make([]int32, 0, len(count)), 0.0
		for word, c := range count {
			index = append(index, word)
			count[word] = (1 + math.Log(c)) * math.Log(float64(2+word))
			sum += count[word] * count[word]
		}
		slices.Sort(index)
		for _, word := range index {
			e.Index, e.Value = append(e.Index, word), append(e.Value, float32(count[word]/math.Sqrt(sum)))
		}
		e.Offset = append(e.Offset, int64(len(e.Index)))
		y := float32(1 - 2*(k%2))
		if r.IntN(20) == 0 {
			y = -y
		}
		e.Label = append(e.Label, y)
	}
	return e
}
