package data

import (
	"path/filepath"
	"reflect"
	"testing"
	"time"
)

// gapped has a number that is missing, in a table of numbers and in one with text. Rows 0 to 3 have 1, 2, 9 and none.
var gapped = map[string]string{
	"dense":  "label,a,b\n0,1,5\n1,2,6\n0,9,7\n1,,8\n",
	"sparse": "label,a,b\n0,1,red\n1,2,blue\n0,9,\n1,?,red\n",
}

// missed returns the fill value in the last row.
func missed(s *Set) float32 {
	e := s.Examples
	if e.Sparse() {
		return e.Value[e.Offset[e.Rows()-1]]
	}
	return e.Dense[len(e.Dense)-e.Features]
}

// TestHeldOutRowsFillNothing: what is missing becomes the mean of the rows that are trained on, there, in rows that are
// held out, and in data that is read later.
func TestHeldOutRowsFillNothing(t *testing.T) {
	t.Parallel()
	for name, text := range gapped {
		s := readText(t, text, Examples, Options{Format: CSV})
		if got := missed(s); got != 4 {
			t.Errorf("%s: read as %g, want the mean of all, 4", name, got)
		}
		first, second, err := s.Divide([]int32{0, 1}, []int32{2, 3}, nil)
		if err != nil {
			t.Fatal(err)
		}
		if got := missed(second); got != 1.5 || *first.Described().Features[0].Fill != 1.5 {
			t.Errorf("%s: divided it is %g, want 1.5", name, got)
		}
		s.FillBy(func(row int) bool { return row != 2 })
		if got := missed(s); got != 1.5 {
			t.Errorf("%s: filled by %g, want 1.5", name, got)
		}
		later := readText(t, "a,b\n,8\n", Examples, Options{Format: CSV, As: s.Described(), Unlabelled: true})
		if missed(later) != 1.5 {
			t.Errorf("%s: later it is %g", name, missed(later))
		}
		test := readText(t, text, Examples, Options{Format: CSV}.ForTest(first))
		if got := missed(test); got != 1.5 {
			t.Errorf("%s: in a test file it is %g, want 1.5", name, got)
		}
	}
}

// TestColumnsOfAModelKeepTheirMeans: data to train a model further is filled as the model's was; what it does not know
// has its own means.
func TestColumnsOfAModelKeepTheirMeans(t *testing.T) {
	t.Parallel()
	as := readText(t, gapped["dense"], Examples, Options{Format: CSV}).Described()
	s := readText(t, "label,a,b,c\n0,100,5,1\n1,,6,\n", Examples, Options{Format: CSV, As: as, Grow: true})
	s.FillBy(func(int) bool { return true })
	if f := s.Reading.Features; len(f) != 3 || *f[0].Fill != 4 || *f[2].Fill != 1 || s.Examples.Dense[3] != 4 ||
		s.Examples.Dense[5] != 1 {
		t.Errorf("%+v: %v", f, s.Examples.Dense)
	}
}

// TestAColumnWithoutGapsKeepsItsMean: it is also that of the training rows, for data that lacks values
// there.
func TestAColumnWithoutGapsKeepsItsMean(t *testing.T) {
	t.Parallel()
	s := readText(t, gapped["dense"], Examples, Options{Format: CSV})
	s.FillBy(func(row int) bool { return row < 2 })
	if got := *s.Described().Features[1].Fill; got != 5.5 {
		t.Errorf("the mean of b is %g", got)
	}
}

// TestStoredGapsAreFilledAnew: a stored table knows what was missing, and is filled as one that has just been read.
func TestStoredGapsAreFilledAnew(t *testing.T) {
	t.Parallel()
	for name, text := range gapped {
		dir := t.TempDir()
		path := writeFile(t, filepath.Join(dir, "a.csv"), []byte(text))
		settle(t, path, time.Hour)
		opt := Options{Cache: filepath.Join(dir, "cache")}
		fresh, stored := mustRead(t, path, Examples, opt), mustRead(t, path, Examples, opt)
		for range 2 {
			if !stored.Detected.FromCache || !reflect.DeepEqual(fresh.Examples, stored.Examples) ||
				!reflect.DeepEqual(fresh.Reading, stored.Reading) {
				t.Fatalf("%s: stored %+v\nfresh %+v", name, stored.Examples, fresh.Examples)
			}
			for _, s := range []*Set{fresh, stored} {
				s.FillBy(func(row int) bool { return row < 2 })
			}
		}
		if got := missed(stored); got != 1.5 {
			t.Errorf("%s: %g", name, got)
		}
	}
}
