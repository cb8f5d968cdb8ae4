package predictions

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"runtime"
	"strings"
	"testing"

	"bellows"
	"bellows/app"
	"bellows/app/linear"
	"bellows/data"
	"bellows/model"
	"bellows/train"
)

// doubler predicts twice the rating, and knows no user called u…9. Of what it shares, scratch is its own.
type doubler struct {
	fields app.Fields
	line   func(d *doubler, set *data.Set, r int) string
	using  bool
}

func (d *doubler) Evaluate(*data.Set) ([]train.Metric, error) { return nil, nil }
func (d *doubler) Read() (data.Kind, data.Options)            { return data.Ratings, data.Options{} }
func (d *doubler) Fields() app.Fields                         { return d.fields }
func (d *doubler) Share() app.Predictor                       { return &doubler{fields: d.fields, line: d.line} }

func (d *doubler) Predict(set *data.Set, out io.Writer) error {
	if d.using {
		return errors.New("two goroutines have one predictor")
	}
	d.using = true
	defer func() { d.using = false }()
	return app.WriteLines(out, set.Rows(), func(text []byte, r int) []byte { return append(text, d.line(d, set, r)...) })
}

func (d *doubler) Unknown(set *data.Set, _ bool) map[string]int64 {
	counts := map[string]int64{"rows": 0}
	for _, u := range set.Ratings.User {
		if strings.HasSuffix(set.Ratings.Users[u], "9") {
			counts["rows"]++
		}
	}
	d.EachUnknown(set, func(what, _ string) { counts[what]++ })
	return counts
}

func (d *doubler) EachUnknown(set *data.Set, f func(what, name string)) {
	for _, name := range set.Ratings.Users {
		if strings.HasSuffix(name, "9") {
			f("users", name)
		}
	}
}

func twice(_ *doubler, set *data.Set, r int) string { return fmt.Sprint(2 * set.Ratings.Rating[r]) }

// alone hides what lets predictors be shared.
type alone struct{ app.Predictor }

// manyRatings returns more than one block.
func manyRatings(rows int) (text string, want []string) {
	var b strings.Builder
	for i := range rows {
		fmt.Fprintf(&b, "u%d i%d %d\n", i%30, i%7, i)
		want = append(want, fmt.Sprint(2*float32(i)))
	}
	return b.String(), want
}

// TestOrderIsThatOfRows: many blocks, on several goroutines, by predictors that are shared and by one that cannot be.
func TestOrderIsThatOfRows(t *testing.T) {
	t.Parallel()
	text, want := manyRatings(200_000)
	shared := &doubler{line: twice}
	for name, p := range map[string]app.Predictor{"shared": shared, "alone": alone{shared}} {
		var out bytes.Buffer
		r := NewWriter(p, &out, false, 4)
		if _, err := data.Stream(context.Background(), []string{"-"}, data.Ratings, data.Options{Stdin: strings.NewReader(text), Workers: 4}, r.Take); err != nil {
			t.Fatal(name, err)
		}
		if got := strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n"); len(got) != len(want) || r.Rows() != int64(len(want)) {
			t.Fatalf("%s: %d lines", name, len(got))
		} else {
			for i := range got {
				if got[i] != want[i] {
					t.Fatalf("%s: line %d is %s, not %s", name, i, got[i], want[i])
				}
			}
		}
		if u := r.Unknown(); name == "shared" && (u["users"] != 3 || u["rows"] != 20_000 || len(u) != 2) {
			t.Errorf("unknown: %v", u) // 9, 19 and 29
		}
	}
}

// TestRowsCostNoAllocation: allocations are per block of thousands of rows. It runs alone, since it counts those of the
// process.
func TestRowsCostNoAllocation(t *testing.T) {
	m := &model.Model{App: "linear", Details: json.RawMessage(`{"loss":"logistic","index_base":1}`), IDs: []model.IDs{{File: "labels.txt", Names: []string{"-1", "1"}}},
		Tensors: []model.Tensor{{Name: "weights", Shape: []int{123}, Floats: make([]float32, 123)}, {Name: "bias", Shape: []int{1}, Floats: []float32{0.1}}}}
	p, err := linear.New().Open(m)
	if err != nil {
		t.Fatal(err)
	}
	kind, opt := p.Read()
	const rows = 200_000
	text := strings.Repeat("-1 3:1 11:1 14:1 19:1 39:1 42:1 55:1 64:1 67:1 73:1 75:1 76:1 80:1 83:1\n", rows)
	for _, json := range []bool{false, true} {
		r := NewWriter(p, io.Discard, json, 2)
		opt.Stdin = strings.NewReader(text)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		if _, err := data.Stream(context.Background(), []string{"-"}, kind, opt, r.Take); err != nil {
			t.Fatal(err)
		}
		runtime.ReadMemStats(&after)
		if each := float64(after.Mallocs-before.Mallocs) / rows; each > 0.1 {
			t.Errorf("JSON %v: %.3f allocations a row", json, each)
		}
	}
}

