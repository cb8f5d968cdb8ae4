package export_test

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"bellows"
	"bellows/app"
	"bellows/app/export"
	"bellows/app/export/internal/onnx"
	"bellows/app/export/internal/onnxeval"
	"bellows/app/lda"
	"bellows/app/linear"
	"bellows/app/mf"
	"bellows/app/mlr"
	"bellows/data"
	"bellows/model"
)

var update = flag.Bool("update", false, "write the golden files of testdata anew")

// within is how far predictions of an exported model may be from ours: they are written with six digits, and sums run in other orders.
const within = 1e-5

// made is a model and what is asked of it: rows of features, or pairs.
type made struct {
	name  string
	app   app.Application
	model *model.Model
	rows  *data.Set
}

// numbers draws numbers from a seed, so that golden files can be made again.
func numbers(r *rand.Rand, n int, size float64) []float32 {
	out := make([]float32, n)
	for i := range out {
		out[i] = float32(r.NormFloat64() * size)
	}
	return out
}

// weighted returns a model of linear or mlr with so many rows of weights.
func weighted(r *rand.Rand, name, details string, rows, features int, ids ...model.IDs) *model.Model {
	shape := []int{features}
	if name == "mlr" {
		shape = []int{rows, features}
	}
	return &model.Model{
		App: name, Details: []byte(details), Settings: map[string]string{"l2": "0.5"}, Metrics: map[string]float64{"test_accuracy": 0.5},
		Versions: map[string]string{"bellows": "test"}, IDs: ids,
		Tensors: []model.Tensor{{Name: "weights", Shape: shape, Floats: numbers(r, rows*features, 1)}, {Name: "bias", Shape: []int{rows}, Floats: numbers(r, rows, 2)}},
	}
}

func ids(file string, names ...string) model.IDs { return model.IDs{File: file, Names: names} }

// rows returns dense examples.
func rows(r *rand.Rand, n, features int) *data.Set {
	return &data.Set{Kind: data.Examples, Examples: &data.ExampleSet{Label: make([]float32, n), Features: features, Dense: numbers(r, n*features, 1)}}
}

// wide returns sparse examples; the model does not know some of their features.
func wide(r *rand.Rand, n, features int) *data.Set {
	e := &data.ExampleSet{Label: make([]float32, n), Features: features, Offset: []int64{0}}
	for range n {
		for j := range features {
			if r.Float64() < 0.5 {
				e.Index, e.Value = append(e.Index, int32(j)), append(e.Value, float32(r.NormFloat64()))
			}
		}
		e.Offset = append(e.Offset, int64(len(e.Index)))
	}
	return &data.Set{Kind: data.Examples, Examples: e}
}

// models returns one of each form.
func models() (list []made) {
	r := rand.New(rand.NewPCG(7, 91))
	add := func(name string, a app.Application, m *model.Model, set *data.Set) {
		list = append(list, made{name, a, m, set})
	}
	words, signs := ids("labels.txt", "ham", "jam", "spam"), ids("labels.txt", "-1", "1")
	add("softmax", mlr.New(), weighted(r, "mlr", `{"index_base":0,"l2":1}`, 3, 4, words, ids("columns.txt", "a", "b", "c=red", "größe")), rows(r, 40, 4))
	add("softmax-old", mlr.New(), weighted(r, "mlr", `{"scaling":{"center":[1,2,3,4]},"index_base":0,"l2":1}`, 3, 4, ids("labels.txt", "3", "1", "2")), rows(r, 40, 4))
	add("softmax-two", mlr.New(), weighted(r, "mlr", `{"index_base":1,"l2":1}`, 2, 4, signs), wide(r, 40, 4))
	add("softmax-wide", mlr.New(), weighted(r, "mlr", `{"index_base":1,"features":12,"l2":1}`, 3, 4, words, ids("features.txt", "1", "4", "5", "9")), wide(r, 40, 12))
	for _, loss := range []string{"logistic", "hinge", "squared_hinge"} {
		add(loss, linear.New(), weighted(r, "linear", `{"loss":"`+loss+`","index_base":1}`, 1, 4, signs), wide(r, 40, 4))
	}
	add("logistic-text", linear.New(), weighted(r, "linear", `{"loss":"logistic","index_base":0}`, 1, 4, ids("labels.txt", "no", "yes")), rows(r, 40, 4))
	for _, loss := range []string{"squared", "huber", "insensitive"} {
		add(loss, linear.New(), weighted(r, "linear", `{"loss":"`+loss+`","index_base":0}`, 1, 4), rows(r, 40, 4))
	}
	add("mf", mf.New(), factored(r, []string{"2", "0", "5", "3"}, []string{"1", "7"}), pairs())
	add("mf-names", mf.New(), factored(r, []string{"ann", "bob", "eve", "joe"}, []string{"1", "dune"}), pairs())
	add("softmax-linear", linear.New(), softmaxOf(r), wide(r, 40, 4))
	add("calibrated", linear.New(), weighted(r, "linear", `{"loss":"hinge","index_base":1,"calibration":{"slope":1.5,"offset":-0.25}}`, 1, 4, signs), wide(r, 40, 4))
	return list
}

