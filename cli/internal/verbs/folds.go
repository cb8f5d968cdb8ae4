package verbs

import (
	"slices"
	"strconv"

	"bellows/cli/internal/line"
)

// folds returns --cv as a number; 0: none.
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
		{"fresh", strconv.FormatBool(o.fresh), "false", "cross-validation leaves nothing to resume, and starts over each time; leave this out"},
		{"metrics", o.metrics, "", "the folds of a cross-validation are not served; leave this out, and read its --json lines"},
		{"processes", strconv.Itoa(o.cluster.Processes), "0", "the folds of a cross-validation are trained in this process; leave this out, or leave out --cv"},
	} {
		if f.value != f.otherwise {
			return line.BadFlag(f.name, f.value, "%s", f.says)
		}
	}
	return nil
}
