package export

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"bellows"
	"bellows/app/examples"
	"bellows/data"
	"bellows/model"
)

// Applications whose models need more than tensors here.
const (
	mfName     = "mf"
	mlrName    = "mlr"
	linearName = "linear"
)

// The losses that decide how scores become predictions; all others predict the score itself.
const (
	lossSoftmax      = "softmax"
	lossLogistic     = "logistic"
	lossHinge        = "hinge"
	lossSquaredHinge = "squared_hinge"
	lossInsensitive  = "insensitive"
)

// scores is a model of linear or mlr: the scores of a row x are weights x + bias.
type scores struct {
	loss     string
	labels   []string      // of classes; nil where a number is predicted
	columns  []string      // names of the features; nil: they are numbers
	narrow   []int32       // by column of weights, its feature in the data; nil: the same
	wide     int           // features of the data
	features int           // columns of weights
	base     int           // the first index of sparse data
	weights  []float32     // rows of features: one a class by softmax, else one
	bias     []float32     // one a row
	origins  []data.Origin // of columns of weights: what is subtracted from values before weights multiply them
	origin   float64       // what is added to a score that is the number predicted

	calibration *calibration // nil: none
}

// calibration makes log-odds of the scores of two classes: slope times score + offset.
type calibration struct {
	Slope  float64 `json:"slope"`
	Offset float64 `json:"offset"`
}

// Features says what the columns of the weights of a linear or mlr model are of.
type Features struct {
	Rows    []string // of the weights: the classes; nil where there is one score
	Names   []string // of the columns; nil: they are numbers
	Numbers []int32  // of the columns in the data, from 0; nil: as they stand
	Base    int      // what is added to a number where the data has it
	Weights []float32
	Width   int // columns
}

// FeaturesOf reads the weights of a model of linear or mlr; of others it is nil.
func FeaturesOf(m *model.Model) (*Features, error) {
	if m.App != mlrName && m.App != linearName {
		return nil, nil
	}
	s, err := readScores(m)
	if err != nil {
		return nil, err
	}
	f := &Features{Names: s.columns, Numbers: s.narrow, Base: s.base, Weights: s.weights, Width: s.features}
	if s.loss == lossSoftmax {
		f.Rows = s.labels
	}
	return f, nil
}

// calibrated returns the scores of a model with its calibration in the weights, which makes them those of logistic
// regression.
func calibrated(m *model.Model, format string) (*scores, error) {
	s, err := readScores(m)
	if err == nil && m.App == linearName && m.Tensor("isotonic") != nil {
		return nil, refused(format, "its probabilities are by an isotonic calibration, which has no form that the format knows").Hinted("npz has it as isotonic; or train with --set calibrate=platt, or without")
	}
	if err != nil || s.calibration == nil {
		return s, err
	}
	c := s.calibration
	s.weights = slices.Clone(s.weights)
	for j, w := range s.weights {
		s.weights[j] = float32(c.Slope * float64(w))
	}
	s.bias[0] = float32(c.Slope*float64(s.bias[0]) + c.Offset)
	if slices.ContainsFunc(append(s.weights[:s.features:s.features], s.bias[0]), func(w float32) bool { return w-w != 0 }) {
		return nil, refused(format, "its weights times the slope of its calibration, %g, do not fit 32-bit floats", c.Slope).Hinted("npz has the weights and the calibration; or train without calibrate")
	}
	s.loss, s.calibration = lossLogistic, nil
	return s, nil
}

