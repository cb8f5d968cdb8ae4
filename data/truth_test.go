package data

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
)

// truthFiles writes the same rows in each format that can hold truth values: a label, a category and a number.
func truthFiles(t *testing.T) (paths []string) {
	t.Helper()
	var csv, tsv, jsonl, rows strings.Builder
	csv.WriteString("label,flag,n\n")
	tsv.WriteString("label\tflag\tn\n")
	for i := range 40 {
		label, flag := i%3 == 0, i%2 == 0
		fmt.Fprintf(&csv, "%v,%v,%d\n", label, flag, i)
		fmt.Fprintf(&tsv, "%v\t%v\t%d\n", label, flag, i)
		fmt.Fprintf(&jsonl, "{\"label\":%v,\"flag\":%v,\"n\":%d}\n", label, flag, i)
		fmt.Fprintf(&rows, `%c{"label":%v,"flag":%v,"n":%d}`, "[,"[min(i, 1)], label, flag, i)
	}
	truth := arrow.FixedWidthTypes.Boolean
	s := arrow.NewSchema([]arrow.Field{field("label", truth), field("flag", truth),
		field("n", arrow.PrimitiveTypes.Int64)}, nil)
	batches := framed(t, s, rows.String()+"]")
	for name, content := range map[string][]byte{"a.csv": []byte(csv.String()), "a.tsv": []byte(tsv.String()),
		"a.jsonl":   []byte(jsonl.String()),
		"a.parquet": asParquet(t, s, batches), "a.arrow": asArrow(t, s, batches)} {
		paths = append(paths, written(t, name, content))
	}
	slices.Sort(paths)
	return paths
}

// TestTruthValuesAreTextInEveryFormat trains on each format and reads every other one by what was learned.
func TestTruthValuesAreTextInEveryFormat(t *testing.T) {
	t.Parallel()
	paths := truthFiles(t)
	want := rowsInWords(mustRead(t, paths[0], Examples, Options{}))
	for _, trained := range paths {
		set := mustRead(t, trained, Examples, Options{})
		if got := set.Examples.Labels(10); !slices.Equal(got, []string{"false", "true"}) {
			t.Errorf("%s: labels are %q", trained, got)
		}
		if got := set.Examples.FeatureNames; !slices.Equal(got, []string{"flag=false", "flag=true", "n"}) {
			t.Errorf("%s: features are %q", trained, got)
		}
		for _, path := range paths {
			other := mustRead(t, path, Examples, Options{}.ForTest(set))
			if got := rowsInWords(other); !slices.Equal(got, want) || other.Detected.Unknown != 0 {
				t.Errorf("%s by the model of %s: %q, %d unknown", path, trained, got, other.Detected.Unknown)
			}
		}
		users := mustRead(t, trained, Ratings, Options{User: "label", Item: "flag", Rating: "n"}).Ratings
		if !slices.Equal(users.Users, []string{"true", "false"}) ||
			!slices.Equal(users.Items, []string{"true", "false"}) {
			t.Errorf("%s: users %q, items %q", trained, users.Users, users.Items)
		}
	}
}

// TestTruthValuesAsNumbers reads truth values as 1 and 0 where a model was trained on these, or where a
// number is wanted.
func TestTruthValuesAsNumbers(t *testing.T) {
	t.Parallel()
	model := readText(t, "label,flag,n\n1,0,5\n0,1,7\n1,1,9\n0,0,2\n", Examples, Options{})
	for _, path := range truthFiles(t) {
		if strings.HasSuffix(path, "csv") || strings.HasSuffix(path, "tsv") {
			if _, err := Read(t.Context(), []string{path}, Examples, Options{}.ForTest(model)); err == nil ||
				!strings.Contains(err.Error(), `"true" of column "`) {
				t.Errorf("%s: %v", path, err)
			}
			continue
		}
		set := mustRead(t, path, Examples, Options{}.ForTest(model))
		if got := rowsInWords(set)[:4]; !slices.Equal(got, []string{"1[1 0]", "0[0 1]", "0[1 2]", "1[0 3]"}) {
			t.Errorf("%s: %q", path, got)
		}
		if got := set.Examples.Labels(10); !slices.Equal(got, []string{"0", "1"}) {
			t.Errorf("%s: labels are %q", path, got)
		}
		set = mustRead(t, path, Examples, Options{Label: "n", Weight: "flag"})
		if set.Rows() != 20 || set.Detected.Weightless != 20 {
			t.Errorf("%s: %d rows, %d of weight 0", path, set.Rows(), set.Detected.Weightless)
		}
		ratings := mustRead(t, path, Ratings, Options{User: "n", Item: "label", Rating: "flag"}).Ratings
		if !slices.Equal(ratings.Rating[:4], []float32{1, 0, 1, 0}) {
			t.Errorf("%s: ratings are %v", path, ratings.Rating[:4])
		}
	}
}
