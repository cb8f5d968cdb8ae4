package data

import (
	"context"
	"fmt"
	"math/big"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
)

// farValues are columns far from 0, by row. Whole ones are 64-bit integers in files that have types.
var farValues = []struct {
	name  string
	whole bool
	of    func(row int) string
}{
	{"milliseconds", true, func(i int) string { return fmt.Sprint(1764297407000 + i*197%60000) }},
	{"coordinate", false, func(i int) string { return fmt.Sprintf("%d.%02d", 5412000+i*37%900, i*7%100) }},
	{"cents", true, func(i int) string { return fmt.Sprint(25000000 + i*13%400) }},
	{"offset 1e8", false, func(i int) string { return fmt.Sprintf("%d.%04d", 100000000+i%3, i*77%10000) }},
	{"64 bits", true, func(i int) string { return fmt.Sprint(1234567890123456780 + i*11%40) }},
	{"below 0", true, func(i int) string { return fmt.Sprint(-1764297407000 - i*197%60000) }},
}

// farRows is enough rows for a sample, and some beyond it.
const farRows = 400

// farFormats write a table of the columns y, t and x, or ratings of u, i and r, whose names are the keys.
var farFormats = []struct {
	name    string
	ratings bool
	write   func(t *testing.T, keys []string, whole bool, cell func(key string, row int) string) []byte
}{
	{"csv", true, delimited(",")}, {"tsv", true, delimited("\t")}, {"jsonl", true, jsonLines},
	{"parquet", true, func(t *testing.T, keys []string, whole bool, cell func(string, int) string) []byte {
		s, batch := farFrame(t, keys, whole, cell)
		return asParquet(t, s, batch)
	}},
	{"arrow", true, func(t *testing.T, keys []string, whole bool, cell func(string, int) string) []byte {
		s, batch := farFrame(t, keys, whole, cell)
		return asArrow(t, s, batch)
	}},
	{"svm", false, sparseLines("%s 1:%s 2:%s\n")}, {"libfm", false, sparseLines("%s 0:%s 1:%s\n")},
	{"vw", false, sparseLines("%s |f t:%s x:%s\n")},
}

func delimited(separator string) func(*testing.T, []string, bool, func(string, int) string) []byte {
	return func(_ *testing.T, keys []string, _ bool, cell func(string, int) string) []byte {
		text := strings.Join(keys, separator) + "\n"
		for i := range farRows {
			var fields []string
			for _, key := range keys {
				fields = append(fields, cell(key, i))
			}
			text += strings.Join(fields, separator) + "\n"
		}
		return []byte(text)
	}
}

func jsonLines(_ *testing.T, keys []string, _ bool, cell func(string, int) string) []byte {
	var text strings.Builder
	for i := range farRows {
		var fields []string
		for _, key := range keys {
			fields = append(fields, fmt.Sprintf("%q: %s", key, cell(key, i)))
		}
		fmt.Fprintf(&text, "{%s}\n", strings.Join(fields, ", "))
	}
	return []byte(text.String())
}

func sparseLines(form string) func(*testing.T, []string, bool, func(string, int) string) []byte {
	return func(_ *testing.T, _ []string, _ bool, cell func(string, int) string) []byte {
		var text strings.Builder
		for i := range farRows {
			fmt.Fprintf(&text, form, cell("y", i), cell("t", i), cell("x", i))
		}
		return []byte(text.String())
	}
}

func farFrame(t *testing.T, keys []string, whole bool, cell func(string, int) string) (*arrow.Schema,
	[]arrow.RecordBatch) {
	var fields []arrow.Field
	for _, key := range keys {
		kind := arrow.DataType(arrow.PrimitiveTypes.Float64)
		if whole {
			kind = arrow.PrimitiveTypes.Int64
		}
		fields = append(fields, field(key, kind))
	}
	text := strings.ReplaceAll(strings.TrimSpace(string(jsonLines(t, keys, whole, cell))), "\n", ",")
	s := arrow.NewSchema(fields, nil)
	return s, framed(t, s, "["+text+"]")
}

// holds fails unless an origin and what is stored beyond it are what a field says, to the last bit of the 32 that are
// left.
func holds(t *testing.T, field string, origin float64, stored float32) {
	t.Helper()
	exact, _, err := big.ParseFloat(field, 10, 200, big.ToNearestEven)
	if err != nil {
		t.Fatal(err)
	}
	left := new(big.Float).Sub(exact, big.NewFloat(origin))
	off, _ := new(big.Float).Sub(left, big.NewFloat(float64(stored))).Float64()
	size, _ := left.Float64()
	if abs(off) > abs(size)/(1<<23)+1e-6 { // 64 bits hold a coordinate to a billionth
		t.Fatalf("%s is %v and %v", field, origin, stored)
	}
}

func abs(x float64) float64 { return max(x, -x) }

