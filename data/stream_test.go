package data

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"testing"
)

// rowsInWords returns each row of a set in words.
func rowsInWords(set *Set) (rows []string) {
	for r := range set.Rows() {
		var b strings.Builder
		switch {
		case set.Ratings != nil:
			s := set.Ratings
			fmt.Fprint(&b, s.Users[s.User[r]], " ", s.Items[s.Item[r]], " ", s.Rating[r])
		case set.Documents != nil:
			word, count := set.Documents.Doc(r)
			for i, w := range word {
				fmt.Fprint(&b, " ", set.Documents.Vocab[w], ":", count[i])
			}
		default:
			e := set.Examples
			if e.Weight != nil && e.Weight[r] != 1 {
				fmt.Fprint(&b, e.Weight[r], " times ")
			}
			if e.LabelNames != nil {
				b.WriteString(e.LabelNames[int(e.Label[r])])
			} else {
				fmt.Fprint(&b, e.Label[r])
			}
			if !e.Sparse() {
				fmt.Fprint(&b, e.Dense[r*e.Features:][:e.Features])
				break
			}
			for i := e.Offset[r]; i < e.Offset[r+1]; i++ {
				fmt.Fprint(&b, " ", e.Index[i], ":", e.Value[i])
			}
		}
		rows = append(rows, b.String())
	}
	return rows
}

// streamed calls streamOf with standard input.
func streamed(t *testing.T, text string, kind Kind, opt Options) (rows []string, blocks int, d Detection, err error) {
	t.Helper()
	opt.Stdin = strings.NewReader(text)
	return streamOf(t, []string{"-"}, kind, opt)
}

// streamOf returns the rows of a stream, in order, and the number of their blocks.
func streamOf(t *testing.T, paths []string, kind Kind, opt Options) (rows []string, blocks int, d Detection,
	err error) {
	t.Helper()
	d, err = Stream(context.Background(), paths, kind, opt, func(b *Block) error {
		some := rowsInWords(b.Set)
		if err := b.Turn(); err != nil {
			return err
		}
		if b.Row != int64(len(rows)) {
			t.Errorf("a block begins with row %d, and there are %d before it", b.Row, len(rows))
		}
		rows, blocks = append(rows, some...), blocks+1
		return nil
	})
	return rows, blocks, d, err
}

// streams are inputs that were trained on, and of the same kind such as are read by what was learned of the first.
var streams = []struct {
	name       string
	kind       Kind
	train      string
	opt        Options // of both
	row        func(i int) string
	head       string
	unlabelled bool
	promised   bool // the head says how many rows there are
}{
	{name: "libsvm", kind: Examples, train: "1 1:1 9:2\n-1 3:4\n",
		row: func(i int) string { return fmt.Sprintf("%d %d:%d 12:1 # c\n", i%3-1, i%9+1, i) }},
	{name: "libsvm of text", kind: Examples, train: "yes 1:1 9:2\nno 3:4\n",
		row: func(i int) string { return fmt.Sprintf("%s %d:%d\n", []string{"no", "yes", "maybe"}[i%3], i%9+1, i) }},
	{name: "libfm", kind: Examples, train: "1 0:1 9:2\n", opt: Options{Format: LibFM},
		row: func(i int) string { return fmt.Sprintf("%d %d:%d\n", i, i%10, i) }},
	{name: "vw", kind: Examples, train: "1 |a x y:2\n-1 |b z\n", opt: Options{Format: VW, HashBits: 8},
		row: func(i int) string { return fmt.Sprintf("1 |a x%d y:%d\n", i%5, i) }},
	{name: "csv", kind: Examples, train: "label,a,b\n1,2,3\n0,,5\n", head: "b,a\n", unlabelled: true,
		row: func(i int) string { return fmt.Sprintf("%d,%s\n", i, []string{"1", "", "7"}[i%3]) }},
	{name: "csv of text", kind: Examples, train: "label,a,b\nx,2,red\ny,3,blue\n", head: "label,a,b\n",
		row: func(i int) string {
			return fmt.Sprintf("%s,%d,%s\n", []string{"x", "y"}[i%2], i, []string{"red", "green"}[i%2])
		}},
	{name: "jsonl", kind: Examples, train: "label,a,b\nx,2,red\ny,3,blue\n", row: func(i int) string {
		return fmt.Sprintf("{\"label\":\"x\",\"b\":\"%s\",\"a\":%d}\n", []string{"red", "green"}[i%2], i)
	}},
	{name: "triples", kind: Ratings, train: "u1 i1 3\n",
		row: func(i int) string { return fmt.Sprintf("%d i%d %d\n", i%17*100, i%7, i%5) }},
	{name: "pairs", kind: Ratings, train: "u1 i1 3\n", unlabelled: true,
		row: func(i int) string { return fmt.Sprintf("u%d i%d\n", i%17, i%7) }},
	{name: "ldac", kind: Documents, train: "2 0:1 4:2\n1 3:4\n", opt: Options{Format: LDAC},
		row: func(i int) string { return fmt.Sprintf("2 %d:%d 4:1\n", i%4, i+1) }},
	{name: "docword", kind: Documents, train: "2\n5\n2\n1 1 1\n2 2 1\n", head: "400\n5\n500\n", promised: true,
		row: func(i int) string { return fmt.Sprintf("%d %d %d\n", i/4*3+1, i%4+1, i+1) }},
	{name: "text", kind: Documents, train: "red green blue\nred yellow blue\n",
		row: func(i int) string { return []string{"red red sea\n", "\n", "blue green\n", "nothing known\n"}[i%4] }},
}

