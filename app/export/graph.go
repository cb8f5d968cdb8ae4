package export

import (
	"encoding/json"
	"io"
	"strings"

	"bellows"
	"bellows/app/export/internal/onnx"
	"bellows/model"
)

// newONNX makes a graph of core operators alone:
//
//   - linear and mlr: features [rows, features] become `prediction`, or `label`, `class` and `probabilities` or `score`, as `predict`
//     writes them (labels as text). If the model has weights of few features among very many, its columns are those listed under
//     `features` in the metadata.
//   - mf: user and item, lines of `users` and `items` in the metadata from 0, become `rating`. A number below 0 is unknown to the
//     model: a row of zeros after the others, which Gather finds at -1, so that the known part of the pair still counts.
func newONNX(m *model.Model) (*File, error) {
	g := &onnx.Graph{Name: m.App, Producer: "bellows", Version: m.Versions["bellows"]}
	build := scoreGraph
	if m.App == mfName {
		build = ratingGraph
	}
	f := &File{Format: ONNX}
	lists, err := build(g, m, f)
	if err != nil {
		return nil, err
	}
	size := 0
	for i := range g.Constants {
		size += 4*len(g.Constants[i].Floats) + 8*len(g.Constants[i].Doubles) + 8*len(g.Constants[i].Ints) + len(strings.Join(g.Constants[i].Strings, "     "))
	}
	for _, l := range lists {
		text, err := json.Marshal(l.list)
		if err != nil {
			return nil, bellows.Errorf(bellows.Bug, "export", ONNX, "%w", err)
		}
		size += len(text)
		g.About = append(g.About, [2]string{l.name, string(text)})
	}
	if size > onnx.BytesMost {
		return nil, refused(ONNX, "its values take %d bytes, and a file of ONNX holds less than 2 GiB", size).Hinted("it can be written as npz")
	}
	f.write = func(w io.Writer) error {
		_, err := w.Write(g.Encode())
		return err
	}
	return f, nil
}

// listed is a list for the metadata, as JSON.
type listed struct {
	name string
	list any
}

func scoreGraph(g *onnx.Graph, m *model.Model, f *File) (lists []listed, err error) {
	s, err := calibrated(m, ONNX)
	if err != nil {
		return nil, err
	}
	g.Doc = "Rows of features; the loss was " + s.loss + "."
	g.Inputs = []onnx.Value{{Name: "features", Type: onnx.Float, Rest: []int{s.features}, Doc: "features as the data has them, unscaled, in the order of columns in the metadata where there are names"}}
	g.Constants = []onnx.Tensor{
		{Name: "weights", Shape: []int{len(s.bias), s.features}, Floats: s.weights},
		{Name: "bias", Shape: []int{len(s.bias)}, Floats: s.bias},
	}
	score := "score"
	switch {
	case s.loss == lossSoftmax:
		score = "scores"
	case s.labels == nil:
		score = "prediction"
	}
	from := s.centre(g)
	if s.origin != 0 {
		score = "score"
	}
	g.Nodes = append(g.Nodes, onnx.Node{Op: "Gemm", Inputs: []string{from, "weights", "bias"}, Outputs: []string{score}, Ints: map[string]int64{"transB": 1}})
	switch {
	case s.origin != 0:
		raise(g, "prediction", score, s.origin, 1)
		f.Notes = append(f.Notes, "its prediction is of 64-bit floats")
	case s.labels == nil:
		g.Outputs = []onnx.Value{{Name: score, Type: onnx.Float, Rest: []int{1}}}
	default:
		classGraph(g, s)
	}
	if len(s.origins) > 0 {
		f.Notes = append(f.Notes, "its features are 64-bit floats, from which the graph subtracts what they are counted from")
	}
	if s.labels != nil {
		lists = append(lists, listed{"labels", s.labels})
	}
	if s.columns != nil {
		lists = append(lists, listed{"columns", s.columns})
	}
	if s.narrow != nil {
		lists = append(lists, listed{"features", s.narrow})
		f.Notes = append(f.Notes, "the columns of its input are the features that `features` of its metadata lists, from 0")
	}
	notes, err := rowNotes(m, ONNX)
	f.Notes = append(f.Notes, notes...)
	return lists, err
}

// centre subtracts origins from the features, which then are 64-bit floats; it returns what weights multiply.
func (s *scores) centre(g *onnx.Graph) string {
	if len(s.origins) == 0 {
		return "features"
	}
	origins := make([]float64, s.features)
	for _, o := range s.origins {
		origins[o.Feature] = o.Value
	}
	g.Inputs[0].Type = onnx.Double
	g.Constants = append(g.Constants, onnx.Tensor{Name: "origins", Shape: []int{1, s.features}, Doubles: origins})
	g.Nodes = append(g.Nodes, onnx.Node{Op: "Sub", Inputs: []string{"features", "origins"}, Outputs: []string{"distances"}},
		onnx.Node{Op: "Cast", Inputs: []string{"distances"}, Outputs: []string{"centred"}, Ints: map[string]int64{"to": int64(onnx.Float)}})
	return "centred"
}

