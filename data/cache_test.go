package data

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
)

// settle makes a file old enough to be stored.
func settle(t *testing.T, path string, age time.Duration) {
	t.Helper()
	then := time.Now().Add(-age)
	if err := os.Chtimes(path, then, then); err != nil {
		t.Fatal(err)
	}
}

func mustRead(t *testing.T, path string, kind Kind, opt Options) *Set {
	t.Helper()
	s, err := Read(context.Background(), []string{path}, kind, opt)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// samples returns one input of every stored shape.
func samples() map[string]struct {
	kind Kind
	text string
} {
	rng := rand.New(rand.NewPCG(11, 12))
	var sparse, dense, ratings, text strings.Builder
	dense.WriteString("y,first,\"second, quoted\"\n")
	for row := range 100 {
		fmt.Fprintf(&sparse, "%d", row%3)
		for index := 1; index < 50; index += 1 + rng.IntN(30) {
			fmt.Fprintf(&sparse, " %d:%g", index, rng.Float32())
		}
		sparse.WriteString("\n")
		fmt.Fprintf(&dense, "%d,%g,%g\n", row, rng.Float32(), rng.Float32())
		fmt.Fprintf(&ratings, "user %d\titem-é%d\t%g\n", rng.IntN(9), rng.IntN(20), rng.Float32())
		fmt.Fprintf(&text, "ape%d bee%d cat%d ape%d\n", row%7, row%5, row%3, row%4)
	}
	text.WriteString("nothing\n")
	return map[string]struct {
		kind Kind
		text string
	}{
		"a.svm": {Examples, sparse.String()}, "a.csv": {Examples, dense.String()}, "a.tsv": {Ratings, ratings.String()},
		"a.txt":         {Documents, text.String()},
		"docword.a.txt": {Documents, "6\n4\n5\n1 1 2\n1 4 1\n3 2 1\n3 4 7\n6 1 1\n"},
	}
}

func TestStoredSetIsTheSame(t *testing.T) {
	t.Parallel()
	for name, c := range samples() {
		dir := t.TempDir()
		path := writeFile(t, filepath.Join(dir, name), []byte(c.text))
		settle(t, path, time.Hour)
		plain := mustRead(t, path, c.kind, Options{})
		opt := Options{Cache: filepath.Join(dir, "cache")}
		fresh, stored := mustRead(t, path, c.kind, opt), mustRead(t, path, c.kind, opt)
		if fresh.Detected.FromCache || fresh.Detected.CacheProblem != "" || !stored.Detected.FromCache {
			t.Fatalf("%s: %+v then %+v", name, fresh.Detected, stored.Detected)
		}
		idle := mustRead(t, path, c.kind, opt)
		idle.Idle()
		opt.Cache, opt.Mapped = filepath.Join(dir, "another"), true
		mapped := mustRead(t, path, c.kind, opt)
		if mapped.Detected.FromCache || !mapped.Mapped() {
			t.Errorf("%s: what was parsed is still there", name)
		}
		mapped.Idle()
		for _, s := range []*Set{fresh, stored, idle, mapped} {
			if s.Rows() != plain.Rows() || !reflect.DeepEqual(s.Ratings, plain.Ratings) ||
				!reflect.DeepEqual(s.Examples, plain.Examples) ||
				!reflect.DeepEqual(s.Documents, plain.Documents) || s.Detected.String() != plain.Detected.String() {
				t.Errorf("%s: differs from what was parsed", name)
			}
		}
	}
}

// contents spells out the rows of a set, whatever holds them.
func contents(s *Set) []any {
	var rows []any
	if r := s.Ratings; r != nil {
		for i := range r.Rating {
			rows = append(rows, r.Users[r.User[i]], r.Items[r.Item[i]], r.Rating[i])
		}
		return rows
	}
	if d := s.Documents; d != nil {
		for i := range d.Rows() {
			word, count := d.Doc(i)
			rows = append(rows, fmt.Sprint(word, count))
		}
		return rows
	}
	e := s.Examples
	for i, y := range e.Label {
		rows = append(rows, y)
		if e.Sparse() {
			rows = append(rows, fmt.Sprint(e.Index[e.Offset[i]:e.Offset[i+1]], e.Value[e.Offset[i]:e.Offset[i+1]]))
		} else {
			rows = append(rows, fmt.Sprint(e.Dense[i*e.Features:(i+1)*e.Features]))
		}
	}
	return rows
}

// TestSelect: the chosen rows of every kind of set, in the order given; one may be chosen twice.
func TestSelect(t *testing.T) {
	t.Parallel()
	for name, c := range samples() {
		s := mustRead(t, writeFile(t, filepath.Join(t.TempDir(), name), []byte(c.text)), c.kind, Options{})
		checkSelect(t, name, s)
	}
	dir := files(t, map[string]string{"a.txt": "ape bee ape\n\ncat\nbee\nape cat\n"})
	checkSelect(t, "a.txt", readDocuments(t, Options{Unlabelled: true}, filepath.Join(dir, "a.txt")))
}

func checkSelect(t *testing.T, name string, s *Set) {
	t.Helper()
	all := contents(s)
	each := len(all) / s.Rows()
	for _, rows := range [][]int32{{4, 0, 3, 3}, {}} {
		var want []any
		for _, r := range rows {
			want = append(want, all[int(r)*each:][:each]...)
		}
		if got := s.Select(rows); got.Rows() != len(rows) || !reflect.DeepEqual(contents(got), want) {
			t.Errorf("%s: rows %v are %v, not %v", name, rows, contents(got), want)
		}
	}
}

func TestStoredSetFollowsItsInput(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := writeFile(t, filepath.Join(dir, "a.svm"), []byte("1 1:1\n"))
	settle(t, path, time.Hour)
	opt := Options{Cache: filepath.Join(dir, "cache")}
	mustRead(t, path, Examples, opt)
	other := opt
	other.IndexBase = "0"
	if s := mustRead(t, path, Examples, other); s.Detected.FromCache || s.Examples.Features != 2 {
		t.Errorf("other options took the stored set: %+v", s.Detected)
	}
	writeFile(t, path, []byte("1 2:1\n")) // same size, another time
	settle(t, path, time.Minute)
	if s := mustRead(t, path, Examples, opt); s.Detected.FromCache || s.Examples.Features != 2 {
		t.Errorf("a changed input took the stored set: %+v", s.Detected)
	}
	if s := mustRead(t, path, Examples, opt); !s.Detected.FromCache {
		t.Error("the changed input was not stored")
	}
	folders, err := filepath.Glob(filepath.Join(opt.Cache, "*"))
	if err != nil || len(folders) != 2 {
		t.Errorf("two reads left %v, %v", folders, err)
	}
}

func TestYoungInputIsNotStored(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := writeFile(t, filepath.Join(dir, "a.svm"), []byte("1 1:1\n"))
	settle(t, path, -time.Hour)
	if s := mustRead(t, path, Examples, Options{Cache: filepath.Join(dir, "cache")}); s.Detected.CacheProblem == "" {
		t.Error("an input of this moment was stored")
	}
}

func TestImagesAreStoredWithTheirLabels(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	images := writeFile(t, filepath.Join(dir, "x-images-idx3-ubyte"),
		[]byte{0, 0, 8, 3, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 2, 7, 8})
	labels := writeFile(t, filepath.Join(dir, "x-labels-idx1-ubyte"), []byte{0, 0, 8, 1, 0, 0, 0, 1, 5})
	settle(t, images, time.Hour)
	settle(t, labels, time.Hour)
	opt := Options{Cache: filepath.Join(dir, "cache")}
	mustRead(t, images, Examples, opt)
	if s := mustRead(t, images, Examples, opt); !s.Detected.FromCache || s.Examples.Label[0] != 5 {
		t.Errorf("not stored: %+v", s.Detected)
	}
	writeFile(t, labels, []byte{0, 0, 8, 1, 0, 0, 0, 1, 6})
	settle(t, labels, time.Minute)
	if s := mustRead(t, images, Examples, opt); s.Detected.FromCache || s.Examples.Label[0] != 6 {
		t.Errorf("changed labels took the stored set: %+v", s.Detected)
	}
}

// Whatever happens to a file of the slot, the input is parsed again and the slot rewritten.
func TestDamagedSlotIsRewritten(t *testing.T) {
	t.Parallel()
	for name, c := range samples() {
		dir := t.TempDir()
		path := writeFile(t, filepath.Join(dir, name), []byte(c.text))
		settle(t, path, time.Hour)
		opt := Options{Cache: filepath.Join(dir, "cache")}
		want := contents(mustRead(t, path, c.kind, opt))
		files, err := filepath.Glob(filepath.Join(opt.Cache, "*", "*"))
		if err != nil || len(files) < 2 {
			t.Fatal(files, err)
		}
		for _, file := range files {
			for _, damage := range damages {
				whole, err := os.ReadFile(file)
				if err != nil {
					t.Fatal(err)
				}
				damage(t, file, bytes.Clone(whole))
				s := mustRead(t, path, c.kind, opt)
				if s.Detected.FromCache || s.Detected.CacheProblem != "" || !reflect.DeepEqual(contents(s), want) {
					t.Errorf("%s: %+v", file, s.Detected)
				}
				if s = mustRead(t, path, c.kind, opt); !s.Detected.FromCache || !reflect.DeepEqual(contents(s), want) {
					t.Errorf("%s was not rewritten: %+v", file, s.Detected)
				}
			}
		}
	}
}

var damages = []func(t *testing.T, file string, whole []byte){
	func(t *testing.T, file string, whole []byte) {
		if err := os.Remove(file); err != nil {
			t.Fatal(err)
		}
	},
	func(t *testing.T, file string, whole []byte) { replaceFile(t, file, whole[:len(whole)/2]) },
	func(t *testing.T, file string, whole []byte) { replaceFile(t, file, nil) },
	func(t *testing.T, file string, whole []byte) {
		at := bytes.IndexFunc(whole[len(whole)/2:], func(r rune) bool { return r >= '0' && r <= '9' })
		whole[len(whole)/2+max(0, at)] ^= 1
		replaceFile(t, file, whole)
	},
}

// replaceFile puts a new file in the place of one that may be mapped.
func replaceFile(t *testing.T, file string, content []byte) {
	t.Helper()
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	writeFile(t, file, content)
}

func TestUnwritableCacheIsNoFailure(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := writeFile(t, filepath.Join(dir, "a.svm"), []byte("1 1:1\n"))
	settle(t, path, time.Hour)
	blocked := writeFile(t, filepath.Join(dir, "cache"), nil)
	if s := mustRead(t, path, Examples, Options{Cache: blocked}); s.Detected.CacheProblem == "" || s.Rows() != 1 {
		t.Errorf("got %+v", s.Detected)
	}
}

func TestAbandonedWritersAreSwept(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := writeFile(t, filepath.Join(dir, "a.svm"), []byte("1 1:1\n"))
	settle(t, path, time.Hour)
	opt := Options{Cache: filepath.Join(dir, "cache")}
	mustRead(t, path, Examples, opt)
	slots, err := filepath.Glob(filepath.Join(opt.Cache, "*"))
	if err != nil || len(slots) != 1 {
		t.Fatal(slots, err)
	}
	for name, age := range map[string]time.Duration{".part-old": 48 * time.Hour, ".part-young": time.Hour} {
		if err := os.Mkdir(slots[0]+name, 0o755); err != nil {
			t.Fatal(err)
		}
		settle(t, slots[0]+name, age)
	}
	settle(t, path, time.Minute)
	mustRead(t, path, Examples, opt)
	_, old := os.Stat(slots[0] + ".part-old")
	_, young := os.Stat(slots[0] + ".part-young")
	if old == nil || young != nil {
		t.Errorf("old: %v, young: %v", old, young)
	}
}

// TestVocabulariesAreStoredWithTheirBags changes the words beside a bag, takes them away, and names others.
func TestVocabulariesAreStoredWithTheirBags(t *testing.T) {
	t.Parallel()
	dir := files(t, map[string]string{"docword.x.txt": "2\n2\n2\n1 1 2\n2 2 1\n", "vocab.x.txt": "ape\nbee\n",
		"other.txt": "cat\ndog\n"})
	bag, vocab := filepath.Join(dir, "docword.x.txt"), filepath.Join(dir, "vocab.x.txt")
	settle(t, bag, time.Hour)
	settle(t, vocab, time.Hour)
	settle(t, filepath.Join(dir, "other.txt"), time.Hour)
	opt := Options{Cache: t.TempDir()}
	read := func(opt Options, stored bool, words ...string) {
		t.Helper()
		if s := mustRead(t, bag, Documents, opt); s.Detected.FromCache != stored ||
			!slices.Equal(s.Documents.Vocab, words) {
			t.Errorf("words are %v, from the cache: %v", s.Documents.Vocab, s.Detected.FromCache)
		}
	}
	read(opt, false, "ape", "bee")
	read(opt, true, "ape", "bee")
	named := opt
	named.Vocab = filepath.Join(dir, "other.txt")
	read(named, false, "cat", "dog")
	read(named, true, "cat", "dog")
	writeFile(t, vocab, []byte("eel\nfox\n"))
	settle(t, vocab, time.Minute)
	read(opt, false, "eel", "fox")
	read(opt, true, "eel", "fox")
	if err := os.Remove(vocab); err != nil {
		t.Fatal(err)
	}
	read(opt, false, "1", "2")
	known := opt
	known.Words = []string{"9", "2"}
	if s := mustRead(t, bag, Documents, known); s.Detected.FromCache || !slices.Equal(s.Documents.Vocab, known.Words) {
		t.Errorf("told words are not those of the stored set: %+v", s.Detected)
	}
}