// softmaxOf returns a model of linear with a score for each class.
func softmaxOf(r *rand.Rand) *model.Model {
	m := weighted(r, "mlr", `{"loss":"softmax","index_base":1,"l2":1}`, 3, 4, ids("labels.txt", "3", "1", "2"))
	m.App = "linear"
	return m
}

func factored(r *rand.Rand, users, items []string) *model.Model {
	u, i := len(users), len(items)
	return &model.Model{App: "mf", Versions: map[string]string{"bellows": "test"}, IDs: []model.IDs{ids("users.txt", users...), ids("items.txt", items...)}, Tensors: []model.Tensor{
		{Name: "user_factors", Shape: []int{u, 3}, Floats: numbers(r, 3*u, 1)}, {Name: "item_factors", Shape: []int{i, 3}, Floats: numbers(r, 3*i, 1)},
		{Name: "user_bias", Shape: []int{u}, Floats: numbers(r, u, 1)}, {Name: "item_bias", Shape: []int{i}, Floats: numbers(r, i, 1)},
		{Name: "mean", Shape: []int{1}, Floats: []float32{3.5}},
	}}
}

// pairs returns users and items by the names of either model, and unknown ones.
func pairs() *data.Set {
	s := &data.RatingSet{Users: []string{"2", "0", "5", "3", "ann", "bob", "eve", "joe", "stranger"}, Items: []string{"1", "7", "dune", "strange"}}
	for u := range s.Users {
		for i := range s.Items {
			s.User, s.Item, s.Rating = append(s.User, int32(u)), append(s.Item, int32(i)), append(s.Rating, 0)
		}
	}
	return &data.Set{Kind: data.Ratings, Ratings: s}
}

// predicted returns what our own predictor says, line by line and field by field.
func (m *made) predicted(t *testing.T) (lines [][]string) {
	t.Helper()
	p, err := m.app.Open(m.model)
	if err != nil {
		t.Fatalf("%s: %v", m.name, err)
	}
	var out bytes.Buffer
	if err := p.Predict(m.rows, &out); err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(out.String()) {
		lines = append(lines, strings.Split(strings.TrimSuffix(line, "\n"), "\t"))
	}
	return lines
}

// encoded returns the model in a format.
func (m *made) encoded(t *testing.T, format string) []byte {
	t.Helper()
	f, err := export.New(m.model, format)
	if err != nil {
		t.Fatalf("%s as %s: %v", m.name, format, err)
	}
	var b, again bytes.Buffer
	for _, to := range []*bytes.Buffer{&b, &again} {
		if err := f.Write(to); err != nil {
			t.Fatal(err)
		}
	}
	if !bytes.Equal(b.Bytes(), again.Bytes()) {
		t.Errorf("%s as %s has other bytes the second time", m.name, format)
	}
	return b.Bytes()
}

