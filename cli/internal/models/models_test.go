package models

import (
	"slices"
	"strings"
	"testing"

	"bellows/app/export"
	"bellows/model"
)

// TestNamesOfAVocabulary reads rows of Vowpal Wabbit and lists of names.
func TestNamesOfAVocabulary(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"":                                "",
		"  sun ":                          "sun",
		"w^sun":                           "w^sun",
		"w^a^b\r":                         "w^a^b",
		"1 |w sun rain:2 |n:0.5 warm":     "w^sun w^rain n^warm",
		"| sun rain":                      "sun rain",
		"-1 2 'tag|\tsun|w":               "sun",
		"1 |w sun:0.5\train|w sun |other": "w^sun w^rain w^sun",
	} {
		var got []string
		for _, q := range namesIn(text) {
			got = append(got, q.String())
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%q has the names %q, want %q", text, got, want)
		}
	}
}

// softmax is a model of mlr of two labels, whose weight of label l and feature f is 10 l + f by their places in the alphabet.
func softmax(labels, features string) *model.Model {
	l, f := strings.Split(labels, ""), strings.Split(features, "")
	m := &model.Model{App: "mlr", Details: []byte(`{"l2":1}`), IDs: []model.IDs{{File: "labels.txt", Names: l}, {File: "columns.txt", Names: f}}, Tensors: []model.Tensor{
		{Name: "weights", Shape: []int{len(l), len(f)}}, {Name: "bias", Shape: []int{len(l)}}}}
	for _, label := range l {
		for _, feature := range f {
			m.Tensors[0].Floats = append(m.Tensors[0].Floats, float32(10*(label[0]-'a')+feature[0]-'a'))
		}
		m.Tensors[1].Floats = append(m.Tensors[1].Floats, float32(label[0]-'a'))
	}
	return m
}

// TestModelsAreComparedByNames wants values that belong to the same names to be found equal wherever they stand.
func TestModelsAreComparedByNames(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		labels, features string
		compared         int64
		onlyA, onlyB     int // of features
		same             bool
	}{
		{"xy", "abc", 6, 0, 0, true}, {"yx", "abc", 6, 0, 0, false}, {"xy", "cba", 6, 0, 0, false}, {"yx", "cdba", 6, 0, 1, false},
		{"yz", "bc", 2, 1, 0, false}, {"xy", "def", 0, 3, 3, false}, {"xyz", "abc", 6, 0, 0, false},
	} {
		r, err := compare(softmax("xy", "abc"), softmax(c.labels, c.features))
		if err != nil {
			t.Fatal(err)
		}
		w, ids := r.Tensors[0], idsChange{}
		if at := slices.IndexFunc(r.IDs, func(i idsChange) bool { return i.File == featuresList }); at >= 0 {
			ids = r.IDs[at]
		}
		if w.Compared != c.compared || w.Differ != 0 || w.Max != 0 || r.Same != c.same || ids.OnlyA.Count != c.onlyA || ids.OnlyB.Count != c.onlyB {
			t.Errorf("%s %s: %+v, features %+v, same %v", c.labels, c.features, w, ids, r.Same)
		}
	}
}

// TestDifferencesAreMeasured on values that can be added up by hand.
func TestDifferencesAreMeasured(t *testing.T) {
	t.Parallel()
	a, b := softmax("xy", "abc"), softmax("xy", "abc")
	a.Tensors[0].Floats, b.Tensors[0].Floats = []float32{3, 0, 4, 0, 0, 0}, []float32{3, 1, 2, 0, 0, 0}
	r, err := compare(a, b)
	if err != nil {
		t.Fatal(err)
	}
	if w := r.Tensors[0]; w.Differ != 2 || w.Max != 2 || w.Mean != 0.5 || *w.Relative < 0.447 || *w.Relative > 0.448 || r.Same {
		t.Errorf("%+v", w)
	}
	for what, change := range map[string]func(){
		"bias":     func() { b.Tensors[1].Floats = []float32{1, 2} },
		"a tensor": func() { b.Tensors = b.Tensors[:1] },
		"a loss":   func() { b.Details = []byte(`{"loss":"other"}`) },
		"an input": func() { b.Input = []byte(`{"format":"csv"}`) },
		"a kind": func() {
			b.App = "linear"
			b.IDs = nil
			b.Tensors[0].Shape = []int{6}
			b.Details = []byte(`{"loss":"squared"}`)
		},
	} {
		b = softmax("xy", "abc")
		change()
		if b.App == "linear" {
			b.Tensors[1] = model.Tensor{Name: "bias", Shape: []int{1}, Floats: []float32{1}}
		}
		if r, err = compare(softmax("xy", "abc"), b); err == nil && r.Same || err != nil && what != "a tensor" {
			t.Errorf("of another %s: %v, %+v", what, err, r)
		}
	}
	if r, err = compare(a, a); err != nil || !r.Same {
		t.Errorf("a model is not the same as itself: %v", err)
	}
}

// TestTheLargestWeights are found among many, by their size, and zeros never.
func TestTheLargestWeights(t *testing.T) {
	t.Parallel()
	row := make([]float32, 100_000)
	for j := range row {
		row[j] = float32(j*7919%100_003) - 50_000 // each value once
	}
	row[17], row[60_000], row[99_999] = -1e6, 2e6, 1e6
	f := &export.Features{Weights: row, Width: len(row), Base: 1}
	for top, want := range map[int]string{0: "", 1: "60001", 3: "60001 18 100000"} {
		var got []string
		for _, w := range (&showing{top: top}).largest(f, row, nil) {
			got = append(got, w.Feature)
		}
		if strings.Join(got, " ") != want {
			t.Errorf("the largest %d are %q, want %q", top, got, want)
		}
	}
	if n := len((&showing{top: topMost}).largest(f, row, nil)); n < 99_990 || n > 100_000 {
		t.Errorf("of all there are %d", n)
	}
}
