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

// ClassFigures is how well one class is told from the others.
type ClassFigures struct {
	Label     string
	Rows      int64   // that are of it
	Precision float64 // the part of the rows said to be of it that are; 0 where there is none
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

// UnknownMetric is the error for the name of a metric that an application does not have.
func UnknownMetric(app, metric string, known ...string) error {
	err := bellows.Errorf(bellows.Usage, "set", "--metrics="+metric, "%s has no metric of that name", app)
	if near := Nearest(metric, known); near != "" && !slices.Contains(known, metric) {
		return err.Hinted("did you mean " + near + "?")
	}
	return err.Hinted("it has " + strings.Join(known, ", "))
}
