package export_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"bellows/app/export"
	"bellows/app/export/internal/onnx"
	"bellows/app/export/internal/onnxeval"
	"bellows/app/linear"
	"bellows/app/mf"
	"bellows/data"
)

// farModels returns models of data far from 0, with rows that are counted from the same origins.
func farModels() []made {
	const milliseconds = 1764297407000
	r := rand.New(rand.NewPCG(7, 94))
	origins := `"origins":[{"feature":1,"value":1764297407000}]`
	set := rows(r, 20, 3)
	set.Examples.Origins = []data.Origin{{Feature: 1, Value: milliseconds}}
	rated := pairs()
	rated.Ratings.Origin = 1e8
	ratings := factored(r, []string{"2", "0", "5", "3"}, []string{"1", "7"})
	ratings.Details = []byte(`{"l2":0.1,"origin":100000000}`)
	return []made{
		{"squared", linear.New(), weighted(r, "linear", `{"loss":"squared","index_base":0,"origin":25000000,`+origins+`}`, 1, 3), set},
		{"logistic", linear.New(), weighted(r, "linear", `{"loss":"logistic","index_base":0,`+origins+`}`, 1, 3, ids("labels.txt", "-1", "1")), set},
		{"mf", mf.New(), ratings, rated},
	}
}

// TestFarModelsAreExported: what other programs compute of data far from 0 is what `predict` says, and notes name what they must subtract or add.
func TestFarModelsAreExported(t *testing.T) {
	t.Parallel()
	for _, m := range farModels() {
		g, err := onnxeval.Decode(m.encoded(t, export.ONNX))
		if err != nil {
			t.Fatalf("%s: %v", m.name, err)
		}
		inputs := m.inputs()
		if e := m.rows.Examples; e != nil { // the features as a file has them
			x := onnx.Tensor{Name: "features", Shape: inputs[0].Shape}
			for i, v := range inputs[0].Floats {
				x.Doubles = append(x.Doubles, float64(v))
				if i%e.Features == 1 {
					x.Doubles[i] += e.Origins[0].Value
				}
			}
			inputs = []onnx.Tensor{x}
		}
		out, err := onnxeval.Run(g, inputs...)
		if err != nil {
			t.Fatalf("%s: %v", m.name, err)
		}
		values := slices.Concat(out["prediction"].Doubles, out["rating"].Doubles)
		for _, v := range out["probabilities"].Floats {
			values = append(values, float64(v))
		}
		for r, want := range m.predicted(t) {
			fields := want
			if len(want) > 1 {
				fields = want[1:]
			}
			for k, s := range fields { // 64 bits hold a millisecond to a four-thousandth
				if got := values[r*len(fields)+k]; math.Abs(got-number(t, s)) > 2e-3 {
					t.Errorf("%s, row %d: %.12g, and predict says %s", m.name, r, got, s)
				}
			}
		}
		for _, format := range export.Formats(m.model) {
			f, err := export.New(m.model, format)
			if err != nil {
				t.Fatal(err)
			}
			if notes := strings.Join(f.Notes, "\n"); format != export.LIBLINEAR && !strings.Contains(notes, "64") && !strings.Contains(notes, "32 bits") {
				t.Errorf("%s as %s has the notes %q", m.name, format, notes)
			}
		}
	}
}

// TestFarBiasOfLinearText checks LIBLINEAR's text, which takes features as they are, in 64 bits.
func TestFarBiasOfLinearText(t *testing.T) {
	t.Parallel()
	for _, m := range farModels()[:2] {
		l := readLinearText(t, m.encoded(t, export.LIBLINEAR))
		for r, want := range m.predicted(t) {
			score := l.weights[l.width][0]
			for j, x := range m.vector(r) {
				value := float64(x)
				if j == 1 {
					value += m.rows.Examples.Origins[0].Value
				}
				score += l.weights[j][0] * value
			}
			if s := want[len(want)-1]; m.name == "squared" && math.Abs(score-number(t, s)) > 2e-3 || m.name == "logistic" && math.Abs(1/(1+math.Exp(-score))-number(t, s)) > 2e-3 {
				t.Errorf("%s, row %d: score %g, and predict says %s", m.name, r, score, s)
			}
		}
	}
}