// TestGoldenFiles compares each model in each format with the file in testdata: go test ./app/export -update writes them anew.
func TestGoldenFiles(t *testing.T) {
	t.Parallel()
	for _, m := range models() {
		for _, format := range export.Formats(m.model) {
			name := filepath.Join("testdata", m.name+"."+format)
			got := m.encoded(t, format)
			if *update {
				if err := os.WriteFile(name, got, 0o666); err != nil {
					t.Fatal(err)
				}
			}
			if want, err := os.ReadFile(name); err != nil || !bytes.Equal(got, want) {
				t.Errorf("%s is not what is written now: %v", name, err)
			}
		}
	}
}

func near(a, b float64) bool { return math.Abs(a-b) <= within*max(1, math.Abs(b)) }

func number(t *testing.T, s string) float64 {
	t.Helper()
	v, err := strconv.ParseFloat(s, 64)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// inputs returns what a graph takes for the rows.
func (m *made) inputs() []onnx.Tensor {
	if s := m.rows.Ratings; s != nil {
		user, item := s.IndicesIn(&data.RatingSet{Users: m.model.Names("users.txt"), Items: m.model.Names("items.txt")})
		list := []onnx.Tensor{{Name: "user"}, {Name: "item"}}
		for k, at := range [][]int32{user, item} {
			list[k].Shape = []int{len(at)}
			for _, i := range at {
				list[k].Ints = append(list[k].Ints, int64(i))
			}
		}
		return list
	}
	columns := m.columns()
	x := onnx.Tensor{Name: "features", Shape: []int{m.rows.Examples.Rows(), len(columns)}}
	for r := range m.rows.Examples.Rows() {
		row := m.vector(r)
		for _, j := range columns {
			x.Floats = append(x.Floats, row[j])
		}
	}
	return []onnx.Tensor{x}
}

// columns returns the features of the data that the model has weights of.
func (m *made) columns() (list []int) {
	if names := m.model.Names("features.txt"); names != nil {
		for _, s := range names {
			j, _ := strconv.Atoi(s) // they are numbers
			list = append(list, j)
		}
		return list
	}
	for j := range m.rows.Examples.Features {
		list = append(list, j)
	}
	return list
}

// vector returns a row with all of its features.
func (m *made) vector(r int) []float32 {
	e := m.rows.Examples
	if !e.Sparse() {
		return e.Dense[r*e.Features : (r+1)*e.Features]
	}
	row := make([]float32, e.Features)
	for k := e.Offset[r]; k < e.Offset[r+1]; k++ {
		row[e.Index[k]] = e.Value[k]
	}
	return row
}

// TestGraphsPredictAsWeDo computes each graph, and compares all that `predict` says of each row.
func TestGraphsPredictAsWeDo(t *testing.T) {
	t.Parallel()
	for _, m := range models() {
		g, err := onnxeval.Decode(m.encoded(t, export.ONNX))
		if err != nil {
			t.Fatalf("%s: %v", m.name, err)
		}
		out, err := onnxeval.Run(g, m.inputs()...)
		if err != nil {
			t.Fatalf("%s: %v", m.name, err)
		}
		for r, want := range m.predicted(t) {
			fields := want
			if label, classes := out["label"]; classes {
				if label.Strings[r] != want[0] || m.model.Names("labels.txt")[out["class"].Ints[r]] != want[0] {
					t.Errorf("%s, row %d: label %q, class %d, and predict says %q", m.name, r, label.Strings[r], out["class"].Ints[r], want[0])
				}
				fields = want[1:]
			}
			values := slices.Concat(out["prediction"].Floats, out["probabilities"].Floats, out["score"].Floats, out["rating"].Floats)
			if len(values) != len(fields)*len(m.predicted(t)) {
				t.Fatalf("%s has %d values", m.name, len(values))
			}
			for k, s := range fields {
				if got := float64(values[r*len(fields)+k]); !near(got, number(t, s)) {
					t.Errorf("%s, row %d: %g, and predict says %s", m.name, r, got, s)
				}
			}
		}
	}
}

// TestUnexportableModelsAreRefused with the reason.
func TestUnexportableModelsAreRefused(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 1))
	topics := &model.Model{App: lda.New().Describe().Name}
	far := weighted(r, "mlr", `{"index_base":1,"features":2000000000,"l2":1}`, 3, 2, ids("labels.txt", "a", "b", "c"), ids("features.txt", "1", "1999999999"))
	odd := weighted(r, "linear", `{"loss":"squared","index_base":0}`, 1, 2, ids("columns.txt", "a\xff", "b"))
	zero := weighted(r, "linear", `{"loss":"squared","index_base":0}`, 1, 2, ids("columns.txt", "a\x00", "b"))
	twice := weighted(r, "linear", `{"loss":"squared","index_base":0}`, 1, 2, ids("bias.txt", "a"))
	few := weighted(r, "linear", `{"loss":"squared","index_base":0}`, 1, 2, ids("columns.txt", "a"))
	long := weighted(r, "linear", `{"loss":"squared","index_base":0}`, 1, 2, model.IDs{File: "columns.txt", Names: append(make([]string, 3000), strings.Repeat("x", 1<<19))})
	rising := weighted(r, "linear", `{"loss":"hinge","index_base":0}`, 1, 2, ids("labels.txt", "a", "b"))
	rising.Tensors = append(rising.Tensors, model.Tensor{Name: "isotonic", Shape: []int{2, 2}, Floats: []float32{-1, 0.2, 1, 0.9}})
	if _, err := export.New(rising, export.NPZ); err != nil {
		t.Error(err)
	}
	for _, c := range []struct {
		m            *model.Model
		format, want string
		kind         bellows.Kind
	}{
		{topics, export.ONNX, "a model of lda has no form of it; --format takes npz of this model", bellows.Refused},
		{factored(r, []string{"a"}, []string{"b"}), export.LIBLINEAR, "a model of mf has no form of it; --format takes npz, libmf or onnx of this model", bellows.Refused},
		{odd, export.LIBMF, "a model of linear has no form of it; --format takes npz, liblinear or onnx of this model", bellows.Refused},
		{far, export.LIBLINEAR, "a line for each of 2000000000 features, 6000000000 numbers in all; npz has", bellows.Refused},
		{odd, export.NPZ, `line 1 of columns, "a\xff", is no text of NumPy`, bellows.Refused},
		{zero, export.NPZ, "ends with a zero byte; read model.safetensors and columns.txt instead", bellows.Refused},
		{twice, export.NPZ, `the tensor "bias" cannot be a member of an archive, or is there twice`, bellows.Refused},
		{long, export.NPZ, "the longest of the 3001 names of columns has 524288 characters", bellows.Refused},
		{rising, export.ONNX, "its probabilities are by an isotonic calibration, which has no form that the format knows; npz has it", bellows.Refused},
		{rising, export.LIBLINEAR, "its probabilities are by an isotonic calibration", bellows.Refused},
		{few, export.ONNX, "there are weights for 2 features, and lists of other lengths", bellows.BadData},
		{&model.Model{App: "mlr", Details: []byte("{}")}, export.LIBLINEAR, "tensor weights is missing", bellows.BadData},
		{&model.Model{App: "mf"}, export.LIBMF, "tensor user_factors is missing", bellows.BadData},
	} {
		if _, err := export.New(c.m, c.format); err == nil || !strings.Contains(err.Error(), c.want) || bellows.KindOf(err) != c.kind {
			t.Errorf("%s as %s: got %v, want %q", c.m.App, c.format, err, c.want)
		}
	}
}

