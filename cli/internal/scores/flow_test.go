package scores

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"

	"bellows/app"
	"bellows/app/lda"
	"bellows/app/linear"
	"bellows/app/mf"
	"bellows/app/mlr"
	"bellows/data"
	"bellows/model"
	"bellows/train"
)

// opened returns a model that is open.
func opened(t *testing.T, a app.Application, m *model.Model) app.Predictor {
	t.Helper()
	p, err := a.Open(m)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// randomScores returns n scores from a fixed seed.
func randomScores(n int) []float32 {
	r := rand.New(rand.NewPCG(uint64(n), 7))
	out := make([]float32, n)
	for i := range out {
		out[i] = r.Float32() - 0.4
	}
	return out
}

func names(prefix string, n int) []string {
	out := make([]string, n)
	for i := range out {
		out[i] = fmt.Sprint(prefix, i)
	}
	return out
}

func tensor(name string, shape ...int) model.Tensor {
	n := 1
	for _, d := range shape {
		n *= d
	}
	return model.Tensor{Name: name, Shape: shape, Floats: randomScores(n)}
}

// models returns one of each application, with rows for it; in some of them is what the model does not know.
func models(t *testing.T) map[string]struct {
	p   app.Predictor
	row func(i int) string
} {
	of := func(m *model.Model, a app.Application) app.Predictor { return opened(t, a, m) }
	counts := make([]int32, 40*3)
	totals := make([]int32, 3)
	for i := range counts {
		counts[i] = int32(i * i % 7)
		totals[i%3] += counts[i]
	}
	sparse := func(i int) string { return fmt.Sprintf("%d %d:1 %d:0.%d\n", i%4, i%9+1, i%11+10, i) }
	return map[string]struct {
		p   app.Predictor
		row func(i int) string
	}{
		"linear, classes": {of(&model.Model{App: "linear", Details: json.RawMessage(`{"loss":"logistic","index_base":1}`), IDs: []model.IDs{{File: "labels.txt", Names: []string{"0", "1"}}},
			Tensors: []model.Tensor{tensor("weights", 20), tensor("bias", 1)}}, linear.New()), sparse},
		"linear, numbers": {of(&model.Model{App: "linear", Details: json.RawMessage(`{"loss":"squared","index_base":1}`),
			Tensors: []model.Tensor{tensor("weights", 20), tensor("bias", 1)}}, linear.New()), sparse},
		"mlr": {of(&model.Model{App: "mlr", Details: json.RawMessage(`{"index_base":1}`), IDs: []model.IDs{{File: "labels.txt", Names: []string{"0", "1", "2"}}},
			Tensors: []model.Tensor{tensor("weights", 3, 20), tensor("bias", 3)}}, mlr.New()), sparse},
		"mf": {of(&model.Model{App: "mf", IDs: []model.IDs{{File: "users.txt", Names: names("u", 30)}, {File: "items.txt", Names: names("i", 20)}},
			Tensors: []model.Tensor{tensor("user_factors", 30, 4), tensor("item_factors", 20, 4), tensor("user_bias", 30), tensor("item_bias", 20), tensor("mean", 1)}}, mf.New()),
			func(i int) string { return fmt.Sprintf("u%d i%d %d\n", i%34, i*7%23, i%5) }},
		"lda": {of(&model.Model{App: "lda", Details: json.RawMessage(`{"alpha":[0.1,0.2,0.3],"beta":0.05}`), IDs: []model.IDs{{File: "vocab.txt", Names: names("word", 40)}},
			Tensors: []model.Tensor{{Name: "word_topic", Shape: []int{40, 3}, Counts: counts}, {Name: "topic", Shape: []int{3}, Counts: totals}}}, lda.New()),
			func(i int) string { return fmt.Sprintf("word%d word%d word%d word%d\n", i%43, i*i%40, i%40, i*3%41) }},
	}
}

// TestFlowIsWhole: figures do not depend on how rows were cut, nor on how many score them, to the last bit; and are those of all rows at once.
func TestFlowIsWhole(t *testing.T) {
	t.Parallel()
	for name, c := range models(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			kind, opt := c.p.Read()
			var text strings.Builder
			for i := range 30_000 {
				text.WriteString(c.row(i))
			}
			if kind == data.Documents {
				opt.Format = data.Text
			}
			read := func() *data.Set {
				opt.Stdin = strings.NewReader(text.String())
				set, err := data.Read(context.Background(), []string{"-"}, kind, opt)
				if err != nil {
					t.Fatal(err)
				}
				return set
			}
			set := read()
			want, err := Examine(c.p, set, "")
			if err != nil {
				t.Fatal(err)
			}
			plain, err := c.p.Evaluate(read())
			if err != nil || plain[0] != want.Metrics[0] {
				t.Errorf("evaluated to %v, examined to %v: %v", plain, want.Metrics, err)
			}
			for _, slots := range []int{1, 4} {
				f, err := Begin(c.p, "", slots)
				if err != nil || f == nil {
					t.Fatal(f, err)
				}
				opt.Stdin = strings.NewReader(text.String())
				blocks := 0
				count := func(b *data.Block) error {
					err := f.Take(b)
					if err == nil {
						blocks++ // it has its turn still
					}
					return err
				}
				if _, err := data.Stream(context.Background(), []string{"-"}, kind, opt, count); err != nil {
					t.Fatal(err)
				}
				got, err := f.Examination()
				if err != nil || f.Rows() != 30_000 || !reflect.DeepEqual(got, want) {
					t.Errorf("%d slots, %d rows in %d blocks: %v\n%+v\nnot\n%+v", slots, f.Rows(), blocks, err, got, want)
				}
				if blocks < 2 {
					t.Errorf("%d block is no flow", blocks)
				}
			}
		})
	}
}

