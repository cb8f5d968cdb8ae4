package data

import (
	"context"
	"fmt"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
)

// weighty returns rows of a label, a weight, a number that may be missing and a text: as a table in three formats, and
// without the weights and the rows of weight 0.
func weighty(rows int) (csv, tsv, jsonl, left string, weights []float32) {
	var c, j, l strings.Builder
	c.WriteString("y,w,n,text\n")
	l.WriteString("y,n,text\n")
	for r := range rows {
		weight, number, text := [...]string{"1", "0.5", "0", "3", "1e0"}[r%5], fmt.Sprint(r%7), fmt.Sprintf("t%d", r%3)
		if r%5 == 2 {
			number, text = "no number", "only here"
		} else if r%11 == 3 {
			number = ""
		}
		fmt.Fprintf(&c, "%d,%s,%s,%s\n", r%2, weight, number, text)
		value := number
		if number == "" {
			value = "null"
		} else if r%5 == 2 {
			value = `"` + number + `"`
		}
		fmt.Fprintf(&j, "{\"w\":%s,\"n\":%s,\"y\":%d,\"text\":\"%s\"}\n", weight, value, r%2, text)
		if weight != "0" {
			fmt.Fprintf(&l, "%d,%s,%s\n", r%2, number, text)
			weights = append(weights, [...]float32{1, 0.5, 0, 3, 1}[r%5])
		}
	}
	return c.String(), strings.ReplaceAll(c.String(), ",", "\t"), j.String(), l.String(), weights
}

// Weights are a column in all formats of tables; rows of weight 0 leave nothing behind; what is stored, picked,
// streamed and read in small blocks is the same.
func TestWeightsOfTables(t *testing.T) {
	t.Parallel()
	csv, tsv, jsonl, left, weights := weighty(200)
	dir := files(t, map[string]string{"a.csv": csv, "a.tsv": tsv, "a.jsonl": jsonl, "left.csv": left})
	for _, name := range []string{"a.csv", "a.tsv", "a.jsonl", "left.csv"} {
		settle(t, filepath.Join(dir, name), time.Hour)
	}
	plain := mustRead(t, filepath.Join(dir, "left.csv"), Examples, Options{})
	if plain.Weighted() || plain.Detected.Weight != "" {
		t.Fatalf("%+v", plain.Detected)
	}
	for name, option := range map[string]string{"a.csv": "w", "a.tsv": "2", "a.jsonl": "w"} {
		opt := Options{Weight: option, Cache: filepath.Join(dir, "cache")}
		path := filepath.Join(dir, name)
		sets := []*Set{mustRead(t, path, Examples, opt), mustRead(t, path, Examples, opt),
			mustRead(t, path, Examples, Options{Weight: option, blockBytes: 30, Workers: 3})}
		if !sets[1].Detected.FromCache {
			t.Errorf("%s: not stored: %s", name, sets[1].Detected.CacheProblem)
		}
		for i, s := range sets {
			e := s.Examples
			if !slices.Equal(e.Weight, weights) || !slices.Equal(e.Label, plain.Examples.Label) || e.Features != 4 ||
				s.Digest() == plain.Digest() || s.Digest() != sets[0].Digest() {
				t.Fatalf("%s, %d: %v of %d features", name, i, e.Weight, e.Features)
			}
			if d := s.Detected.String(); !strings.Contains(d, `weight "w", 40 rows of weight 0 left out`) ||
				s.Reading.Weight == nil || s.Reading.Weight.Name != "w" {
				t.Errorf("%s: detected %q, read by %+v", name, d, s.Reading.Weight)
			}
			some := s.Select([]int32{3, 1}).Examples
			if !slices.Equal(some.Weight, []float32{weights[3], weights[1]}) {
				t.Errorf("%s: picked %v", name, some.Weight)
			}
			// What is missing is the mean by weights.
			sum, all := 0.0, 0.0
			for r, w := range weights {
				for at := e.Offset[r]; at < e.Offset[r+1]; at++ {
					if e.Index[at] == 0 && !slices.Contains(e.gaps, at) {
						sum, all = sum+float64(w)*float64(e.Value[at]), all+float64(w)
					}
				}
			}
			if fill := *s.Described().Features[0].Fill; len(e.gaps) == 0 || fill != float32(sum/all) {
				t.Errorf("%s: %v gaps are filled with %v, not %v", name, e.gaps, fill, sum/all)
			}
		}
	}
}

