package scores

import (
	"bytes"
	"io"
	"math"
	"strings"
	"testing"

	"bellows/app"
	"bellows/cli/internal/screen"
	"bellows/data"
	"bellows/train"
)

// plain is a model that has two metrics and no more to say.
type plain struct{}

func (plain) Evaluate(*data.Set) ([]train.Metric, error) {
	return []train.Metric{{Name: "rmse", Value: 1}, {Name: "mae", Value: 2}}, nil
}
func (plain) Predict(*data.Set, io.Writer) error { return nil }
func (plain) Read() (data.Kind, data.Options)    { return data.Ratings, data.Options{} }

// TestMetricsAreChosenByName: all where none is named; a name that the model does not have is refused.
func TestMetricsAreChosenByName(t *testing.T) {
	t.Parallel()
	for names, want := range map[string]string{"": "rmse mae ", "mae": "mae ", " mae , rmse": "rmse mae "} {
		got, err := Examine(plain{}, nil, names)
		if err != nil {
			t.Fatal(err)
		}
		text := ""
		for _, m := range got.Metrics {
			text += m.Name + " "
		}
		if text != want {
			t.Errorf("%q gives %q, want %q", names, text, want)
		}
	}
	if _, err := Examine(plain{}, nil, "mea"); err == nil || !strings.Contains(err.Error(), "did you mean mae?") {
		t.Error(err)
	}
}

// TestPrint shows figures, "-" for an area that means nothing, and the confusion of few classes.
func TestPrint(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	c := &screen.Console{Out: &out}
	few := Classes([]app.ClassFigures{{Label: "cat", Rows: 3, Precision: 1, Recall: 0.5, F1: 0.75, AUC: 0.875}, {Label: "dog", AUC: math.NaN()}})
	Print(c, few, [][]int64{{2, 1}, {0, 0}})
	const want = "\nclass  rows  precision  recall  f1      auc\ncat    3     1.0000     0.5000  0.7500  0.8750\ndog    0     0.0000     0.0000  0.0000  -\n" +
		"\nrows of, said to be  cat  dog\ncat                  2    1\ndog                  0    0\n"
	if out.String() != want {
		t.Errorf("printed\n%s\nwant\n%s", out.String(), want)
	}
	out.Reset()
	Print(c, make([]Class, classesShown+1), nil)
	if !strings.Contains(out.String(), "figures of 101 classes are in --json") {
		t.Errorf("of many classes it prints %q", out.String())
	}
}
