package data

import (
	"context"
	"errors"
	"flag"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"bellows/data/internal/images"
	"bellows/data/internal/lines"
)

var update = flag.Bool("update", false, "write the golden messages of testdata/bad")

const badFolder = "testdata/bad"

// badOptions are the options of inputs that need some to be wrong.
var badOptions = map[string]Options{
	"libsvm/index-zero-base-one.svm": {IndexBase: "1"},
	"libsvm/index-over-limit.svm":    {Limits: Limits{Features: 1000}},
	"libsvm/line-over-limit.svm":     {Limits: Limits{LineBytes: 2000}},
	"csv/label-missing.csv":          {Label: "price"},
	"csv/label-number.csv":           {Label: "4"},
	"csv/header-no.csv":              {Header: HeaderNo},
	"csv/ignore-missing.csv":         {Ignore: []string{"c"}},
	"csv/ignore-label.csv":           {Ignore: []string{"1"}, Label: "y"},
	"csv/wrong-width.csv":            {Features: 7},
	"tsv/label-missing.tsv":          {Label: "price"},
	"gzip/bomb.svm.gz":               {Limits: Limits{OutputBytes: 100_000}},
	"gzip/long-line.svm.gz":          {Limits: Limits{LineBytes: 50_000}},
	"zstd/bomb.svm.zst":              {Limits: Limits{OutputBytes: 100_000}},
	"input/not-idx.txt":              {Format: "idx"},
	"jsonl/many-keys.jsonl":          {Limits: Limits{Features: 50}},
	"jsonl/sep.jsonl":                {Separator: ","},
	"jsonl/header.jsonl":             {Header: HeaderNo},
	"jsonl/base.jsonl":               {IndexBase: "1"},
	"jsonl/lacks.jsonl":              {As: trainedOn("a", "b")},
	"jsonl/nameless.jsonl":           {Features: 1},
	"jsonl/documents-named.jsonl":    {Text: "body"},
	"jsonl/documents-plain.txt":      {Text: "body"},
	"vw/bits.vw":                     {HashBits: 40},
	"vw/other-bits.vw":               {HashBits: 20, As: &Reading{Format: VW, HashBits: 18}},
	"vw/not-hashed.vw":               {As: &Reading{Format: LIBSVM, IndexBase: new(1)}, Features: 9},
	"vw/base.vw":                     {IndexBase: "1"},
	"vw/categorical.vw":              {Categorical: []string{"a"}},
	"vw/label-flag.vw":               {Label: "y"},
	"vw/bars.txt":                    {},
	"vw/for-libsvm.svm":              {As: &Reading{Format: VW, HashBits: 18}, Features: 1 << 18},
	"vw/bits.svm":                    {HashBits: 10},
	"vw/ngrams.svm":                  {Ngrams: 2},
	"vw/other-ngrams.vw":             {Ngrams: 1, As: &Reading{Format: VW, HashBits: 18, Ngrams: 2}, Features: 1 << 18},
	"jsonl/ngrams.jsonl":             {Ngrams: 2},
	"libfm/over-limit.libfm":         {Limits: Limits{Features: 1000}},
	"libfm/base.libfm":               {IndexBase: "1"},
	"libfm/text-labels.libfm":        {As: &Reading{Format: LIBSVM, TextLabels: true}},
	"csv/weight-negative.csv":        {Weight: "w"},
	"csv/weight-nan.csv":             {Weight: "w"},
	"csv/weight-empty.csv":           {Weight: "w"},
	"csv/weight-infinite.csv":        {Weight: "w"},
	"csv/weight-huge.csv":            {Weight: "w"},
	"csv/weight-tiny.csv":            {Weight: "w"},
	"csv/weight-word.csv":            {Weight: "w"},
	"csv/weight-comma.csv":           {Weight: "w"},
	"csv/weight-all-zero.csv":        {Weight: "w"},
	"csv/weight-zero-short.csv":      {Weight: "w"},
	"csv/weight-zero-long.csv":       {Weight: "w"},
	"csv/weight-missing.csv":         {Weight: "w"},
	"csv/weight-only.csv":            {Weight: "w"},
	"csv/weight-label.csv":           {Weight: "w", Label: "w"},
	"csv/weight-ignored.csv":         {Weight: "w", Ignore: []string{"w"}},
	"csv/weight-text.csv":            {Weight: "2", Categorical: []string{"w"}},
	"tsv/weight-negative.tsv":        {Weight: "w"},
	"vw/weight-flag.vw":              {Weight: "w"},
	"libsvm/weight-flag.svm":         {Weight: "w"},
	"jsonl/weight-negative.jsonl":    {Weight: "w"},
	"jsonl/weight-null.jsonl":        {Weight: "w"},
	"jsonl/weight-text.jsonl":        {Weight: "w"},
	"jsonl/weight-array.jsonl":       {Weight: "w"},
	"jsonl/weight-lacks.jsonl":       {Weight: "w"},
	"ldac/over-limit.ldac":           {Limits: Limits{Features: 1000}},
	"ldac/vocabulary-short.ldac":     {Vocab: "ldac/short.vocab"},
	"ldac/more-words.ldac":           {Words: []string{"ape", "bee"}},
}

