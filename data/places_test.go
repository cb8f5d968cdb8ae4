package data

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"bellows"
	"bellows/port/blob"
	"bellows/port/blob/s3"
	"bellows/port/blob/s3/s3test"

	"github.com/klauspost/compress/gzip"
)

// bucket returns a service with objects, the stores that Options name it by, and a query that says where it is.
func bucket(t *testing.T, objects map[string][]byte) (server *s3test.Server, stores blob.Schemes, query string) {
	t.Helper()
	server = s3test.Start(t)
	for name, content := range objects {
		if err := s3test.Put(t.Context(), server.Endpoint, name, content); err != nil {
			t.Fatal(err)
		}
	}
	return server, blob.Schemes{"s3": server.Open}, "?endpoint=" + url.QueryEscape(server.Endpoint)
}

func zipped(t testing.TB, text []byte) []byte {
	t.Helper()
	var out bytes.Buffer
	z := gzip.NewWriter(&out)
	if _, err := z.Write(text); err != nil || z.Close() != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// TestBlobsAreWhatFilesAre reads the same bytes from a bucket and from a folder: text of several stretches, packed and
// not, by globs, columns, images and their labels, a bag of words and its vocabulary.
func TestBlobsAreWhatFilesAre(t *testing.T) {
	var long bytes.Buffer
	for i := range 600_000 {
		fmt.Fprintf(&long, "%d\t%d\t%d\n", i%7001, i%311, i%5)
	}
	if long.Write(bytes.Repeat([]byte("7\t8\t5\n"), 500_000)); long.Len() <= 8<<20 {
		t.Fatalf("%d bytes are one stretch of the store", long.Len())
	}
	files := map[string][]byte{
		"r/Part 1.tsv": []byte("1\t2\t3\n4\t5\t6\n"), "r/Part 2.tsv.gz": zipped(t, []byte("7\t8\t9\n")),
		"r/sub/Part 3.tsv": []byte("0\t0\t0\n"), "r/other.csv": []byte("x"),
		"long.tsv": long.Bytes(), "table.parquet": asParquet(t, tableSchema, framed(t, tableSchema, tableBatches...)),
		"table.arrows":           asStream(t, tableSchema, framed(t, tableSchema, tableBatches...)),
		"x-images-idx3-ubyte":    {0, 0, 8, 3, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 2, 7, 8},
		"x-labels-idx1-ubyte.gz": zipped(t, []byte{0, 0, 8, 1, 0, 0, 0, 1, 5}),
		"docword.a.txt":          []byte("2\n3\n3\n1 1 2\n1 3 1\n2 2 1\n"), "vocab.a.txt": []byte("ape\nbee\ncow\n"),
	}
	_, stores, query := bucket(t, files)
	dir := t.TempDir()
	for name, content := range files {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, content, 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		kind  Kind
		names []string
	}{
		{Ratings, []string{"r/Part *.tsv*"}}, {Ratings, []string{"r/Part [12].t*"}},
		{Ratings, []string{"r/sub/Part 3.tsv", "r/Part 1.tsv"}}, {Ratings, []string{"long.tsv"}},
		{Examples, []string{"table.parquet"}}, {Examples, []string{"table.arrows"}},
		{Examples, []string{"x-images-idx3-ubyte"}}, {Documents, []string{"docword.a.txt"}},
	} {
		var local, remote []string
		for i, name := range c.names {
			local, remote = append(local, filepath.Join(dir, filepath.FromSlash(name))),
				append(remote, "s3://"+s3test.Bucket+"/"+name)
			if i == 0 { // the others need not say it
				remote[0] += query
			}
		}
		want, err := Read(t.Context(), local, c.kind, Options{})
		if err != nil {
			t.Fatal(err)
		}
		cached := Options{Stores: stores, Cache: t.TempDir()}
		for i, opt := range []Options{{Stores: stores, Workers: 3}, cached, cached} {
			got, err := Read(t.Context(), remote, c.kind, opt)
			if err != nil {
				t.Fatal(c.names, err)
			}
			if !reflect.DeepEqual(got.Ratings, want.Ratings) || !reflect.DeepEqual(got.Examples, want.Examples) ||
				!reflect.DeepEqual(got.Documents, want.Documents) {
				t.Errorf("%s differs from the file", c.names)
			}
			if got.Detected.FromCache != (i == 2) || got.Detected.CacheProblem != "" {
				t.Errorf("%s, read %d: from the cache: %v, %s", c.names, i, got.Detected.FromCache,
					got.Detected.CacheProblem)
			}
			if err := got.Close(); err != nil {
				t.Error(err)
			}
		}
	}
}

// TestAChangedBlobIsReadAgain changes an object, and the labels of images, behind what is stored.
func TestAChangedBlobIsReadAgain(t *testing.T) {
	server, stores, query := bucket(t, map[string][]byte{"a.tsv": []byte("1\t2\t3\n"),
		"x-images-idx3-ubyte": {0, 0, 8, 3, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 2, 7, 8},
		"x-labels-idx1-ubyte": {0, 0, 8, 1, 0, 0, 0, 1, 5}})
	opt := Options{Stores: stores, Cache: t.TempDir()}
	read := func(name string, kind Kind) *Set {
		t.Helper()
		set, err := Read(t.Context(), []string{"s3://" + s3test.Bucket + "/" + name + query}, kind, opt)
		if err != nil {
			t.Fatal(err)
		}
		return set
	}
	read("a.tsv", Ratings)
	read("x-images-idx3-ubyte", Examples)
	for name, content := range map[string][]byte{"a.tsv": []byte("1\t2\t4\n"),
		"x-labels-idx1-ubyte": {0, 0, 8, 1, 0, 0, 0, 1, 6}} {
		if err := s3test.Put(t.Context(), server.Endpoint, name, content); err != nil {
			t.Fatal(err)
		}
	}
	if s := read("a.tsv", Ratings); s.Detected.FromCache || s.Ratings.Rating[0] != 4 {
		t.Errorf("from the cache: %v, %v", s.Detected.FromCache, s.Ratings.Rating)
	}
	if s := read("x-images-idx3-ubyte", Examples); s.Detected.FromCache || s.Examples.Label[0] != 6 {
		t.Errorf("from the cache: %v, %v", s.Detected.FromCache, s.Examples.Label)
	}
}

// TestBadPlaces wants an error that says what is wrong and what to do, and of its kind.
func TestBadPlaces(t *testing.T) {
	server, stores, query := bucket(t, map[string][]byte{"a/b.tsv": []byte("1\t2\t3\n"),
		"bad.tsv": []byte("1\t2\t3\n1\t2\tx\n"), "c.parquet": []byte("PAR1 and no more")})
	at := "s3://" + s3test.Bucket + "/"
	answers := func(status int, code string) func(int, *http.Request) s3test.Fault {
		return func(int, *http.Request) s3test.Fault {
			return s3test.Fault{What: s3test.Answered, Status: status, Code: code}
		}
	}
	for _, c := range []struct {
		name  string
		upset func(int, *http.Request) s3test.Fault
		names []string
		want  []string
		kind  bellows.Kind // Bug: whatever a bad file has
		none  bool         // fs.ErrNotExist
	}{
		{"missing", nil, []string{at + "no.tsv" + query},
			[]string{"s3://tests/no.tsv: there is no such object", "check the bucket and the name"}, bellows.Bug, true},
		{"bucket-alone", nil, []string{at + query}, []string{"names a bucket", "s3://tests/*"}, bellows.Bug, true},
		{"folder", nil, []string{at + "a" + query}, []string{"is a folder", "s3://tests/a/*"}, bellows.Bug, true},
		{"folder-slash", nil, []string{at + "a/" + query}, []string{"is a folder", "s3://tests/a/*"}, bellows.Bug,
			true},
		{"no-match", nil, []string{at + "z*.tsv" + query}, []string{"no object matches", "check the name"}, bellows.Bug,
			true},
		{"slash", nil, []string{at + "*.csv" + query}, []string{"no object matches", "no slash"}, bellows.Bug, true},
		{"bad-glob", nil, []string{at + "a[.tsv" + query}, []string{"not a valid glob", "close every ["}, bellows.Bug,
			false},
		{"other-bucket", nil, []string{"s3://nobodys/a.tsv" + query},
			[]string{"there is no such bucket", "make it, or name another"}, bellows.Config, false},
		{"other-query", nil, []string{at + "a/b.tsv" + query, at + "bad.tsv?region=eu-north-1"},
			[]string{"named before with endpoint=", "region=eu-north-1", "or once"}, bellows.Bug, false},
		{"credentials", nil, []string{"s3://me:secret@tests/a.tsv"},
			[]string{"a URI has no credentials", "AWS_ACCESS_KEY_ID"}, bellows.Config, false},
		{"unknown-query", nil, []string{at + "a.tsv?key=1"}, []string{"it says key", "known are endpoint"},
			bellows.Config, false},
		{"refused", answers(403, "AccessDenied"), []string{at + "a/b.tsv" + query},
			[]string{"it is not allowed (AccessDenied", "s3:GetObject"}, bellows.Refused, false},
		{"refused-list", answers(403, "AccessDenied"), []string{at + "a/*.tsv" + query},
			[]string{"it is not allowed (AccessDenied", "s3:ListBucket"}, bellows.Refused, false},
		{"row", nil, []string{at + "a/b.tsv" + query, at + "bad.tsv" + query},
			[]string{`s3://tests/bad.tsv:2:5: rating "x" is not a number`}, bellows.Bug, false},
		{"parquet", nil, []string{at + "c.parquet" + query}, []string{"s3://tests/c.parquet", "copy it again"},
			bellows.Bug, false},
		{"text-and-parquet", nil, []string{at + "a/b.tsv" + query, at + "c.parquet" + query},
			[]string{"the file is Parquet, s3://tests/a/b.tsv is triples"}, bellows.Bug, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			server.Upset(c.upset)
			defer server.Upset(nil)
			_, err := Read(t.Context(), c.names, Ratings, Options{Stores: stores})
			var e *Error
			if !errors.As(err, &e) {
				t.Fatalf("not an *Error: %v", err)
			}
			checkShape(t, c.name, e)
			for _, part := range c.want {
				if !strings.Contains(e.Error(), part) {
					t.Errorf("no %q in: %s", part, e)
				}
			}
			if strings.Contains(e.Error(), "secret") || strings.Contains(e.File, "?") {
				t.Errorf("tells too much: %s", e)
			}
			if got := bellows.KindOf(e.Err); got != c.kind || errors.Is(err, fs.ErrNotExist) != c.none {
				t.Errorf("kind %v, not there %v: %s", got, errors.Is(err, fs.ErrNotExist), e)
			}
		})
	}
	// nobody knows such stores
	for name, how := range map[string]string{"gs://b/a": "gcloud storage cat", "s3://b/a": "aws s3 cp"} {
		if _, err := Read(t.Context(), []string{name}, Ratings, Options{}); err == nil ||
			!strings.Contains(err.Error(), how) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestBlobFailureIsNotTruncation makes each request of a read go wrong in several ways, once and for good: the read
// gives all rows, or an error.
func TestBlobFailureIsNotTruncation(t *testing.T) {
	text := bytes.Repeat([]byte("12\t3\t4\n"), 1_400_000) // two stretches
	server, stores, query := bucket(t, map[string][]byte{"a.tsv": text})
	name := []string{"s3://" + s3test.Bucket + "/a.tsv" + query}
	server.Upset(nil)
	read := func() (int, error) {
		set, err := Read(t.Context(), name, Ratings, Options{Stores: stores})
		if err != nil {
			return 0, err
		}
		return set.Rows(), nil
	}
	rows, err := read()
	if err != nil || rows != 1_400_000 {
		t.Fatal(rows, err)
	}
	requests := server.Requests()
	if requests < 4 { // two looks and two stretches
		t.Fatalf("%d requests", requests)
	}
	failed := 0
	for at := range requests {
		faults := []s3test.Fault{{What: s3test.Unheard}, {What: s3test.Short},
			{What: s3test.Answered, Status: 412, Code: "PreconditionFailed"},
			{What: s3test.Answered, Status: 404, Code: "NoSuchKey"}}
		if testing.Short() { // each request fails in one way, and all ways come
			faults = faults[at%len(faults):][:1]
		}
		for _, f := range faults {
			server.Upset(func(n int, _ *http.Request) s3test.Fault {
				if n != at && (n < at || f.What == s3test.Unheard || f.What == s3test.Short) {
					return s3test.Fault{}
				}
				return f
			})
			got, err := read()
			switch e := (*Error)(nil); {
			case err == nil && got != rows:
				t.Errorf("request %d, %v: %d rows of %d", at, f, got, rows)
			case err != nil && (!errors.As(err, &e) || !strings.HasPrefix(e.File, "s3://tests/a.tsv")):
				t.Errorf("request %d, %v: %v", at, f, err)
			case err != nil:
				failed++
			}
		}
	}
	if failed == 0 {
		t.Error("nothing went wrong")
	}
}

// TestABlobIsLeft ends a read by its context while the service does not answer.
func TestABlobIsLeft(t *testing.T) {
	server, stores, query := bucket(t, map[string][]byte{"a.tsv": []byte("1\t2\t3\n")})
	ctx, cancel := context.WithCancel(t.Context())
	server.Upset(func(_ int, r *http.Request) s3test.Fault {
		if r.Method != http.MethodGet {
			return s3test.Fault{}
		}
		cancel()
		return s3test.Fault{What: s3test.Stalled}
	})
	if _, err := Read(ctx, []string{"s3://" + s3test.Bucket + "/a.tsv" + query}, Ratings,
		Options{Stores: stores}); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// TestFilesOfABucket finds what a URI means, and says whether it is what it was.
func TestFilesOfABucket(t *testing.T) {
	server, stores, query := bucket(t, map[string][]byte{"b.tsv": []byte("1"), "a.tsv": []byte("22"), "c.csv": nil})
	uri := "s3://" + s3test.Bucket + "/*.tsv" + query
	one, found, err := Files(t.Context(), uri, stores)
	if err != nil || !found || len(one) != 2 || one[0].Name != "s3://tests/a.tsv" || one[0].Bytes != 2 ||
		cmp.Or(one[0].Version, one[1].Version) == "" {
		t.Fatal(one, found, err)
	}
	if err := s3test.Put(t.Context(), server.Endpoint, "a.tsv", []byte("33")); err != nil {
		t.Fatal(err)
	}
	if two, _, err := Files(t.Context(), uri, stores); err != nil || slices.Equal(one, two) || one[1] != two[1] {
		t.Error(one, two, err)
	}
	for _, name := range []string{"a.tsv", "file:///a.tsv", "-", "hdfs://b/a"} {
		if _, found, _ := Files(t.Context(), name, stores); found {
			t.Errorf("%s is in a store", name)
		}
	}
}

// TestGoogleSignsNoAcceptEncoding reads by gs:// from a service as from S3; Google's changes that header on the way.
func TestGoogleSignsNoAcceptEncoding(t *testing.T) {
	server, _, query := bucket(t, map[string][]byte{"a.tsv": []byte("1\t2\t3\n")})
	t.Setenv("AWS_ACCESS_KEY_ID", s3test.Key)
	t.Setenv("AWS_SECRET_ACCESS_KEY", s3test.Secret)
	var signed []string
	server.Upset(func(_ int, r *http.Request) s3test.Fault {
		signed = append(signed, r.Header.Get("Authorization"))
		return s3test.Fault{}
	})
	set, err := Read(t.Context(), []string{"gs://" + s3test.Bucket + "/a.tsv" + query + "&region=us-east-1"}, Ratings,
		Options{Stores: blob.Schemes{"gs": s3.Options{Others: true}.Open}})
	if err != nil || set.Rows() != 1 {
		t.Fatal(err)
	}
	for _, s := range signed {
		if !strings.Contains(s, "SignedHeaders=") || strings.Contains(s, "accept-encoding") {
			t.Error(s)
		}
	}
}
