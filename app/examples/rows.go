package examples

import (
	"fmt"
	"math"

	"bellows/data"
)

// RowWeights is how much each row of a set counts, by its place there; nil: all rows count 1.
//
// Training minimises the mean loss by weights, (Σ w loss) / Σ w, beside what the weights of the model cost: rows of weight 2 are as rows that stand twice, for the same l2, and weights that all are
// multiplied by a number are the same weights. So they are divided by their mean over the training rows, and steps, curvatures and l2 mean what they mean without them. Means and spreads by which
// features and labels are scaled are by weights, too, and so are the figures of training and of test rows.
type RowWeights []float32

// NewRowWeights is that of a set, of which some rows train. It says what the headline is to tell of them.
func NewRowWeights(set *data.ExampleSet, rows []int32) (weights RowWeights, headline string) {
	if set.Weight == nil {
		return nil, ""
	}
	low, high := math.Inf(1), 0.0
	for _, r := range rows {
		w := float64(set.Weight[r])
		low, high = min(low, w), max(high, w)
	}
	mean := RowWeights(set.Weight).Sum(rows) / float64(len(rows))
	weights = make(RowWeights, len(set.Weight))
	for r, w := range set.Weight {
		weights[r] = float32(float64(w) / mean)
	}
	return weights, fmt.Sprintf("rows weigh %.3g to %.3g", low, high)
}

// Of returns the weight of a row.
func (w RowWeights) Of(row int) float64 {
	if w == nil {
		return 1
	}
	return float64(w[row])
}

// Sum returns the weight of some rows.
func (w RowWeights) Sum(rows []int32) (total float64) {
	if w == nil {
		return float64(len(rows))
	}
	for _, r := range rows {
		total += float64(w[r])
	}
	return total
}

// Total returns the weight of all of so many rows.
func (w RowWeights) Total(rows int) (total float64) {
	if w == nil {
		return float64(rows)
	}
	for _, own := range w {
		total += float64(own)
	}
	return total
}

// Pick appends the weights of some rows; of nil nothing.
func (w RowWeights) Pick(to RowWeights, rows []int32) RowWeights {
	if w == nil {
		return nil
	}
	for _, r := range rows {
		to = append(to, w[r])
	}
	return to
}

// Part returns the weights from one place up to another.
func (w RowWeights) Part(from, to int) RowWeights {
	if w == nil {
		return nil
	}
	return w[from:to:to]
}

// By multiplies by the weight of each row's class.
func (w RowWeights) By(classes ClassWeights, class []int32) RowWeights {
	if classes == nil {
		return w
	}
	out := make(RowWeights, len(class))
	for r, c := range class {
		out[r] = float32(w.Of(r) * float64(classes.Of(c)))
	}
	return out
}

// Unevenness is Σ w² / Σ w over some rows, which is 1 where all weigh 1: how much more a row that steps bend by than a mean row does.
func (w RowWeights) Unevenness(rows []int32) float64 {
	if w == nil {
		return 1
	}
	squares := 0.0
	for _, r := range rows {
		squares += float64(w[r]) * float64(w[r])
	}
	return squares / w.Sum(rows)
}