// notBad are files that are only wrong together with others.
var notBad = []string{
	"idx/count-labels-idx1-ubyte", "idx/dims-labels-idx1-ubyte",
	"input/mixed-a.svm", "input/mixed-b.csv", "input/width-a.csv", "input/width-b.csv",
	"input/names-a.csv", "input/names-b.csv", "input/tab-b.csv", "documents/docword.ok.txt",
	"documents/vocab.short.txt", "documents/vocab.long.txt", "documents/vocab.twice.txt", "documents/vocab.blank.txt",
	"ldac/short.vocab", "ldac/ok.ldac", "jsonl/ok.jsonl",
}

// badCase is one read that must fail with the message in golden.
type badCase struct {
	name   string
	inputs []string
	kind   Kind
	opt    Options
}

// combined are failures that no single file makes.
var combined = []badCase{
	{"input/missing", []string{"nowhere.csv"}, Examples, Options{}},
	{"input/missing-second", []string{"input/mixed-a.svm", "nowhere.svm"}, Examples, Options{}},
	{"input/glob-empty", []string{"input/*.tsv"}, Examples, Options{}},
	{"input/glob-bad", []string{"input/[a"}, Examples, Options{}},
	{"input/folder", []string{"input"}, Examples, Options{}},
	{"input/none", nil, Examples, Options{}},
	{"input/stdin-twice", []string{"-", "-"}, Examples, Options{Stdin: strings.NewReader("1 1:1\n")}},
	{"input/stdin-bad", []string{"-"}, Ratings, Options{Stdin: strings.NewReader("1 2 3\n1 2 x\n")}},
	{"input/mixed-formats", []string{"input/mixed-a.svm", "input/mixed-b.csv"}, Examples, Options{}},
	{"input/mixed-widths", []string{"input/width-a.csv", "input/width-b.csv"}, Examples, Options{}},
	{"input/mixed-headers", []string{"input/names-a.csv", "input/names-b.csv"}, Examples, Options{}},
	{"input/header-late", []string{"input/width-a.csv", "input/names-a.csv"}, Examples, Options{}},
	{"input/mixed-separators", []string{"input/width-a.csv", "input/tab-b.csv"}, Examples, Options{}},
	{"input/second-of-two", []string{"input/width-a.csv", "input/second-bad.csv"}, Examples, Options{}},
	{"input/rows-over-limit", []string{"input/width-a.csv", "input/width-a.csv"}, Examples,
		Options{Limits: Limits{Rows: 1}}},
	{"input/format-unknown", []string{"input/mixed-a.svm"}, Examples, Options{Format: "arff"}},
	{"input/separator-bad", []string{"input/width-a.csv"}, Examples, Options{Separator: "ab"}},
	{"input/separator-double", []string{"input/width-a.csv"}, Examples, Options{Separator: "::"}},
	{"input/base-bad", []string{"input/mixed-a.svm"}, Examples, Options{IndexBase: "2"}},
	{"input/triples-for-examples", []string{"input/width-b.csv"}, Examples, Options{Format: "triples"}},
	{"idx/for-ratings", []string{"idx/lonely-images-idx3-ubyte"}, Ratings, Options{}},
	{"idx/weights", []string{"idx/lonely-images-idx3-ubyte"}, Examples, Options{Weight: "w"}},
	{"idx/ignored", []string{"idx/lonely-images-idx3-ubyte"}, Examples, Options{Ignore: []string{"3"}}},
	{"idx/hashed", []string{"idx/lonely-images-idx3-ubyte"}, Examples, Options{HashBits: 20}},
	{"idx/pairs", []string{"idx/lonely-images-idx3-ubyte"}, Examples, Options{Ngrams: 2}},
	{"input/weights-of-ratings", []string{"input/width-b.csv"}, Ratings, Options{Weight: "1"}},
	{"csv/weight-of-times", []string{"input/names-a.csv"}, Examples, Options{Weight: "1", Timed: true, Time: "1"}},
	{"idx/labels-missing", []string{"idx/lonely-images-idx3-ubyte"}, Examples, Options{Label: "idx/nowhere"}},
	{"idx/wrong-width", []string{"idx/lonely-images-idx3-ubyte"}, Examples, Options{Features: 784}},
	{"documents/idx", []string{"idx/lonely-images-idx3-ubyte"}, Documents, Options{}},
	{"documents/as-csv", []string{"documents/libsvm.txt"}, Documents, Options{Format: "csv"}},
	{"documents/for-ratings", []string{"documents/libsvm.txt"}, Ratings, Options{Format: "docword"}},
	{"documents/mixed", []string{"documents/docword.ok.txt", "documents/no-words.txt"}, Documents, Options{}},
	{"documents/other-vocabulary", []string{"documents/docword.ok.txt", "documents/docword.short.txt"}, Documents,
		Options{}},
	{"documents/vocabulary-missing", []string{"documents/docword.ok.txt"}, Documents,
		Options{Vocab: "documents/nowhere"}},
	{"documents/more-words", []string{"documents/docword.ok.txt"}, Documents, Options{Words: []string{"ape"}}},
	{"csv/label-lacks", []string{"input/width-b.csv"}, Examples, Options{Header: HeaderYes, As: trainedOn("a", "b")}},
	{"csv/further-columns", []string{"input/names-a.csv"}, Examples, Options{Unlabelled: true, As: trainedOn("y")}},
	{"csv/other-width", []string{"input/width-a.csv"}, Examples, Options{As: trainedOn("a", "b", "c")}},
	{"csv/ignore-all", []string{"input/width-a.csv"}, Examples, Options{Ignore: []string{"1", "2"}}},
	{"csv/number-too-far", []string{"input/width-a.csv"}, Examples, Options{Categorical: []string{"9"}}},
	{"libsvm/label-column", []string{"input/mixed-a.svm"}, Examples, Options{Label: "y"}},
	{"libsvm/ignore", []string{"input/mixed-a.svm"}, Examples, Options{Ignore: []string{"1"}}},
	{"libfm/for-ratings", []string{"libfm/base.libfm"}, Ratings, Options{}},
	{"ldac/for-examples", []string{"ldac/ok.ldac"}, Examples, Options{}},
	{"ldac/mixed", []string{"ldac/ok.ldac", "documents/docword.ok.txt"}, Documents, Options{}},
	{"vw/for-ratings", []string{"vw/base.vw"}, Ratings, Options{}},
	{"vw/behind-libsvm", []string{"input/mixed-a.svm", "vw/base.vw"}, Examples, Options{}},
	{"jsonl/behind-csv", []string{"input/names-a.csv", "jsonl/ok.jsonl"}, Examples, Options{}},
	{"jsonl/before-csv", []string{"jsonl/ok.jsonl", "input/names-a.csv"}, Examples, Options{}},
	{"images/folder-top", []string{"../folders/top"}, Examples, Options{}},
	{"images/folder-empty-class", []string{"../folders/empty"}, Examples, Options{}},
	{"images/folder-of-tables", []string{"../folders/tables"}, Examples, Options{}},
	{"images/folder-sizes", []string{"../folders/sizes"}, Examples, Options{}},
	{"images/folder-odd-file", []string{"../folders/odd"}, Examples, Options{}},
	{"images/folder-for-ratings", []string{"../folders/ok"}, Ratings, Options{}},
	{"images/folder-as-csv", []string{"../folders/ok"}, Examples, Options{Format: "csv"}},
	{"images/folder-label", []string{"../folders/ok"}, Examples, Options{Label: "a"}},
	{"images/folder-weight", []string{"../folders/ok"}, Examples, Options{Weight: "a"}},
	{"images/folder-header", []string{"../folders/ok"}, Examples, Options{Header: HeaderYes}},
	{"images/folder-ignore", []string{"../folders/ok"}, Examples, Options{Ignore: []string{"a"}}},
	{"images/folder-then-table", []string{"../folders/ok", "input/width-a.csv"}, Examples, Options{}},
	{"images/folder-behind-table", []string{"input/width-a.csv", "../folders/ok"}, Examples, Options{}},
	{"images/folder-rows", []string{"../folders/ok"}, Examples, Options{Limits: Limits{Rows: 1}}},
	{"images/folders-rows", []string{"../folders/ok", "../folders/ok"}, Examples, Options{Limits: Limits{Rows: 3}}},
	{"images/model-size", []string{"../folders/ok"}, Examples,
		Options{Features: 16, As: &Reading{Format: Images, TextLabels: true,
			Image: &images.Size{Width: 4, Height: 4, Channels: 1}}}},
	{"images/model-features", []string{"../folders/ok"}, Examples, Options{Features: 784}},
	{"images/model-grey", []string{"../folders/colours"}, Examples,
		Options{Features: 6, As: &Reading{Format: Images, TextLabels: true,
			Image: &images.Size{Width: 3, Height: 2, Channels: 1}}}},
	{"images/model-numbers", []string{"../folders/ok"}, Examples, Options{Features: 6, As: &Reading{Format: IDX}}},
	{"images/model-table", []string{"../folders/ok"}, Examples, Options{As: trainedOn("a", "b")}},
	{"images/not-a-tar", []string{"input/width-a.csv"}, Examples, Options{Format: "images"}},
	{"images/tar-for-ratings", []string{"images/top.tar"}, Ratings, Options{}},
	{"images/tar-as-idx", []string{"images/top.tar"}, Examples, Options{Format: "idx"}},
	{"csv/other-columns", []string{"input/names-a.csv"}, Examples, Options{As: trainedOn("b")}},
}