// readScores reads a model's parts, which its application has checked against each other.
func readScores(m *model.Model) (*scores, error) {
	r := m.Reader(m.App)
	var d struct {
		Loss      string `json:"loss"`
		IndexBase int    `json:"index_base"`
		Features  int    `json:"features"`

		Origins []data.Origin `json:"origins"`
		Origin  float64       `json:"origin"`

		Calibration *calibration `json:"calibration"`

		Scaling struct {
			Center []float32 `json:"center"`
		} `json:"scaling"`
	}
	r.ReadDetails(&d)
	s := &scores{loss: d.Loss, labels: m.Names(examples.LabelsFile), columns: m.Names(examples.ColumnsFile), base: d.IndexBase, calibration: d.Calibration, origins: d.Origins, origin: d.Origin}
	if m.App == mlrName {
		s.loss = lossSoftmax
	}
	if s.loss == lossSoftmax {
		s.weights = r.Floats("weights", len(s.labels), model.Any)
		s.bias = slices.Clone(r.Floats("bias", len(s.labels)))
	} else {
		s.weights, s.bias = r.Floats("weights", model.Any), slices.Clone(r.Floats("bias", 1))
	}
	if err := r.Err(); err != nil {
		return nil, err
	}
	s.features = len(s.weights) / len(s.bias)
	s.wide = s.features
	narrow, err := examples.ParseFeatures(m.Names(examples.FeaturesFile))
	if err != nil {
		return nil, err
	}
	if narrow != nil {
		s.narrow, s.wide = narrow.List(), d.Features
	}
	if len(s.narrow) > 0 && len(s.narrow) != s.features || s.columns != nil && len(s.columns) != s.features || len(d.Scaling.Center) > 0 && len(d.Scaling.Center) != s.features {
		return nil, r.Refuse("there are weights for %d features, and lists of other lengths", s.features)
	}
	if err := examples.CheckOrigins(d.Origins, s.features); err != nil {
		return nil, err
	}
	s.uncenter(d.Scaling.Center)
	return s, nil
}

// rowNotes returns sentences on how to make rows, for a reader of a model of features.
func rowNotes(m *model.Model, format string) (notes []string, err error) {
	if len(m.Input) == 0 {
		return nil, nil
	}
	var input struct {
		HashBits  int      `json:"hash_bits"`
		Quadratic []string `json:"quadratic"`
		Ngrams    int      `json:"ngrams"`
		Features  []struct {
			Fill *float32 `json:"fill"`
		} `json:"features"`
	}
	if err := json.Unmarshal(m.Input, &input); err != nil {
		return nil, bellows.Errorf(bellows.BadData, "export", format, "the model's input is not one of this version: %w", err).Hinted("train the model again")
	}
	filled := 0
	for _, c := range input.Features {
		if c.Fill != nil {
			filled++
		}
	}
	if filled > 0 {
		notes = append(notes, fmt.Sprintf("a missing value is the mean of its column, which its `input` in manifest.json has as `fill`, for %d of its columns; it must be filled in before", filled))
	}
	if input.HashBits > 0 {
		note := fmt.Sprintf("its features are hashes of names, of %d bits, as Vowpal Wabbit makes them with --hash strings", input.HashBits)
		if input.Ngrams > 1 {
			note += fmt.Sprintf(", --ngram %d", input.Ngrams)
		}
		for _, pair := range input.Quadratic {
			note += ", -q " + pair
		}
		notes = append(notes, note)
	}
	return notes, nil
}

// uncenter takes the centers of models of older versions into the bias.
func (s *scores) uncenter(center []float32) {
	for c := range s.bias {
		sum := float64(s.bias[c])
		for j, m := range center {
			sum -= float64(s.weights[c*s.features+j]) * float64(m)
		}
		s.bias[c] = float32(sum)
	}
}

// raised returns the bias of a row of weights for values that are counted from 0, in 64 bits.
func (s *scores) raised(c int) float64 {
	sum := float64(s.bias[c]) + s.origin
	for _, o := range s.origins {
		sum -= float64(s.weights[c*s.features+int(o.Feature)]) * o.Value
	}
	return sum
}

// originNotes says what a reader of tensors must subtract and add.
func originNotes(m *model.Model) (notes []string, err error) {
	var s struct {
		origins []data.Origin
		origin  float64
	}
	switch m.App {
	case mfName:
		f, err := readFactors(m)
		if err != nil {
			return nil, err
		}
		s.origin = f.origin
	case mlrName, linearName:
		f, err := readScores(m)
		if err != nil {
			return nil, err
		}
		s.origins, s.origin = f.origins, f.origin
	}
	if len(s.origins) > 0 {
		notes = append(notes, fmt.Sprintf("%d of its columns are far from 0: `origins` of the details in `about` is to be subtracted from their values, in 64 bits, before weights multiply them", len(s.origins)))
	}
	if s.origin != 0 {
		notes = append(notes, fmt.Sprintf("%.17g, which is `origin` of the details in `about`, is to be added to what it predicts, in 64 bits", s.origin))
	}
	return notes, nil
}

// named lists the numbers that stand for labels: 0 = "ham", 1 = "spam".
func named(labels []string) string {
	const most = 20
	var list []string
	for c, label := range labels[:min(most, len(labels))] {
		list = append(list, quotedAs(c, label))
	}
	if len(labels) > most {
		list = append(list, "…")
	}
	return strings.Join(list, ", ")
}
