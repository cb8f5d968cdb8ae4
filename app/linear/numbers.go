package linear

import (
	"math"
	"slices"

	"bellows"
	"bellows/app"
	"bellows/app/examples"
	"bellows/data"
	"bellows/train"
)

// numbers counts how far predicted numbers are from the labels. The spread of the labels, which r2 needs, is updated row by row (Welford 1962, "Note on
// a method for calculating corrected sums of squares and products"; by weights, West 1979, "Updating mean and variance estimates"), so that rows are looked at once.
type numbers struct {
	*predictor
	asked []string // none: all

	rows           float64 // by their weights, as all that follows
	squares, sizes float64 // sums of what is left: squares, absolute values
	mean, total    float64 // of the labels: their mean, and the squared distances from it
	strange        int64   // entries of features that the model does not have
}

var ofNumbers = []string{"rmse", "mae", "r2"}

// check refuses metrics that there are not.
func (n *numbers) check() error {
	for _, m := range n.asked {
		if !slices.Contains(ofNumbers, m) {
			return app.UnknownMetric(name, m, ofNumbers...)
		}
	}
	return nil
}

// Step implements app.Counting.
func (n *numbers) Step() int { return 16 * paceStep }

// Scorer implements app.Counting.
func (n *numbers) Scorer(by app.Predictor, set *data.Set) (app.Scorer, error) {
	s, err := n.scored(set)
	if err != nil {
		return nil, err
	}
	p, strange, weight := by.(*predictor), s.Unknown(), examples.RowWeights(s.Weight)
	scores, off := make([]float64, min(n.Step(), s.Rows())), s.LabelOrigin-p.origin
	return func(lo, hi int) (func(), error) {
		for r := lo; r < hi; r++ {
			scores[r-lo] = p.score(s, r)
		}
		return func() {
			for i, y := range s.Label[lo:hi] {
				n.count(float64(y)+off, scores[i], weight.Weight(lo+i))
			}
			n.strange, strange = n.strange+strange, 0
		}, nil
	}, nil
}

// count adds a row.
func (n *numbers) count(label, score, weight float64) {
	n.rows += weight
	d := score - label
	n.squares, n.sizes = n.squares+weight*d*d, n.sizes+weight*math.Abs(d)
	off := label - n.mean
	n.mean += weight * off / n.rows
	n.total += weight * off * (label - n.mean)
}

// Examination implements app.Counting.
func (n *numbers) Examination() (*app.Examination, error) {
	all := []train.Metric{{Name: "rmse", Value: math.Sqrt(n.squares / n.rows)}, {Name: "mae", Value: n.sizes / n.rows}}
	if n.total > 0 {
		all = append(all, train.Metric{Name: "r2", Value: 1 - n.squares/n.total})
	}
	out := &app.Examination{}
	for _, m := range all {
		if len(n.asked) == 0 || slices.Contains(n.asked, m.Name) {
			out.Metrics = append(out.Metrics, m)
		}
	}
	if len(out.Metrics) == 0 {
		return nil, bellows.Errorf(bellows.BadData, "evaluate", name, "r2 needs rows with different labels")
	}
	if n.strange > 0 {
		out.Metrics = append(out.Metrics, train.Metric{Name: "unknown_features", Value: float64(n.strange)})
	}
	return out, nil
}
