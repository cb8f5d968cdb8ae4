package sets

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"bellows/bench/internal/pair"
	"bellows/data"
)

func open(t *testing.T, dir string) *Shelf {
	t.Helper()
	s := Open(dir)
	t.Cleanup(s.Close)
	return s
}

func TestGeneratedSetsReadAsStated(t *testing.T) {
	t.Parallel()
	s := open(t, "")
	if !s.Generated() {
		t.Error("a shelf without a folder is one that generates")
	}
	for _, c := range []struct {
		make              func() Pair
		kind              data.Kind
		train, test, wide int
		classes           int
		sparse            bool
	}{
		{make: func() Pair { return s.Ratings(30, 20, 500) }, kind: data.Ratings, train: 500, test: 50},
		{make: func() Pair { return s.Images(300, 40, 5) }, kind: data.Examples, train: 300, test: 40, wide: 25, classes: 10},
		{make: func() Pair { return s.Documents(400, 60, 900) }, kind: data.Examples, train: 400, test: 60, classes: 20, sparse: true},
	} {
		p := c.make()
		train, test := p.Read(c.kind)
		if train.Rows() != c.train || test.Rows() != c.test {
			t.Errorf("%s: %d and %d rows, want %d and %d", p.Name, train.Rows(), test.Rows(), c.train, c.test)
		}
		if c.kind == data.Ratings {
			continue
		}
		e := train.Examples
		if got := len(e.Classes(100)); got != c.classes || e.Sparse() != c.sparse || c.wide > 0 && e.Features != c.wide {
			t.Errorf("%s: %d classes, sparse %v, %d features", p.Name, got, e.Sparse(), e.Features)
		}
	}
}

func TestGeneratedSetsRepeat(t *testing.T) {
	t.Parallel()
	var text [2][]byte
	for i := range text {
		var err error
		if text[i], err = os.ReadFile(open(t, "").Ratings(30, 20, 200).Train); err != nil {
			t.Fatal(err)
		}
	}
	if !bytes.Equal(text[0], text[1]) {
		t.Error("the same seed made two sets")
	}
}

func TestFindLooksOnlyBelowTheFolder(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	below := filepath.Join(dir, "rec")
	if err := os.Mkdir(below, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"a.train.tsv", "a.test.tsv", "b.train.tsv"} {
		if err := os.WriteFile(filepath.Join(below, name), []byte("1\t2\t3\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	s := open(t, dir)
	if p := s.Find("a"); p.Train != filepath.Join(below, "a.train.tsv") || p.Test != filepath.Join(below, "a.test.tsv") {
		t.Errorf("found %+v", p)
	}
	if err := pair.Attempt(func() { s.Find("b") }); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a set without its test file: error %v, want that it does not exist", err)
	}
	if err := pair.Attempt(func() { Open(filepath.Join(dir, "nowhere")) }); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a folder that is not there: error %v", err)
	}
}

func TestPlainUnpacks(t *testing.T) {
	t.Parallel()
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	z.Write([]byte("some text\n"))
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "x.tsv.gz")
	if err := os.WriteFile(path, packed.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	if text, err := os.ReadFile(open(t, "").Plain(path)); err != nil || string(text) != "some text\n" {
		t.Errorf("read %q, %v", text, err)
	}
	if err := os.WriteFile(path, packed.Bytes()[:packed.Len()-6], 0o600); err != nil {
		t.Fatal(err)
	}
	if pair.Attempt(func() { open(t, "").Plain(path) }) == nil {
		t.Error("a file that was cut off was unpacked without an error")
	}
}
