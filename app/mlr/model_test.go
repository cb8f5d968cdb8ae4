package mlr

import (
	"math"
	"strconv"
	"strings"
	"testing"

	"bellows"
	"bellows/app"
	"bellows/app/apptest"
	"bellows/app/examples"
	"bellows/data"
	"bellows/model"
)

// modelOf trains a little and takes the model through its files.
func modelOf(t *testing.T, set *data.ExampleSet) *model.Model {
	t.Helper()
	run, tables, _ := trained(t, app.Input{Data: apptest.Examples(set), Epochs: 3, Seed: 1}, 2)
	return apptest.Saved(t, apptest.Model(t, run, tables))
}

// chance returns P(class | x) by the definition, in double precision, from the tensors alone.
func chance(m *model.Model, center []float32, x []float32) []float64 {
	w, b := m.Tensor("weights"), m.Tensor("bias").Floats
	z, sum := make([]float64, len(b)), 0.0
	for c := range z {
		s := float64(b[c])
		for j, v := range x {
			d := float64(v)
			if len(center) > 0 {
				d -= float64(center[j])
			}
			s += float64(w.Floats[c*w.Shape[1]+j]) * d
		}
		z[c] = math.Exp(s)
		sum += z[c]
	}
	for c := range z {
		z[c] /= sum
	}
	return z
}

func TestPredictsWhatTheTensorsSay(t *testing.T) {
	t.Parallel()
	dense, rare := made(500, 5, 3, 1, -1, 2.5), rarely(500, 60, 3, 1)
	for i := range dense.Dense { // far from 0, so that the center matters
		dense.Dense[i] += 40
	}
	for name, set := range map[string]*data.ExampleSet{"dense": dense, "sparse": rare} {
		m := modelOf(t, set)
		var out strings.Builder
		if err := apptest.Open(t, New(), m).Predict(apptest.Examples(set), &out); err != nil {
			t.Fatal(err)
		}
		lines := strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
		if len(lines) != set.Rows() {
			t.Fatalf("%s: %d lines for %d rows", name, len(lines), set.Rows())
		}
		src, buf := examples.Source{ExampleSet: set, Width: set.Features}, make([]float32, set.Features)
		for r, line := range lines {
			checkLine(t, line, m.Names("labels.txt"), chance(m, nil, src.Vector(r, buf)))
		}
	}
}

// TestOlderModelsHaveACenter: where the details have one, it belongs to the weights.
func TestOlderModelsHaveACenter(t *testing.T) {
	t.Parallel()
	set := made(300, 4, 3, 1, 0, 1)
	m := modelOf(t, set)
	m.Details = []byte(`{"scaling":{"center":[1,-2,0.5,3]},"index_base":0}`)
	var out strings.Builder
	if err := apptest.Open(t, New(), m).Predict(apptest.Examples(set), &out); err != nil {
		t.Fatal(err)
	}
	for r, line := range strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n") {
		checkLine(t, line, m.Names("labels.txt"), chance(m, []float32{1, -2, 0.5, 3}, set.Dense[r*4:(r+1)*4]))
	}
}

func checkLine(t *testing.T, line string, labels []string, want []float64) {
	t.Helper()
	fields := strings.Split(line, "\t")
	if len(fields) != 1+len(want) {
		t.Fatalf("line %q has %d fields", line, len(fields))
	}
	top := 0
	for c, w := range want {
		got, err := strconv.ParseFloat(fields[1+c], 64)
		if err != nil || math.Abs(got-w) > 1e-4 {
			t.Errorf("line %q: class %d has %.5f", line, c, w)
		}
		if w > want[top] {
			top = c
		}
	}
	if fields[0] != labels[top] && want[top] > 0.5001 {
		t.Errorf("line %q: the likeliest label is %s", line, labels[top])
	}
}

