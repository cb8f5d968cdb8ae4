package data

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"bellows/data/internal/bags"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/klauspost/compress/gzip"
)

// files writes files into a folder of the test's own.
func files(t *testing.T, content map[string]string) (dir string) {
	t.Helper()
	dir = t.TempDir()
	for name, text := range content {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func readDocuments(t *testing.T, opt Options, paths ...string) *Set {
	t.Helper()
	set, err := Read(context.Background(), paths, Documents, opt)
	if err != nil {
		t.Fatal(err)
	}
	checkDocuments(t, set.Documents)
	return set
}

// checkDocuments wants the invariants that the doc comments state.
func checkDocuments(t *testing.T, s *DocumentSet) {
	t.Helper()
	tokens := int64(0)
	for d := range s.Rows() {
		word, count := s.Doc(d)
		for i, w := range word {
			if w < 0 || int(w) >= len(s.Vocab) || i > 0 && w <= word[i-1] || count[i] < 1 {
				t.Fatalf("document %d: words %v, counts %v of %d words", d, word, count, len(s.Vocab))
			}
			tokens += int64(count[i])
		}
	}
	if tokens != s.Tokens() {
		t.Fatalf("%d tokens, not %d", s.Tokens(), tokens)
	}
}

// shown returns documents as words, for comparison.
func shown(s *DocumentSet) (docs []string) {
	for d := range s.Rows() {
		word, count := s.Doc(d)
		var all []string
		for i, w := range word {
			for range count[i] {
				all = append(all, s.Vocab[w])
			}
		}
		docs = append(docs, strings.Join(all, " "))
	}
	return docs
}

const bagText = "4\n3\n5\n1 1 2\n1 3 1\n2 3 1\n2 2 1\n4 1 1\n"

func TestBagOfWords(t *testing.T) {
	t.Parallel()
	dir := files(t, map[string]string{"docword.x.txt": bagText, "vocab.x.txt": "ape\nbee\ncat\n", "other.txt": bagText,
		"names": "x\ny\nz\n"})
	set := readDocuments(t, Options{}, filepath.Join(dir, "docword.x.txt"))
	if got, want := shown(set.Documents), []string{"ape ape cat", "bee cat", "", "ape"}; !slices.Equal(got, want) {
		t.Errorf("documents %q, not %q", got, want)
	}
	if got, want := set.Detected.String(), "4 documents × 3 words, 6 tokens, docword"; got != want {
		t.Errorf("detected %q, not %q", got, want)
	}
	for opt, want := range map[string]string{"": "1 1 3", filepath.Join(dir, "names"): "x x z"} {
		set = readDocuments(t, Options{Vocab: opt}, filepath.Join(dir, "other.txt"))
		if got := shown(set.Documents)[0]; got != want {
			t.Errorf("vocabulary %q gives %q, not %q", opt, got, want)
		}
	}
}

func TestBagsTogetherAndPacked(t *testing.T) {
	t.Parallel()
	dir := files(t, map[string]string{"docword.a.txt": bagText, "vocab.a.txt": "ape\nbee\ncat\n"})
	a, b := filepath.Join(dir, "docword.a.txt"), filepath.Join(dir, "docword.b.txt.gz")
	f, err := os.Create(b)
	if err != nil {
		t.Fatal(err)
	}
	z := gzip.NewWriter(f)
	if _, err := z.Write([]byte("2\n3\n1\n2 2 7\n")); err != nil || z.Close() != nil || f.Close() != nil {
		t.Fatal(err)
	}
	set := readDocuments(t, Options{}, a, b)
	if got, want := shown(set.Documents)[3:],
		[]string{"ape", "", "bee bee bee bee bee bee bee"}; !slices.Equal(got, want) || set.Rows() != 6 {
		t.Errorf("documents %q, not %q", got, want)
	}
}

func TestText(t *testing.T) {
	t.Parallel()
	text := "The cat’s 2 hats, don't they? A1 x\n\nÜber Café naïve—well\r\n'quoted' -- 12 3.5 end'\n" +
		strings.Repeat("y", 60)
	dir := files(t, map[string]string{"a.txt": text})
	set := readDocuments(t, Options{}, filepath.Join(dir, "a.txt"))
	want := []string{"the cat's hats don't they a1", "", "über café naïve well", "quoted end", ""}
	if got := shown(set.Documents); !slices.Equal(got, want) {
		t.Errorf("documents %q, not %q", got, want)
	}
	if got, want := set.Detected.String(), "5 documents × 12 words, 12 tokens, text"; got != want {
		t.Errorf("detected %q, not %q", got, want)
	}
}

func TestRareAndCommonWordsAreDropped(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	for d := range 30 {
		b.WriteString("the " + []string{"red", "blue"}[d%2])
		if d == 7 {
			b.WriteString(" once")
		}
		b.WriteString("\n")
	}
	dir := files(t, map[string]string{"a.txt": b.String(), "b.txt": "the once red blue green\n"})
	train := readDocuments(t, Options{}, filepath.Join(dir, "a.txt"))
	if got := train.Documents.Vocab; !slices.Equal(got, []string{"red", "blue"}) || train.Detected.Rare != 1 ||
		train.Detected.Common != 1 {
		t.Errorf("vocabulary %q, detected %v", got, train.Detected)
	}
	test := readDocuments(t, Options{}.ForTest(train), filepath.Join(dir, "b.txt"))
	if got := shown(test.Documents); !slices.Equal(got, []string{"red blue"}) || test.Detected.Dropped != 3 {
		t.Errorf("test document %q, %d dropped", got, test.Detected.Dropped)
	}
}

// A bag of other words than a model's is read by the names of its words, or by their numbers.
func TestBagLikeAnother(t *testing.T) {
	t.Parallel()
	dir := files(t, map[string]string{"docword.x.txt": bagText, "vocab.x.txt": "dog\ncat\nape\n", "bare.txt": bagText})
	set := readDocuments(t, Options{Words: []string{"ape", "cat"}}, filepath.Join(dir, "docword.x.txt"))
	if got := shown(set.Documents); !slices.Equal(got, []string{"ape", "ape cat", "", ""}) ||
		set.Detected.Dropped != 3 {
		t.Errorf("documents %q, %d dropped", got, set.Detected.Dropped)
	}
	set = readDocuments(t, Options{Words: []string{"a", "b", "c", "d"}}, filepath.Join(dir, "bare.txt"))
	if got := shown(set.Documents)[0]; got != "a a c" {
		t.Errorf("by number %q", got)
	}
}

func TestBlocksAndWorkersDoNotChangeDocuments(t *testing.T) {
	t.Parallel()
	text := strings.Repeat("one two three\nfour two\n\nfive six seven eight\n", 40)
	dir := files(t, map[string]string{"a.txt": text, "b.txt": bagText})
	for _, name := range []string{"a.txt", "b.txt"} {
		path := filepath.Join(dir, name)
		want := readDocuments(t, Options{Workers: 1}, path).Documents
		for _, workers := range []int{1, 3} {
			got := readDocuments(t, Options{Workers: workers, blockBytes: 30}, path).Documents
			if !reflect.DeepEqual(got, want) {
				t.Errorf("%s: %d workers give %q, not %q", name, workers, shown(got), shown(want))
			}
		}
	}
}

// LDA-C counts words from 0 and names them by the vocabulary in the same folder, which may have words that no document
// has.
func TestLDAC(t *testing.T) {
	t.Parallel()
	dir := files(t, map[string]string{"ap.ldac": "2 2:1 0:3\r\n\n0\n1 1:2\n", "ap.vocab": "ape\nbee\ncat\ndog\n",
		"bare.dat": "2 0:1 3:2\n1 1:1"})
	set := readDocuments(t, Options{}, filepath.Join(dir, "ap.ldac"))
	if got := shown(set.Documents); !slices.Equal(got, []string{"ape ape ape cat", "", "bee bee"}) ||
		len(set.Documents.Vocab) != 4 {
		t.Errorf("documents %q of %q", got, set.Documents.Vocab)
	}
	if got, want := set.Detected.String(), "3 documents × 4 words, 6 tokens, LDA-C"; got != want {
		t.Errorf("detected %q, not %q", got, want)
	}
	bare := readDocuments(t, Options{}, filepath.Join(dir, "bare.dat"))
	if got := shown(bare.Documents); !slices.Equal(got, []string{"0 3 3", "1"}) {
		t.Errorf("by number %q", got)
	}
	like := readDocuments(t, Options{Words: []string{"cat", "ape"}}, filepath.Join(dir, "ap.ldac"))
	if got := shown(like.Documents); !slices.Equal(got, []string{"cat ape ape ape", "", ""}) ||
		like.Detected.Dropped != 2 {
		t.Errorf("by a model's words %q, %d dropped", got, like.Detected.Dropped)
	}
}

// TestWordsOfText leaves words out and joins pairs, in every form that text has, and reads other text by the model.
func TestWordsOfText(t *testing.T) {
	t.Parallel()
	dir := files(t, map[string]string{"a.txt": "The apes, of New York\nnew 9 york's the Ape\n",
		"a.jsonl":   `{"text": "The apes, of New York"}` + "\n" + `{"text": "new 9 york's the Ape"}` + "\n",
		"stops.txt": "APES\nof the ape’s\n", "b.txt": "apes of the new york\n", "docword.txt": bagText,
		"none.txt": "1 2 3\n", "bad.txt": "a\xff\n"})
	s := arrow.NewSchema([]arrow.Field{field("text", arrow.BinaryTypes.String)}, nil)
	if err := os.WriteFile(filepath.Join(dir, "a.arrows"),
		asStream(t, s, framed(t, s, `[{"text": "The apes, of New York"}]`, `[{"text": "new 9 york's the Ape"}]`)),
		0o600); err != nil {
		t.Fatal(err)
	}
	at := func(name string) string { return filepath.Join(dir, name) }
	for _, name := range []string{"a.txt", "a.jsonl", "a.arrows"} {
		for _, c := range []struct {
			opt  Options
			want []string
		}{
			{Options{StopWords: English}, []string{"apes new york", "new york's ape"}},
			{Options{StopWords: at("stops.txt")}, []string{"new york", "new york's ape"}},
			{Options{Ngrams: 2, StopWords: English},
				[]string{"apes new apes_new york new_york", "new york's new_york's ape york's_ape"}},
			{Options{Ngrams: 2, StopWords: at("stops.txt"), Cache: t.TempDir()},
				[]string{"new york new_york", "new york's new_york's ape york's_ape"}},
			{Options{Ngrams: 1}, []string{"the apes of new york", "the new york's ape"}},
		} {
			for _, workers := range []int{1, 3} {
				c.opt.Workers, c.opt.blockBytes = workers, 30
				set := readDocuments(t, c.opt, at(name))
				if got := shown(set.Documents); !slices.Equal(got, c.want) {
					t.Errorf("%s, %d: documents %q, not %q", name, workers, got, c.want)
				}
				other := readDocuments(t, Options{}.ForTest(set), at("b.txt"))
				// "b" has the first document's words, and those that it knows alone
				want := strings.Count(" "+c.want[0]+" ", " new ")
				if word, _ := other.Documents.Doc(0); want != 1 || len(word) != len(strings.Fields(c.want[0])) &&
					!strings.Contains(c.want[0], "apes_new") {
					t.Errorf("%s: %d words from %s are in the other text", name, len(word), c.want[0])
				}
				if set.Reading.Ngrams != c.opt.Ngrams || (len(set.Reading.StopWords) > 0) != (c.opt.StopWords != "") {
					t.Errorf("%s: read by %d, %q", name, set.Reading.Ngrams, set.Reading.StopWords)
				}
			}
		}
	}
	set := readDocuments(t, Options{Ngrams: 2, StopWords: English}, at("a.txt"))
	for _, c := range []struct {
		name, want string
		opt        Options
	}{
		{"docword.txt", "leave out --stop-words and --ngrams", Options{Ngrams: 2}},
		{"docword.txt", "counted already", Options{StopWords: English}},
		{"a.txt", "nowhere: there is no such file", Options{StopWords: at("nowhere")}},
		{"a.txt", "it has no word with a letter and 2 or more characters", Options{StopWords: at("none.txt")}},
		{"a.txt", "bad.txt:1:2: the text is not UTF-8", Options{StopWords: at("bad.txt")}},
		{"a.txt", "is neither 1 nor 2", Options{Ngrams: 3}},
		{"a.txt", "the model says what they are", Options{As: set.Reading, Ngrams: 1}},
		{"a.txt", "the model says what they are", Options{As: set.Reading, StopWords: at("stops.txt"), Ngrams: 2}},
	} {
		var e *Error
		if _, err := Read(t.Context(), []string{at(c.name)}, Documents, c.opt); !errors.As(err, &e) ||
			!strings.Contains(err.Error(), c.want) {
			t.Errorf("%s with %+v: %v, not %s", c.name, c.opt, err, c.want)
		} else {
			checkShape(t, c.name, e)
		}
	}
	if _, err := Read(t.Context(), []string{at("a.txt")}, Documents,
		Options{As: set.Reading, StopWords: English, Ngrams: 2}); err != nil {
		t.Error(err)
	}
}

// TestEnglishStops checks that stop words have the form of words of text.
func TestEnglishStops(t *testing.T) {
	t.Parallel()
	list := bags.EnglishStops()
	if len(list) < 200 || !slices.IsSorted(list) || slices.Contains(list, "time") {
		t.Fatalf("%d words", len(list))
	}
	path := writeFile(t, filepath.Join(t.TempDir(), "list.txt"), []byte(strings.Join(list, "\n")+"\n"))
	set := readDocuments(t, Options{Format: Text, Unlabelled: true}, path)
	words := slices.Clone(set.Documents.Vocab)
	if slices.Sort(words); len(words) != len(list)-set.Detected.Rare {
		t.Errorf("%d words of %d are read as such", len(words), len(list))
	}
	if set = readDocuments(t, Options{Format: Text, Unlabelled: true, StopWords: English},
		path); set.Documents.Tokens() != 0 {
		t.Errorf("%d words of the list are not on it", set.Documents.Tokens())
	}
}
