package examples

import (
	"fmt"
	"math"

	"bellows/data"
)

// RowWeights are the weights of the rows of a set, by their places there; nil: all rows have weight 1.
//
// Training minimises the weighted mean loss, (Σ w loss) / Σ w, plus the cost of the model's weights. A row of weight 2
// is like two equal rows, for the same l2, and multiplying all weights by a number changes nothing. So they are divided
// by their mean over the training rows, and steps, curvatures and l2 keep their meaning. Means and spreads that scale
// features and labels are also weighted, and so are the figures of training and of test rows.
type RowWeights []float32

// NewRowWeights returns the weights of a set with some training rows, and the text about them for the headline.
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

// Weight returns the weight of a row.
func (w RowWeights) Weight(row int) float64 {
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

// ScaleByClass multiplies by the weight of each row's class.
func (w RowWeights) ScaleByClass(classes ClassWeights, class []int32) RowWeights {
	if classes == nil {
		return w
	}
	out := make(RowWeights, len(class))
	for r, c := range class {
		out[r] = float32(w.Weight(r) * float64(classes.Weight(c)))
	}
	return out
}

// Unevenness returns Σ w² / Σ w over some rows, which is 1 if all have weight 1: how much more a row that steps bend by
// than a mean row does.
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
