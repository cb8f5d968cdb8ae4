package cli

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"bellows/app/lda"
	"bellows/app/mf"
	"bellows/app/mlr"
	"bellows/cli/internal/screen"
)

var update = flag.Bool("update", false, "write the golden messages of testdata/messages.txt")

// messagesFile has every case of TestMessages: a command line and what it says.
const messagesFile = "testdata/messages.txt"

// insideVariable is set while TestMessages carries out command lines in the test's own process.
const insideVariable = "CLI_TEST_INSIDE"

// TestMain ends at once where a command line that a test carries out has started this program again, as one of a job's processes: it
// is the test, not the program, and would start itself without end.
func TestMain(m *testing.M) {
	if os.Getenv(insideVariable) != "" {
		os.Exit(70)
	}
	os.Exit(m.Run())
}

// mistake is an invalid command line. The words of line are divided at blanks; "" is an empty word.
type mistake struct {
	line string
	env  string // NAME=VALUE, or nothing
	in   string // standard input
}

// TestMessages carries out command lines that are wrong, and compares what they say, and the codes they end with, with a file that is read as a
// whole: does each name its cause, and what to do?
func TestMessages(t *testing.T) {
	golden, err := filepath.Abs(messagesFile)
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(t.TempDir())
	t.Setenv(insideVariable, "1")
	mistakenFiles(t)
	t.Setenv("HOME", t.TempDir())
	state := t.TempDir()
	t.Setenv("XDG_STATE_HOME", state)
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	for _, line := range []string{"train mf good.tsv --epochs 2 --out model", "train mlr good.svm --epochs 2 --out classes", "train mlr table.csv --label b --epochs 2 --out named"} {
		if code, out := say(mistake{line: line}); code != 0 {
			t.Fatal(out)
		}
	}
	spoil(t)
	var b strings.Builder
	said := map[string]string{}
	for _, m := range mistakes {
		code, text := say(m)
		text = strings.ReplaceAll(text, state, "STATE")
		fmt.Fprintf(&b, "%s$ bellows %s    [%d]\n%s\n", strings.TrimLeft(m.env+" ", " "), m.line, code, text)
		checkMessage(t, m, code, text)
		said[m.env+m.line] = text
	}
	if len(said) != len(mistakes) || len(mistakes) < 120 {
		t.Errorf("%d different mistakes of %d; promised are 120", len(said), len(mistakes))
	}
	if *update {
		if err := os.WriteFile(golden, []byte(b.String()), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	compareBlocks(t, b.String(), string(want))
}

// compareBlocks shows the cases that differ: go test ./cli -run TestMessages -update writes them anew, to be read.
func compareBlocks(t *testing.T, got, want string) {
	t.Helper()
	had := strings.Split(want, "\n\n")
	for i, block := range strings.Split(got, "\n\n") {
		if i >= len(had) || had[i] != block {
			t.Errorf("got\n%s\nwant\n%s", block, had[min(i, len(had)-1)])
		}
	}
	if len(got) < len(want) {
		t.Error("there are cases fewer than in the file")
	}
}

// foreignWords are those of libraries, which know nothing of what the user wanted.
var foreignWords = regexp.MustCompile(`strconv|invalid syntax|%!|panic|goroutine|\bnil\b|unmarshal|open [a-z./-]+: no such`)

// checkMessage holds one message against what all must be.
func checkMessage(t *testing.T, m mistake, code int, text string) {
	t.Helper()
	switch {
	case code != 64 && code != 65 && code != 66 && code != 69 && code != 73 && code != 77 && code != 78:
		t.Errorf("%s ends with code %d:\n%s", m.line, code, text)
	case strings.TrimSpace(text) == "" || foreignWords.MatchString(text):
		t.Errorf("%s says %q", m.line, text)
	case !strings.Contains(text, ";") && strings.Count(text, "\n") < 2 && !regexp.MustCompile(`must be|did you mean|it takes no|wanted|there is no|there are`).MatchString(text):
		t.Errorf("%s names no remedy: %q", m.line, text)
	}
}

// say carries out a command line and returns its code and its last message.
func say(m mistake) (code int, text string) {
	if name, value, ok := strings.Cut(m.env, "="); ok {
		os.Setenv(name, value)
		defer os.Unsetenv(name)
	}
	words := strings.Fields(m.line)
	for i, w := range words {
		words[i] = strings.Trim(w, `"`)
	}
	var talk bytes.Buffer
	c := &screen.Console{In: strings.NewReader(m.in), Out: &bytes.Buffer{}, Err: &talk, Name: "bellows", Args: words}
	code = execute(c, mf.New(), mlr.New(), lda.New())
	dir, err := os.Getwd()
	if err != nil {
		return code, err.Error()
	}
	text = strings.ReplaceAll(talk.String(), dir+"/", "")
	return code, regexp.MustCompile(`/\S*/jobs`).ReplaceAllString(text, "STATE/jobs")
}

// packed returns text as gzip.
func packed(text string) string {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	z.Write([]byte(text)) // into memory
	z.Close()
	return b.String()
}

// mistakenFiles writes the files that the cases name, good ones and others.
func mistakenFiles(t *testing.T) {
	t.Helper()
	const good = "a\tx\t3\na\ty\t4\nb\tx\t1\nb\ty\t2\nc\tx\t5\nc\ty\t3\n"
	files := map[string]string{
		"good.tsv": good,
		"good.svm": "1 1:0.5 3:1\n0 2:1\n1 1:1\n0 3:2\n1 1:2 2:1\n0 3:1\n",
		"good.txt": "cats chase mice\ndogs chase cats\nmice eat cheese\n",
	}
	for name, text := range files {
		write(t, name, text)
	}
	for name, text := range badFiles(good) {
		write(t, name, text)
	}
	for _, dir := range []string{"empty", "foreign", "half"} {
		if err := os.Mkdir(dir, 0o777); err != nil {
			t.Fatal(err)
		}
	}
	write(t, "foreign/labels.txt", "mine\n")
	write(t, "half/run.json", "{\"format\": \"bell")
}

func write(t *testing.T, name, text string) {
	t.Helper()
	if err := os.WriteFile(name, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
}

// spoil makes damaged copies of the model.
func spoil(t *testing.T) {
	t.Helper()
	for name, change := range map[string]func(string) string{
		"short":  func(s string) string { return s[:len(s)/2] },
		"long":   func(s string) string { return s + "x" },
		"turned": func(s string) string { return strings.Replace(s, "x", "y", 1) + "" },
	} {
		if err := os.CopyFS(name, os.DirFS("model")); err != nil {
			t.Fatal(err)
		}
		for _, file := range []string{"items.txt", "manifest.json"} {
			text, err := os.ReadFile(filepath.Join(name, file))
			if err != nil {
				t.Fatal(err)
			}
			if file == "items.txt" || name == "short" {
				write(t, filepath.Join(name, file), change(string(text)))
			}
		}
	}
	if err := os.WriteFile("model/report.html", []byte("mine"), 0o666); err != nil {
		t.Fatal(err)
	}
}

// TestMessagesAreJudged plants words that no message may have.
func TestMessagesAreJudged(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{
		"set --epochs=x: it must be a whole number": false, "strconv.Atoi: parsing x; do": true, "": true,
	} {
		if got := cmp.Or(strings.TrimSpace(text) == "", foreignWords.MatchString(text)); got != want {
			t.Errorf("%q: %v", text, got)
		}
	}
}
