package data

import (
	"context"
	"errors"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"testing"
)

// fuzzLimits keep a fuzzed input small.
var fuzzLimits = Limits{LineBytes: 1 << 16, Features: 1 << 16, Rows: 1 << 16, OutputBytes: 1 << 20}

// seed adds the bad inputs of one format.
func seed(f *testing.F, formats ...string) {
	f.Helper()
	for _, format := range formats {
		files, err := filepath.Glob(filepath.Join(badFolder, format, "*"))
		if err != nil || len(files) == 0 {
			f.Fatal(format, err)
		}
		for _, file := range files {
			if filepath.Ext(file) == ".golden" {
				continue
			}
			content, err := os.ReadFile(file)
			if err != nil {
				f.Fatal(err)
			}
			f.Add(content)
		}
	}
}

// fuzzText reads content in one go and in tiny blocks: both must end the same
// way, in an *Error with a place and a sentence or in a set that holds together.
func fuzzText(t *testing.T, content []byte, kind Kind, opt Options) {
	t.Helper()
	opt.Limits = fuzzLimits
	path := filepath.Join(t.TempDir(), "input")
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
	whole, wholeErr := Read(context.Background(), []string{path}, kind, opt)
	opt.blockBytes, opt.Workers = 16, 3
	small, smallErr := Read(context.Background(), []string{path}, kind, opt)
	if (wholeErr == nil) != (smallErr == nil) {
		t.Fatalf("in one block: %v, in many: %v", wholeErr, smallErr)
	}
	if wholeErr != nil {
		var e *Error
		if !errors.As(wholeErr, &e) || e.What == "" || e.File == "" {
			t.Fatalf("not an *Error: %v", wholeErr)
		}
		checkShape(t, "fuzzed", e)
		return
	}
	if !reflect.DeepEqual(whole.Ratings, small.Ratings) || !reflect.DeepEqual(whole.Examples, small.Examples) ||
		!reflect.DeepEqual(whole.Documents, small.Documents) {
		t.Fatal("the size of blocks changes the result")
	}
	checkSet(t, whole)
}

// checkSet wants the invariants that the doc comments of the columns state.
func checkSet(t *testing.T, s *Set) {
	t.Helper()
	finite := func(values []float32) {
		for _, v := range values {
			if math.IsNaN(float64(v)) || math.IsInf(float64(v), 0) {
				t.Fatalf("value %v", v)
			}
		}
	}
	if r := s.Ratings; r != nil {
		finite(r.Rating)
		for i := range r.Rating {
			if int(r.User[i]) >= len(r.Users) || int(r.Item[i]) >= len(r.Items) || r.User[i] < 0 || r.Item[i] < 0 {
				t.Fatal("an index without an id")
			}
		}
		return
	}
	if s.Documents != nil {
		checkDocuments(t, s.Documents)
		return
	}
	e := s.Examples
	finite(e.Label)
	finite(e.Value)
	finite(e.Dense)
	if e.Weight != nil && len(e.Weight) != e.Rows() ||
		slices.ContainsFunc(e.Weight, func(w float32) bool { return !(w >= 1e-9 && w <= 1e9) }) {
		t.Fatalf("weights %v of %d rows", e.Weight, e.Rows())
	}
	if !e.Sparse() {
		if len(e.Dense) != e.Rows()*e.Features {
			t.Fatalf("%d values in %d rows of %d", len(e.Dense), e.Rows(), e.Features)
		}
		return
	}
	if len(e.Offset) != e.Rows()+1 || e.Offset[e.Rows()] != int64(len(e.Index)) || len(e.Index) != len(e.Value) {
		t.Fatal("offsets do not fit")
	}
	for row := range e.Label {
		last := int32(-1)
		for _, index := range e.Index[e.Offset[row]:e.Offset[row+1]] {
			if index <= last || int(index) >= e.Features {
				t.Fatalf("index %d after %d of %d", index, last, e.Features)
			}
			last = index
		}
	}
}

func FuzzLIBSVM(f *testing.F) {
	seed(f, "libsvm", "gzip", "zstd")
	f.Fuzz(func(t *testing.T, content []byte) { fuzzText(t, content, Examples, Options{Format: "libsvm"}) })
}

func FuzzCSV(f *testing.F) {
	seed(f, "csv", "tsv", "input")
	f.Fuzz(func(t *testing.T, content []byte) {
		fuzzText(t, content, Examples, Options{})
		fuzzText(t, content, Examples, Options{Format: "csv"})
		fuzzText(t, content, Examples, Options{Format: "csv", Weight: "2"})
	})
}

func FuzzTriples(f *testing.F) {
	seed(f, "triples")
	f.Fuzz(func(t *testing.T, content []byte) {
		fuzzText(t, content, Ratings, Options{})
		fuzzText(t, content, Ratings, Options{Unlabelled: true, Separator: "::"})
	})
}

func FuzzIDX(f *testing.F) {
	seed(f, "idx")
	f.Fuzz(func(t *testing.T, content []byte) {
		fuzzText(t, content, Examples, Options{Format: "idx", Unlabelled: true})
	})
}

func FuzzDocuments(f *testing.F) {
	seed(f, "documents")
	f.Add([]byte("2\n3\n2\n1 3 1\n1 2 5\n"))
	f.Add([]byte("Words, d’être\nand – more\r\n\n"))
	f.Fuzz(func(t *testing.T, content []byte) {
		fuzzText(t, content, Documents, Options{})
		fuzzText(t, content, Documents, Options{Format: "docword", Words: []string{"2", "1", "7"}})
		fuzzText(t, content, Documents, Options{Format: "text", Unlabelled: true})
		fuzzText(t, content, Documents, Options{Format: "text", Unlabelled: true, StopWords: English, Ngrams: 2})
	})
}

func FuzzLibFM(f *testing.F) {
	seed(f, "libfm", "libsvm")
	f.Fuzz(func(t *testing.T, content []byte) { fuzzText(t, content, Examples, Options{Format: LibFM}) })
}

func FuzzLDAC(f *testing.F) {
	seed(f, "ldac")
	f.Fuzz(func(t *testing.T, content []byte) {
		fuzzText(t, content, Documents, Options{Format: LDAC})
		fuzzText(t, content, Documents, Options{Format: LDAC, Words: []string{"a", "b", "c"}})
	})
}

func FuzzJSONLines(f *testing.F) {
	seed(f, "jsonl")
	f.Fuzz(func(t *testing.T, content []byte) {
		fuzzText(t, content, Examples, Options{Format: JSONL})
		fuzzText(t, content, Examples, Options{Format: JSONL, Weight: "w"})
		fuzzText(t, content, Ratings, Options{Format: JSONL})
		fuzzText(t, content, Documents, Options{Format: JSONL, Text: "text"})
	})
}

func FuzzVW(f *testing.F) {
	seed(f, "vw")
	f.Fuzz(func(t *testing.T, content []byte) {
		fuzzText(t, content, Examples, Options{Format: VW, HashBits: 6})
		fuzzText(t, content, Examples, Options{Format: VW, HashBits: 6, Unlabelled: true, Ignore: []string{"f"}})
		fuzzText(t, content, Examples, Options{Format: VW, HashBits: 6, Ngrams: 2, Quadratic: []string{"ff", "f "}})
	})
}
