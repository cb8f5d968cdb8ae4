package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"bellows/app/lda"
	"bellows/app/linear"
	"bellows/app/mf"
	"bellows/app/mlr"
	"bellows/cli/internal/screen"

	"github.com/rogpeppe/go-internal/txtar"
)

// The goals of the sweep.
const (
	sweepLeast = 300  // command lines
	sweepShare = 0.95 // of the errors name their cause and what to do
)

// TestSweep runs the command lines of testdata/sweep on the inputs next to them. It compares each result with a user's
// expectation, written by hand in advance: never with earlier output. A wrong result with exit code 0 fails, and so do
// refusals of valid input and other exit codes than promised. At least 95 % of the errors name the place, the cause and
// the remedy that the entry wants.
//
// An archive begins with its entries; the files that they read follow it, and those that `file` lines make
// (sweepfiles_test.go):
//
//	$ COMMAND LINE [< FILE]     words in single quotes are one word; NAME=VALUE before it sets the environment
//	= CODE                      the exit code
//	at FILE:LINE:COLUMN         where the error is, to the line or to the column
//	cause REGEXP                what the error must say is wrong, letter case aside
//	remedy REGEXP               what it must say is to be done
//
// and of a success what must be true (sweepjudge_test.go):
//
//	said REGEXP, unsaid         what the command writes, to either stream
//	prints TEXT                 all that goes to standard output, with | for the line ends
//	first FIELDS                the first field of each line of standard output
//	lines N                     how many lines those are
//	file PATH REGEXP            a file's text
//	absent PATH                 no such file
//	json KEY.KEY VALUE          in the last line of standard output
//	rows N                      how many rows the run has read
//	labels, columns, users, items, vocab NAMES    the ids of the model
//	learned FILE COLUMN LEAST   the model, read by hand, is right about so much of a plain CSV's labels in that column
//	fits FILE MOST              the model, read by hand, misses the ratings of a plain TSV by so much at most
//	likens FILE COLUMN          standard output has the probabilities that the model, read by hand, gives the rows
//	misses FILE COLUMN MOST     the model, read by hand, misses the numbers of a plain CSV's column by so much at most
//	foretells FILE              standard output has the numbers that the model, read by hand, gives the rows
//	rates FILE                  standard output has the ratings that the model, read by hand, gives the pairs
//	scores METRIC FILE COLUMN   the last line of standard output has the metric that the model, read by hand, has on these rows
//	holds FILE                  the model, read by hand, has no more of each word than the text, and nine tenths of them at least
func TestSweep(t *testing.T) {
	t.Setenv(insideVariable, "1")
	t.Setenv("HOME", t.TempDir())
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	archives, err := filepath.Glob("testdata/sweep/*.txtar")
	if err != nil || len(archives) == 0 {
		t.Fatal("no archives", err)
	}
	s := &sweep{seen: map[string]bool{}}
	for _, name := range archives {
		archive, err := txtar.ParseFile(name)
		if err != nil {
			t.Fatal(err)
		}
		t.Run(strings.TrimSuffix(filepath.Base(name), ".txtar"), func(t *testing.T) { s.archive(t, archive) })
	}
	t.Logf("%d command lines: %d as good as they have to be, %d errors, and %d of them name cause and remedy (%.1f %%)",
		s.lines, s.lines-s.errors, s.errors, s.named, 100*float64(s.named)/float64(max(1, s.errors)))
	if s.lines < sweepLeast && s.archives == len(archives) && !t.Failed() {
		t.Errorf("%d command lines are fewer than %d", s.lines, sweepLeast)
	}
	if float64(s.named) < sweepShare*float64(s.errors) {
		t.Errorf("%d of %d errors name cause and remedy, which is less than %g %%", s.named, s.errors, 100*sweepShare)
	}
}

// sweep is what has come of the entries so far.
type sweep struct {
	archives, lines, errors, named int
	seen                           map[string]bool
}

// entry is a command line, and what is expected of it.
type entry struct {
	line  string
	code  int
	wants []want
}

// want is one line of what is expected.
type want struct{ what, of string }

// archive carries out the entries of one archive, in a folder of their own.
func (s *sweep) archive(t *testing.T, a *txtar.Archive) {
	s.archives++
	t.Chdir(t.TempDir())
	for _, f := range a.Files {
		lay(t, f.Name, f.Data)
	}
	var e *entry
	for n, line := range append(strings.Split(string(a.Comment), "\n"), "$") {
		word, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		switch {
		case word == "" || word == "#":
		case word == "$":
			if e != nil {
				s.entry(t, e)
			}
			e = &entry{line: rest, code: -1}
		case word == "=" && e != nil:
			code, err := strconv.Atoi(rest)
			if err != nil {
				t.Fatalf("line %d: %s", n+1, line)
			}
			e.code = code
		case word == "make":
			if e != nil {
				s.entry(t, e)
				e = nil
			}
			makeFile(t, rest)
		case e != nil:
			e.wants = append(e.wants, want{word, strings.TrimSpace(rest)})
		default:
			t.Fatalf("line %d: %s", n+1, line)
		}
	}
}

