package data

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"
)

func readText(t *testing.T, text string, kind Kind, opt Options) *Set {
	t.Helper()
	opt.Stdin = strings.NewReader(text)
	s, err := Read(context.Background(), []string{"-"}, kind, opt)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func writeFile(t *testing.T, path string, content []byte) string {
	t.Helper()
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// randomNumber writes a number in one of the shapes that files have.
func randomNumber(rng *rand.Rand) string {
	switch rng.IntN(5) {
	case 0:
		return strconv.Itoa(rng.IntN(200) - 100)
	case 1:
		return strconv.FormatFloat(rng.NormFloat64(), 'g', -1, 64)
	case 2:
		return strconv.FormatFloat(rng.NormFloat64()*1e-20, 'e', 5, 64)
	case 3:
		return "+" + strconv.FormatFloat(rng.Float64(), 'f', 4, 64)
	}
	return strconv.FormatFloat(rng.Float64()*1e6, 'f', 3, 64)
}

func float(t *testing.T, field string) float32 {
	t.Helper()
	v, err := strconv.ParseFloat(field, 32)
	if err != nil {
		t.Fatal(err)
	}
	return float32(v)
}

// variants returns ways to read that must not change the result.
func variants() []Options {
	return []Options{{}, {Workers: 1}, {Workers: 3, blockBytes: 64}, {Workers: 7, blockBytes: 1000}}
}

// TestLibsvmEqualsReference compares with a reader made of strings.Fields and strconv.
func TestLibsvmEqualsReference(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(5, 6))
	var text strings.Builder
	want := &ExampleSet{Offset: []int64{0}, IndexBase: 1}
	for range 3000 {
		label := randomNumber(rng)
		text.WriteString(label)
		want.Label = append(want.Label, float(t, label))
		index := 0
		for range rng.IntN(9) {
			index += 1 + rng.IntN(40)
			value := randomNumber(rng)
			fmt.Fprintf(&text, "%s%d:%s", []string{" ", "\t", "  "}[rng.IntN(3)], index, value)
			want.Index = append(want.Index, int32(index-1))
			want.Value = append(want.Value, float(t, value))
			want.Features = max(want.Features, index)
		}
		want.Offset = append(want.Offset, int64(len(want.Index)))
		text.WriteString([]string{"\n", " \n", "\r\n", " # note 3:4\n", "\n\n", "\n# 1 2:3\n"}[rng.IntN(6)])
	}
	for _, opt := range variants() {
		s := readText(t, text.String(), Examples, opt)
		s.Examples.written = numerals{} // which the tests of labels look at
		if !reflect.DeepEqual(s.Examples, want) {
			t.Errorf("%+v: differs from the reference", opt)
		}
	}
}

func TestTableEqualsReference(t *testing.T) {
	t.Parallel()
	for _, separator := range []string{",", "\t", ";", " ", "|"} {
		rng := rand.New(rand.NewPCG(7, 8))
		var text strings.Builder
		want := &ExampleSet{Features: 4, FeatureNames: []string{"a", "b", "c", "d"}}
		text.WriteString(strings.Join([]string{"a", "b", `"y"`, "c", "d"}, separator) + "\n")
		for range 2000 {
			var fields []string
			for column := range 5 {
				field := randomNumber(rng)
				if v := float(t, field); column == 2 {
					want.Label = append(want.Label, v)
				} else {
					want.Dense = append(want.Dense, v)
				}
				if rng.IntN(8) == 0 {
					field = `"` + field + `"`
				}
				fields = append(fields, field)
			}
			text.WriteString(strings.Join(fields, separator) + []string{"\n", "\r\n"}[rng.IntN(2)])
		}
		for _, opt := range variants() {
			opt.Separator, opt.Label, opt.Format = separator, "y", "csv"
			s := readText(t, text.String(), Examples, opt)
			s.Examples.written = numerals{}
			if !reflect.DeepEqual(s.Examples, want) {
				t.Errorf("%q %+v: differs from the reference", separator, opt)
			}
			if !s.Detected.Header || s.Detected.Label != `"y"` {
				t.Errorf("%q: detected %+v", separator, s.Detected)
			}
		}
	}
}

func TestTriplesEqualReference(t *testing.T) {
	t.Parallel()
	lines := 4000
	if testing.Short() {
		lines = 500
	}
	for _, separator := range []string{",", "\t", ";", " ", "::"} {
		for _, timed := range []string{"", separator + "978300760"} {
			rng := rand.New(rand.NewPCG(9, 10))
			var text strings.Builder
			want := &RatingSet{}
			users, items := map[string]int32{}, map[string]int32{}
			for range lines {
				user := []string{"007", "7", "x-é", "user", "12345678901234567890", "4194304", "4194303",
					"0"}[rng.IntN(8)]
				if rng.IntN(2) == 0 {
					user = strconv.Itoa(rng.IntN(3000))
				}
				item, rating := strconv.Itoa(rng.IntN(1<<23)), randomNumber(rng)
				want.User = append(want.User, intern(user, users, &want.Users))
				want.Item = append(want.Item, intern(item, items, &want.Items))
				want.Rating = append(want.Rating, float(t, rating))
				text.WriteString(user + separator + item + separator + rating + timed +
					[]string{"\n", "\r\n", "\n\n"}[rng.IntN(3)])
			}
			for _, opt := range variants() {
				s := readText(t, text.String(), Ratings, opt)
				if !reflect.DeepEqual(s.Ratings, want) {
					t.Errorf("%q %q %+v: differs from the reference", separator, timed, opt)
				}
			}
		}
	}
}

// intern numbers ids by first appearance; it is the slow reference.
func intern(id string, known map[string]int32, ids *[]string) int32 {
	at, ok := known[id]
	if !ok {
		at = int32(len(*ids))
		known[id] = at
		*ids = append(*ids, id)
	}
	return at
}

func TestDetection(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, text string
		kind       Kind
		opt        Options
		want       string
	}{
		{"a.tsv", "1\t2\t3\n1\t3\t4\n", Ratings, Options{},
			"2 ratings, 1 × 2, triples, tab, columns user 1, item 2, rating 3"},
		{"ratings.csv", "userId,movieId,rating,timestamp\n1,2,3.5,99\n", Ratings, Options{},
			"1 rating, 1 × 1, triples, comma, header, user \"userId\", item \"movieId\", rating \"rating\""},
		{"a.dat", "1::2::3::4\n", Ratings, Options{}, "1 rating, 1 × 1, triples, ::, columns user 1, item 2, rating 3"},
		{"a", "\"1\";\"0345\";\"0\"\n", Ratings, Options{},
			"1 rating, 1 × 1, triples, semicolon, columns user 1, item 2, rating 3"},
		{"a", "a;b,c,5\n", Ratings, Options{}, "1 rating, 1 × 1, triples, comma, columns user 1, item 2, rating 3"},
		{"a", "1 1:2\n2 3:1\n", Examples, Options{}, "2 rows × 3 features, 2 classes, LIBSVM, base 1"},
		{"a", "1 1:2\n2 0:1\n", Examples, Options{}, "2 rows × 2 features, 2 classes, LIBSVM, base 0"},
		{"a.txt", "1 |f a:1 b\n-1 |g a\n", Examples, Options{},
			"2 rows × 262 144 features, 2 classes, Vowpal Wabbit, 18 bits of hash"},
		{"a.vw", "1 |f a:1 b\n2 |\n", Examples, Options{HashBits: 10, Ignore: []string{"g"}},
			"2 rows × 1 024 features, 2 classes, Vowpal Wabbit, 10 bits of hash"},
		{"a.vw", "1 |f a b\n2 |f b a\n", Examples, Options{Ngrams: 2},
			"2 rows × 262 144 features, 2 classes, Vowpal Wabbit, 18 bits of hash, pairs of names"},
		{"a.vw", "1 |f a b\n2 |f b a\n", Examples,
			Options{As: &Reading{Format: VW, HashBits: 18, Ngrams: 2}, Features: 1 << 18},
			"2 rows × 262 144 features, 2 classes, Vowpal Wabbit, 18 bits of hash, pairs of names"},
		{"c.libfm", "-0.5 7:2 0:1 3:4 # a\n2.5\n", Examples, Options{}, "2 rows × 8 features, libFM, base 0"},
		{"a.libfm", "1 1:2\n2 2:1\n", Examples, Options{}, "2 rows × 3 features, 2 classes, libFM, base 0"},
		{"a", "1\n2 3:1\n", Examples, Options{}, "2 rows × 3 features, 2 classes, LIBSVM, base 1"},
		{"a", "# made by hand\n1 2:1\n", Examples, Options{}, "1 row × 2 features, 1 class, LIBSVM, base 1"},
		{"a", "1 1:2 5:1\n", Examples, Options{Features: 3},
			"1 row × 3 features, 1 class, LIBSVM, base 1, 1 value of unknown features ignored"},
		{"a.csv", "y,a\n1.5,2\n", Examples, Options{}, "1 row × 1 feature, CSV, comma, header, label \"y\""},
		{"a", "1,2\n", Examples, Options{Label: "2"},
			"1 row × 1 feature, 1 class, CSV, comma, no header, label column 2"},
		{"a", "\xef\xbb\xbf1\t2\n", Examples, Options{},
			"1 row × 1 feature, 1 class, TSV, tab, no header, label column 1 (the first column; --label overrules)"},
		{"a", "1 2 3\n", Examples, Options{},
			"1 row × 2 features, 1 class, CSV, space, no header, label column 1 (the first column; --label overrules)"},
		{"a", "0.5;1,5\n", Examples, Options{Separator: ";", Header: HeaderYes}, ""},
		{"a", "7 8\n", Ratings, Options{Unlabelled: true}, "1 rating, 1 × 1, triples, space, columns user 1, item 2"},
		{"a", "7,8\n", Examples, Options{Unlabelled: true, Features: 2}, "1 row × 2 features, CSV, comma, no header"},
	} {
		path := writeFile(t, filepath.Join(t.TempDir(), c.name), []byte(c.text))
		s, err := Read(context.Background(), []string{path}, c.kind, c.opt)
		switch {
		case c.want == "" && err == nil:
			t.Errorf("%s %q: read as %s", c.name, c.text, s.Detected)
		case c.want != "" && err != nil:
			t.Errorf("%s %q: %v", c.name, c.text, err)
		case c.want != "" && s.Detected.String() != c.want:
			t.Errorf("%s %q: %s, want %s", c.name, c.text, s.Detected, c.want)
		}
	}
}

