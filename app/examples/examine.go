package examples

import (
	"math"
	"slices"

	"bellows"
	"bellows/app"
	"bellows/data"
	"bellows/train"
)

// ofClasses are the metrics of classes, beside accuracy and logloss.
var ofClasses = []string{"auc", "f1_macro", "precision_macro", "recall_macro"}

// Figures that are shown whatever is asked for, where they are not 0.
const (
	unknownFeatures = "unknown_features"
	aucError        = "auc_error" // the area under a curve of so many different probabilities that neighbours were taken for one is no further off
)

// Classified is how well a model tells classes apart, counted row by row: each as its weight says in all figures but the confusion, which counts rows. Its methods are called in this order: Begin, Scorer for each set of rows, and Examination.
type Classified struct {
	App    string   // for errors
	Labels []string // of the classes
	Likely bool     // chances are probabilities, which have a log-loss
	Asked  []string // metrics by name; none: all
	// Score prepares for the rows of a set, as a predictor of the model sees them. The returned function stores the
	// class probabilities of a row in chances, and returns its log-loss and whether the prediction was right. y is the
	// row's class, or UnknownClass. Rows are passed in order.
	Score func(p app.Predictor, s Source) func(r int, y int32, chances []float32) (loss float64, right bool)
	// Source is a set's rows as the model sees them.
	Source func(set *data.Set) (Source, error)

	rows      float64 // by their weights, as all that follows
	right     float64
	loss      float64
	strange   int64     // entries of features that the model does not have
	named     []float64 // said to be of each class
	own       []float64 // of each class
	hit       []float64 // both
	confusion [][]int64
	curves    []curve // nil: not asked for
}

// plain returns the metrics that cost nothing but the scores.
func (c *Classified) plain() []string {
	if c.Likely {
		return []string{"accuracy", "logloss"}
	}
	return []string{"accuracy"}
}

// Begin refuses metrics that there are not.
func (c *Classified) Begin() error {
	known := append(c.plain(), ofClasses...)
	for _, m := range c.Asked {
		if !slices.Contains(known, m) {
			return app.UnknownMetric(c.App, m, known...)
		}
	}
	width := len(c.Labels)
	c.named, c.own, c.hit, c.confusion = make([]float64, width), make([]float64, width), make([]float64, width), make([][]int64, width)
	for k := range c.confusion {
		c.confusion[k] = make([]int64, width)
	}
	if c.asked("auc") {
		c.curves = newCurves(width)
	}
	return nil
}

func (c *Classified) asked(metric string) bool {
	return len(c.Asked) == 0 || slices.Contains(c.Asked, metric)
}

// The chances that are kept of rows until they are counted, and the rows of a step at most. A step is whole batches of mlr.
const (
	chancesMost = 1 << 20
	stepMost    = 1 << 16
	stepLeast   = 1 << 8
)

// Step implements app.Counting.
func (c *Classified) Step() int {
	return min(stepMost, max(stepLeast, chancesMost/max(1, len(c.Labels))/stepLeast*stepLeast))
}

// Scorer implements app.Counting.
func (c *Classified) Scorer(p app.Predictor, set *data.Set) (app.Scorer, error) {
	s, err := c.Source(set)
	if err != nil {
		return nil, err
	}
	score, class, width, strange := c.Score(p, s), Numbered(s.ExampleSet, c.Labels), len(c.Labels), s.Unknown()
	rows, weight := min(c.Step(), s.Rows()), RowWeights(s.Weight)
	chances, losses, right := make([]float32, rows*width), make([]float64, rows), make([]bool, rows)
	return func(lo, hi int) (func(), error) {
		class := class[lo:hi]
		for i, y := range class {
			losses[i], right[i] = score(lo+i, y, chances[i*width:(i+1)*width])
		}
		return func() {
			for i, y := range class {
				c.count(y, chances[i*width:(i+1)*width], losses[i], right[i], weight.Weight(lo+i))
			}
			c.strange, strange = c.strange+strange, 0
		}, nil
	}, nil
}