// TestStreamIsRead wants of each format the rows that Read gives, from many blocks and from one, whoever is faster.
func TestStreamIsRead(t *testing.T) {
	t.Parallel()
	for _, c := range streams {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			opt := c.opt.ForTest(readText(t, c.train, c.kind, c.opt))
			opt.Unlabelled = c.unlabelled
			text := c.head
			for i := range 500 {
				text += c.row(i)
			}
			whole := readText(t, text, c.kind, opt)
			want := rowsInWords(whole)
			for _, bytes := range []int{1 << 20, 100} {
				// so that little is looked at before rows are read
				opt.blockBytes, opt.Workers, opt.Limits.LineBytes = bytes, 3, 2*bytes
				got, blocks, d, err := streamed(t, text, c.kind, opt)
				if err != nil || !slices.Equal(got, want) {
					t.Errorf("in blocks of %d bytes: %v\n%q\nnot\n%q", bytes, err, got, want)
				}
				// of a bag the last document comes alone
				if many := bytes == 100; many != (blocks > 1) && !(c.promised && blocks == 2) {
					t.Errorf("%d blocks of %d bytes", blocks, bytes)
				}
				d.Users, d.Items, d.Constant, d.Counting = whole.Detected.Users, whole.Detected.Items,
					whole.Detected.Constant, whole.Detected.Counting
				if a, b := fmt.Sprintf("%+v", d), fmt.Sprintf("%+v", whole.Detected); a != b {
					t.Errorf("detected\n%s\nnot\n%s", a, b)
				}
			}
		})
	}
}

// TestStreamOfOneBlock reads inputs of which only the whole says how a row is to be read.
func TestStreamOfOneBlock(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		text string
		kind Kind
		opt  Options
	}{
		"a base that nobody knows":  {strings.Repeat("1 2:1\n", 500) + "1 0:1\n", Examples, Options{}},
		"columns that nobody knows": {strings.Repeat("1,red\n", 500) + "1,blue\n", Examples, Options{}},
		"means that nobody knows":   {strings.Repeat("1,2\n", 50) + "1,\n", Examples, Options{Features: 1}},
		"words that nobody knows":   {strings.Repeat("red sea\nblue sky\n", 50), Documents, Options{}},
		"a bag of unknown words":    {"2\n2\n2\n1 1 1\n2 2 1\n", Documents, Options{}},
	} {
		c.opt.blockBytes, c.opt.Limits.LineBytes = 64, 100
		want := rowsInWords(readText(t, c.text, c.kind, c.opt))
		if got, blocks, _, err := streamed(t, c.text, c.kind, c.opt); err != nil || blocks != 1 ||
			!slices.Equal(got, want) {
			t.Errorf("%s: %d blocks, %v: %q, not %q", name, blocks, err, got, want)
		}
	}
}