func TestEvaluatesOtherWidths(t *testing.T) {
	t.Parallel()
	for name, form := range map[string]func(*data.ExampleSet) *data.ExampleSet{
		"dense": func(e *data.ExampleSet) *data.ExampleSet { return e }, "sparse": sparsely,
	} {
		set := made(400, 6, 3, 1, 0, 1)
		p := apptest.Open(t, New(), modelOf(t, set))
		whole := apptest.Evaluate(t, p, apptest.Examples(form(set)))
		wide := widen(set, 9, 1)
		got := apptest.Evaluate(t, p, apptest.Examples(form(wide)))
		if math.Abs(apptest.Metric(t, got, "logloss")-apptest.Metric(t, whole, "logloss")) > 1e-6 {
			t.Errorf("%s: unknown features change the loss: %v, %v", name, got, whole)
		}
		if n := apptest.Metric(t, got, "unknown_features"); n != 3*400 {
			t.Errorf("%s: %v entries of unknown features", name, n)
		}
		narrow := apptest.Evaluate(t, p, apptest.Examples(form(widen(set, 4, 0))))
		zeroed := apptest.Evaluate(t, p, apptest.Examples(form(widen(widen(set, 4, 0), 6, 0))))
		if apptest.Metric(t, narrow, "logloss") != apptest.Metric(t, zeroed, "logloss") {
			t.Errorf("%s: features that lack are not zeros: %v, %v", name, narrow, zeroed)
		}
	}
}

// widen copies rows to another number of features; new ones hold fill.
func widen(e *data.ExampleSet, features int, fill float32) *data.ExampleSet {
	w := &data.ExampleSet{Label: e.Label, Features: features}
	for r := range e.Rows() {
		for j := range features {
			v := fill
			if j < e.Features {
				v = e.Dense[r*e.Features+j]
			}
			w.Dense = append(w.Dense, v)
		}
	}
	return w
}

func TestUnknownLabelsAreWrong(t *testing.T) {
	t.Parallel()
	set := made(300, 4, 2, 1, 0, 1)
	p := apptest.Open(t, New(), modelOf(t, set))
	other := *set
	other.Label = make([]float32, set.Rows())
	for i := range other.Label {
		other.Label[i] = 7
	}
	m := apptest.Evaluate(t, p, apptest.Examples(&other))
	if apptest.Metric(t, m, "accuracy") != 0 || math.Abs(apptest.Metric(t, m, "logloss")+math.Log(chanceLeast)) > 1e-9 {
		t.Errorf("unknown labels score %v", m)
	}
}

func TestOpenRefusesWhatDoesNotFit(t *testing.T) {
	t.Parallel()
	good := modelOf(t, made(200, 4, 3, 1, 0, 1))
	for name, c := range map[string]struct {
		spoil func(*model.Model)
		want  string
	}{
		"app":        {func(m *model.Model) { m.App = "mf" }, "no model of mlr"},
		"labels":     {func(m *model.Model) { m.IDs[0].Names = []string{"0", "2", "2"} }, `line 3, "2", is there twice`},
		"no labels":  {func(m *model.Model) { m.IDs = nil }, "0 labels"},
		"classes":    {func(m *model.Model) { m.IDs[0].Names = []string{"0", "1"} }, "the rest needs F32 of shape [2 -1]"},
		"no weights": {func(m *model.Model) { m.Tensors = m.Tensors[1:] }, "weights"},
		"short":      {func(m *model.Model) { m.Tensors[0].Floats = m.Tensors[0].Floats[1:] }, "weights"},
		"bias":       {func(m *model.Model) { m.Tensors[1].Shape = []int{4} }, "bias"},
		"centers":    {func(m *model.Model) { m.Details = []byte(`{"scaling":{"center":[1,2]}}`) }, "2 centers for 4"},
		"base":       {func(m *model.Model) { m.Details = []byte(`{"index_base":3}`) }, "index_base is 3"},
		"details":    {func(m *model.Model) { m.Details = []byte(`[]`) }, "details"},
		"infinite":   {func(m *model.Model) { m.Tensors[1].Floats[0] = float32(math.Inf(1)) }, "+Inf"},
	} {
		m := *good
		m.IDs = []model.IDs{{File: good.IDs[0].File, Names: good.IDs[0].Names}}
		m.Tensors = append([]model.Tensor(nil), good.Tensors...)
		m.Tensors[1].Floats = append([]float32(nil), good.Tensors[1].Floats...)
		c.spoil(&m)
		_, err := New().Open(&m)
		if err == nil || !strings.Contains(err.Error(), c.want) || bellows.KindOf(err) != bellows.BadData {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestReadKeepsTheShape(t *testing.T) {
	t.Parallel()
	kind, opt := apptest.Open(t, New(), modelOf(t, rarely(300, 50, 2, 1))).Read()
	if kind != data.Examples || opt.Features != 50 || opt.IndexBase != "0" {
		t.Errorf("reads %v with %+v", kind, opt)
	}
}
