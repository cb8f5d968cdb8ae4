package mlr

import (
	"io"
	"math"
	"strconv"

	"bellows"
	"bellows/app"
	"bellows/app/examples"
	"bellows/data"
	"bellows/model"
	"bellows/progress"
	"bellows/train"
	"bellows/vec"
)

// Open implements app.Application. It refuses a model whose parts do not fit each other.
func (a application) Open(m *model.Model) (app.Predictor, error) { return openModel(m, a.name) }

// predictor answers for one model. It is not for several goroutines at once.
type predictor struct {
	examples.Predictor
	columns []string // names of the features, nil: none
	about   details
	table   []float32 // features + 1 rows of classes
	x, z    []float32
}

// Share implements app.Shared.
func (p *predictor) Share() app.Predictor {
	q := *p
	q.x, q.z, q.Meter = nil, nil, nil
	return &q
}

// Evaluate implements app.Predictor: accuracy and logloss. A row with an unknown label counts as wrong, with the
// smallest probability. If the data has entries of unknown features, a third figure, unknown_features, counts them.
func (p *predictor) Evaluate(set *data.Set) ([]train.Metric, error) {
	return p.classified(nil).Plainly(p, set)
}

// Examine implements app.Examiner.
func (p *predictor) Examine(set *data.Set, metrics []string) (*app.Examination, error) {
	return app.ExamineAll(p, set, metrics)
}

// Count implements app.Counter.
func (p *predictor) Count(metrics []string) (app.Counting, error) {
	c := p.classified(metrics)
	return c, c.Begin()
}

// classified counts how well the model tells its classes apart.
func (p *predictor) classified(metrics []string) *examples.Classified {
	return &examples.Classified{App: p.App, Labels: p.Labels, Likely: true, Asked: metrics, Source: p.scored,
		Score: func(by app.Predictor, s examples.Source) func(r int, y int32, chances []float32) (float64, bool) {
			q := by.(*predictor)
			return func(r int, y int32, chances []float32) (float64, bool) {
				copy(chances, q.chances(s, r))
				if y == examples.UnknownClass {
					return -math.Log(chanceLeast), false
				}
				return -math.Log(max(chanceLeast, float64(chances[y]))), examples.Best(chances) == int(y)
			}
		}}
}

// scored returns rows that the model can be held against.
func (p *predictor) scored(set *data.Set) (examples.Source, error) {
	s, err := p.Source(set, "evaluate", len(p.Labels))
	if err == nil && s.Rows() == 0 {
		err = bellows.Errorf(bellows.BadData, "evaluate", p.App, "the data has no rows")
	}
	return s, err
}

// Predict implements app.Predictor. A line is the label of the likeliest class and the probability of
// every class in the order of labels.txt, separated by tabs: 1 + classes fields. There is no header.
func (p *predictor) Predict(set *data.Set, out io.Writer) error {
	s, err := p.Source(set, "predict", len(p.Labels))
	if err != nil {
		return err
	}
	return app.WriteLines(out, s.Rows(), func(line []byte, r int) []byte {
		chances := p.chances(s, r)
		line = append(line, p.Labels[examples.Best(chances)]...)
		for _, q := range chances {
			line = strconv.AppendFloat(append(line, '\t'), float64(q), 'g', 6, 32)
		}
		return line
	})
}

// Fields implements app.Named.
func (p *predictor) Fields() app.Fields { return app.Fields{Of: "probabilities", Names: p.Labels} }

// chances returns the probabilities of a row's classes. Rows are asked for in their order, from 0 on: they are done
// some at a time.
func (p *predictor) chances(s examples.Source, r int) []float32 {
	width, at := len(p.Labels), r%batchMost
	if at == 0 {
		hi := min(s.Rows(), r+batchMost)
		if len(p.z) == 0 {
			p.z = make([]float32, batchMost*width)
		}
		z := p.z[:(hi-r)*width]
		if r == 0 {
			p.Meter.Begin(progress.Part{Doing: "scoring", Unit: "rows", Total: int64(s.Rows())})
		}
		if p.Meter.Add(int64(hi-r)) != nil {
			return z[:width] // as it was: the caller does not use it
		}
		if s.Sparse() {
			p.sparseLogits(s, r, hi, z)
		} else {
			p.denseLogits(s, r, hi, z)
		}
		for c, v := range s.Lift {
			for i := c; i < len(z); i += width {
				z[i] += float32(v)
			}
		}
		vec.Softmax(hi-r, width, z)
	}
	return p.z[at*width : (at+1)*width]
}

func (p *predictor) sparseLogits(s examples.Source, lo, hi int, z []float32) {
	width := len(p.Labels)
	for r := lo; r < hi; r++ {
		row := z[(r-lo)*width : (r-lo+1)*width]
		copy(row, p.table[p.Features*width:])
		index, value := s.Entries(r)
		for i, j := range index {
			addTo(value[i], p.table[int(j)*width:int(j)*width+width], row)
		}
	}
}

func (p *predictor) denseLogits(s examples.Source, lo, hi int, z []float32) {
	f, width := p.Features, len(p.Labels)
	if len(p.x) == 0 {
		p.x = make([]float32, batchMost*f)
	}
	for r := lo; r < hi; r++ {
		x := p.x[(r-lo)*f : (r-lo+1)*f]
		copy(x, s.Vector(r, x))
		copy(z[(r-lo)*width:(r-lo+1)*width], p.table[f*width:])
	}
	vec.GemmNN(hi-lo, width, f, 1, p.x[:(hi-lo)*f], f, p.table, width, 1, z, width)
}
