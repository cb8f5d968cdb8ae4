package verbs

import (
	"maps"
	"math"
	"slices"
	"strconv"

	"bellows/cli/internal/line"
	"bellows/data"
	"bellows/progress"
	"bellows/random"
)

// folds is --cv as a number; 0: none.
func (o *trainOptions) folds() (int, error) {
	if o.cv == "" {
		return 0, nil
	}
	n, err := strconv.Atoi(o.cv)
	if err != nil || n < 2 {
		return 0, line.BadFlag("cv", o.cv, "it must be a number of folds from 2, such as 5")
	}
	return n, nil
}

// checkFolds refuses what cannot go with --cv.
func (o *trainOptions) checkFolds() error {
	for _, f := range []struct {
		name, value, otherwise, says string
	}{
		{"test", slices.Concat(o.test, []string{""})[0], "", "cross-validation scores each row of DATA once; leave this out, or leave out --cv to score that file"},
		{"holdout", o.holdout, "", "cross-validation holds out each row of DATA once; leave this out, or leave out --cv to hold out some of them alone"},
		{"from", o.from, "", "that model may have seen the rows that would score it; leave this out, or leave out --cv"},
		{"until", o.until, "", "the rows that score a fold would decide when it ends; say how many --epochs, or leave this out"},
		{"out", o.out, "", "cross-validation leaves no model and no folder; leave this out, or leave out --cv to train a model"},
		{"fresh", strconv.FormatBool(o.fresh), "false", "cross-validation leaves nothing to go on with, and starts over each time; leave this out"},
		{"metrics", o.metrics, "", "the folds of a cross-validation are not served; leave this out, and read its --json lines"},
		{"processes", strconv.Itoa(o.cluster.processes), "0", "the folds of a cross-validation are trained in this process; leave this out, or leave out --cv"},
	} {
		if f.value != f.otherwise {
			return line.BadFlag(f.name, f.value, "%s", f.says)
		}
	}
	return nil
}

// dealt says which fold each row is in, from 0.
type dealt struct {
	folds      int
	fold       []int32
	stratified bool // each has as many rows of each class, but for one
	least      int  // rows of the rarest class, where there are classes
}

// deal deals the rows of a set to folds at random, by the seed alone: each gets as many as every other, but for one; and where rows have classes, as many
// of each, likewise. It ends with the meter's error.
func deal(seed uint64, folds int, set *data.Set, m *progress.Meter) (dealt, error) {
	m.Begin(progress.Part{Doing: "dealing rows to folds", Unit: "rows", Total: int64(set.Rows())})
	d := dealt{folds: folds, fold: make([]int32, set.Rows())}
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
			a, b := row(i), row(int(random.Of(seed, foldPurpose, uint64(row(i)))%uint64(i+1)))
			d.fold[a], d.fold[b] = d.fold[b], d.fold[a]
		}
	}
	e := set.Examples
	if e == nil || e.LabelNames == nil && e.Classes(classesMost) == nil {
		give(set.Rows(), func(i int) int32 { return int32(i) })
		return d, m.Err()
	}
	of := map[float32][]int32{}
	for r, y := range e.Label {
		of[y] = append(of[y], int32(r))
	}
	d.stratified, d.least = true, math.MaxInt
	for _, y := range slices.Sorted(maps.Keys(of)) {
		rows := of[y]
		d.least = min(d.least, len(rows))
		give(len(rows), func(i int) int32 { return rows[i] })
	}
	return d, m.Err()
}

// dealStep is how many rows are dealt before somebody asks whether to go on.
const dealStep = 1 << 16

// foldPurpose keeps the chance by which rows are dealt apart from that by which they are held out.
const foldPurpose = 0x666f6c64

// classesMost bounds the labels that are taken for classes.
const classesMost = 4096

// divide is the rows that train a fold's model and those that score it, both ascending.
func (d *dealt) divide(fold int) (training, held []int32) {
	for r, f := range d.fold {
		if int(f) == fold {
			held = append(held, int32(r))
		} else {
			training = append(training, int32(r))
		}
	}
	return training, held
}

// spread is the mean of each metric that all folds have, and its sample standard deviation, of two folds at least: the root of the squared distances from the
// mean over one less than the number of folds.
func spread(folds []foldResult) (means, deviations map[string]float64) {
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