// The columns of Parquet and Arrow are those of a table, too.
func TestWeightsOfFrames(t *testing.T) {
	t.Parallel()
	schema := arrow.NewSchema([]arrow.Field{{Name: "y", Type: arrow.PrimitiveTypes.Int64, Nullable: true},
		{Name: "w", Type: arrow.PrimitiveTypes.Float64}, {Name: "n", Type: arrow.PrimitiveTypes.Float32},
		{Name: "text", Type: arrow.BinaryTypes.String}}, nil)
	rows := framed(t, schema, `[{"y":1,"w":2,"n":1,"text":"a"},{"y":0,"w":0,"n":2,"text":"only here"},{"y":0,"w":1,"n":3,"text":"b"}]`,
		`[{"y":0,"w":0,"n":4,"text":"only here"}]`, `[{"y":1,"w":0.25,"n":5,"text":"a"}]`)
	bad := framed(t, schema, `[{"y":1,"w":2,"n":1,"text":"a"},{"y":0,"w":0,"n":2,"text":"b"}]`,
		`[{"y":1,"w":0,"n":1,"text":"a"},{"y":0,"w":-1,"n":2,"text":"b"}]`)
	later := framed(t, schema, `[{"y":1,"w":2,"n":1,"text":"a"},{"y":0,"w":0,"n":2,"text":"b"},{"y":null,"w":1,"n":2,"text":"b"}]`)
	dir := t.TempDir()
	for name, write := range map[string]func(testing.TB, *arrow.Schema,
		[]arrow.RecordBatch) []byte{"a.parquet": asParquet, "a.arrow": asArrow} {
		s := mustRead(t, writeFile(t, filepath.Join(dir, name), write(t, schema, rows)), Examples, Options{Weight: "w"})
		e := s.Examples
		if !slices.Equal(e.Weight, []float32{2, 1, 0.25}) || !slices.Equal(e.Label, []float32{1, 0, 1}) ||
			e.Features != 3 || s.Detected.Weightless != 2 ||
			!slices.Equal(e.FeatureNames, []string{"n", "text=a", "text=b"}) ||
			!slices.Equal(e.Value, []float32{1, 1, 3, 1, 5, 1}) {
			t.Errorf("%s: %+v, %+v", name, e, s.Detected)
		}
		fails := func(rows []arrow.RecordBatch) error {
			_, err := Read(context.Background(),
				[]string{writeFile(t, filepath.Join(dir, "bad-"+name), write(t, schema, rows))}, Examples,
				Options{Weight: "w"})
			return err
		}
		if err := fails(bad); err == nil || !strings.Contains(err.Error(),
			"row 4: weight \"-1\" of column \"w\" is negative") {
			t.Errorf("%s: %v", name, err)
		}
		if err := fails(later); err == nil ||
			!strings.Contains(err.Error(), "row 3: label of column \"y\" is missing") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Weights that all are 1 are none; a file without labels has no use for them; others are read by the column that
// training had.
func TestWeightsLikeTraining(t *testing.T) {
	t.Parallel()
	dir := files(t, map[string]string{
		"a.csv": "y,w,n\n1,2,3\n0,1,4\n", "ones.csv": "y,w,n\n1,1,3\n0,1.0,4\n", "bare.csv": "n\n5\n6\n",
		"with.csv": "w,n\nbad,5\n-1,6\n",
		"more.csv": "n,y,w\n7,1,5\n8,1,0\n9,0,1\n", "other.csv": "y,n,heavy,w\n1,2,7,x\n", "without.csv": "y,n\n1,2\n",
		"a.head": "1,2,3\n0,1,4\n", "b.head": "1,5,3\n0,0,4\n", "bare.head": "3\n4\n",
	})
	read := func(name string, opt Options) *Set {
		t.Helper()
		return mustRead(t, filepath.Join(dir, name), Examples, opt)
	}
	a := read("a.csv", Options{Weight: "w"})
	if ones := read("ones.csv", Options{Weight: "w"}); ones.Weighted() ||
		!reflect.DeepEqual(ones.Examples, read("ones.csv", Options{Ignore: []string{"w"}}).Examples) {
		t.Errorf("weights of 1: %+v", ones.Examples)
	}
	for name, want := range map[string][]float32{"more.csv": {5, 1}, "without.csv": nil} {
		if got := read(name, Options{Weight: "w"}.ForTest(a)); !slices.Equal(got.Examples.Weight, want) ||
			got.Examples.Features != 1 {
			t.Errorf("%s: %+v", name, got.Examples)
		}
	}
	like := Options{}.ForTest(a)
	like.Weight = "heavy"
	if got := read("other.csv", like).Examples; !slices.Equal(got.Weight, []float32{7}) ||
		!slices.Equal(got.Dense, []float32{2}) {
		t.Errorf("another column: %+v", got)
	}
	like = Options{}.ForTest(a)
	like.Unlabelled = true
	for name, rows := range map[string]int{"bare.csv": 2, "with.csv": 2, "more.csv": 3} {
		if got := read(name, like); got.Rows() != rows || got.Weighted() || got.Examples.Features != 1 {
			t.Errorf("%s to predict: %+v", name, got.Examples)
		}
	}
	headless := read("a.head", Options{Format: CSV, Weight: "2"})
	like = Options{Format: CSV}.ForTest(headless)
	if got := read("b.head", like); !slices.Equal(got.Examples.Weight, []float32{5}) ||
		!slices.Equal(got.Examples.Dense, []float32{3}) {
		t.Errorf("without a header: %+v", got.Examples)
	}
	like.Unlabelled = true
	for name, rows := range map[string]int{"b.head": 2, "bare.head": 2} {
		if got := read(name, like); got.Rows() != rows || got.Weighted() ||
			!slices.Equal(got.Examples.Dense, []float32{3, 4}) {
			t.Errorf("%s to predict: %+v", name, got.Examples)
		}
	}
}

// The importance of Vowpal Wabbit is a weight; 0 leaves a row out, but for those to predict.
func TestWeightsOfVowpalWabbit(t *testing.T) {
	t.Parallel()
	text := "1 2 'one|f a b:2\n0 |f b\n1 0 |f c:7\n0 0.0 0 'tag|f a\n-1 1e0 |g x\n1 0.5|f a\n1 0.25 0 tag|f c\n" +
		strings.Repeat("1 |f z\n", 30) + "0 3 |f b\n"
	want := append(append([]float32{2, 1, 1, 1, 0.25}, slices.Repeat([]float32{1}, 30)...), 3)
	dir := files(t, map[string]string{"a.vw": text, "ones.vw": "1 1 |f a\n0 1.0 |f b\n"})
	for _, opt := range []Options{{}, {blockBytes: 20, Workers: 3}} {
		s := mustRead(t, filepath.Join(dir, "a.vw"), Examples, opt)
		if e := s.Examples; !slices.Equal(e.Weight, want) || len(e.Label) != len(want) || len(e.Index) != len(want)+1 ||
			s.Detected.Weightless != 2 {
			t.Errorf("%v, %+v", e.Weight, s.Detected)
		}
		if got := s.Detected.String(); !strings.Contains(got, "weights of importance, 2 rows of weight 0 left out") {
			t.Errorf("detected %q", got)
		}
		like := opt.ForTest(s)
		like.Unlabelled, like.blockBytes, like.Workers = true, opt.blockBytes, opt.Workers
		if to := mustRead(t, filepath.Join(dir, "a.vw"), Examples, like); to.Weighted() || to.Rows() != len(want)+2 {
			t.Errorf("to predict: %d rows, %v", to.Rows(), to.Examples.Weight)
		}
	}
	if ones := mustRead(t, filepath.Join(dir, "ones.vw"), Examples, Options{}); ones.Weighted() ||
		ones.Detected.Weight != "" {
		t.Errorf("weights of 1: %v", ones.Examples.Weight)
	}
	whole, _, _, err := streamed(t, text, Examples, Options{Format: VW})
	if err != nil {
		t.Fatal(err)
	}
	parts, blocks, d, err := streamed(t, text, Examples,
		Options{Format: VW, blockBytes: 20, Workers: 3, Limits: Limits{LineBytes: 40}})
	if err != nil || blocks < 3 || !slices.Equal(parts, whole) || d.Weightless != 2 || d.Weight == "" ||
		d.Rows != len(want) {
		t.Errorf("streamed in %d blocks: %v, not %v: %+v, %v", blocks, parts, whole, d, err)
	}
	if _, _, _, err := streamed(t, strings.Repeat("1 0 |f a\n", 20), Examples,
		Options{Format: VW, blockBytes: 20, Limits: Limits{LineBytes: 40}}); err == nil ||
		!strings.Contains(err.Error(), "all rows have the weight 0") {
		t.Errorf("nothing but weight 0: %v", err)
	}
}