// TestRowsAboveADefectAreTaken: all of them, none behind it, and the error is that of Read.
func TestRowsAboveADefectAreTaken(t *testing.T) {
	t.Parallel()
	for _, c := range streams {
		if c.promised { // see TestDocumentsAboveADefectAreTaken
			continue
		}
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			opt := c.opt.ForTest(readText(t, c.train, c.kind, c.opt))
			opt.Unlabelled, opt.Limits.LineBytes = c.unlabelled, 200 // so that little is looked at before rows are read
			for _, at := range []int{57, 211, 499} {
				text, good := c.head, c.head
				for i := range 500 {
					if i == at {
						text += "\x00 , nonsense:::, {\n"
					}
					text += c.row(i)
					if i < at {
						good = text
					}
				}
				o := opt
				o.Stdin = strings.NewReader(text)
				_, want := Read(context.Background(), []string{"-"}, c.kind, o)
				if want == nil {
					t.Fatalf("row %d is no defect", at)
				}
				rows := rowsInWords(readText(t, good, c.kind, opt))
				for _, bytes := range []int{1 << 20, 100} {
					opt.blockBytes, opt.Workers = bytes, 3
					got, _, _, err := streamed(t, text, c.kind, opt)
					if err == nil || err.Error() != want.Error() {
						t.Errorf("row %d, blocks of %d bytes: %v\nnot\n%v", at, bytes, err, want)
					}
					if !slices.Equal(got, rows) {
						t.Errorf("row %d, blocks of %d bytes: %d rows were taken, not %d", at, bytes, len(got),
							len(rows))
					}
				}
				opt.blockBytes = 0
			}
		})
	}
}

// TestTakeMayRefuse: the first refusal in the order of the input is the error, and nothing has its turn behind it.
func TestTakeMayRefuse(t *testing.T) {
	t.Parallel()
	text, refusal := strings.Repeat("u i 1\n", 2000), errors.New("no more")
	opt := Options{Stdin: strings.NewReader(text), blockBytes: 60, Workers: 4, Limits: Limits{LineBytes: 100}}
	var mu sync.Mutex
	last := int64(-1)
	_, err := Stream(context.Background(), []string{"-"}, Ratings, opt, func(b *Block) error {
		if b.Row >= 500 {
			return fmt.Errorf("row %d: %w", b.Row, refusal)
		}
		if err := b.Turn(); err != nil {
			return err
		}
		mu.Lock()
		defer mu.Unlock()
		last = max(last, b.Row+int64(b.Set.Rows()))
		return nil
	})
	if !errors.Is(err, refusal) || last < 500 || err.Error() != fmt.Sprintf("row %d: no more", last) {
		t.Errorf("%v behind row %d", err, last)
	}
}

// TestEmptyStreams expects the errors of Read.
func TestEmptyStreams(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		text string
		kind Kind
		opt  Options
	}{
		{"", Ratings, Options{}},
		{"user,item,rating\n", Ratings, Options{}},
		{"\n\n", Examples, Options{}},
		{"unknown words\n", Documents, Options{Words: []string{"red"}}},
	} {
		opt := c.opt
		opt.Stdin = strings.NewReader(c.text)
		_, want := Read(context.Background(), []string{"-"}, c.kind, opt)
		rows, _, _, err := streamed(t, c.text, c.kind, c.opt)
		if err == nil || want == nil || err.Error() != want.Error() {
			t.Errorf("%q: %v, %q, not %v", c.text, err, rows, want)
		}
	}
}

// TestStreamsMayBeLong: memory does not grow with the rows. The buffers and what a worker keeps of a block are all
// there is, and of ids that were met nothing is kept.
func TestStreamsMayBeLong(t *testing.T) {
	t.Parallel()
	from, to := io.Pipe()
	go func() {
		var line []byte
		for i := range 300_000 {
			line = fmt.Appendf(line[:0], "user%d item%d 1\n", i, i/2)
			if _, err := to.Write(line); err != nil {
				break
			}
		}
		to.Close()
	}()
	users, rows := 0, 0
	_, err := Stream(context.Background(), []string{"-"}, Ratings, Options{Stdin: from, blockBytes: 4096},
		func(b *Block) error {
			if err := b.Turn(); err != nil {
				return err
			}
			users, rows = max(users, len(b.Set.Ratings.Users)), rows+b.Set.Rows()
			return nil
		})
	if err != nil || rows != 300_000 || users > 5000 {
		t.Errorf("%d rows, a block has up to %d users: %v", rows, users, err)
	}
}