// raise adds an origin to what was predicted: the output is 64-bit floats.
func raise(g *onnx.Graph, output, from string, origin float64, rest ...int) {
	g.Constants = append(g.Constants, onnx.Tensor{Name: "origin", Shape: []int{1}, Doubles: []float64{origin}})
	g.Nodes = append(g.Nodes, onnx.Node{Op: "Cast", Inputs: []string{from}, Outputs: []string{"wide"}, Ints: map[string]int64{"to": int64(onnx.Double)}},
		onnx.Node{Op: "Add", Inputs: []string{"wide", "origin"}, Outputs: []string{output}})
	g.Outputs = []onnx.Value{{Name: output, Type: onnx.Double, Rest: rest}}
}

// classGraph continues from scores to classes.
func classGraph(g *onnx.Graph, s *scores) {
	add := func(op, output string, ints map[string]int64, inputs ...string) {
		g.Nodes = append(g.Nodes, onnx.Node{Op: op, Inputs: inputs, Outputs: []string{output}, Ints: ints})
	}
	probabilities := onnx.Value{Name: "probabilities", Type: onnx.Float, Rest: []int{len(s.labels)}, Doc: "in the order of labels in the metadata"}
	by, more := "signed", probabilities
	if s.loss == lossSoftmax {
		add("Softmax", "probabilities", map[string]int64{"axis": 1}, "scores")
		by = "probabilities"
	} else {
		g.Constants = append(g.Constants, onnx.Tensor{Name: "signs", Shape: []int{1, 2}, Floats: []float32{-1, 1}})
		add("Mul", "signed", nil, "score", "signs")
		if s.loss == lossLogistic {
			add("Sigmoid", "probabilities", nil, "signed")
		} else {
			more = onnx.Value{Name: "score", Type: onnx.Float, Rest: []int{1}, Doc: "positive for the second class"}
		}
	}
	add("ArgMax", "class", map[string]int64{"axis": 1, "keepdims": 0}, by)
	g.Constants = append(g.Constants, onnx.Tensor{Name: "labels", Shape: []int{len(s.labels)}, Strings: s.labels})
	add("Gather", "label", map[string]int64{"axis": 0}, "labels", "class")
	g.Outputs = []onnx.Value{{Name: "label", Type: onnx.String}, {Name: "class", Type: onnx.Int64, Doc: "line of labels, from 0"}, more}
}

func ratingGraph(g *onnx.Graph, m *model.Model, f *File) ([]listed, error) {
	t, err := readFactors(m)
	if err != nil {
		return nil, err
	}
	g.Doc = "Ratings of pairs: mean + bias of the user + bias of the item + the product of their factors."
	g.Inputs = []onnx.Value{
		{Name: "user", Type: onnx.Int64, Doc: "line of users in the metadata, from 0; below 0: unknown"},
		{Name: "item", Type: onnx.Int64, Doc: "line of items in the metadata, from 0; below 0: unknown"},
	}
	g.Outputs = []onnx.Value{{Name: "rating", Type: onnx.Float}}
	g.Constants = []onnx.Tensor{
		{Name: "unknown", Shape: []int{1}, Ints: []int64{-1}}, {Name: "factor_axis", Shape: []int{1}, Ints: []int64{1}},
		{Name: "mean", Shape: []int{1}, Floats: []float32{t.mean}},
		withUnknown("user_factors", t.uf, t.rank), withUnknown("item_factors", t.qf, t.rank),
		withUnknown("user_bias", t.ub, 0), withUnknown("item_bias", t.qb, 0),
	}
	add := func(op, output string, ints map[string]int64, inputs ...string) {
		g.Nodes = append(g.Nodes, onnx.Node{Op: op, Inputs: inputs, Outputs: []string{output}, Ints: ints})
	}
	for _, side := range []string{"user", "item"} {
		add("Max", side+"_row", nil, side, "unknown")
		add("Gather", side+"_vector", map[string]int64{"axis": 0}, side+"_factors", side+"_row")
		add("Gather", side+"_offset", map[string]int64{"axis": 0}, side+"_bias", side+"_row")
	}
	add("Mul", "products", nil, "user_vector", "item_vector")
	add("ReduceSum", "product", map[string]int64{"keepdims": 0}, "products", "factor_axis")
	add("Add", "user_mean", nil, "user_offset", "mean")
	add("Add", "offsets", nil, "user_mean", "item_offset")
	if t.origin == 0 {
		add("Add", "rating", nil, "offsets", "product")
	} else {
		add("Add", "distance", nil, "offsets", "product")
		raise(g, "rating", "distance", t.origin)
	}
	if t.origin != 0 {
		f.Notes = append(f.Notes, "its ratings are 64-bit floats")
	}
	f.Notes = append(f.Notes, "its users and items are the lines of users.txt and items.txt from 0, and -1 is one that the model does not know")
	return []listed{{"users", t.users}, {"items", t.items}}, nil
}

// withUnknown returns a table, or with width 0 a list, followed by zeros for unknown ids.
func withUnknown(name string, values []float32, width int) onnx.Tensor {
	all := make([]float32, len(values)+max(1, width))
	copy(all, values)
	t := onnx.Tensor{Name: name, Shape: []int{len(all) / max(1, width)}, Floats: all}
	if width > 0 {
		t.Shape = append(t.Shape, width)
	}
	return t
}
