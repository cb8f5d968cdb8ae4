package models

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"bellows"
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
		"1 |w new\u00a0york\u0085 sun":    "w^new\u00a0york\u0085 w^sun",
		"-1 2 'tag|\tsun|w":               "sun",
		"1 |w sun:0.5\train|w sun |other": "w^sun w^rain w^sun",
	} {
		var got []string
		list, zero := namesIn(text)
		if len(zero) != len(list) {
			t.Fatalf("%q: %v", text, zero)
		}
		for _, q := range list {
			got = append(got, q.String())
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%q has the names %q, want %q", text, got, want)
		}
	}
}

// TestHashedNamesAreFound wants a name of each feature that rows of Vowpal Wabbit have, those of pairs and of names that follow each other too, and all names of a feature, or how many more there are.
func TestHashedNamesAreFound(t *testing.T) {
	t.Parallel()
	const rows = "1 |user age:2 city:0 |words:0.5 new york new\n-1 |words cat| bare |out new cat\n"
	at := filepath.Join(t.TempDir(), "rows.vw")
	if err := os.WriteFile(at, []byte(rows), 0o600); err != nil {
		t.Fatal(err)
	}
	show := func(input string, width int) (names []string, more int) {
		weights := make([]float32, width)
		for i := range weights {
			weights[i] = 1
		}
		m := &model.Model{App: "linear", Details: []byte(`{"loss":"squared"}`), Input: []byte(input),
			Tensors: []model.Tensor{{Name: "weights", Shape: []int{width}, Floats: weights}, {Name: "bias", Shape: []int{1}, Floats: []float32{0}}}}
		r, err := (&showing{top: width, vocabulary: at}).weights(t.Context(), "m", m)
		if err != nil {
			t.Fatal(err)
		}
		for _, w := range r.Classes[0].Top {
			names, more = append(names, w.Names...), more+w.More
		}
		slices.Sort(names)
		return names, more
	}
	own := []string{"bare", "user^age", "user^city", "words^cat", "words^new", "words^york"}
	grams := []string{"words^new^york", "words^york^new"}
	pairs := []string{"user^age*words^new", "user^age*words^york"}
	both := []string{"user^age*words^new^york", "user^age*words^york^new"}
	alike := []string{"words^cat*words^cat", "words^new*words^new", "words^new*words^york", "words^york*words^new", "words^york*words^york"}
	for input, want := range map[string][][]string{
		"": {own}, `,"ngrams":2`: {own, grams}, `,"quadratic":["uw"]`: {own, pairs}, `,"quadratic":["uw"],"ngrams":2`: {own, grams, pairs, both}, `,"quadratic":["ww"]`: {own, alike}, `,"quadratic":["wz"," w"]`: {own, {"bare*words^cat"}},
	} {
		input = `{"format":"vw","hash_bits":18,"ignored":[{"name":"out"}]` + input + "}"
		all := slices.Concat(want...)
		slices.Sort(all)
		names, more := show(input, 1<<18)
		if !slices.Equal(names, all) || more > 0 {
			t.Errorf("%s: %q and %d more, want %q", input, names, more, all)
		}
		few, rest := show(strings.Replace(input, "18", "1", 1), 2)
		if len(few) > 2*vocabularyAlike || len(few)+rest != len(all) {
			t.Errorf("%s: of 2 features %q and %d more, want %d", input, few, rest, len(all))
		}
	}
}

// softmax returns a model of mlr of two labels, whose weight of label l and feature f is 10 l + f by their places in
// the alphabet.
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

// TestDiffDistinguishesSimilarModels compares models that predict differently although features share a name, keys are
// equal as floating-point numbers, or topics have other priors.
func TestDiffDistinguishesSimilarModels(t *testing.T) {
	t.Parallel()
	twice := func(second float32) *model.Model {
		m := softmax("xy", "aa")
		m.Tensors[0].Floats[1] = second
		return m
	}
	keyed := func(key uint64) *model.Model {
		return &model.Model{App: "own", Tensors: []model.Tensor{{Name: "keys", Shape: []int{1}, Keys: []bellows.Key{bellows.Key(key)}}}}
	}
	topics := func(details string) *model.Model {
		return &model.Model{App: "lda", Details: []byte(details), Tensors: []model.Tensor{{Name: "topic", Shape: []int{1}, Counts: []int32{7}}}}
	}
	for what, c := range map[string][2]*model.Model{
		"features of one name": {twice(1), twice(2)},
		"keys":                 {keyed(1 << 60), keyed(1<<60 + 1)},
		"alpha":                {topics(`{"alpha":[0.1],"beta":1}`), topics(`{"alpha":[0.2],"beta":1}`)},
		"beta":                 {topics(`{"alpha":[0.1],"beta":1}`), topics(`{"alpha":[0.1],"beta":2}`)},
	} {
		r, err := compare(c[0], c[1])
		if err != nil {
			t.Fatal(err)
		}
		if r.Same {
			t.Errorf("%s: the models are said to predict the same: %+v", what, r.Tensors)
		}
		if r, err = compare(c[0], c[0]); err != nil || !r.Same {
			t.Errorf("%s: a model is said to differ from itself: %v, %+v", what, err, r)
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

// TestTheLargestWeights finds the largest of many weights by their size, and never zeros.
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
		for _, w := range (&showing{top: top}).largest(f, row) {
			got = append(got, w.Feature)
		}
		if strings.Join(got, " ") != want {
			t.Errorf("the largest %d are %q, want %q", top, got, want)
		}
	}
	if n := len((&showing{top: topMost}).largest(f, row)); n < 99_990 || n > 100_000 {
		t.Errorf("of all there are %d", n)
	}
}