// TestNotesSayWhatNumbersStandFor wants the notes of each format where they are needed, and none where not.
func TestNotesSayWhatNumbersStandFor(t *testing.T) {
	t.Parallel()
	for _, m := range models() {
		for _, format := range export.Formats(m.model) {
			f, err := export.New(m.model, format)
			if err != nil {
				t.Fatal(err)
			}
			notes, want := strings.Join(f.Notes, "\n"), ""
			switch m.name + " " + format {
			case "softmax liblinear":
				want = "LIBLINEAR has no softmax: it predicts the same labels by these weights, and no probabilities\n" +
					"LIBLINEAR's labels are whole numbers; here they are the lines of labels.txt from 0: 0 = \"ham\", 1 = \"jam\", 2 = \"spam\"\n" +
					"LIBLINEAR's features are numbers; here they are the lines of columns.txt from 1"
			case "logistic-text liblinear":
				want = "LIBLINEAR's labels are whole numbers; here they are the lines of labels.txt from 0: 0 = \"no\", 1 = \"yes\"\n" +
					"LIBLINEAR counts features from 1: feature 0 of the data is its 1"
			case "softmax-wide onnx":
				want = "the columns of its input are the features that `features` of its metadata lists, from 0"
			case "mf-names libmf":
				want = "LIBMF's users and items are numbers; here they are the lines of users.txt and items.txt from 0\n" +
					"of a user or an item that the model does not know LIBMF predicts the mean, 3.5, without the bias of the other"
			case "softmax-two liblinear", "logistic liblinear", "hinge onnx", "squared npz":
			default:
				continue
			}
			if notes != want {
				t.Errorf("%s as %s notes\n%s\nwant\n%s", m.name, format, notes, want)
			}
		}
	}
}

