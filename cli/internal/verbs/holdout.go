package verbs

import (
	"cmp"
	"slices"

	"bellows"
	"bellows/cli/internal/line"
	"bellows/data"
	"bellows/random"
)

// The values of --holdout.
const (
	holdoutHash       = "hash"
	holdoutLast       = "last"
	holdoutStratified = "stratified"
)

// checkHoldout refuses what --holdout cannot be.
func (o *trainOptions) checkHoldout(kind data.Kind) error {
	switch o.holdout {
	case "", holdoutHash:
		return nil
	case holdoutLast, holdoutStratified:
	default:
		return line.BadFlag("holdout", o.holdout, "it must be %s, %s or %s", holdoutHash, holdoutLast, holdoutStratified)
	}
	if len(o.test) > 0 {
		return line.BadFlag("holdout", o.holdout, "--test names the rows that are scored")
	}
	if o.holdout == holdoutStratified && kind != data.Examples {
		return line.BadFlag("holdout", o.holdout, "only rows with a label have classes to be held out of alike")
	}
	return nil
}

// holdOut takes the rows out of the set that are the test from then on, as if they were in a file of their own.
func (in *inputs) holdOut(o *trainOptions) error {
	if o.holdout != holdoutLast && o.holdout != holdoutStratified {
		return nil
	}
	var train, test []int32
	if o.holdout == holdoutLast {
		train, test = lastRows(in.set.Rows(), data.HeldAlone)
	} else {
		train, test = stratified(o.seed, in.set.Examples, data.HeldAlone)
	}
	if len(train) == 0 || len(test) == 0 {
		return bellows.Errorf(bellows.BadData, "hold out", o.holdout, "%d rows are too few", in.set.Rows()).Hinted("give more rows, or others with --test")
	}
	whole := in.set
	in.set, in.test = whole.Select(train), whole.Select(test)
	return whole.Close()
}

// lastRows divides rows 0 to rows-1 into those to train on and the last percent in 100 of them: what came last, of rows in the order of time.
func lastRows(rows, percent int) (training, held []int32) {
	from := rows - int(int64(rows)*int64(percent)/100)
	for r := range rows {
		if r < from {
			training = append(training, int32(r))
		} else {
			held = append(held, int32(r))
		}
	}
	return training, held
}

// stratified divides rows into those to train on and percent in 100 of those of each label, by a hash of (seed, row), both ascending. Of a label with
// fewer rows than would be one, rounded, none is held out.
func stratified(seed uint64, set *data.ExampleSet, percent int) (training, held []int32) {
	of := map[float32][]int32{}
	for r, y := range set.Label {
		of[y] = append(of[y], int32(r))
	}
	out := make([]bool, set.Rows())
	for _, rows := range of { // in any order: each label is by itself
		slices.SortFunc(rows, func(a, b int32) int {
			return cmp.Or(cmp.Compare(random.Of(seed, uint64(a)), random.Of(seed, uint64(b))), cmp.Compare(a, b))
		})
		for _, r := range rows[:(len(rows)*percent+50)/100] {
			out[r] = true
		}
	}
	for r, is := range out {
		if is {
			held = append(held, int32(r))
		} else {
			training = append(training, int32(r))
		}
	}
	return training, held
}
