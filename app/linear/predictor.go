package linear

import (
	"io"
	"math"
	"slices"
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
	targets
	weights []float32
	bias    float32
	loss    string
	*calibration
	narrow *examples.Narrowing // of the features of the data, nil: none
	wide   int                 // features of the data
	base   int
	x      []float32
	meter  *progress.Meter
}

// Pace implements app.Paced.
func (p *predictor) Pace(m *progress.Meter) { p.meter = m }

// Share implements app.Shared.
func (p *predictor) Share() app.Predictor {
	q := *p
	q.x, q.meter = nil, nil
	return &q
}

func (p *predictor) source(set *data.Set, op string) (examples.Source, error) {
	if set == nil || set.Kind != data.Examples {
		return examples.Source{}, bellows.Errorf(bellows.BadData, op, name, "the data must be labelled examples")
	}
	return examples.Source{ExampleSet: p.narrow.Of(set.Examples), Width: len(p.weights)}, nil
}

// paceStep is how many rows are scored before somebody asks whether to go on.
const paceStep = 4096

// score is the score of a row. Rows are asked for in their order, from 0 on. When the meter's context has ended it is 0: nobody will look at it.
func (p *predictor) score(s examples.Source, r int) float64 {
	if r%paceStep == 0 {
		if r == 0 {
			p.meter.Begin(progress.Part{Doing: "scoring", Unit: "rows", Total: int64(s.Rows())})
		}
		_ = p.meter.Add(int64(min(paceStep, s.Rows()-r)))
	}
	return p.calibration.of(p.raw(s, r))
}

// raw is the score before it is calibrated.
func (p *predictor) raw(s examples.Source, r int) float64 {
	if !s.Sparse() {
		if p.x == nil {
			p.x = make([]float32, len(p.weights))
		}
		return float64(p.bias) + float64(vec.Dot(s.Vector(r, p.x), p.weights))
	}
	sum := float64(p.bias)
	index, value := s.Entries(r)
	for k, j := range index {
		sum += float64(value[k] * p.weights[j])
	}
	return sum
}

// Evaluate implements app.Predictor: of classes accuracy, and logloss where scores are log-odds; of numbers rmse, mae and r2.
func (p *predictor) Evaluate(set *data.Set) ([]train.Metric, error) {
	s, err := p.source(set, "evaluate")
	if err != nil {
		return nil, err
	}
	switch {
	case s.Rows() == 0:
		return nil, bellows.Errorf(bellows.BadData, "evaluate", name, "the data has no rows").Hinted("name a file with rows")
	case p.names == nil && s.LabelNames != nil:
		return nil, bellows.Errorf(bellows.BadData, "evaluate", name, "the model predicts numbers, and the labels are text").Hinted("name the column of numbers that it predicts with --label")
	}
	var m []train.Metric
	if p.names != nil {
		m = p.evaluateClasses(s)
	} else {
		m = p.evaluateNumbers(s)
	}
	if unknown := s.Unknown(); unknown > 0 {
		m = append(m, train.Metric{Name: "unknown_features", Value: float64(unknown)})
	}
	return m, nil
}

// likely says whether scores are log-odds.
func (p *predictor) likely() bool { return p.loss == lossLogistic || p.calibration != nil }

// lossMost bounds the log-loss of a row, as mlr does: a class that the model does not know has no probability at all.
var lossMost = -math.Log(1e-15)

func (p *predictor) evaluateClasses(s examples.Source) []train.Metric {
	n, right, cost := float64(s.Rows()), 0.0, 0.0
	for r, y := range p.targetsOf(s.ExampleSet) {
		score := p.score(s, r)
		right += p.judge(score, float64(y))
		if y != y {
			cost += lossMost
		} else {
			cost += min(lossMost, loss.Logistic{}.Value(score, float64(y)))
		}
	}
	m := []train.Metric{{Name: "accuracy", Value: right / n}}
	if p.likely() {
		m = append(m, train.Metric{Name: "logloss", Value: cost / n})
	}
	return m
}

func (p *predictor) evaluateNumbers(s examples.Source) []train.Metric {
	n, squares, sizes, mean, total := float64(s.Rows()), 0.0, 0.0, 0.0, 0.0
	for r, y := range s.Label {
		d := p.score(s, r) - float64(y)
		squares, sizes, mean = squares+d*d, sizes+math.Abs(d), mean+float64(y)/n
	}
	for _, y := range s.Label {
		total += (float64(y) - mean) * (float64(y) - mean)
	}
	m := []train.Metric{{Name: "rmse", Value: math.Sqrt(squares / n)}, {Name: "mae", Value: sizes / n}}
	if total > 0 {
		m = append(m, train.Metric{Name: "r2", Value: 1 - squares/total})
	}
	return m
}

// Examine implements app.Examiner: of classes what mlr tells, too, by scores where there are no probabilities.
func (p *predictor) Examine(set *data.Set, metrics []string) (*app.Examination, error) {
	plain, err := p.Evaluate(set)
	if err != nil {
		return nil, err
	}
	if p.names == nil {
		return chosen(plain, metrics)
	}
	s, err := p.source(set, "evaluate")
	if err != nil {
		return nil, err
	}
	both := make([]float32, 2)
	of := examples.Classified{App: name, Labels: p.names, Class: examples.Numbered(s.ExampleSet, p.names), Chances: func(r int) []float32 {
		score := float32(p.score(s, r))
		both[0], both[1] = -score, score
		return both
	}}
	return of.Examine(plain, metrics)
}

// chosen is the metrics that are asked for, or all.
func chosen(list []train.Metric, metrics []string) (*app.Examination, error) {
	var known []string
	out := &app.Examination{}
	for _, m := range list {
		known = append(known, m.Name)
		if len(metrics) == 0 || slices.Contains(metrics, m.Name) {
			out.Metrics = append(out.Metrics, m)
		}
	}
	for _, m := range metrics {
		if !slices.Contains(known, m) {
			return nil, app.UnknownMetric(name, m, known...)
		}
	}
	return out, nil
}

// Unknown implements app.Stranger.
func (p *predictor) Unknown(set *data.Set, labelled bool) map[string]int64 {
	s, err := p.source(set, "count")
	if err != nil {
		return nil
	}
	counts := map[string]int64{"features": s.Unknown()}
	if labelled && p.names != nil {
		counts["labels"] = examples.Strange(examples.Numbered(s.ExampleSet, p.names))
	}
	return counts
}

// Predict implements app.Predictor. A line is the number, or the label of the likelier class and behind it the probability of both in the order of
// labels.txt, where scores are log-odds, else the score, which is positive for the second.
func (p *predictor) Predict(set *data.Set, out io.Writer) error {
	s, err := p.source(set, "predict")
	if err != nil {
		return err
	}
	return app.WriteLines(out, s.Rows(), func(line []byte, r int) []byte {
		score := p.score(s, r)
		if p.names == nil {
			return strconv.AppendFloat(line, score, 'g', 6, 32)
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
