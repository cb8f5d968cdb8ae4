package verbs

import (
	"bellows"
	"bellows/cli/internal/line"
	"bellows/data"
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
		train, test = data.LastRows(in.set.Rows(), data.HeldAlone)
	} else {
		train, test = data.Stratified(o.seed, in.set.Examples, data.HeldAlone)
	}
	if len(train) == 0 || len(test) == 0 {
		return bellows.Errorf(bellows.BadData, "hold out", o.holdout, "%d rows are too few", in.set.Rows()).Hinted("give more rows, or others with --test")
	}
	whole := in.set
	in.set, in.test = whole.Select(train), whole.Select(test)
	return whole.Close()
}
