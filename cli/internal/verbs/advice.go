package verbs

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"bellows"
	"bellows/app"
	"bellows/data"
	"bellows/figures"
	"bellows/run/datafiles"
	"bellows/serve/oov"
)

// doubt says what may be wrong with the model or its figures: people read it now, programs in the last JSON line.
func (t *training) doubt(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	t.warnings = append(t.warnings, text)
	if !t.JSON {
		t.Talk("warning: %s", text)
	}
}

// examine warns of data whose figures will say little.
func (t *training) examine() {
	rows := t.inputs.rows
	if _, file := datafiles.Repeated(t.files); file != "" {
		t.doubt("%s is named twice: its rows count twice, and where the one is held out the other is trained on, so that the score is too good; name each file once", file)
	}
	if _, file := datafiles.Repeated(t.opt.test); file != "" {
		t.doubt("%s is named twice with --test: its rows count twice; name each file once", file)
	}
	switch {
	case t.testsItself():
		t.doubt("the test rows are training rows, so that their score does not measure generalisation; leave --test out to hold out %d %% of DATA, or name another file", data.HeldAlone)
	case t.inputs.test == nil && !app.AnyHeldOut(t.opt.seed, rows, data.HeldAlone):
		t.doubt("nothing is held out of %s: no validation score%s; give more rows, or others with --test", figures.Plural(rows, "row"), t.unstopped())
	case t.inputs.test != nil && t.opt.epochs == 0 && !app.AnyHeldOut(t.opt.seed, rows, data.HeldBesideTest):
		t.doubt("nothing is held out of %s besides the test%s; give more rows, or set --epochs", figures.Plural(rows, "row"), t.unstopped())
	}
}

// unstopped returns the consequence for a run with automatic stopping if no rows are held out.
func (t *training) unstopped() string {
	if t.opt.epochs > 0 {
		return ""
	}
	return ", and nothing stops training before its last epoch"
}

// testsItself reports whether the test rows are training rows: by their files, or by what is in them.
func (t *training) testsItself() bool {
	if t.inputs.test == nil {
		return false
	}
	return datafiles.Common(t.opt.test, t.files) || t.inputs.same
}

// unscored warns that the test rows cannot be scored.
func (t *training) unscored(err error) {
	var typed *bellows.Error
	if errors.As(err, &typed) {
		err = typed.Err
	}
	t.doubt("the test rows cannot be scored, since %v: no validation score; give more rows, or others with --test", err)
}

// strange warns of test rows with what the training data do not have: their score is not that of those that the model knows.
func (t *training) strange() {
	if parts := oov.Describe(t.inputs.unknown); len(parts) > 0 {
		t.doubt("unknown to the model in the test rows: %s", strings.Join(parts, ", "))
	}
}

// compare warns of a model that its baseline beats. The baseline is of the first test metric. For a metric that only
// the application knows, the better value is unknown here.
func (t *training) compare(r *result) {
	for _, name := range t.about.Metrics {
		score, measured := r.Metrics[name]
		if !strings.HasPrefix(name, "test_") || !measured {
			continue
		}
		falls, known := app.Falls(name)
		if known && (falls && score > r.Baseline.Value || !falls && score < r.Baseline.Value) {
			t.doubt("%s %s is worse than %s of the %s: check that the columns listed above are the right ones and that the test data is of the same kind%s",
				figures.Metric(name), figures.Number(score), figures.Number(r.Baseline.Value), r.Baseline.Name, t.remedy())
		}
		return
	}
}

// remedy returns what helps a model that fits its training rows too closely, in the application's own settings.
func (t *training) remedy() string {
	for _, s := range t.about.Settings {
		if s.Name == "l2" {
			return "; where rows are few, a larger --set l2= helps"
		}
	}
	return ""
}

// remark says what about the data may not be as meant, and how the test file was read.
func (t *training) remark() {
	if t.inputs.choice != "" && !t.JSON {
		t.Talk("test: %s", t.inputs.choice)
	} else if t.inputs.test != nil && !t.JSON {
		t.Talk("test %s: %s", strings.Join(t.opt.test, " "), t.inputs.test.Detected)
	}
	for _, w := range slices.Concat(t.inputs.set.Detected.Warnings(), t.made.Warnings) {
		t.doubt("%s", w)
	}
}
