package mlr

import (
	"encoding/json"
	"math"
	"slices"

	"bellows"
	"bellows/app/examples"
	"bellows/data"
	"bellows/model"
)

// details is the application's part of the manifest.
type details struct {
	Loss      string         `json:"loss,omitempty"`
	Scaling   scalingDetails `json:"scaling,omitzero"`
	IndexBase int            `json:"index_base"`         // of sparse input
	Features  int            `json:"features,omitempty"` // of the data, where the model has only those of features.txt
	L2        float64        `json:"l2"`                 // at the end of training
	L1        float64        `json:"l1,omitempty"`
	Pace      float64        `json:"pace,omitempty"`    // likewise: what steps were multiplied by
	Origins   []data.Origin  `json:"origins,omitempty"` // of columns: what is subtracted from values before weights multiply them
	Data      string         `json:"data,omitempty"`    // digest of the rows, by which a run that begins with the model knows them
}

// scalingDetails is what models of older versions have: scores are bias[c] + sum over j of weights[c][j] times (x[j] - center[j]) there,
// where a center is given. Now it is part of the bias.
type scalingDetails struct {
	Center []float32 `json:"center,omitempty"`
}

// newModel makes the model of a run's tables. What training came to is in ended.
func newModel(p *problem, tables [][]float32, ended details) (*model.Model, error) {
	if len(tables) == 0 || len(tables[0]) != (p.Features+1)*p.stride() {
		return nil, bellows.Errorf(bellows.Bug, "make model", p.App, "the tables are not those of the job")
	}
	w := tables[0]
	if p.charges {
		w = p.plain(w, make([]float32, (p.Features+1)*p.width))
	}
	weights := make([]float32, p.width*p.Features)
	for j, factor := range p.Scale.Factor {
		for c := range p.width {
			scaled := w[j*p.width+c]
			weights[c*p.Features+j] = scaled * factor
			if err := p.CheckWeight(j, float64(scaled), float64(scaled)*float64(factor)); err != nil {
				return nil, err
			}
		}
	}
	for _, v := range w {
		if math.IsNaN(float64(v)) || math.IsInf(float64(v), 0) {
			return nil, bellows.Errorf(bellows.BadData, "train", p.App, "the weights grew without bound").Hinted("lower lr, which is 1 by default")
		}
	}
	bias := append([]float32(nil), w[p.Features*p.width:]...)
	uncenter(bias, weights, p.Scale.Center)
	if p.warm != nil {
		p.warm.keep(p, weights, bias)
	}
	d := ended
	d.IndexBase, d.Data, d.Origins = p.Src.IndexBase, p.digest, p.Src.Origins
	ids, features := p.IDs(p.classes)
	d.Features = features
	about, err := json.Marshal(d)
	if err != nil {
		return nil, bellows.Errorf(bellows.Bug, "make model", p.App, "%w", err)
	}
	return &model.Model{
		App: p.App, Settings: p.Values.Map(), Metrics: map[string]float64{}, Details: about,
		Tensors: []model.Tensor{
			{Name: "weights", Shape: []int{p.width, p.Features}, Floats: weights},
			{Name: "bias", Shape: []int{p.width}, Floats: bias},
		},
		IDs: ids,
	}, nil
}

// uncenter makes weights of features about their centers weights of the features themselves: the rest goes into the bias.
func uncenter(bias, weights, center []float32) {
	f := len(center)
	for c := range bias {
		sum := float64(bias[c])
		for j, m := range center {
			sum -= float64(weights[c*f+j]) * float64(m)
		}
		bias[c] = float32(sum)
	}
}

// openModel checks the parts of a model against each other. The predictor's table is features + 1 rows of classes, as in training.
func openModel(m *model.Model, name string) (*predictor, error) {
	r, labels := m.Reader(name), m.Names(examples.LabelsFile)
	if err := examples.CheckLabels(labels); err != nil {
		return nil, err
	}
	width := len(labels)
	if width < 2 {
		return nil, r.Refuse("%s has %d labels; there are at least 2", examples.LabelsFile, width)
	}
	weights, bias := r.Floats("weights", width, model.Any), slices.Clone(r.Floats("bias", width))
	var d details
	r.ReadDetails(&d)
	f := len(weights) / width
	if n := len(d.Scaling.Center); n != 0 && n != f {
		return nil, r.Refuse("its scaling has %d centers for %d features", n, f)
	}
	p := &predictor{about: d, columns: m.Names(examples.ColumnsFile), table: make([]float32, (f+1)*width)}
	p.App, p.Weight = name, func(class int, column int32) float32 { return p.table[int(column)*width+class] }
	if err := p.Begin(m, r, f, d.IndexBase, d.Features, d.Origins); err != nil {
		return nil, err
	}
	if len(bias) == width {
		uncenter(bias, weights, d.Scaling.Center)
	}
	for i, v := range weights {
		p.table[i%f*width+i/f] = v
	}
	copy(p.table[f*width:], bias)
	return p, r.Err()
}
