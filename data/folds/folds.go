// Package folds divides the rows of a data set into the folds of a cross-validation, and summarises the results of all
// folds.
//
// The caller's duties, in order: make a Deal with New; for each fold train on the first rows that Divide returns, and
// score the others; collect a Result of each. Spread and Baseline then summarise them.
//
// The package does not train. A deal depends only on the seed and the labels.
package folds

import (
	"math"

	"bellows/data"
	"bellows/progress"
	"bellows/random"
)

// A Deal assigns each row to a fold, from 0.
type Deal struct {
	Folds      int
	Stratified bool // the folds have equally many rows of each class, up to one
	Least      int  // rows of the rarest class, if there are classes
	fold       []int32
}

// New deals the rows of a set to folds at random, by the seed alone. Folds have equally many rows, up to one; if rows
// have classes, this also holds for each class. New returns the meter's error.
func New(seed uint64, folds int, set *data.Set, m *progress.Meter) (Deal, error) {
	m.Begin(progress.Part{Doing: "dealing rows to folds", Unit: "rows", Total: int64(set.Rows())})
	d := Deal{Folds: folds, fold: make([]int32, set.Rows())}
	next := 0
	give := func(n int, row func(i int) int32) {
		for i := range n {
			d.fold[row(i)] = int32((next + i) % folds)
		}
		next = (next + n) % folds
		for i := n - 1; i > 0; i-- { // Fisher and Yates
			if i%dealStep == 0 && m.Add(dealStep) != nil {
				return
			}
			a, b := row(i), row(int(random.Derive(seed, foldPurpose, uint64(row(i)))%uint64(i+1)))
			d.fold[a], d.fold[b] = d.fold[b], d.fold[a]
		}
	}
	e := set.Examples
	var classes []string
	if e != nil {
		classes = e.Classes(classesMost)
	}
	if classes == nil {
		give(set.Rows(), func(i int) int32 { return int32(i) })
		return d, m.Err()
	}
	place := data.NewIndex(classes)
	of := make([][]int32, len(classes))
	for r, c := range e.Number(func(label string) int32 { return place[label] }, 0) {
		of[c] = append(of[c], int32(r))
	}
	d.Stratified, d.Least = true, math.MaxInt
	for _, rows := range of {
		d.Least = min(d.Least, len(rows))
		give(len(rows), func(i int) int32 { return rows[i] })
	}
	return d, m.Err()
}

// dealStep is the number of rows dealt between checks for cancellation.
const dealStep = 1 << 16

// foldPurpose separates the random numbers of dealing from those of holding rows out.
const foldPurpose = 0x666f6c64

// classesMost bounds the labels that count as classes.
const classesMost = 4096

// Divide returns the rows that train a fold's model and those that score it, both ascending.
func (d *Deal) Divide(fold int) (training, held []int32) {
	for r, f := range d.fold {
		if int(f) == fold {
			held = append(held, int32(r))
		} else {
			training = append(training, int32(r))
		}
	}
	return training, held
}

// A Result is the result of one fold.
type Result struct {
	Fold      int                `json:"fold"` // from 1
	TrainRows int                `json:"train_rows"`
	TestRows  int                `json:"test_rows"`
	Epochs    int                `json:"epochs"`
	Examples  int64              `json:"examples"` // items visited in training
	Seconds   float64            `json:"seconds"`  // training time only
	Metrics   map[string]float64 `json:"metrics"`
	Baseline  *Measure           `json:"baseline,omitempty"`
}

// A Measure is a metric of a fold, or of all.
type Measure struct {
	Name  string  `json:"name"`
	Value float64 `json:"value"`
}

// Baseline returns the mean of the folds' baselines, nil if a fold has none.
func Baseline(folds []Result) *Measure {
	var sum *Measure
	for _, f := range folds {
		if f.Baseline == nil {
			return nil
		}
		if sum == nil {
			sum = &Measure{Name: f.Baseline.Name}
		}
		sum.Value += f.Baseline.Value / float64(len(folds))
	}
	return sum
}

// Spread returns the mean of each metric that all folds have, and its sample standard deviation, which needs at least
// two folds: the root of the sum of squared distances from the mean, divided by one less than the number of folds.
func Spread(folds []Result) (means, deviations map[string]float64) {
	means, deviations = map[string]float64{}, map[string]float64{}
	for name := range folds[0].Metrics {
		sum, n := 0.0, 0
		for _, f := range folds {
			if v, ok := f.Metrics[name]; ok {
				sum, n = sum+v, n+1
			}
		}
		if n < len(folds) {
			continue
		}
		mean, squares := sum/float64(n), 0.0
		for _, f := range folds {
			squares += (f.Metrics[name] - mean) * (f.Metrics[name] - mean)
		}
		if means[name] = mean; n > 1 {
			deviations[name] = math.Sqrt(squares / float64(n-1))
		}
	}
	return means, deviations
}