// TestBeginRefusesMetricsOverAllRows checks rankings, and applications that count no blocks.
func TestBeginRefusesMetricsOverAllRows(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		p       app.Predictor
		metrics string
	}{{plain{}, ""}, {models(t)["mf"].p, "rmse,ndcg@10"}} {
		if f, err := Begin(c.p, c.metrics, 1); f != nil || err != nil {
			t.Errorf("%v, %v", f, err)
		}
	}
	if _, err := Begin(models(t)["mf"].p, "mrse", 1); err == nil || !strings.Contains(err.Error(), "did you mean rmse?") {
		t.Error(err)
	}
}

// stepper counts rows two at a time, and knows when somebody scores by what another has.
type stepper struct {
	using  bool
	steps  *int
	refuse int
}

func (s *stepper) Evaluate(*data.Set) ([]train.Metric, error)            { return nil, nil }
func (s *stepper) Predict(*data.Set, io.Writer) error                    { return nil }
func (s *stepper) Read() (data.Kind, data.Options)                       { return data.Ratings, data.Options{} }
func (s *stepper) Share() app.Predictor                                  { return &stepper{refuse: s.refuse} }
func (s *stepper) Count([]string) (app.Counting, error)                  { return s, nil }
func (s *stepper) Step() int                                             { return 2 }
func (s *stepper) Examination() (*app.Examination, error)                { return &app.Examination{}, nil }
func (s *stepper) Examine(*data.Set, []string) (*app.Examination, error) { return nil, nil }
func (s *stepper) Scorer(p app.Predictor, set *data.Set) (score app.Scorer, _ error) {
	q := p.(*stepper)
	return func(lo, hi int) (func(), error) {
		if q.using {
			return nil, fmt.Errorf("two goroutines have one predictor")
		}
		q.using = true
		defer func() { q.using = false }()
		runtime.Gosched()
		if slices.Contains(set.Ratings.Rating[lo:hi], float32(q.refuse)) {
			return nil, fmt.Errorf("row %d is refused", s.refuse)
		}
		return func() { *s.steps += hi - lo }, nil
	}, nil
}

// TestLargeBlocksAreScoredInTheirTurn: step by step, whoever else waits; and an error ends all without a predictor missing.
func TestLargeBlocksAreScoredInTheirTurn(t *testing.T) {
	t.Parallel()
	var text strings.Builder
	for i := range 50_000 {
		fmt.Fprintf(&text, "u i %d\n", i)
	}
	for _, refuse := range []int{-1, 30_000} {
		steps := 0
		f, err := Begin(&stepper{steps: &steps, refuse: refuse}, "", 2)
		if err != nil {
			t.Fatal(err)
		}
		_, err = data.Stream(context.Background(), []string{"-"}, data.Ratings, data.Options{Stdin: strings.NewReader(text.String()), Workers: 4}, f.Take)
		if refuse < 0 && (err != nil || steps != 50_000) || refuse > 0 && (err == nil || steps > refuse) {
			t.Errorf("%d rows were counted: %v", steps, err)
		}
		if len(f.desks) != 2 {
			t.Errorf("%d of 2 predictors came back", len(f.desks))
		}
	}
}