// count adds a row.
func (c *Classified) count(y int32, chances []float32, loss float64, right bool, weight float64) {
	c.rows += weight
	c.loss += weight * loss
	if right {
		c.right += weight
	}
	guess := Best(chances)
	c.named[guess] += weight
	if y != UnknownClass {
		c.confusion[y][guess]++
		if c.own[y] += weight; guess == int(y) {
			c.hit[y] += weight
		}
	}
	for k := range c.curves {
		c.curves[k].add(chances[k], int32(k) == y, weight)
	}
}

// Examination implements app.Counting. The means are over the classes that rows are of or are said to be of (macro averages).
func (c *Classified) Examination() (*app.Examination, error) {
	out := &app.Examination{Classes: c.classes(), Confusion: c.confusion}
	n := c.rows
	all := []train.Metric{{Name: "accuracy", Value: c.right / n}}
	if c.Likely {
		all = append(all, train.Metric{Name: "logloss", Value: c.loss / n})
	}
	if c.strange > 0 {
		all = append(all, train.Metric{Name: unknownFeatures, Value: float64(c.strange)})
	}
	off := 0.0
	for k := range c.curves {
		var err float64
		out.Classes[k].AUC, err = c.curves[k].area()
		off = max(off, err)
	}
	all = append(all, macro(out.Classes, out.Confusion)...)
	if off > 0 {
		all = append(all, train.Metric{Name: aucError, Value: off})
	}
	for _, m := range all {
		if (c.asked(m.Name) || m.Name == unknownFeatures || m.Name == aucError) && !math.IsNaN(m.Value) {
			out.Metrics = append(out.Metrics, m)
		}
	}
	if slices.Contains(c.Asked, "auc") && !slices.ContainsFunc(out.Metrics, func(m train.Metric) bool { return m.Name == "auc" }) {
		return nil, bellows.Errorf(bellows.BadData, "evaluate", c.App, "auc needs rows of at least two classes")
	}
	return out, nil
}

// classes returns the figures of each class.
func (c *Classified) classes() []app.ClassFigures {
	out := make([]app.ClassFigures, len(c.Labels))
	for k := range out {
		f := &out[k]
		f.Label, f.AUC = c.Labels[k], math.NaN()
		for _, n := range c.confusion[k] {
			f.Rows += n
		}
		f.Precision, f.Recall = ratio(c.hit[k], c.named[k]), ratio(c.hit[k], c.own[k])
		f.F1 = ratio(2*f.Precision*f.Recall, f.Precision+f.Recall)
	}
	return out
}

// Plainly returns the metrics that cost nothing beyond the scores, of a set as a whole, for callers that show them
// after each of many trainings.
func (c *Classified) Plainly(p app.Predictor, set *data.Set) ([]train.Metric, error) {
	c.Asked = c.plain()
	if err := c.Begin(); err != nil {
		return nil, err
	}
	out, err := app.CountAll(p, c, set)
	if err != nil {
		return nil, err
	}
	return out.Metrics, nil
}

// Best returns the first of the largest values.
func Best(p []float32) int {
	at := 0
	for c, v := range p {
		if v > p[at] {
			at = c
		}
	}
	return at
}

func ratio(part, whole float64) float64 {
	if whole == 0 {
		return 0
	}
	return part / whole
}

// macro returns the means over classes. Of two classes auc is that of either: they are the same.
func macro(classes []app.ClassFigures, confusion [][]int64) []train.Metric {
	var f1, precision, recall, auc, n, curves float64
	for c, f := range classes {
		named := int64(0)
		for _, row := range confusion {
			named += row[c]
		}
		if f.Rows+named > 0 {
			f1, precision, recall, n = f1+f.F1, precision+f.Precision, recall+f.Recall, n+1
		}
		if !math.IsNaN(f.AUC) {
			auc, curves = auc+f.AUC, curves+1
		}
	}
	return []train.Metric{{Name: "auc", Value: auc / curves}, {Name: "f1_macro", Value: f1 / n},
		{Name: "precision_macro", Value: precision / n}, {Name: "recall_macro", Value: recall / n}}
}
