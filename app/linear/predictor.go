package linear

import (
	"io"
	"math"
	"strconv"

	"bellows"
	"bellows/app"
	"bellows/app/examples"
	"bellows/app/linear/internal/loss"
	"bellows/data"
	"bellows/model"
	"bellows/progress"
	"bellows/train"
	"bellows/vec"
)

// Open implements app.Application. It refuses a model whose parts do not fit each other.
func (application) Open(m *model.Model) (app.Predictor, error) {
	var d details
	r := m.Reader(name)
	if r.ReadDetails(&d); r.Err() == nil && d.Loss == lossSoftmax {
		return softmax.Open(m)
	}
	return openModel(m)
}

// predictor answers for one model. It is not for several goroutines at once.
type predictor struct {
	examples.Predictor
	targets
	weights    []float32
	bias       float32
	loss       string
	calibrated calibrator // nil: scores stay as they are
	origin     float64    // of what is predicted
	x          []float32
}

// Numbers implements app.Numeric.
func (p *predictor) Numbers() bool { return p.names == nil }

// Share implements app.Shared.
func (p *predictor) Share() app.Predictor {
	q := *p
	q.x, q.Meter = nil, nil
	return &q
}

// paceStep is how many rows are scored between two checks of the meter.
const paceStep = 4096

// score returns the score of a row. Ask for rows in their order, from 0 on. When the meter's context has ended it
// returns 0, which is not used.
func (p *predictor) score(s examples.Source, r int) float64 {
	if r%paceStep == 0 {
		if r == 0 {
			p.Meter.Begin(progress.Part{Doing: "scoring", Unit: "rows", Total: int64(s.Rows())})
		}
		_ = p.Meter.Add(int64(min(paceStep, s.Rows()-r)))
	}
	if p.calibrated == nil {
		return p.raw(s, r)
	}
	return p.calibrated.Calibrate(p.raw(s, r))
}

// raw returns the score before it is calibrated.
func (p *predictor) raw(s examples.Source, r int) float64 {
	if !s.Sparse() {
		if p.x == nil {
			p.x = make([]float32, len(p.weights))
		}
		return float64(p.bias) + s.Lifted(0) + float64(vec.Dot(s.Vector(r, p.x), p.weights))
	}
	sum := float64(p.bias) + s.Lifted(0)
	index, value := s.Entries(r)
	for k, j := range index {
		sum += float64(value[k] * p.weights[j])
	}
	return sum
}

// Evaluate implements app.Predictor: of classes accuracy, and logloss where scores are log-odds; of numbers rmse, mae and r2. They are means by the weights of rows.
func (p *predictor) Evaluate(set *data.Set) ([]train.Metric, error) {
	if p.names != nil {
		return p.classified(nil).Plainly(p, set)
	}
	out, err := app.CountAll(p, &numbers{predictor: p}, set)
	if err != nil {
		return nil, err
	}
	return out.Metrics, nil
}

// likely reports whether scores are log-odds.
func (p *predictor) likely() bool { return p.loss == lossLogistic || p.calibrated != nil }

// lossMost bounds the log-loss of a row, as mlr does: a class that the model does not know has no probability at all.
var lossMost = -math.Log(1e-15)

// Examine implements app.Examiner: for classes it has mlr's metrics as well, by scores if no probabilities are known.
func (p *predictor) Examine(set *data.Set, metrics []string) (*app.Examination, error) {
	return app.ExamineAll(p, set, metrics)
}

// Count implements app.Counter.
func (p *predictor) Count(metrics []string) (app.Counting, error) {
	if p.names == nil {
		c := &numbers{predictor: p, asked: metrics}
		return c, c.check()
	}
	c := p.classified(metrics)
	return c, c.Begin()
}

// classified counts how well the model tells its classes apart.
func (p *predictor) classified(metrics []string) *examples.Classified {
	return &examples.Classified{App: name, Labels: p.names, Likely: p.likely(), Asked: metrics, Source: p.scored,
		Score: func(by app.Predictor, s examples.Source) func(r int, y int32, chances []float32) (float64, bool) {
			q := by.(*predictor)
			return func(r int, y int32, chances []float32) (float64, bool) {
				score := q.score(s, r)
				chances[0], chances[1] = -float32(score), float32(score)
				if y == examples.UnknownClass {
					return lossMost, false
				}
				target := float64(2*y - 1)
				return min(lossMost, loss.Logistic{}.Value(score, target)), q.judge(score, target) > 0
			}
		}}
}

// scored returns rows with labels that the model can be held against.
func (p *predictor) scored(set *data.Set) (examples.Source, error) {
	s, err := p.Source(set, "evaluate", 1)
	switch {
	case err != nil:
		return s, err
	case s.Rows() == 0:
		return s, bellows.Errorf(bellows.BadData, "evaluate", name, "the data has no rows").Hinted("name a file with rows")
	case p.names == nil && s.LabelNames != nil:
		return s, bellows.Errorf(bellows.BadData, "evaluate", name, "the model predicts numbers, and the labels are text").Hinted("name the column of numbers that it predicts with --label")
	}
	return s, nil
}

// Predict implements app.Predictor. A line is the number; or the label of the likelier class, followed by the
// probability of both in the order of labels.txt, if scores are log-odds, else by the score, which is positive for the
// second.
func (p *predictor) Predict(set *data.Set, out io.Writer) error {
	s, err := p.Source(set, "predict", 1)
	if err != nil {
		return err
	}
	return app.WriteLines(out, s.Rows(), func(line []byte, r int) []byte {
		score := p.score(s, r)
		if p.names == nil {
			return app.AppendNumber(line, p.origin, score)
		}
		at := 0
		if score > 0 {
			at = 1
		}
		line = append(append(line, p.names[at]...), '\t')
		if !p.likely() {
			return strconv.AppendFloat(line, score, 'g', 6, 32)
		}
		line = strconv.AppendFloat(line, loss.Sigmoid(-score), 'g', 6, 32)
		return strconv.AppendFloat(append(line, '\t'), loss.Sigmoid(score), 'g', 6, 32)
	})
}

// Fields implements app.Named.
func (p *predictor) Fields() app.Fields {
	switch {
	case p.names == nil:
		return app.Fields{}
	case p.likely():
		return app.Fields{Of: "probabilities", Names: p.names}
	}
	return app.Fields{Of: "scores", Names: p.names[1:]}
}
