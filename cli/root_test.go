package cli

import (
	"bytes"
	"io"
	"path/filepath"
	"strings"
	"testing"

	"bellows"
	"bellows/app"
	"bellows/app/mf"
	"bellows/app/mlr"
	"bellows/cli/internal/screen"
	"bellows/cli/internal/verbs"
)

// tool is a program called bellows, with no input.
func tool(out io.Writer, apps ...app.Application) *verbs.Tool {
	c := &screen.Console{In: strings.NewReader(""), Out: out, Err: io.Discard, Name: "bellows"}
	return &verbs.Tool{Console: c, Apps: apps}
}

// TestHeadlineComesFirst wants the first words on the screen before any data has been read: the
// input is a pipe that stays empty until they have come.
func TestHeadlineComesFirst(t *testing.T) {
	t.Parallel()
	in, feed := io.Pipe()
	shown, out := io.Pipe()
	bellows := tool(out, mf.App{})
	bellows.In = in
	bellows.Args = []string{"train", "mf", "-", "--epochs", "1", "--format", "triples", "--out", filepath.Join(t.TempDir(), "m"),
		"--state", t.TempDir()}
	code := make(chan int)
	go func() { code <- execute(bellows) }()
	want := "matrix factorisation · standard input: "
	words := make([]byte, len(want))
	if _, err := io.ReadFull(shown, words); err != nil || string(words) != want {
		t.Fatalf("the first words are %q, %v", words, err)
	}
	if _, err := io.WriteString(feed, "a b 3\na c 4\nb b 1\n"); err != nil {
		t.Fatal(err)
	}
	feed.Close()
	go io.Copy(io.Discard, shown)
	if got := <-code; got != 0 {
		t.Errorf("exit code %d", got)
	}
}

// TestEveryCommandHasASchema and an example: --json is on every command.
func TestEveryCommandHasASchema(t *testing.T) {
	t.Parallel()
	var listed bytes.Buffer
	names := tool(&listed, mf.App{})
	names.Args = []string{"schema"}
	if code := execute(names); code != 0 {
		t.Fatal(code)
	}
	for _, cmd := range newRoot(tool(io.Discard, mf.App{})).Commands() {
		name := cmd.Name()
		if name == "completion" || name == "help" || !cmd.IsAvailableCommand() {
			continue
		}
		if cmd.Example == "" {
			t.Errorf("%s has no example", name)
		}
		if name == "model" {
			name = "model-show"
		}
		if !strings.Contains("\n"+listed.String(), "\n"+name+"\n") {
			t.Errorf("%s has no schema", name)
		}
	}
}

// TestApplicationsThatCannotBe are found before any command runs.
func TestApplicationsThatCannotBe(t *testing.T) {
	t.Parallel()
	for want, apps := range map[string][]app.Application{
		"there is no application":        nil,
		"two applications are called mf": {mf.App{}, mlr.New(), mf.App{}},
	} {
		bad := tool(io.Discard, apps...)
		var said bytes.Buffer
		bad.Err = &said
		if code := execute(bad); code != bellows.Bug.ExitCode() || !strings.Contains(said.String(), want) {
			t.Errorf("code %d, %q: want %q", code, said.String(), want)
		}
	}
}