// outcome is what came of a command line.
type outcome struct {
	words    []string // the command line
	code     int
	out, err string
	dir      string
}

// entry carries out one entry and judges it.
func (s *sweep) entry(t *testing.T, e *entry) {
	t.Helper()
	if key := t.Name() + e.line; s.seen[key] {
		t.Errorf("$ %s\nstands here twice", e.line)
	} else {
		s.seen[key] = true
	}
	s.lines++
	o := carryOut(t, e.line)
	var wrong []string
	named := true
	for _, w := range e.wants {
		lacks := judge(o, w)
		if lacks == "" {
			continue
		}
		wrong = append(wrong, lacks)
		if named = false; e.code == 0 {
			break
		}
	}
	isError := e.code != 0
	switch {
	case o.code != e.code:
		t.Errorf("$ %s\nends with code %d, not %d\n%s", e.line, o.code, e.code, o.said())
	case !isError && len(e.wants) == 0:
		t.Errorf("$ %s\nnothing is said of what must come of it", e.line)
	case !isError && len(wrong) > 0:
		t.Errorf("$ %s\na wrong result with exit code 0: %s\n%s", e.line, strings.Join(wrong, "\n"), o.said())
	case isError && !slices.ContainsFunc(e.wants, func(w want) bool { return w.what == "cause" }) || isError && !slices.ContainsFunc(e.wants, func(w want) bool { return w.what == "remedy" }):
		t.Errorf("$ %s\nnothing is said of its cause or remedy", e.line)
	case isError && foreignWords.MatchString(o.err):
		t.Errorf("$ %s\nuses a library's words: %s", e.line, o.err)
	}
	if isError {
		s.errors++
		if named && o.code == e.code {
			s.named++
		} else if o.code == e.code {
			t.Logf("$ %s\n%s\n%s", e.line, strings.Join(wrong, "\n"), o.err)
		}
	}
}

// quotedWord is a word of a command line, perhaps in quotes.
var quotedWord = regexp.MustCompile(`'[^']*'|\S+`)

// carryOut carries out a command line in this process.
func carryOut(t *testing.T, line string) *outcome {
	t.Helper()
	if strings.Contains(line, "--processes") {
		t.Fatalf("%s: the program that its processes would run is this test", line)
	}
	line, from, _ := strings.Cut(line, " < ")
	var stdin io.Reader = strings.NewReader("")
	if from != "" {
		text, err := os.ReadFile(strings.TrimSpace(from))
		if err != nil {
			t.Fatal(err)
		}
		stdin = bytes.NewReader(text)
	}
	o := &outcome{}
	for _, word := range quotedWord.FindAllString(line, -1) {
		if name, value, ok := strings.Cut(word, "="); ok && len(o.words) == 0 && strings.ToUpper(name) == name {
			os.Setenv(name, strings.Trim(value, "'"))
			defer os.Unsetenv(name)
			continue
		}
		if len(word) > 1 && word[0] == '\'' {
			word = word[1 : len(word)-1]
		}
		o.words = append(o.words, word)
	}
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	o.dir = dir
	var out, talk bytes.Buffer
	c := &screen.Console{In: stdin, Out: &out, Err: &talk, Name: "bellows", Called: "bellows", Args: o.words}
	o.code = execute(c, mf.New(), mlr.New(), lda.New(), linear.New())
	o.out, o.err = out.String(), strings.ReplaceAll(talk.String(), dir+"/", "")
	return o
}

// epochLine is a line of the table of epochs.
var epochLine = regexp.MustCompile(`(?m)^ +[0-9]+ .*\n`)

// said returns what a command line has said, but for the epochs.
func (o *outcome) said() string { return epochLine.ReplaceAllString(o.out, "") + o.err }

// folder returns the run folder or model that a command line is about.
func (o *outcome) folder() string {
	for i, word := range o.words {
		if word == "--out" && i+1 < len(o.words) && o.words[0] != "report" {
			return o.words[i+1]
		}
	}
	if len(o.words) > 1 && o.words[0] != "train" {
		return o.words[1]
	}
	return "nowhere"
}

// last returns the object in the last line of standard output, at the keys.
func (o *outcome) last(keys string) (any, error) {
	lines := strings.Split(strings.TrimSuffix(o.out, "\n"), "\n")
	var at any
	if err := json.Unmarshal([]byte(lines[len(lines)-1]), &at); err != nil {
		return nil, err
	}
	for key := range strings.SplitSeq(keys, ".") {
		object, ok := at.(map[string]any)
		if !ok {
			return nil, fmt.Errorf("there is no %s", keys)
		}
		at = object[key]
	}
	return at, nil
}
