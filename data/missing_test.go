package data

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
)

// categories returns a table whose label is 1 where the text is the word.
func categories(word, empty string) string {
	var b strings.Builder
	b.WriteString("y,country\n")
	for i := range 60 {
		value := [...]string{word, "DE", empty}[i%3]
		fmt.Fprintf(&b, "%d,%s\n", min(1, 1-min(1, i%3)), value)
	}
	return b.String()
}

// readNamed reads a file of that name and text.
func readNamed(t *testing.T, name, text string, kind Kind, opt Options) (*Set, error) {
	t.Helper()
	return Read(t.Context(), []string{writeFile(t, filepath.Join(t.TempDir(), name), []byte(text))}, kind, opt)
}

// TestMissingWordOfText checks that a category which is called like a missing value is counted, warned of and kept. It
// becomes one with the empty field if Options.Missing has it.
func TestMissingWordOfText(t *testing.T) {
	for name, text := range map[string]string{"a.csv": categories("NA", ""),
		"a.jsonl": strings.Repeat(`{"y":1,"country":"NA"}`+"\n"+`{"y":0,"country":"DE"}`+"\n"+`{"y":0,"country":null}`+"\n", 20)} {
		set, err := readNamed(t, name, text, Examples, Options{Label: "y"})
		if err != nil {
			t.Fatal(err)
		}
		if set.Examples.Features != 3 || set.Detected.Missing != 40 {
			t.Errorf("%s: %d features, %d missing values; want 3 and 40", name, set.Examples.Features,
				set.Detected.Missing)
		}
		if w := strings.Join(set.Detected.Warnings(), "\n"); !strings.Contains(w,
			`column country has "NA" in 20 rows`) || !strings.Contains(w, "--missing ''") {
			t.Errorf("%s: warnings: %s", name, w)
		}
		if set, err = readNamed(t, name, text, Examples, Options{Label: "y", Missing: []string{"NA"}}); err != nil ||
			set.Examples.Features != 2 || set.Detected.Missing != 40 {
			t.Errorf("%s: with the word: %v, %+v", name, err, set.Detected)
		}
		if set, err = readNamed(t, name, text, Examples, Options{Label: "y", Missing: []string{}}); err != nil {
			t.Fatal(err)
		}
		if set.Examples.Features != 3 || set.Detected.Missing != 20 || len(set.Detected.Warnings()) > 0 {
			t.Errorf("%s: without words: %d features, %d missing values, %q", name, set.Examples.Features,
				set.Detected.Missing, set.Detected.Warnings())
		}
		if as := set.Reading.Missing; as == nil || len(as) != 0 {
			t.Errorf("%s: the reading has the words %q", name, as)
		}
	}
}

// TestMissingClass checks that a class which is called like a missing value is refused with the flag that keeps it.
func TestMissingClass(t *testing.T) {
	for name, text := range map[string]string{
		"c.csv":   "x,y\n1,None\n2,low\n3,None\n4,low\n",
		"c.svm":   "low 1:1\nNone 1:2\nlow 1:3\nlow 1:1\n",
		"c.jsonl": `{"x":1,"y":"low"}` + "\n" + `{"x":2,"y":"None"}` + "\n" + `{"x":3,"y":"low"}` + "\n",
	} {
		label := "y"
		if name == "c.svm" {
			label = ""
		}
		_, err := readNamed(t, name, text, Examples, Options{Label: label})
		if err == nil || !strings.Contains(err.Error(), `"None"`) || !strings.Contains(err.Error(), "--missing ''") {
			t.Errorf("%s: %v", name, err)
		}
		set, err := readNamed(t, name, text, Examples, Options{Label: label, Missing: []string{}})
		if err != nil {
			t.Errorf("%s: %v", name, err)
		} else if got := strings.Join(set.Examples.LabelNames, " "); got != "None low" {
			t.Errorf("%s: labels %s", name, got)
		}
	}
}

// TestMissingID checks that ids follow the rule, and that models which do not say theirs take ids as they stand.
func TestMissingID(t *testing.T) {
	for _, word := range []string{"NaN", "NULL", "None", `\N`, "NA"} {
		text := "user,item,rating\nu1,i1,3\n" + word + ",i2,4\nu2,i1,5\n"
		_, err := readNamed(t, "r.csv", text, Ratings, Options{})
		if err == nil || !strings.Contains(err.Error(), "r.csv:3:1") || !strings.Contains(err.Error(), "--missing ''") {
			t.Errorf("%s: %v", word, err)
		}
		for name, opt := range map[string]Options{"without words": {Missing: []string{}}, "old": {As: &Reading{}}} {
			set, err := readNamed(t, "r.csv", text, Ratings, opt)
			if err != nil || len(set.Ratings.Users) != 3 {
				t.Errorf("%s, %s: %v", word, name, err)
			}
		}
	}
	if _, err := readNamed(t, "n.csv", "user,item,rating\n1,7,3\n0,8,4\n2,7,5\n", Ratings,
		Options{Missing: []string{"0"}}); err == nil || !strings.Contains(err.Error(), "n.csv:3:1") {
		t.Errorf("a number among the words: %v", err)
	}
}