func ExampleFormats() {
	fmt.Println(export.Formats(&model.Model{App: "mf"}), export.ByName("ratings.ONNX"))
	// Output: [npz libmf onnx] onnx
}

// TestCalibrationsMustFit: weights that a calibration makes too large for 32 bits would be infinite for their reader.
func TestCalibrationsMustFit(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(7, 92))
	for _, calibration := range []string{`{"slope":1e39,"offset":0}`, `{"slope":1,"offset":1e39}`} {
		m := weighted(r, "linear", `{"loss":"hinge","index_base":1,"calibration":`+calibration+`}`, 1, 4, ids("labels.txt", "-1", "1"))
		for _, format := range []string{export.LIBLINEAR, export.ONNX} {
			var e *bellows.Error
			if _, err := export.New(m, format); !errors.As(err, &e) || e.Kind != bellows.Refused || !strings.Contains(err.Error(), "do not fit") {
				t.Errorf("%s with the calibration %s: %v", format, calibration, err)
			}
		}
	}
}

// TestNotesSayHowRowsAreMade: a reader that makes rows in another way than `predict` gets other predictions.
func TestNotesSayHowRowsAreMade(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(7, 93))
	for input, want := range map[string]string{
		"": "",
		`{"features":[{"name":"a"},{"name":"b"}]}`:                                  "",
		`{"features":[{"name":"a"},{"name":"b","fill":0.5},{"name":"c","fill":0}]}`: "a missing value is the mean of its column, which its `input` in manifest.json has as `fill`, for 2 of its columns; it must be filled in before",
		`{"hash_bits":2}`: "its features are hashes of names, of 2 bits, as Vowpal Wabbit makes them with --hash strings",
		`{"hash_bits":2,"quadratic":["ab","cc"],"ngrams":2}`: "its features are hashes of names, of 2 bits, as Vowpal Wabbit makes them with --hash strings, --ngram 2, -q ab, -q cc",
	} {
		m := weighted(r, "linear", `{"loss":"squared","index_base":1}`, 1, 4)
		m.Input = []byte(input)
		for _, format := range []string{export.LIBLINEAR, export.ONNX} {
			f, err := export.New(m, format)
			if err != nil {
				t.Fatal(err)
			}
			if got := strings.Join(f.Notes, "; "); got != want {
				t.Errorf("%s of %s: the notes are %q, want %q", format, input, got, want)
			}
		}
	}
}
