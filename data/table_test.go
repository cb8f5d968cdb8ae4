package data

import (
	"context"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"bellows/data/internal/columns"
)

// shownRows spells out rows: the label, and each feature that is not 0 by its name.
func shownRows(s *Set) []string {
	e := s.Examples
	label := func(r int) string {
		if e.LabelNames != nil {
			return e.LabelNames[int(e.Label[r])]
		}
		return fmt.Sprint(e.Label[r])
	}
	name := func(j int32) string {
		if e.FeatureNames == nil {
			return fmt.Sprint(j)
		}
		return e.FeatureNames[j]
	}
	var rows []string
	for r := range e.Rows() {
		row := label(r) + ":"
		if e.Sparse() {
			for i := e.Offset[r]; i < e.Offset[r+1]; i++ {
				row += fmt.Sprintf(" %s %g", name(e.Index[i]), e.Value[i])
			}
		} else {
			for j, v := range e.Dense[r*e.Features : (r+1)*e.Features] {
				row += fmt.Sprintf(" %s %g", name(int32(j)), v)
			}
		}
		rows = append(rows, row)
	}
	return rows
}

func wantRows(t *testing.T, what string, s *Set, want ...string) {
	t.Helper()
	if got := shownRows(s); !slices.Equal(got, want) {
		t.Errorf("%s: rows\n%s\nwant\n%s", what, strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

const mixed = "id,color,size,label,note\n1,red,0.5,yes,a\n2,blue,,no,b\n3,,1.5,yes,c\n4,red,4,maybe,d\n"

func TestColumnsOfText(t *testing.T) {
	t.Parallel()
	s := readText(t, mixed, Examples, Options{Format: CSV, Ignore: []string{"id", "5"}})
	wantRows(t, "mixed", s, "yes: color=red 1 size 0.5", "no: color=blue 1 size 2", "yes: color=(missing) 1 size 1.5",
		"maybe: color=red 1 size 4")
	if got, want := s.Detected.String(), `4 rows × 4 features, 3 classes, CSV, comma, header, label "label", 1 column of text, 2 columns left out, 1 missing value filled in by the mean, 1 missing value of text`; got != want {
		t.Errorf("detected %s\nwant %s", got, want)
	}
	if c := s.Reading.Features; len(c) != 2 || !slices.Equal(c[0].Levels, []string{"", "blue", "red"}) ||
		c[1].Fill == nil || *c[1].Fill != 2 {
		t.Errorf("columns %+v", c)
	}
	// Numbers may be text, by name; then they are written as they are.
	s = readText(t, "y,zip\n1,01\n2,1\n", Examples, Options{Format: CSV, Categorical: []string{"zip", "y"}})
	wantRows(t, "zip", s, "1: zip=01 1", "2: zip=1 1")
}

// TestLikeTraining reads other files as the training data was read: columns by name in any order, the same levels, the
// same means.
func TestLikeTraining(t *testing.T) {
	t.Parallel()
	train := readText(t, mixed, Examples, Options{Format: CSV, Ignore: []string{"id", "note"}})
	as := train.Described()
	for _, c := range []struct {
		name, text string
		opt        Options
		want       []string
		unknown    int64
	}{
		{"other order", "size,label,color\n1,no,red\n,yes,blue\n", Options{},
			[]string{"no: size 1 color=red 1", "yes: size 2 color=blue 1"}, 0},
		{"ignored columns", mixed, Options{},
			[]string{"yes: color=red 1 size 0.5", "no: color=blue 1 size 2", "yes: color=(missing) 1 size 1.5",
				"maybe: color=red 1 size 4"}, 0},
		{"no labels", "size,color\n1,red\n", Options{Unlabelled: true}, []string{"0: color=red 1 size 1"}, 0},
		{"labels unread", "label,size,color\n,1,red\n", Options{Unlabelled: true}, []string{"0: color=red 1 size 1"},
			0},
		{"unknown values", "size,label,color\n1,never,green\n", Options{}, []string{"never: size 1"}, 1},
		{"no header", "1,red,3,no,x\n2,blue,5,yes,x\n", Options{},
			[]string{"no: color=red 1 size 3", "yes: color=blue 1 size 5"}, 0},
		{"no header, no label", "red,3\nblue,5\n", Options{Unlabelled: true},
			[]string{"0: color=red 1 size 3", "0: color=blue 1 size 5"}, 0},
		{"other label", "truth,size,color\nno,1,red\n", Options{Label: "truth"}, []string{"no: color=red 1 size 1"}, 0},
		{"more columns", "x,size,label,color,z\n9,1,no,red,9\n", Options{Ignore: []string{"x", "5"}},
			[]string{"no: color=red 1 size 1"}, 0},
		{"header alone is words", "label,color,size\nno,red,3\n", Options{}, []string{"no: color=red 1 size 3"}, 0},
	} {
		c.opt.Format, c.opt.As = CSV, as
		s := readText(t, c.text, Examples, c.opt)
		got := shownRows(s)
		for i, row := range got { // by name, whatever the order
			label, features, _ := strings.Cut(row, ": ")
			got[i] = label + ": " + features
		}
		want := slices.Clone(c.want)
		for i := range want { // the model's order
			want[i] = strings.Replace(strings.Replace(want[i], "size 1 color=red 1", "color=red 1 size 1", 1),
				"size 2 color=blue 1", "color=blue 1 size 2", 1)
		}
		if !slices.Equal(got, want) || s.Detected.Unknown != c.unknown {
			t.Errorf("%s: rows %q, %d unknown; want %q", c.name, got, s.Detected.Unknown, want)
		}
		if s.Examples.Features != train.Examples.Features {
			t.Errorf("%s: %d features", c.name, s.Examples.Features)
		}
	}
}

// TestFillIsKept: a column that misses nothing in training has a mean for what others miss.
func TestFillIsKept(t *testing.T) {
	t.Parallel()
	as := readText(t, "label,a,b\n0,1,5\n1,3,7\n", Examples, Options{Format: CSV}).Described()
	s := readText(t, "a,b\n?,NaN\n", Examples, Options{Format: CSV, As: as, Unlabelled: true})
	wantRows(t, "means", s, "0: a 2 b 6")
}

// table returns a table with columns of text, missing values and text labels, in which values come up again and again.
func table(rows int) string {
	rng := rand.New(rand.NewPCG(31, 32))
	var b strings.Builder
	b.WriteString("num,word,label,many\n")
	for range rows {
		num := fmt.Sprintf("%.3g", rng.NormFloat64())
		if rng.IntN(9) == 0 {
			num = []string{"", "NA", "?"}[rng.IntN(3)]
		}
		word := []string{"one", "two", `"three, quoted"`, "", "été"}[rng.IntN(5)]
		fmt.Fprintf(&b, "%s,%s,class %d,w%d\n", num, word, rng.IntN(3), rng.IntN(300))
	}
	return b.String()
}

// TestColumnsDoNotDependOnBlocks: what the columns are and how values are numbered is the same for any number of
// workers and any size of blocks.
func TestColumnsDoNotDependOnBlocks(t *testing.T) {
	t.Parallel()
	text := table(3000)
	want := readText(t, text, Examples, Options{Format: CSV})
	if len(want.Examples.LabelNames) != 3 || !want.Examples.Sparse() {
		t.Fatalf("read %s", want.Detected)
	}
	for _, opt := range variants() {
		opt.Format = CSV
		if s := readText(t, text, Examples, opt); !reflect.DeepEqual(s.Examples, want.Examples) ||
			!reflect.DeepEqual(s.Reading, want.Reading) {
			t.Errorf("%+v: differs", opt)
		}
	}
}

// TestManyValuesAreHashed: the bucket of a value is the same wherever it comes, and a model's are those of its training
// data.
func TestManyValuesAreHashed(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	b.WriteString("label,word\n")
	for i := range 3 * columns.LevelsMax {
		fmt.Fprintf(&b, "%d,w%d\n", i%2, i*7919%(columns.LevelsMax+500))
	}
	want := readText(t, b.String(), Examples, Options{Format: CSV})
	if c := want.Reading.Features[0]; c.Buckets != columns.Buckets || c.Levels != nil ||
		want.Examples.Features != columns.Buckets || len(want.Detected.Warnings()) != 1 {
		t.Fatalf("read %s with %+v", want.Detected, want.Detected.Warnings())
	}
	for _, opt := range []Options{{Workers: 1}, {Workers: 5, blockBytes: 3000},
		{As: want.Reading, Features: columns.Buckets}} {
		opt.Format = CSV
		if s := readText(t, b.String(), Examples, opt); !reflect.DeepEqual(s.Examples, want.Examples) {
			t.Errorf("%+v: differs", opt)
		}
	}
}

// TestFilesOfOneTable: a further file may repeat the header, and its values are numbered with those of the first.
func TestFilesOfOneTable(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	writeFile(t, filepath.Join(dir, "a.csv"), []byte("label,word\nyes,b\nno,a\n"))
	writeFile(t, filepath.Join(dir, "b.csv"), []byte("label,word\nno,c\n"))
	writeFile(t, filepath.Join(dir, "c.csv"), []byte("maybe,a\nno,b\n"))
	s := mustRead(t, filepath.Join(dir, "*.csv"), Examples, Options{})
	wantRows(t, "three files", s, "yes: word=b 1", "no: word=a 1", "no: word=c 1", "maybe: word=a 1", "no: word=b 1")
}

func TestStoredTableIsTheSame(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := writeFile(t, filepath.Join(dir, "a.csv"), []byte(table(200)))
	settle(t, path, time.Hour)
	opt := Options{Cache: filepath.Join(dir, "cache"), Ignore: []string{"many"}}
	fresh, stored := mustRead(t, path, Examples, opt), mustRead(t, path, Examples, opt)
	if fresh.Detected.FromCache || !stored.Detected.FromCache || !reflect.DeepEqual(fresh.Examples, stored.Examples) ||
		!reflect.DeepEqual(fresh.Reading, stored.Reading) {
		t.Errorf("stored %+v\nfresh %+v", stored.Reading, fresh.Reading)
	}
	for _, other := range []Options{{}, {Categorical: []string{"num"}},
		{As: fresh.Described(), Ignore: []string{"many"}}} {
		other.Cache = opt.Cache
		if s := mustRead(t, path, Examples, other); s.Detected.FromCache {
			t.Errorf("%+v: taken from what was stored for other options", other)
		}
	}
}

// TestTextLabels reads LIBSVM with words as labels.
func TestTextLabels(t *testing.T) {
	t.Parallel()
	s := readText(t, "dog 1:1 2:0.5\ncat 2:1 # cat\n7up 1:3\n", Examples, Options{})
	wantRows(t, "words", s, "dog: 0 1 1 0.5", "cat: 1 1", "7up: 0 3")
	s = readText(t, "1 1:1\n2 1:2\n", Examples, Options{Format: LIBSVM, As: s.Reading})
	wantRows(t, "numbers for words", s, "1: 0 1", "2: 0 2")
}

// TestOddColumns: columns that count the rows, tell them apart or never change are told, with the flag that leaves them
// out.
func TestOddColumns(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	b.WriteString("id,label,x,same,same too,unit,name,half\n")
	for i := range 40 {
		fmt.Fprintf(&b, "%d,%d,%d,3,1,kg,n%dx,h%dx\n", i+100, i%2, i*i%7, i%21, i%20)
	}
	s := readText(t, b.String(), Examples, Options{Format: CSV})
	want := []string{"column name differs in most rows; each of its values becomes a feature that tells " +
		"nothing about other rows; leave it out with --ignore name",
		"column id counts the rows, and is taken for a number; leave it out with --ignore id",
		"3 columns are the same in all rows, and say nothing; leave them out with --ignore unit,same,5"}
	if got := s.Detected.Warnings(); !slices.Equal(got, want) {
		t.Errorf("warnings %q", got)
	}
}

// TestGrow reads rows to train a model further: its columns and values keep their names, others join them.
func TestGrow(t *testing.T) {
	t.Parallel()
	train := readText(t, "color,size,label\nred,1,no\nblue,2,yes\nred,,no\nblue,3,yes\n", Examples,
		Options{Format: CSV})
	as := train.Described()
	for _, opt := range []Options{{Workers: 1}, {Workers: 3, blockBytes: 16}} {
		opt.Format, opt.As, opt.Grow = CSV, as, true
		s := readText(t, "weight,label,shape,size,color\n7,no,round,1,green\n8,maybe,flat,,red\n9,no,,4,\n", Examples,
			opt)
		wantRows(t, "more columns", s,
			"no: color=green 1 size 1 weight 7 shape=round 1", "maybe: color=red 1 size 2 weight 8 shape=flat 1",
			"no: color=(missing) 1 size 4 weight 9 shape=(missing) 1")
		if want := []string{"color=(missing)", "color=blue", "color=green", "color=red", "size", "weight",
			"shape=(missing)", "shape=flat", "shape=round"}; !slices.Equal(s.Examples.FeatureNames, want) {
			t.Errorf("features %q, want %q", s.Examples.FeatureNames, want)
		}
		if s.Detected.Unknown != 0 || !slices.Equal(as.Features[0].Levels, []string{"blue", "red"}) {
			t.Errorf("%d unknown, the model's values are now %q", s.Detected.Unknown, as.Features[0].Levels)
		}
		var numbers []int
		for _, c := range s.Reading.Features {
			numbers = append(numbers, c.Number)
		}
		if !slices.Equal(numbers, []int{5, 4, 1, 3}) || s.Reading.Label.Number != 2 {
			t.Errorf("columns %v, label %d", numbers, s.Reading.Label.Number)
		}
		// A test set, and whoever asks the model without a header, read by the new columns.
		test := readText(t, "1,no,flat,2,blue\n", Examples, opt.ForTest(s))
		wantRows(t, "by place", test, "no: color=blue 1 size 2 weight 1 shape=flat 1")
	}
	same := readText(t, "red,5,no\nblack,6,yes\n", Examples, Options{Format: CSV, As: as, Grow: true})
	wantRows(t, "no header", same, "no: color=red 1 size 5", "yes: color=black 1 size 6")
	read := func(text string, opt Options) (*Set, error) {
		opt.Stdin = strings.NewReader(text)
		return Read(context.Background(), []string{"-"}, Examples, opt)
	}
	for text, want := range map[string]string{
		"color,label\nred,no\n":                  `the model was trained on the column "size", and there is no such column`,
		"color,size,label,n,n\nred,1,no,1,1\n":   `two columns are named "n"`,
		"red,1,no,5\n":                           "rows have 4 columns, those of the training data had 3",
		"color,size,label\nred,1,no\nred,big,no": `value "big" of column "size" is not a number`,
	} {
		if _, err := read(text, Options{Format: CSV, As: as, Grow: true}); err == nil ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", text, err)
		}
	}
	many := "color,size,label\n"
	for i := range columns.LevelsMax + 1 {
		many += fmt.Sprintf("c%d,1,%d\n", i, i%2)
	}
	if _, err := read(many, Options{Format: CSV, As: as, Grow: true}); err == nil ||
		!strings.Contains(err.Error(), "column color has more than 10000 values") {
		t.Errorf("too many values: %v", err)
	}
	hashed := readText(t, many, Examples, Options{Format: CSV}).Described()
	if more := readText(t, "color,size,label\nmint,1,0\nc3,2,1\n", Examples,
		Options{Format: CSV, As: hashed, Grow: true}); more.Examples.Features != columns.Buckets+1 ||
		more.Reading.Features[0].Buckets != columns.Buckets {
		t.Errorf("hashed values: %d features", more.Examples.Features)
	}
}