func TestManyFilesAndCompression(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var zipped, zstded bytes.Buffer
	z := gzip.NewWriter(&zipped)
	z.Write([]byte("y,a\n1,2\n"))
	z.Close()
	z = gzip.NewWriter(&zipped) // a second member
	z.Write([]byte("3,4\n"))
	z.Close()
	s, err := zstd.NewWriter(&zstded)
	if err != nil {
		t.Fatal(err)
	}
	s.Write([]byte("5,6")) // no header, no newline
	s.Close()
	writeFile(t, filepath.Join(dir, "part-2.csv.zst"), zstded.Bytes())
	writeFile(t, filepath.Join(dir, "part-1.csv.gz"), zipped.Bytes())
	writeFile(t, filepath.Join(dir, "part-3.csv"), []byte("y,a\n7,8\n"))
	set, err := Read(context.Background(), []string{filepath.Join(dir, "part-*")}, Examples, Options{Label: "y"})
	if err != nil {
		t.Fatal(err)
	}
	if e := set.Examples; !slices.Equal(e.Label, []float32{1, 3, 5, 7}) ||
		!slices.Equal(e.Dense, []float32{2, 4, 6, 8}) || set.Detected.Files != 3 {
		t.Errorf("got %+v, %s", e, set.Detected)
	}
}

