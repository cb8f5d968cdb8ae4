package mlr

import (
	"encoding/json"
	"math"
	"strconv"

	"bellows"
	"bellows/data"
	"bellows/model"
)

// details is the application's part of the manifest.
type details struct {
	Scaling   scalingDetails `json:"scaling"`
	IndexBase int            `json:"index_base"` // of sparse input
	L2        float64        `json:"l2"`         // at the end of training
}

// scalingDetails says how scores follow from features: bias[c] + sum over j of weights[c][j] times
// (x[j] - center[j]). The factors of training are in the weights, so they are in the features' own
// units. The center stays apart, or large offsets would cost digits; empty means zeros.
type scalingDetails struct {
	Center []float32 `json:"center,omitempty"`
}

// labelsFile lists the labels: line c is class c.
const labelsFile = "labels.txt"

// newModel makes the model of a run's tables.
func newModel(p *problem, tables [][]float32, l2 float64) (*model.Model, error) {
	if len(tables) == 0 || len(tables[0]) != (p.features+1)*p.width {
		return nil, bellows.Errorf(bellows.Bug, "make model", name, "the tables are not those of the job")
	}
	w := tables[0]
	weights := make([]float32, p.width*p.features)
	for j, factor := range p.scale.factor {
		for c := range p.width {
			weights[c*p.features+j] = w[j*p.width+c] * factor
		}
	}
	for _, v := range w {
		if math.IsNaN(float64(v)) || math.IsInf(float64(v), 0) {
			err := bellows.Errorf(bellows.BadData, "train", name, "the weights grew without bound")
			err.Hint = "lower lr, which is 1 by default"
			return nil, err
		}
	}
	about, err := json.Marshal(details{
		Scaling: scalingDetails{Center: p.scale.center}, IndexBase: p.src.IndexBase, L2: l2,
	})
	if err != nil {
		return nil, bellows.Errorf(bellows.Bug, "make model", name, "%w", err)
	}
	return &model.Model{
		App: name, Settings: p.values.All(), Metrics: map[string]float64{}, Details: about,
		Tensors: []model.Tensor{
			{Name: "weights", Shape: []int{p.width, p.features}, Floats: weights},
			{Name: "bias", Shape: []int{p.width}, Floats: append([]float32(nil), w[p.features*p.width:]...)},
		},
		IDs: []model.IDs{{File: labelsFile, Names: names(p.classes)}},
	}, nil
}

// parts of a model that was opened: table is features + 1 rows of classes, as in training.
func openModel(m *model.Model) (*predictor, error) {
	refuse := func(subject, format string, args ...any) error {
		err := bellows.Errorf(bellows.BadData, "open model", subject, format, args...)
		err.Hint = "the model's files do not belong together; take them from one run"
		return err
	}
	if m.App != name {
		return nil, refuse(m.App, "it is not a model of %s", name)
	}
	labels := m.Names(labelsFile)
	classes, err := parseNames(labels)
	if err != nil {
		return nil, err
	}
	weights, bias := m.Tensor("weights"), m.Tensor("bias")
	width := len(classes)
	switch {
	case width < 2:
		return nil, refuse(labelsFile, "%d labels; there are at least 2", width)
	case weights == nil || len(weights.Shape) != 2 || weights.Shape[0] != width || weights.Shape[1] < 1 ||
		len(weights.Floats) != width*weights.Shape[1]:
		return nil, refuse("weights", "it is not an array of %d classes times the features, of float32", width)
	case bias == nil || len(bias.Shape) != 1 || bias.Shape[0] != width || len(bias.Floats) != width:
		return nil, refuse("bias", "it is not an array of %d classes, of float32", width)
	}
	var d details
	if err := json.Unmarshal(m.Details, &d); err != nil {
		return nil, refuse("manifest", "its details are not those of %s: %w", name, err)
	}
	f := weights.Shape[1]
	if n := len(d.Scaling.Center); n != 0 && n != f {
		return nil, refuse("manifest", "scaling has %d centers for %d features", n, f)
	}
	if d.IndexBase != 0 && d.IndexBase != 1 {
		return nil, refuse("manifest", "index_base is %d; it is 0 or 1", d.IndexBase)
	}
	p := &predictor{
		classes: classes, labels: labels, features: f, center: d.Scaling.Center, base: d.IndexBase,
		table: make([]float32, (f+1)*width),
	}
	for c := range width {
		for j, v := range weights.Floats[c*f : (c+1)*f] {
			p.table[j*width+c] = v
		}
	}
	copy(p.table[f*width:], bias.Floats)
	for _, v := range p.table {
		if math.IsNaN(float64(v)) || math.IsInf(float64(v), 0) {
			return nil, refuse("weights", "a weight or a bias is %v", v)
		}
	}
	return p, nil
}

// Read implements app.Predictor.
func (p *predictor) Read() (data.Kind, data.Options) {
	return data.Examples, data.Options{Features: p.features, IndexBase: strconv.Itoa(p.base)}
}
