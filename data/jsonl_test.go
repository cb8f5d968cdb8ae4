package data

import (
	"path/filepath"
	"reflect"
	"slices"
	"testing"
)

// A table reads alike whether it is JSON lines or a CSV file: keys in any order, strings and numbers, what is missing,
// escapes, and what is left out.
func TestJSONLinesTable(t *testing.T) {
	t.Parallel()
	dir := files(t, map[string]string{
		"a.csv": "label,x,colour,y\nyes,1.5,\"a, \"\"b\"\"\",2\nno,,Ünï\u2019,1\nyes,-3e2,,0\n",
		"a.jsonl": "{\"label\": \"yes\", \"x\": 1.5, \"colour\": \"a, \\\"b\\\"\", \"y\": 2, \"deep\": {\"a\": " +
			"[1, \"]\"]}}\n\n" +
			"{\"y\":1,\"colour\":\"\\u00dcn\\u00ef\\u2019\",\"label\":\"no\",\"x\":NaN,\"text\":\"line\\nbreak\"}\r\n" +
			"  { \"x\" : \"-3e2\", \"y\" : false, \"label\" : \"yes\" , \"colour\" : null }\n",
	})
	want := mustRead(t, filepath.Join(dir, "a.csv"), Examples, Options{})
	got := mustRead(t, filepath.Join(dir, "a.jsonl"), Examples,
		Options{Ignore: []string{"deep", "text"}, blockBytes: 20, Workers: 3})
	if !reflect.DeepEqual(got.Examples, want.Examples) {
		t.Errorf("%+v\nnot %+v", got.Examples, want.Examples)
	}
	if got, want := got.Detected.String(), `3 rows × 5 features, 2 classes, JSON lines, label "label", 1 column of text, 2 columns left out, 1 missing value filled in by the mean, 1 missing value of text`; got != want {
		t.Errorf("detected %q, not %q", got, want)
	}
	// Another file is read by the model's keys, whatever it lacks, and has; so is a CSV file.
	for name, text := range map[string]string{"b.jsonl": "{\"colour\":\"Ünï’\"}\n", "b.csv": "y,colour,x\n,Ünï’,\n"} {
		path := writeFile(t, filepath.Join(dir, name), []byte(text))
		more := mustRead(t, path, Examples, Options{Unlabelled: true, As: got.Described(),
			Features: got.Examples.Features})
		if e := more.Examples; e.Rows() != 1 || e.Features != 5 || more.Detected.Filled != 2 ||
			!slices.Equal(e.Index, []int32{0, 3, 4}) {
			t.Errorf("%s: %+v, %+v", name, e, more.Detected)
		}
	}
}

// The three of ratings are found by their names and read as from a file that has them alone; nothing else is looked at.
func TestJSONLinesAreRatings(t *testing.T) {
	t.Parallel()
	text := "{\"helpful\":[0,1],\"asin\":7,\"reviewerID\":\"A1\",\"overall\":5.0,\"reviewText\":\"a\\nb\"}\n" +
		"{\"reviewerID\":\"B " +
		"\\\"2\\\"\",\"asin\":\"x,y\",\"overall\":3}\n{\"asin\":7,\"reviewerID\":\"A1\",\"overall\":\"4\",\"late\":{}}\n"
	dir := files(t, map[string]string{"a.json": text, "a.csv": "A1,7,5\n\"B \"\"2\"\"\",\"x,y\",3\nA1,7,4\n"})
	want := mustRead(t, filepath.Join(dir, "a.csv"), Ratings, Options{})
	got := mustRead(t, filepath.Join(dir, "a.json"), Ratings, Options{blockBytes: 10, Workers: 2})
	if !reflect.DeepEqual(got.Ratings, want.Ratings) {
		t.Errorf("%+v\nnot %+v", got.Ratings, want.Ratings)
	}
	if got := got.Detected.String(); got != `3 ratings, 2 × 2, JSON lines, user "reviewerID", item "asin", rating "overall"` {
		t.Errorf("detected %q", got)
	}
	timed := mustRead(t, writeFile(t, filepath.Join(dir, "t.jsonl"),
		[]byte("{\"date\":\"2024-01-31\",\"user\":1,\"item\":2,\"rating\":3}\n{\"user\":1,\"item\":2,\"rating\":1,\"date\":\"2024-02-01\"}\n")), Ratings, Options{Timed: true})
	if len(timed.Time) != 2 || timed.Time[1]-timed.Time[0] != 86400 {
		t.Errorf("times %v", timed.Time)
	}
}

// Documents are the texts of one key.
func TestJSONLinesAreDocuments(t *testing.T) {
	t.Parallel()
	dir := files(t, map[string]string{"a.jsonl": "{\"id\":1,\"Text\":\"one, " +
		"two\\ntwo\\u0021\",\"body\":\"no\"}\n{\"id\":2}\n{\"Text\":\"\\u00e9tude\\tone\"}\n"})
	path := filepath.Join(dir, "a.jsonl")
	set := readDocuments(t, Options{}, path)
	if got := shown(set.Documents); !slices.Equal(got, []string{"one two two", "", "one étude"}) {
		t.Errorf("%q", got)
	}
	if set.Reading.Text != "Text" || set.Detected.String() != "3 documents × 3 words, 5 tokens, JSON lines" {
		t.Errorf("%+v, %s", set.Reading, set.Detected)
	}
	if got := shown(readDocuments(t, Options{Text: "body"}, path).Documents); !slices.Equal(got,
		[]string{"no", "", ""}) {
		t.Errorf("%q", got)
	}
}
