package app

import (
	"slices"
	"strings"

	"bellows"
	"bellows/data"
	"bellows/train"
)

// Examination is what eval tells of labelled data.
type Examination struct {
	Metrics []train.Metric
	// Classes and Confusion are for models that name one of several classes, in the order of the model's labels. Confusion[a][b]
	// is the number of rows of class a that were said to be of class b.
	Classes   []ClassFigures
	Confusion [][]int64
}

// ClassFigures describes how well one class is told from the others.
type ClassFigures struct {
	Label     string
	Rows      int64   // that are of it
	Precision float64 // the share of correct rows among those predicted as the class; 0: none predicted
	Recall    float64 // the part of the rows of it that are said to be
	F1        float64 // the harmonic mean of the two
	// AUC is how often a row of it has a higher probability of it than a row of another class, ties counted half (the area under the ROC
	// curve); NaN where it was not asked for, or all rows are of it or none.
	AUC float64
}

// Examiner is a Predictor that knows more metrics than Evaluate gives.
type Examiner interface {
	// Examine computes metrics by their names, or without names those that mean something for the model and the data and take no longer than
	// predicting does. A name that it does not know is an error that lists those it does.
	Examine(set *data.Set, metrics []string) (*Examination, error)
}

// Counter is an Examiner that counts rows as they come, so that what is examined may be of any size.
type Counter interface {
	Shared
	// Count begins an examination by metrics as Examine has them. It is nil where they need all rows at once: then Examine is asked.
	Count(metrics []string) (Counting, error)
}

// Counting is an examination in progress. Its figures do not depend on how the rows were cut, nor on the order of
// scoring.
type Counting interface {
	// Step is how many rows are scored at a time, at most.
	Step() int
	// Scorer prepares for the rows of a set. score uses p, one of the predictor's shares, to score the rows from lo up
	// to hi, and returns a function that adds them to the counts. Scorers of several sets run at the same time, each
	// with a p of its own; add is called in the order of all rows, by one goroutine at a time.
	Scorer(p Predictor, set *data.Set) (score Scorer, err error)
	// Examination is what there is to tell of all rows that were added.
	Examination() (*Examination, error)
}

// Scorer scores some rows of a set, which come in their order from the first on, as many at a time as Counting.Step says but for the last.
type Scorer func(lo, hi int) (add func(), err error)

// CountAll examines a set as a whole.
func CountAll(p Predictor, c Counting, set *data.Set) (*Examination, error) {
	score, err := c.Scorer(p, set)
	if err != nil {
		return nil, err
	}
	for lo := 0; lo < set.Rows(); lo += c.Step() {
		add, err := score(lo, min(lo+c.Step(), set.Rows()))
		if err != nil {
			return nil, err
		}
		add()
	}
	return c.Examination()
}

// UnknownMetric returns the error for the name of a metric that an application does not have.
func UnknownMetric(app, metric string, known ...string) error {
	err := bellows.Errorf(bellows.Usage, "set", "--metrics="+metric, "%s has no metric of that name", app)
	if near := Nearest(metric, known); near != "" && !slices.Contains(known, metric) {
		return err.Hinted("did you mean " + near + "?")
	}
	return err.Hinted("it has " + strings.Join(known, ", "))
}

// ExamineAll examines a set as a whole by metrics.
func ExamineAll(p interface {
	Predictor
	Counter
}, set *data.Set, metrics []string) (*Examination, error) {
	c, err := p.Count(metrics)
	if err != nil {
		return nil, err
	}
	return CountAll(p, c, set)
}
