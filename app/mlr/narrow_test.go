package mlr

import (
	"slices"
	"strconv"
	"strings"
	"testing"

	"bellows"
	"bellows/app"
	"bellows/app/apptest"
	"bellows/app/examples"
	"bellows/data"
)

// wideAndNarrow returns rows of few features out of very many, and the same rows with the features numbered anew by
// hand.
func wideAndNarrow() (wide, narrow *data.ExampleSet) {
	features := []int32{3, 64, 127, 128, 5_000_000, 100_000_000, 1<<27 - 1}
	narrow = &data.ExampleSet{Features: len(features), Offset: []int64{0}}
	for r := range 80 {
		for j := range features {
			if (r*7+j*3)%4 == 0 {
				narrow.Index = append(narrow.Index, int32(j))
				narrow.Value = append(narrow.Value, float32(r%5)+float32(j)/8-1)
			}
		}
		narrow.Offset = append(narrow.Offset, int64(len(narrow.Index)))
		narrow.Label = append(narrow.Label, float32(r%3))
	}
	copied := *narrow
	copied.Features, copied.Index = 1<<27, slices.Clone(narrow.Index)
	for i, j := range copied.Index {
		copied.Index[i] = features[j]
	}
	return &copied, narrow
}

// TestWideRowsTrainOnWhatOccurs wants the weights of the rows that were numbered anew by hand, bit for bit, with the features named; and the
// same answers, about rows with features of neither too.
func TestWideRowsTrainOnWhatOccurs(t *testing.T) {
	t.Parallel()
	wide, narrow := wideAndNarrow()
	a, b := modelOf(t, wide), modelOf(t, narrow)
	if got, want := a.Tensor("weights"), b.Tensor("weights"); !slices.Equal(got.Shape, want.Shape) || !slices.Equal(got.Floats, want.Floats) {
		t.Errorf("the weights are %v, want %v", got, want)
	}
	if got, want := strings.Join(a.Names(examples.FeaturesFile), " "), "3 64 127 128 5000000 100000000 134217727"; got != want {
		t.Errorf("the features are %s, want %s", got, want)
	}
	if b.Names(examples.FeaturesFile) != nil {
		t.Error("a model of all features lists them")
	}
	answers := func(p app.Predictor, set *data.ExampleSet) string {
		var out strings.Builder
		if err := p.Predict(apptest.Examples(set), &out); err != nil {
			t.Fatal(err)
		}
		m := apptest.Evaluate(t, p, apptest.Examples(set))
		return out.String() + strconv.FormatFloat(m[1].Value, 'g', -1, 64)
	}
	if got, want := answers(apptest.Open(t, New(), a), wide), answers(apptest.Open(t, New(), b), narrow); got != want {
		t.Errorf("the answers are\n%s\nwant\n%s", got, want)
	}
	strange := *wide
	strange.Index = slices.Clone(wide.Index)
	for r := range strange.Rows() {
		if at := wide.Offset[r]; at < wide.Offset[r+1] && strange.Index[at] == 3 {
			strange.Index[at] = 2 // occurs nowhere
		}
	}
	m, err := apptest.Open(t, New(), a).Evaluate(apptest.Examples(&strange))
	if err != nil || m[len(m)-1].Name != "unknown_features" || m[len(m)-1].Value != 20 {
		t.Errorf("unknown features: %v, %v", m, err)
	}
	if _, opt := apptest.Open(t, New(), a).Read(); opt.Features != 1<<27 {
		t.Errorf("it reads rows of %d features", opt.Features)
	}
}

func TestAFeatureTooFew(t *testing.T) {
	t.Parallel()
	wide, _ := wideAndNarrow()
	m := modelOf(t, wide)
	m.IDs[1].Names = m.IDs[1].Names[1:]
	if _, err := New().Open(m); bellows.KindOf(err) != bellows.BadData || !strings.Contains(err.Error(), examples.FeaturesFile) {
		t.Errorf("a feature too few: %v", err)
	}
}
