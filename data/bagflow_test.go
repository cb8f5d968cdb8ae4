package data

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestDocumentsAboveADefectAreTaken checks that a docword gives all whole documents before a defect, none after it, and
// the same ones for any size of blocks. A document before a defective line may not be whole; nor the last one, if the
// header promises more.
func TestDocumentsAboveADefectAreTaken(t *testing.T) {
	t.Parallel()
	words := []string{"a", "b", "c", "d", "e"}
	var body []string
	for i := range 200 {
		// every other document is empty: 99 is the last that is not
		body = append(body, fmt.Sprintf("%d %d 1", i/4*2+1, i%4+1))
	}
	with := func(at int, lines ...string) string {
		return "120\n5\n200\n" + strings.Join(slices.Insert(slices.Clone(body), at, lines...), "\n") + "\n"
	}
	for name, c := range map[string]struct {
		text string
		rows int
		want string
	}{
		"nothing is wrong":       {with(0), 120, ""},
		"a line of nonsense":     {with(41, "nonsense"), 20, "-:45:1: document \"nonsense\" is not a whole number"},
		"an order that is none":  {with(40, "3 5 1"), 18, "-:44:1: document 3 comes after document 19"},
		"a word that is too big": {with(8, "9 6 1"), 2, "-:12:3: word 6 is outside 1 to 5"},
		"a word twice":           {with(22, "11 1 1"), 10, "-: document 11 has the word 1 twice"},
		"too few entries": {"120\n5\n201\n" + strings.Join(body, "\n"), 97,
			"-: the header promises 201 entries, there are 200"},
		"too many entries": {"120\n5\n199\n" + strings.Join(body, "\n"), 97,
			"-: the header promises 199 entries, there are 200"},
		"no entry": {"70000\n5\n1\n", 70000 - 65536, "-: the header promises 1 entries, there are 0"},
	} {
		for _, bytes := range []int{1 << 20, 400, 60} {
			opt := Options{Words: words, Vocab: vocabOf(t, words), blockBytes: bytes, Workers: 3}
			rows, _, _, err := streamed(t, c.text, Documents, opt)
			if len(rows) != c.rows || (err == nil) != (c.want == "") || err != nil &&
				!strings.Contains(err.Error(), strings.TrimPrefix(c.want, "-")) {
				t.Errorf("%s, blocks of %d bytes: %d rows, %v; not %d, %s", name, bytes, len(rows), err, c.rows, c.want)
			}
			for d, row := range rows[:min(len(rows), 90)] {
				want := " a:1 b:1 c:1 d:1"
				if d%2 == 1 || name == "no entry" {
					want = ""
				}
				if row != want {
					t.Errorf("%s, blocks of %d bytes: document %d is %q", name, bytes, d+1, row)
				}
			}
		}
	}
}