// trainedOn returns a table with a label called y and these features.
func trainedOn(features ...string) *Reading {
	r := &Reading{Format: CSV, Separator: "comma", Header: true, Label: &Column{Name: "y", Number: 1}}
	for i, name := range features {
		r.Features = append(r.Features, Column{Name: name, Number: i + 2})
	}
	return r
}

// badCases lists every bad input: one a file, and the combined ones.
func badCases(t *testing.T) []badCase {
	t.Helper()
	var cases []badCase
	err := fs.WalkDir(os.DirFS("."), ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || strings.HasSuffix(path, ".golden") || slices.Contains(notBad, path) {
			return err
		}
		kind := Examples
		if strings.HasPrefix(path, "triples/") || strings.HasPrefix(path, "jsonl/ratings-") {
			kind = Ratings
		}
		if strings.HasPrefix(path, "documents/") || strings.HasPrefix(path, "ldac/") ||
			strings.HasPrefix(path, "jsonl/documents-") {
			kind = Documents
		}
		cases = append(cases, badCase{path, []string{path}, kind, badOptions[path]})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return append(cases, combined...)
}

// TestBadInputs reads every bad input and compares the message with its golden file.
func TestBadInputs(t *testing.T) {
	t.Chdir(badFolder)
	cases := badCases(t)
	perFormat, causes := map[string]int{}, map[string]bool{}
	for _, c := range cases {
		_, err := Read(context.Background(), c.inputs, c.kind, c.opt)
		if err == nil {
			t.Errorf("%s: read without an error", c.name)
			continue
		}
		var e *Error
		if !errors.As(err, &e) {
			t.Errorf("%s: not an *Error: %v", c.name, err)
			continue
		}
		checkShape(t, c.name, e)
		if strings.HasSuffix(e.What, ".") || strings.HasSuffix(e.How, ".") {
			t.Errorf("%s: ends in a full stop: %s", c.name, e)
		}
		compareGolden(t, c.name+".golden", e.Error()+"\n")
		perFormat[filepath.Dir(c.name)]++
		causes[cause(e.What)] = true
	}
	for format, n := range perFormat {
		if n < 6 {
			t.Errorf("%s has %d bad inputs, fewer than 6", format, n)
		}
	}
	if len(cases) < 60 || len(causes) < 20 {
		t.Errorf("%d bad inputs with %d causes; promised are 60 with 20", len(cases), len(causes))
	}
}

// cause returns a message without its particulars.
func cause(what string) string {
	return strings.Map(func(r rune) rune {
		if r >= '0' && r <= '9' {
			return -1
		}
		return r
	}, what)
}

func compareGolden(t *testing.T, name, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(name, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s: got\n%swant\n%s", name, got, want)
	}
}

// checkShape wants what every message must have: a place, a sentence, a remedy,
// and carets under the excerpt.
func checkShape(t *testing.T, name string, e *Error) {
	t.Helper()
	if e.File == "" || e.What == "" || e.How == "" {
		t.Errorf("%s: incomplete: %#v", name, e)
	}
	if (e.Line == 0) != (e.Column == 0) {
		t.Errorf("%s: line %d but column %d", name, e.Line, e.Column)
	}
	length := len([]rune(e.Text))
	if e.Mark < 0 || e.Mark > length || e.Text != "" && e.Mark+e.Width > length+1 || length > lines.ExcerptMax+4 {
		t.Errorf("%s: carets at %d, %d wide, under %d characters", name, e.Mark, e.Width, length)
	}
}
