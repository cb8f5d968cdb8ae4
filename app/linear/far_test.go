package linear

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"

	"bellows/app"
	"bellows/app/apptest"
	"bellows/data"
)

// farText returns rows of a label, a feature that is far from 0 by so much, and one that is not, written in a form.
func farText(form string, label, offset int64, classes bool) string {
	var text strings.Builder
	r := rand.New(rand.NewPCG(3, 4))
	if strings.HasPrefix(form, "%v,") {
		text.WriteString("y,t,x\n")
	}
	for range 300 {
		t, x := r.Int64N(60000), r.NormFloat64()
		y := float64(t)/1000 + 2*x + r.NormFloat64()/2
		if classes {
			y = min(1, max(0, math.Round(y/60)))
		}
		parts, sign := int64(math.Round(y*1e4))+label*1e4, ""
		if parts < 0 {
			parts, sign = -parts, "-"
		}
		fmt.Fprintf(&text, form, fmt.Sprintf("%s%d.%04d", sign, parts/1e4, parts%1e4), t+offset, x)
	}
	return text.String()
}

// learn reads text, trains on it and scores it, and gives back the figures of both and the first predictions.
func learn(t *testing.T, text, format string, settings map[string]string) (measured, evaluated float64, predicted []float64) {
	t.Helper()
	read := func(opt data.Options) *data.Set {
		opt.Stdin, opt.Format = strings.NewReader(text), data.Format(format)
		set, err := data.Read(context.Background(), []string{"-"}, data.Examples, opt)
		if err != nil {
			t.Fatal(err)
		}
		return set
	}
	set := read(data.Options{})
	test := read(data.Options{}.ForTest(set))
	run, tables, epochs := trained(t, app.Input{Data: set, Test: test, Seed: 1, Epochs: 30, Settings: settings}, 2)
	m := apptest.Model(t, run, tables)
	p, err := application{}.Open(m)
	if err != nil {
		t.Fatal(err)
	}
	_, opt := p.Read()
	opt.As = set.Described()
	alike := read(opt)
	metrics := apptest.Evaluate(t, p, alike)
	var out bytes.Buffer
	if err := p.Predict(alike, &out); err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(out.String()) {
		fields := strings.Split(strings.TrimSpace(line), "\t")
		y, err := strconv.ParseFloat(fields[len(fields)-1], 64)
		if err != nil {
			t.Fatal(err)
		}
		predicted = append(predicted, y)
	}
	name := "rmse"
	if settings["loss"] == "logistic" || settings["loss"] == "softmax" {
		name = "logloss"
	}
	return apptest.Metric(t, epochs[len(epochs)-1].Metrics, "test_"+name), apptest.Metric(t, metrics, name), predicted
}

// TestOffsetsDoNotMatter: features and labels far from 0 give the score of the same data less the offset, in training and from the saved model, dense and sparse.
func TestOffsetsDoNotMatter(t *testing.T) {
	t.Parallel()
	const milliseconds = 1764297407000
	wide := "%v 1:%v 2:%.4f 40:1\n" // so few of 40 features that rows are sparse
	for _, c := range []struct {
		name, form, format string
		label, offset      int64
		settings           map[string]string
	}{
		{"ridge csv", "%v,%v,%.4f\n", "csv", 0, milliseconds, map[string]string{"loss": "squared", "l2": "1e-6"}},
		{"ridge label", "%v,%v,%.4f\n", "csv", 25_000_000, 0, map[string]string{"loss": "squared", "l2": "1e-6"}},
		{"ridge both below 0", "%v,%v,%.4f\n", "csv", -100_000_000, -milliseconds, map[string]string{"loss": "squared", "l2": "1e-6"}},
		{"ridge none", "%v,%v,%.4f\n", "csv", 0, milliseconds, map[string]string{"loss": "squared", "l2": "1e-12", "scale": "none"}},
		{"ridge libsvm", "%v 1:%v 2:%.4f\n", "libsvm", 25_000_000, milliseconds, map[string]string{"loss": "squared", "l2": "1e-6"}},
		{"ridge sparse", wide, "libsvm", 0, milliseconds, map[string]string{"loss": "squared", "l2": "1e-6"}},
		{"huber", "%v,%v,%.4f\n", "csv", 25_000_000, milliseconds, map[string]string{"loss": "huber", "l2": "1e-6"}},
		{"logistic", "%v,%v,%.4f\n", "csv", 0, milliseconds, map[string]string{"loss": "logistic", "l2": "1e-3"}},
		{"softmax", "%v,%v,%.4f\n", "csv", 0, milliseconds, map[string]string{"loss": "softmax", "l2": "1e-3"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			classes := c.settings["loss"] == "logistic" || c.settings["loss"] == "softmax"
			near, nearAgain, nearPredicted := learn(t, farText(c.form, 0, 0, classes), c.format, c.settings)
			far, farAgain, predicted := learn(t, farText(c.form, c.label, c.offset, classes), c.format, c.settings)
			if math.Abs(far-near) > 2e-6*near || math.Abs(farAgain-nearAgain) > 2e-6*near || math.Abs(far-farAgain) > 1e-6*near {
				t.Errorf("far from 0 %v, from the model %v; near it %v and %v", far, farAgain, near, nearAgain)
			}
			for i, y := range predicted {
				if math.Abs(y-float64(c.label)-nearPredicted[i]) > 1e-2 {
					t.Fatalf("row %d is predicted as %v, and as %v near 0", i, y, nearPredicted[i])
				}
			}
		})
	}
}
