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

// console returns that of a program named bellows, without input.
func console(out io.Writer, args ...string) *screen.Console {
	return &screen.Console{In: strings.NewReader(""), Out: out, Err: io.Discard, Name: "bellows", Args: args}
}

// asker is an application with verbs.
type asker struct {
	app.Application
	verbs []app.Verb
}

func (a asker) Verbs() []app.Verb { return a.verbs }

// TestHeadlineComesFirst wants the first words on the screen before any data has been read: the
// input is a pipe that stays empty until they have come.
func TestHeadlineComesFirst(t *testing.T) {
	t.Parallel()
	in, feed := io.Pipe()
	shown, out := io.Pipe()
	c := console(out, "train", "mf", "-", "--epochs", "1", "--format", "triples", "--out", filepath.Join(t.TempDir(), "m"),
		"--state", t.TempDir())
	c.In = in
	code := make(chan int)
	go func() { code <- execute(c, mf.New()) }()
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
	similar := app.Verb{Name: "similar", Args: []string{"ITEM"}, Example: "jaws", Columns: []string{"item", "score"}}
	var listed bytes.Buffer
	c := console(&listed, "schema")
	program, err := verbs.New(c, asker{mf.New(), []app.Verb{similar}}, mlr.New())
	if err != nil {
		t.Fatal(err)
	}
	root := newRoot(program)
	if err := root.Execute(); err != nil {
		t.Fatal(err)
	}
	for _, cmd := range root.Commands() {
		name := cmd.Name()
		if name == "completion" || name == "help" || !cmd.IsAvailableCommand() {
			continue
		}
		if !strings.HasPrefix(cmd.Example, "  bellows "+name) {
			t.Errorf("the example of %s is %q", name, cmd.Example)
		}
		switch {
		case cmd.HasSubCommands() && (name == "model" || name == "cache"):
			name += "-show"
		case cmd.HasSubCommands() && name == "plan":
			name += "-shape"
		}
		if !strings.Contains("\n"+listed.String(), "\n"+name+"\n") {
			t.Errorf("%s has no schema", name)
		}
	}
}

// TestProgramsThatCannotBe finds invalid programs before any command runs.
func TestProgramsThatCannotBe(t *testing.T) {
	t.Parallel()
	with := func(a app.Application, columns string, names ...string) app.Application {
		var list []app.Verb
		for _, name := range names {
			list = append(list, app.Verb{Name: name, Columns: []string{columns}, Answer: func(*app.Question) ([][]any, error) { return nil, nil }})
		}
		return asker{a, list}
	}
	flagged := func(a app.Application, f app.Flag) app.Application {
		return asker{a, []app.Verb{{Name: "near", Flags: []app.Flag{f, app.Top()}}}}
	}
	for _, c := range []struct {
		want string
		apps []app.Application
	}{
		{"start bellows: there is no application", nil},
		{"two applications are called mf", []app.Application{mf.New(), mlr.New(), mf.New()}},
		{"an application adds the verb train, which is there already", []app.Application{with(mf.New(), "", "train")}},
		{"an application adds the verb help, which is there already", []app.Application{with(mf.New(), "", "help")}},
		{"the verb near of mlr is not that of mf", []app.Application{with(mf.New(), "a", "near"), with(mlr.New(), "b", "near")}},
		{"the verb near of mf is not that of mf", []app.Application{with(mf.New(), "a", "near", "near")}},
		{"the verb near of mlr is not that of mf", []app.Application{flagged(mf.New(), app.Flag{Name: "to"}), flagged(mlr.New(), app.Flag{Name: "to", Many: true})}},
		{"", []app.Application{flagged(mf.New(), app.Flag{Name: "to"}), flagged(mlr.New(), app.Flag{Name: "from"})}},
		{"", []app.Application{with(mf.New(), "a", "near", "far"), with(mlr.New(), "a", "near")}},
	} {
		_, err := verbs.New(console(io.Discard), c.apps...)
		if c.want == "" && err != nil || c.want != "" && (bellows.KindOf(err) != bellows.Bug || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%v: want %q", err, c.want)
		}
	}
}

// TestPrintedCommandsUseThisProgramsPath checks that a program outside PATH is not printed by its name alone.
func TestPrintedCommandsUseThisProgramsPath(t *testing.T) {
	t.Parallel()
	for word, want := range map[string]string{"bellows": "bellows", "./bellows": "./bellows", "/my tools/bellows": "'/my tools/bellows'"} {
		if got := called(word); got != want {
			t.Errorf("%s is called as %s, want %s", word, got, want)
		}
	}
	if got := called("/tmp/go-build123/b001/exe/bellows"); !strings.HasPrefix(got, "go run bellows/") {
		t.Errorf("what go run has made is called as %s", got)
	}
}