// TestJSONEqualsText holds what is written against what package json says of it.
func TestJSONEqualsText(t *testing.T) {
	t.Parallel()
	two := app.Fields{Of: "probabilities", Names: []string{"b\"<", "a"}}
	for _, c := range []struct {
		fields app.Fields
		line   string
		want   string
	}{
		{app.Fields{}, "1.5", `{"row":7,"prediction":1.5}`},
		{app.Fields{}, "2\t0.25", `{"row":7,"prediction":[2,0.25]}`},
		{app.Fields{}, "label", `{"row":7,"prediction":"label"}`},
		{app.Fields{}, "NaN", `{"row":7,"prediction":"NaN"}`},
		{app.Fields{}, "007", `{"row":7,"prediction":"007"}`},
		{app.Fields{}, "1e999", `{"row":7,"prediction":"1e999"}`},
		{app.Fields{}, "-1e-07", `{"row":7,"prediction":-1e-07}`},
		{app.Fields{}, "", `{"row":7,"prediction":""}`},
		{two, "a\t0.25\t0.75", `{"row":7,"prediction":"a","probabilities":{"a":0.75,"b\"\u003c":0.25}}`},
		{app.Fields{Of: "shares"}, "3\t3:0.5\t10:0.25\tx:y:1", `{"row":7,"prediction":3,"shares":{"10":0.25,"3":0.5,"x:y":1}}`},
	} {
		o := NewObjects(c.fields)
		got, err := o.Append([]byte(c.line+"\n"), 6)
		if err != nil || string(got) != c.want+"\n" || !json.Valid(got) {
			t.Errorf("%q is %s, %v\nnot %s", c.line, got, err, c.want)
		}
	}
	for line, kind := range map[string]bellows.Kind{"a\t0.5": bellows.Bug, "a\t0.5\tx": bellows.Bug, "a\tNaN\t1": bellows.BadData, "a\t0.5\t+Inf": bellows.BadData} {
		o := NewObjects(two)
		if got, err := o.Append([]byte(line+"\n"), 0); err == nil || bellows.KindOf(err) != kind {
			t.Errorf("%q is %s, %v", line, got, err)
		}
	}
}

// TestJSONAllocatesNothing once it has what it needs.
func TestJSONAllocatesNothing(t *testing.T) {
	o := NewObjects(app.Fields{Of: "probabilities", Names: []string{"+1", "-1"}})
	text := []byte(strings.Repeat("+1\t0.25\t0.75\n", 1000))
	if n := testing.AllocsPerRun(10, func() {
		if _, err := o.Append(text, 0); err != nil {
			t.Error(err)
		}
	}); n > 0 {
		t.Errorf("%v allocations for 1000 rows", n)
	}
}

// FuzzNumbers: what is taken for a number is one, for package json too.
func FuzzNumbers(f *testing.F) {
	for _, s := range []string{"0", "-0.5e+12", "01", "1.", ".5", "1e", "1e400", "+1", "0x1", "1_0", "", "-", "NaN"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		var v float64
		want := json.Unmarshal([]byte(s), &v) == nil && !math.IsInf(v, 0) && strings.TrimSpace(s) == s && s != "null"
		if got := isNumber([]byte(s)); got != want {
			t.Errorf("%q is a number: %v, not %v", s, got, want)
		}
	})
}

// TestWrongLinesAreABug: an application that writes more lines than rows is not believed.
func TestWrongLinesAreABug(t *testing.T) {
	t.Parallel()
	p := &doubler{line: func(*doubler, *data.Set, int) string { return "1\n2" }}
	var out bytes.Buffer
	r := NewWriter(p, &out, false, 1)
	_, err := data.Stream(context.Background(), []string{"-"}, data.Ratings, data.Options{Stdin: strings.NewReader("u i 1\n")}, r.Take)
	if bellows.KindOf(err) != bellows.Bug || out.Len() > 0 {
		t.Errorf("%v: %q", err, out.String())
	}
}
