package linear

import (
	"encoding/json"
	"math"

	"bellows"
	"bellows/app/examples"
	"bellows/app/linear/internal/loss"
	"bellows/data"
	"bellows/model"
)

// details is the application's part of the manifest.
type details struct {
	Loss      string  `json:"loss"`
	L2        float64 `json:"l2"` // at the end of training
	L1        float64 `json:"l1,omitempty"`
	Path      []tried `json:"path,omitempty"`     // of l1 where it is auto, else of l2 times the rows
	IndexBase int     `json:"index_base"`         // of sparse input
	Features  int     `json:"features,omitempty"` // of the data, where the model has only those of features.txt

	Origins []data.Origin `json:"origins,omitempty"` // of columns: what is subtracted from values before weights multiply them
	Origin  float64       `json:"origin,omitempty"`  // of numbers that are predicted: what is added to scores

	Calibration *loss.Line `json:"calibration,omitempty"` // of scores by calibrate=platt; an isotonic one is a tensor
}

// newModel makes the model of a run's tables, whose weights are those that the policy measured last.
func newModel(p *problem, tables [][]float32, k *policy) (*model.Model, error) {
	if len(tables) != len(p.tables()) || len(tables[0]) != p.tables()[0].Rows*p.tables()[0].Width {
		return nil, bellows.Errorf(bellows.Bug, "make model", name, "the tables are not those of the job")
	}
	weights, bias, err := p.solution(tables, k)
	if err != nil {
		return nil, err
	}
	fitted, err := p.fitCalibration(&predictor{weights: weights, bias: bias}, k.used, k.usedL1)
	if err != nil {
		return nil, err
	}
	d := details{Loss: p.name, L2: k.used, L1: k.usedL1, Path: k.path.list, IndexBase: p.Src.IndexBase, Origins: p.Src.Origins}
	tensors := []model.Tensor{
		{Name: "weights", Shape: []int{p.Features}, Floats: weights},
		{Name: "bias", Shape: []int{1}, Floats: []float32{bias}},
	}
	switch c := fitted.(type) {
	case *loss.Line:
		d.Calibration = c
	case *isotonic:
		tensors = append(tensors, c.tensor())
	}
	ids, features := p.IDs(p.names)
	if d.Features = features; !p.classes {
		d.Origin = p.Src.LabelOrigin
	}
	about, err := json.Marshal(d)
	if err != nil {
		return nil, bellows.Errorf(bellows.Bug, "make model", name, "%w", err)
	}
	return &model.Model{
		App: name, Settings: p.Values.Map(), Metrics: k.keptMetrics(), Details: about,
		Tensors: tensors, IDs: ids,
	}, nil
}

// solution returns the weights of features as they are in the data, and the bias.
func (p *problem) solution(tables [][]float32, k *policy) (weights []float32, bias float32, err error) {
	scaled := k.weights(tables)
	weights = make([]float32, p.Features)
	sum := scaled[p.Features] * float64(p.bias)
	for j, factor := range p.Scale.Factor {
		w := scaled[j] * float64(factor)
		weights[j] = float32(w * p.spread)
		if err := p.CheckWeight(j, scaled[j], w*p.spread); err != nil {
			return nil, 0, err
		}
		if p.Scale.Center != nil {
			sum -= w * float64(p.Scale.Center[j])
		}
	}
	bias = float32(p.center + sum*p.spread)
	for _, w := range append(weights[:p.Features:p.Features], bias) {
		if math.IsNaN(float64(w)) || math.IsInf(float64(w), 0) {
			return nil, 0, bellows.Errorf(bellows.BadData, "train", name, "the weights grew without bound").Hinted("a larger l2 holds them")
		}
	}
	return weights, bias, nil
}

func finite(x float64) bool { return !math.IsNaN(x) && !math.IsInf(x, 0) }

// openModel checks the parts of a model against each other.
func openModel(m *model.Model) (*predictor, error) {
	r := m.Reader(name)
	var d details
	r.ReadDetails(&d)
	p := &predictor{weights: r.Floats("weights", model.Any), loss: d.Loss, origin: d.Origin, targets: targets{names: m.Names(examples.LabelsFile), spread: 1}}
	p.App, p.Weight = name, func(_ int, column int32) float32 { return p.weights[column] }
	if bias := r.Floats("bias", 1); len(bias) == 1 {
		p.bias = bias[0]
	}
	rising := readIsotonic(m, r)
	if err := r.Err(); err != nil {
		return nil, err
	}
	if err := p.Begin(m, r, len(p.weights), d.IndexBase, d.Features, d.Origins); err != nil {
		return nil, err
	}
	classes := d.Loss == lossLogistic || d.Loss == lossHinge || d.Loss == lossSquaredHinge
	switch {
	case !classes && d.Loss != lossSquared && d.Loss != lossHuber && d.Loss != lossInsensitive:
		return nil, r.Refuse("its loss %q is none that this version has", d.Loss)
	case d.Calibration != nil && (!classes || rising != nil || !finite(d.Calibration.Slope) || !finite(d.Calibration.Offset)), rising != nil && !classes:
		return nil, r.Refuse("its calibration is none of two classes")
	case classes && len(p.names) != 2:
		return nil, r.Refuse("%s has %d labels, and loss %s tells 2 apart", examples.LabelsFile, len(p.names), d.Loss)
	case !classes && p.names != nil:
		return nil, r.Refuse("it has labels, and loss %s predicts numbers", d.Loss)
	}
	if d.Calibration != nil {
		p.calibrated = d.Calibration
	} else if rising != nil {
		p.calibrated = rising
	}
	return p, nil
}