func vocabOf(t testing.TB, words []string) string {
	file := filepath.Join(t.TempDir(), "vocab.txt")
	if err := os.WriteFile(file, []byte(strings.Join(words, "\n")+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// TestDocumentsMayBeLong: longer than blocks, and than the longest line.
func TestDocumentsMayBeLong(t *testing.T) {
	t.Parallel()
	text := "3\n3000\n3001\n"
	for i := range 3000 {
		text += fmt.Sprintf("2 %d 1\n", i+1)
	}
	text += "3 1 1\n"
	var words []string
	for i := range 3000 {
		words = append(words, fmt.Sprint(i+1))
	}
	rows, _, d, err := streamed(t, text, Documents,
		Options{Words: words, blockBytes: 64, Limits: Limits{LineBytes: 100}})
	if err != nil || len(rows) != 3 || rows[0] != "" || strings.Count(rows[1], ":") != 3000 || rows[2] != " 1:1" ||
		d.Rows != 3 || d.Tokens != 3001 {
		t.Errorf("%d rows, %+v: %v", len(rows), d, err)
	}
}

// TestImagesFlow reads images in blocks, with their labels, and reports a file that is cut short.
func TestImagesFlow(t *testing.T) {
	t.Parallel()
	const rows, width = 3000, 400
	images := []byte{0, 0, 8, 3, 0, 0, rows >> 8, rows & 255, 0, 0, 0, 20, 0, 0, 0, 20}
	labels := []byte{0, 0, 8, 1, 0, 0, rows >> 8, rows & 255}
	for i := range rows * width {
		images = append(images, byte(i*i%251))
	}
	for i := range rows {
		labels = append(labels, byte(i%7))
	}
	file := filepath.Join(t.TempDir(), "x-images-idx3-ubyte")
	write := func(name string, b []byte) {
		if err := os.WriteFile(name, b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(file, images)
	beside := strings.Replace(file, "images-idx3", "labels-idx1", 1)
	write(beside, labels)
	whole, err := Read(t.Context(), []string{file}, Examples, Options{})
	if err != nil {
		t.Fatal(err)
	}
	want := rowsInWords(whole)
	stream := func(opt Options) (got []string, blocks int, d Detection, err error) {
		return streamOf(t, []string{file}, Examples, opt)
	}
	got, blocks, d, err := stream(Options{Features: width, Workers: 3})
	if err != nil || blocks < 3 || !slices.Equal(got, want) ||
		fmt.Sprintf("%+v", d) != fmt.Sprintf("%+v", whole.Detected) {
		t.Errorf("%d rows in %d blocks, %+v not %+v: %v", len(got), blocks, d, whole.Detected, err)
	}
	if err := os.Rename(beside, beside+".away"); err != nil {
		t.Fatal(err)
	}
	_, _, d, err = stream(Options{Features: width, Unlabelled: true})
	lone, failed := Read(t.Context(), []string{file}, Examples, Options{Unlabelled: true})
	if err != nil || failed != nil || d.Classes != 0 || d.Files != 1 ||
		fmt.Sprintf("%+v", d) != fmt.Sprintf("%+v", lone.Detected) {
		t.Errorf("without labels: %+v: %v, %v", d, err, failed)
	}
	write(beside, labels)
	for what, cut := range map[string][]byte{"the file holds 1199990 values": images[:len(images)-10],
		"data follows": append(slices.Clone(images), 1)} {
		write(file, cut)
		if _, _, _, err := stream(Options{}); err == nil || !strings.Contains(err.Error(), what) {
			t.Errorf("%v, not %s", err, what)
		}
	}
}

// FuzzBagsFlow compares bags of words that flow with the same bags read whole: both have an error or none, and equal
// documents.
func FuzzBagsFlow(f *testing.F) {
	for _, text := range []string{"3\n5\n2\n1 1 1\n3 2 1\n", "9\n2\n3\n2 1 1\n\n2 2 4 \n7 1 1",
		"2\n2\n2\n1 1 1\n1 1 1\n", "2\n2\n2\n2 1 1\n1 1 1\n", "2\n2\n1\n 1 x\n", "4\n5\n1\n4 5 1\n"} {
		f.Add(text)
	}
	file := vocabOf(f, []string{"a", "b", "c", "d", "e"})
	f.Fuzz(func(t *testing.T, text string) {
		opt := Options{Words: []string{"a", "c", "e"}, Vocab: file, Format: Docword, Unlabelled: true, blockBytes: 16,
			Workers: 2, Limits: Limits{LineBytes: 50, Rows: 3000}}
		o := opt
		o.Stdin = strings.NewReader(text)
		set, want := Read(t.Context(), []string{"-"}, Documents, o)
		rows, _, _, err := streamed(t, text, Documents, opt)
		if (err == nil) != (want == nil) {
			t.Fatalf("it flows to %v, and is read to %v", err, want)
		}
		if err == nil && !slices.Equal(rows, rowsInWords(set)) {
			t.Errorf("%q, not %q", rows, rowsInWords(set))
		}
	})
}