// TestMissingNumber checks that a number can stand for a missing value.
func TestMissingNumber(t *testing.T) {
	set, err := readNamed(t, "s.csv", "x,y\n1,0\n-999,1\n3,0\nNA,1\n-999.0,0\n", Examples,
		Options{Label: "y", Missing: []string{"-999"}})
	if err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(set.Examples.Dense); got != "[1 2 3 2 2]" || set.Detected.Missing != 3 {
		t.Errorf("%s, %d missing values", got, set.Detected.Missing)
	}
}

// TestModelKeepsItsMissingWords checks that data for a model is read by the words of its training alone.
func TestModelKeepsItsMissingWords(t *testing.T) {
	train, err := readNamed(t, "a.csv", categories("NA", ""), Examples, Options{Label: "y", Missing: []string{}})
	if err != nil {
		t.Fatal(err)
	}
	opt := Options{}.ForTest(train)
	test, err := readNamed(t, "b.csv", categories("NA", ""), Examples, opt)
	if err != nil || test.Detected.Missing != 20 || test.Detected.Unknown != 0 {
		t.Errorf("%v: %+v", err, test)
	}
	opt.Missing = []string{"NA"}
	if _, err = readNamed(t, "b.csv", categories("NA", ""), Examples, opt); err == nil ||
		!strings.Contains(err.Error(), "--missing") {
		t.Errorf("other words: %v", err)
	}
}

// TestNumbersInOtherNotation checks that a column of numbers that are not plain decimals is refused by its name, with
// what to do.
func TestNumbersInOtherNotation(t *testing.T) {
	for _, value := range []string{"50%", "$1.5", "−3", "1\u202f234", "٥٠", "7\u200b", "1D+02", "1'234", "\"1.234,56\"",
		"1\u00a0000"} {
		text := "x,y\n" + strings.Repeat(value+",0\n"+value+",1\n", 10)
		_, err := readNamed(t, "p.csv", text, Examples, Options{Label: "y"})
		if err == nil || !strings.Contains(err.Error(), "p.csv:2:") || !strings.Contains(err.Error(), `column "x"`) ||
			!strings.Contains(err.Error(), "--categorical x") {
			t.Errorf("%s: %v", value, err)
		}
		if set, err := readNamed(t, "p.csv", text, Examples,
			Options{Label: "y", Categorical: []string{"x"}}); err != nil || set.Detected.Texts != 1 {
			t.Errorf("%s as text: %v", value, err)
		}
	}
}

// TestLibsvmTabs checks that lines of LIBSVM in a file that is named as a table are refused.
func TestLibsvmTabs(t *testing.T) {
	const text = "1\t1:0.27\t2:0\n0\t1:0.5\t2:1\n"
	_, err := readNamed(t, "t.tsv", text, Examples, Options{})
	if err == nil || !strings.Contains(err.Error(), "--format libsvm") {
		t.Errorf("%v", err)
	}
	if set, err := readNamed(t, "t.tsv", text, Examples, Options{Format: LIBSVM}); err != nil ||
		set.Examples.Features != 2 {
		t.Errorf("%v", err)
	}
}

// TestSeparatorLine checks that the line sep=; above a table is its separator and no row, and that lines are counted
// with it.
func TestSeparatorLine(t *testing.T) {
	for _, first := range []string{"sep=;\n", "\xef\xbb\xbfsep=;\r\n", "\"sep=;\"\n", "SEP=;\n"} {
		set, err := readNamed(t, "e.csv", first+"y;x\n1;2\n0;3\n", Examples, Options{Label: "y"})
		if err != nil || set.Rows() != 2 || set.Reading.Separator != "semicolon" {
			t.Errorf("%q: %v", first, err)
		}
	}
	if set, err := readNamed(t, "h.csv", "sep=;\n1;2\n0;3\n", Examples, Options{}); err != nil || set.Rows() != 2 {
		t.Errorf("without a header: %v", err)
	}
	for _, header := range []string{"y;x\n", ""} {
		want := map[string]string{"": "e.csv:4:", "y;x\n": "e.csv:5:"}[header]
		if _, err := readNamed(t, "e.csv", "sep=;\n"+header+"1;2\n0;3\n1;abc\n", Examples,
			Options{Header: map[bool]Header{true: HeaderNo, false: HeaderYes}[header == ""]}); err == nil ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("the line of a fault: %v, want %s", err, want)
		}
	}
}