func TestTestSetLikeTraining(t *testing.T) {
	t.Parallel()
	train := readText(t, "1 0:1 4:2\n", Examples, Options{})
	test := readText(t, "0 1:1\n1 2:1 9:5\n", Examples, Options{}.ForTest(train))
	if e := test.Examples; e.Features != 5 || e.IndexBase != 0 || !slices.Equal(e.Index, []int32{1, 2}) ||
		test.Detected.Dropped != 1 {
		t.Errorf("got %+v, %+v", e, test.Detected)
	}
	known := readText(t, "a x 1\nb y 2\n", Ratings, Options{}).Ratings
	user, item := readText(t, "c y 1\nb x 2\na z 3\n", Ratings, Options{}).Ratings.IndicesIn(known)
	if !slices.Equal(user, []int32{-1, 1, 0}) || !slices.Equal(item, []int32{1, 0, -1}) {
		t.Errorf("got %v %v", user, item)
	}
}

func TestCancelledRead(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_, err := Read(ctx, []string{"-"}, Examples, Options{Stdin: strings.NewReader(strings.Repeat("1 1:1\n", 1000))})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

// The first error in the order of the input is reported, whichever worker meets one first.
func TestFirstErrorInOrder(t *testing.T) {
	t.Parallel()
	lines := make([]string, 5000)
	for i := range lines {
		lines[i] = "1 1:1"
	}
	lines[1234], lines[1300], lines[4000] = "1 1:first", "1 1:second", "1 1:third"
	text := strings.Join(lines, "\n")
	for range 20 {
		_, err := Read(context.Background(), []string{"-"}, Examples,
			Options{Stdin: strings.NewReader(text), Workers: 8, blockBytes: 128})
		var e *Error
		if !errors.As(err, &e) || e.Line != 1235 || e.Column != 5 {
			t.Fatalf("got %v", err)
		}
	}
}

func TestHeldOut(t *testing.T) {
	t.Parallel()
	for _, percent := range []int{0, 5, 10, 50, 100} {
		kept := 0
		for row := range int64(100_000) {
			if HeldOut(1, row, percent) {
				kept++
			}
			if HeldOut(1, row, percent) && percent < 50 && !HeldOut(1, row, 50) {
				t.Fatal("a larger share does not contain a smaller one")
			}
		}
		if diff := kept - 1000*percent; diff < -500 || diff > 500 {
			t.Errorf("%d percent: %d of 100000", percent, kept)
		}
	}
	same := 0
	for row := range int64(10_000) {
		if HeldOut(1, row, 10) && HeldOut(2, row, 10) {
			same++
		}
	}
	if same < 50 || same > 200 {
		t.Errorf("seeds 1 and 2 share %d of 10000 rows, about 100 expected", same)
	}
}

func TestIDXTypes(t *testing.T) {
	t.Parallel()
	for kind, raw := range map[byte][]byte{
		0x08: {1, 2, 3, 4}, 0x09: {1, 2, 3, 4}, 0x0b: {0, 1, 0, 2, 0, 3, 0, 4},
		0x0c: {0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0, 3, 0, 0, 0, 4},
		0x0d: {0x3f, 0x80, 0, 0, 0x40, 0, 0, 0, 0x40, 0x40, 0, 0, 0x40, 0x80, 0, 0},
	} {
		dir := t.TempDir()
		images := writeFile(t, filepath.Join(dir, "x-images-idx3-ubyte"),
			append([]byte{0, 0, kind, 3, 0, 0, 0, 2, 0, 0, 0, 1, 0, 0, 0, 2}, raw...))
		writeFile(t, filepath.Join(dir, "x-labels-idx1-ubyte"), []byte{0, 0, 8, 1, 0, 0, 0, 2, 5, 9})
		s, err := Read(context.Background(), []string{images}, Examples, Options{})
		if err != nil {
			t.Fatal(err)
		}
		if e := s.Examples; e.Features != 2 || !slices.Equal(e.Dense, []float32{1, 2, 3, 4}) ||
			!slices.Equal(e.Label, []float32{5, 9}) {
			t.Errorf("type %#x: %+v", kind, e)
		}
	}
}
