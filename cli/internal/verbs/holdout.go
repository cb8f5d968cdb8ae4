package verbs

import (
	"fmt"
	"slices"

	"bellows"
	"bellows/cli/internal/line"
	"bellows/data"
	"bellows/figures"
	"bellows/progress"
)

// The values of --holdout.
const (
	holdoutHash       = "hash"
	holdoutLast       = "last"
	holdoutStratified = "stratified"
	holdoutTime       = "time"
)

// checkHoldout refuses what --holdout cannot be.
func (o *trainOptions) checkHoldout(kind data.Kind) error {
	if o.holdout != holdoutTime {
		switch {
		case o.time != "":
			return line.BadFlag("time", o.time, "it is for --holdout time; add that flag, or leave this one out")
		case o.timeKept:
			return line.BadFlag("time-feature", "true", "it is for --holdout time; add that flag, or leave this one out")
		}
	}
	switch o.holdout {
	case "", holdoutHash:
		return nil
	case holdoutLast, holdoutStratified, holdoutTime:
	default:
		return line.BadFlag("holdout", o.holdout, "it must be %s, %s, %s or %s", holdoutHash, holdoutLast, holdoutTime, holdoutStratified)
	}
	if len(o.test) > 0 {
		return line.BadFlag("holdout", o.holdout, "--test names the rows that are scored; leave one of the two out")
	}
	if o.holdout == holdoutStratified && kind != data.Examples {
		return line.BadFlag("holdout", o.holdout, "only rows with a label have classes to be held out of alike; try %s", holdoutHash)
	}
	if o.holdout == holdoutTime && kind == data.Documents {
		return line.BadFlag("holdout", o.holdout, "documents have no column of times; put them in the order of time, and hold out the last with --holdout %s", holdoutLast)
	}
	return nil
}

// holdOut takes the rows out of the set that are the test from then on, as if they were in a file of their own.
func (in *inputs) holdOut(o *trainOptions, m *progress.Meter) error {
	var train, test []int32
	var err error
	switch o.holdout {
	case holdoutLast:
		train, test = data.Last(in.set.Rows(), data.HeldAlone)
		in.choice = "the last rows as they stand"
	case holdoutTime:
		train, test, err = in.latest()
	case holdoutStratified:
		train, test = data.Stratified(o.seed, in.set.Examples, data.HeldAlone)
		in.choice = "as many of each class"
	default:
		return nil
	}
	if err != nil {
		return err
	}
	if len(train) == 0 || len(test) == 0 {
		return bellows.Errorf(bellows.BadData, "hold out", o.holdout, "%d rows are too few", in.set.Rows()).Hinted("give more rows, or others with --test")
	}
	whole := in.set
	in.choice = fmt.Sprintf("%s of %s, %s", figures.Grouped(int64(len(test))), figures.Plural(whole.Rows(), "row"), in.choice)
	first, second, err := whole.Divide(train, test, m)
	if err != nil {
		return err
	}
	in.set, in.test = first, second
	return whole.Close()
}

// latest divides the rows by the column of times.
func (in *inputs) latest() (training, held []int32, err error) {
	d, times := &in.set.Detected, in.set.Time
	refuse := func(format string, args ...any) ([]int32, []int32, error) {
		return nil, nil, bellows.Errorf(bellows.BadData, "hold out", holdoutTime, format, args...).
			Hinted("name another column with --time, or hold out by chance: --holdout " + holdoutHash)
	}
	if times == nil {
		return refuse("%s has no columns, and so none of times", d.Format)
	}
	training, held, from := data.Latest(times, data.HeldAlone)
	if !slices.ContainsFunc(times, func(t float64) bool { return t != times[0] }) {
		return refuse("the time (%s) is the same in all rows", d.Time)
	}
	in.choice = fmt.Sprintf("the latest by %s: from %s on", d.Time, d.TimeText(from))
	return training, held, nil
}
