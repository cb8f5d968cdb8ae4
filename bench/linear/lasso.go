package main

import (
	"fmt"
	"math"
	"strconv"

	"bellows/app/linear"
	"bellows/bench/internal/pair"
	"bellows/bench/internal/sets"
	"bellows/bench/internal/trial"
	"bellows/data"
)

// spare is how many more weights than scikit-learn's we may leave that are not zero.
const spare = 2

// lassos is sets with the penalties of a lasso, as parts of the least that makes all weights zero.
var lassos = []struct {
	name  string
	parts []float64
}{{"protein_casp", []float64{0.3, 0.1, 0.01}}, {"bike", []float64{0.3, 0.1, 0.01}}, {"imdb_bow", []float64{0.3, 0.1, 0.03}}}

// lasso counts the weights that are not zero compared with scikit-learn's, and holds the objectives against each other.
// Dense rows are standardised, text is as it is; both sides have a column of ones whose weight pays as the others.
func lasso(b *pair.Bench, shelf *sets.Shelf, python *pair.Child) {
	for _, set := range lassos {
		p := shelf.Alone(set.name)
		train := readAlone(p)
		e := train.Examples
		if !e.Sparse() {
			e = standardised(e)
		}
		b.Section(p.Origin + ", " + train.Detected.String())
		path, top := file(shelf, set.name+".lasso", e), steepest(e)
		for _, part := range set.parts {
			l1 := part * top
			answer, err := python.Ask(fmt.Sprintf("lasso\t%s\t%g", path, l1))
			if err != nil {
				b.Note("scikit-learn is not measured: %v", err)
				return
			}
			out := trial.Setup{App: linear.New(), Data: setOf(e), Test: setOf(selected(e, []int{0, 1})), Slots: 1, Settings: map[string]string{
				"loss": "lasso", "l1": strconv.FormatFloat(l1, 'g', -1, 64), "scale": "none", "gap": "1e-6"}}.Train()
			w := weights(out)
			count, sizes := 0, 0.0
			for j, v := range w {
				if sizes += math.Abs(v); v != 0 && j < e.Features {
					count++
				}
			}
			ours := squares(e, w)/2 + l1*sizes
			b.AddFact(pair.Fact{Figure: fmt.Sprintf("weights that are not 0, l1 %.4g", l1), Ours: float64(count),
				Peer: fmt.Sprintf("scikit-learn %.0f, and %d:", answer[3], spare), Bound: answer[3] + spare, Exact: true})
			b.AddFact(pair.Fact{Figure: fmt.Sprintf("objective, l1 %.4g", l1), Ours: ours, Peer: fmt.Sprintf("scikit-learn %.6f, times %g:", answer[4], more),
				Bound: answer[4] * more, Exact: true})
			b.Note("%d epochs, %.2f CPU-s; scikit-learn %.2f CPU-s", len(out.Epochs), out.Until(len(out.Epochs)).CPU.Seconds(), answer[2])
		}
	}
}

// steepest returns the least l1 that makes all weights zero.
func steepest(e *data.ExampleSet) (most float64) {
	slope := make([]float64, e.Features+1)
	for r, y := range e.Label {
		entries(e, r, func(j int, v float32) { slope[j] += float64(v) * float64(y) })
		slope[e.Features] += float64(y)
	}
	for _, s := range slope {
		most = max(most, math.Abs(s)/float64(e.Rows()))
	}
	return most
}

// weights returns those of a run's model, the bias last.
func weights(out *trial.Outcome) []float64 {
	m := out.Model()
	return append(doubles(m.Tensor("weights").Floats), float64(m.Tensor("bias").Floats[0]))
}

// score returns that of row r.
func score(e *data.ExampleSet, r int, w []float64) float64 {
	sum := w[len(w)-1]
	entries(e, r, func(j int, v float32) { sum += float64(v) * w[j] })
	return sum
}

// squares returns the mean squared error.
func squares(e *data.ExampleSet, w []float64) (sum float64) {
	for r, y := range e.Label {
		d := score(e, r, w) - float64(y)
		sum += d * d / float64(e.Rows())
	}
	return sum
}