// TestFarNumbersKeepTheirDigits reads each kind of number that 32 bits do not hold from each format as a feature, a
// label, a rating, a weight and a time.
func TestFarNumbersKeepTheirDigits(t *testing.T) {
	t.Parallel()
	for _, f := range farFormats {
		t.Run(f.name, func(t *testing.T) {
			t.Parallel()
			for _, v := range farValues {
				cell := func(far string) func(key string, row int) string {
					return func(key string, row int) string {
						if key == far {
							return v.of(row)
						}
						return fmt.Sprint(row * 7 % 5)
					}
				}
				read := func(kind Kind, far string, keys []string, opt Options) (*Set, error) {
					path := written(t, strings.ReplaceAll(v.name+"-"+far, " ", "-")+"."+f.name,
						f.write(t, keys, v.whole, cell(far)))
					return Read(context.Background(), []string{path}, kind, opt)
				}
				table := []string{"y", "t", "x"}
				set, err := read(Examples, "t", table, Options{})
				if err != nil {
					t.Fatal(v.name, err)
				}
				feature := int32(0)
				if f.name == "vw" {
					feature = set.Examples.Index[0]
					if len(set.Examples.Origins) == 1 {
						feature = set.Examples.Origins[0].Feature
					}
				}
				if len(set.Examples.Origins) != 1 || set.Examples.Origins[0].Feature != feature {
					t.Fatalf("%s: origins %v", v.name, set.Examples.Origins)
				}
				for r := range farRows {
					holds(t, v.of(r), set.Examples.Origins[0].Value, *set.Examples.Place(r, feature))
				}
				if len(set.Detected.Constant) > 0 {
					t.Errorf("%s: %v is said to be the same in all rows", v.name, set.Detected.Constant)
				}
				if set, err = read(Examples, "y", table, Options{}); err != nil {
					t.Fatal(v.name, err)
				}
				for r, y := range set.Examples.Label {
					holds(t, v.of(r), set.Examples.LabelOrigin, y)
				}
				if !f.ratings {
					continue
				}
				set, err = read(Ratings, "rating", []string{"user", "item", "rating"}, Options{})
				if err != nil {
					t.Fatal(v.name, err)
				}
				for r, y := range set.Ratings.Rating {
					holds(t, v.of(r), set.Ratings.Origin, y)
				}
				farWeight(t, v.name, func() (*Set, error) {
					return read(Examples, "w", []string{"y", "t", "w"}, Options{Weight: "w"})
				}, v.of)
				if set, err = read(Examples, "time", []string{"y", "t", "time"}, Options{Timed: true}); err != nil {
					t.Fatal(v.name, err)
				}
				if want, _, _ := big.ParseFloat(v.of(9), 10, 53,
					big.ToNearestEven); set.Time[9]+set.Detected.TimesFrom != first(want.Float64()) {
					t.Errorf("%s: the time %s is %v beyond %v", v.name, v.of(9), set.Time[9], set.Detected.TimesFrom)
				}
			}
		})
	}
}

func first[A, B any](a A, _ B) A { return a }

// farWeight reads weights, of which only ratios matter: they hold to seven digits, or are refused by name.
func farWeight(t *testing.T, name string, read func() (*Set, error), of func(int) string) {
	t.Helper()
	set, err := read()
	if err != nil {
		if !strings.Contains(err.Error(), "weight") || !strings.Contains(err.Error(), "too large") &&
			!strings.Contains(err.Error(), "negative") {
			t.Errorf("%s: %v", name, err)
		}
		return
	}
	for r, w := range set.Examples.Weight {
		want, _, _ := big.ParseFloat(of(r), 10, 53, big.ToNearestEven)
		if x := first(want.Float64()); abs(float64(w)-x) > x/(1<<23) {
			t.Errorf("%s: the weight %s is %v", name, of(r), w)
		}
	}
}

// TestFarRowsLackAFeature: a sparse row without a feature that is counted from an origin has 0 there all the same, also
// in stored columns and in a test set.
func TestFarRowsLackAFeature(t *testing.T) {
	t.Parallel()
	var text strings.Builder
	for i := range farRows {
		fmt.Fprintf(&text, "%d 1:%d 3:2\n", i%5, 1764297407000+i*197)
	}
	folder := t.TempDir()
	path := writeFile(t, filepath.Join(folder, "far.svm"), []byte(text.String()+"1 2:1\n2\n"))
	old := time.Now().Add(-time.Hour)
	if err := os.Chtimes(path, old, old); err != nil {
		t.Fatal(err)
	}
	opt := Options{Cache: filepath.Join(folder, "cache")}
	for range 2 {
		set, err := Read(context.Background(), []string{path}, Examples, opt)
		if err != nil {
			t.Fatal(err)
		}
		e := set.Examples
		if len(e.Origins) != 1 || e.Origins[0].Feature != 0 {
			t.Fatalf("origins %v", e.Origins)
		}
		for _, r := range []int{farRows, farRows + 1} {
			if v := e.Place(r, 0); v == nil || e.Origins[0].Value+float64(*v) > 1e5 ||
				e.Origins[0].Value+float64(*v) < -1e5 {
				t.Errorf("row %d has %v", r, v)
			}
		}
		test, err := Read(context.Background(),
			[]string{writeFile(t, filepath.Join(folder, "test.svm"), []byte("1 1:1764297407001\n"))}, Examples,
			opt.ForTest(set))
		if err != nil {
			t.Fatal(err)
		}
		holds(t, "1764297407001", test.Examples.Origins[0].Value, *test.Examples.Place(0, 0))
		if test.Examples.Origins[0] != e.Origins[0] {
			t.Errorf("the test set has %v", test.Examples.Origins)
		}
		_ = set.Close()
	}
}

// TestNearNumbersStay: what 32 bits hold as it is has no origin, so that it is read as it always was.
func TestNearNumbersStay(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"y,t\n1,2001\n2,2004\n", "1 1:2001\n2 1:2004\n", "1 |f t:2001\n2 |f t:2004\n",
		"y,t\n0.5,100.5\n2,7\n"} {
		e := readText(t, text, Examples, Options{}).Examples
		if len(e.Origins) > 0 || e.LabelOrigin != 0 {
			t.Errorf("%q has the origins %v and %v", text, e.Origins, e.LabelOrigin)
		}
	}
}
