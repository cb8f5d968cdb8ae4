package foreign

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"strings"
	"testing"
)

// TestTextRecognisesForms checks first lines of unsupported forms, and lines of supported forms that look like them.
func TestTextRecognisesForms(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		line                 string
		documents, separated bool
		want                 string
	}{
		{line: `{"a": 1}`}, {line: "[", want: "JSON"}, {line: `{"a": 1}`, documents: true},
		{line: "{cats} chase mice", documents: true}, {line: "[1] a footnote", documents: true},
		{line: "1 |f a:1 b:2"}, {line: "|f a b"}, {line: "1 0.5 'tag|f a"}, {line: "1 | a:2"},
		{line: "1 | 2 | 3", want: "Vowpal"}, {line: "a | b", want: "Vowpal"},
		{line: "1|2|3"}, {line: "a|b|c"}, {line: "1 | 2 | 3", separated: true}, {line: "a | b", documents: true},
		{line: "2 0:1 4:2", documents: true}, {line: "1 0:1 4:2", documents: true}, {line: "2 0:1 4:2"},
		{line: "# user item", want: "comment"}, {line: "#winning at go", documents: true},
		{line: "@relation x", want: "ARFF"}, {line: "<!DOCTYPE html>", want: "web page"},
		{line: "%%MatrixMarket matrix", want: "Matrix Market"},
		{line: "user,item,rating"}, {line: "1 1:0.5"}, {line: ""}, {line: "3"},
	} {
		f := Text([]byte(c.line), c.documents, c.separated)
		if c.want == "" && f != nil || c.want != "" && (f == nil || !strings.Contains(f.What, c.want) || f.How == "") {
			t.Errorf("%q: %+v, not %q", c.line, f, c.want)
		}
	}
}

// TestContainersAndRemoteNamesAreRecognised checks first bytes of streams, and names.
func TestContainersAndRemoteNamesAreRecognised(t *testing.T) {
	t.Parallel()
	for head, want := range map[string]string{
		"PK\x03\x04....[Content_Types].xml": "Excel", "PK\x03\x04....rows.csv": "zip", "\x89PNG\r\n\x1a\n": "PNG",
		"SQLite format 3\x00": "SQLite",
		"a,b\r1,2\r":          "carriage return", "a,b\r\n1,2\r\n": "", "a\tb\n": "", "\x00\x00\x08\x03\r\r": "", "": "",
	} {
		if what, how := Container([]byte(head)); want == "" && what != "" || !strings.Contains(what, want) ||
			(what == "") != (how == "") {
			t.Errorf("%q: %q, %q, not %q", head, what, how, want)
		}
	}
	for name, want := range map[string]string{"s3://b/a": "s3://", "HTTPS://h/a": "https://", "file:///a": "",
		"a/b.tsv": "", "odd://a": ""} {
		if what, _ := Remote(name); !strings.HasPrefix(what, want) || want == "" && what != "" {
			t.Errorf("%s: %q, not %q", name, what, want)
		}
	}
}

// TestMembersRejectTrailingData reads one member, two, and members with padding or other data after them.
func TestMembersRejectTrailingData(t *testing.T) {
	t.Parallel()
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	z.Write([]byte("rows\n")) // into memory
	z.Close()
	one := packed.String()
	for _, c := range []struct {
		in, want string
		err      error
	}{
		{one, "rows\n", nil}, {one + one, "rows\nrows\n", nil}, {one + "x", "rows\n", ErrBehind},
		{one + "appended", "rows\n", ErrBehind},
		{one + "\x00", "rows\n", nil}, {one + one + strings.Repeat("\x00", 70_000), "rows\nrows\n", nil},
		{one + "\x00\x00x", "rows\n", ErrBehind}, {one + strings.Repeat("\x00", 70_000) + one, "rows\n", ErrBehind},
		{one + "\x1f\x00", "rows\n", ErrBehind},
		{one + one[:11], "rows\n", io.ErrUnexpectedEOF}, {one[:11], "", io.ErrUnexpectedEOF},
	} {
		m, err := NewMembers(bufio.NewReader(strings.NewReader(c.in)))
		if err != nil {
			t.Fatal(err)
		}
		got, err := io.ReadAll(m)
		if string(got) != c.want || !errors.Is(err, c.err) {
			t.Errorf("%d bytes: %q, %v", len(c.in), got, err)
		}
	}
}
