package examples

import (
	"strconv"

	"bellows/app"
	"bellows/data"
	"bellows/model"
	"bellows/progress"
)

// Predictor is what predictors of models that learned from examples have in common. It is not for several goroutines at
// once.
type Predictor struct {
	App      string   // the application's name, for errors
	Labels   []string // by class; nil where the model predicts numbers
	Features int      // columns of weights
	Narrow   *Narrowing
	Wide     int // features of the data
	Base     int // of sparse input
	Origins  []data.Origin
	// Weight returns the weight of a column for one of the scores, which are one a class, or a single one.
	Weight func(class int, column int32) float32
	Meter  *progress.Meter
}

// Pace implements app.Paced.
func (p *Predictor) Pace(m *progress.Meter) { p.Meter = m }

// Read implements app.Predictor.
func (p *Predictor) Read() (data.Kind, data.Options) {
	return data.Examples, data.Options{Features: p.Wide, IndexBase: strconv.Itoa(p.Base), Numbers: p.Labels == nil}
}

// Source returns a set's rows as a model with so many scores sees them.
func (p *Predictor) Source(set *data.Set, op string, scores int) (Source, error) {
	if err := CheckLabelled(set, op, p.App); err != nil {
		return Source{}, err
	}
	of := p.Narrow.Apply(set.Examples)
	return Source{ExampleSet: of, Width: p.Features, Lift: Lift(of.Origins, p.Origins, scores, p.Features, p.Weight)}, nil
}

// Unknown implements app.Stranger.
func (p *Predictor) Unknown(set *data.Set, labelled bool) map[string]int64 {
	s, err := p.Source(set, "count", max(1, len(p.Labels)))
	if err != nil {
		return nil
	}
	counts := map[string]int64{"features": s.Unknown()}
	if labelled && p.Labels != nil {
		counts["labels"] = Strange(Numbered(s.ExampleSet, p.Labels))
	}
	return counts
}

// Begin reads the lists of a model with weights of so many columns. base, wide and origins are what its details say of
// the data: the first index, how many features there are where the model has only some of them, and where columns are
// counted from.
func (p *Predictor) Begin(m *model.Model, r *model.Reader, columns, base, wide int, origins []data.Origin) error {
	if base != 0 && base != 1 {
		return r.Refuse("its index_base is %d; it is 0 or 1", base)
	}
	narrow, err := ParseFeatures(m.Names(FeaturesFile))
	if err != nil {
		return err
	}
	p.Labels, p.Narrow, p.Wide, p.Features, p.Base, p.Origins = m.Names(LabelsFile), narrow, columns, columns, base, origins
	if narrow != nil {
		if p.Wide = wide; narrow.Count != columns || wide < columns {
			return r.Refuse("%s has %d features of %d, and there are weights for %d", FeaturesFile, narrow.Count, wide, columns)
		}
	}
	if err := CheckOrigins(origins, columns); err != nil {
		return err
	}
	return CheckLabels(p.Labels)
}

var _ app.Paced = &Predictor{}
