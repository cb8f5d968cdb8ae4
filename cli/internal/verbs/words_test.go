package main

import (
	"bytes"
	"slices"
	"strings"
	"testing"
	"time"

	"bellows"
	"bellows/app"
	"bellows/train"
)

func TestNearest(t *testing.T) {
	t.Parallel()
	known := []string{"train", "eval", "predict", "model", "demo", "epochs", "mf", "mlr"}
	for word, want := range map[string]string{
		"tarin": "train", "trian": "train", "epocs": "epochs", "pred": "predict", "fm": "mf", "mrl": "mlr",
		"EVAL": "eval", "xyzzy": "", "quantum": "", "": "",
	} {
		if got := nearest(word, known); got != want {
			t.Errorf("nearest to %q is %q, not %q", word, got, want)
		}
	}
}

func TestEdits(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		a, b string
		want int
	}{{"", "", 0}, {"a", "", 1}, {"", "ab", 2}, {"ab", "ba", 1}, {"abc", "abd", 1}, {"kitten", "sitting", 3}} {
		if got := edits(c.a, c.b); got != c.want || edits(c.b, c.a) != got {
			t.Errorf("%q and %q are %d edits apart, not %d", c.a, c.b, got, c.want)
		}
	}
}

func TestShellWords(t *testing.T) {
	t.Parallel()
	for got, want := range map[string]string{
		shellWord("a b"): "'a b'", shellWord("it's"): `'it'\''s'`, shellWord("runs/mf-1"): "runs/mf-1", shellWord(""): "''",
	} {
		if got != want {
			t.Errorf("%q should be %q", got, want)
		}
	}
}

// TestEveryKindHasItsPlace keeps the table of exit codes whole.
func TestEveryKindHasItsPlace(t *testing.T) {
	t.Parallel()
	for kind := bellows.Bug; kind <= bellows.Interrupted; kind++ {
		if kindNames[kind] == "" {
			t.Errorf("kind %d, exit code %d, has no name", kind, kind.ExitCode())
		}
		n := 0
		for _, e := range exitMeanings {
			if e.kind == kind {
				n++
			}
		}
		if n != 1 {
			t.Errorf("exit code %d is %d times in the table", kind.ExitCode(), n)
		}
	}
}

// TestEveryCommandHasASchema and an example: --json is on every command.
func TestEveryCommandHasASchema(t *testing.T) {
	t.Parallel()
	root := newRoot(&console{in: strings.NewReader(""), out: &bytes.Buffer{}, err: &bytes.Buffer{}})
	known := schemaNames()
	for _, cmd := range root.Commands() {
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
		if !slices.Contains(known, name) {
			t.Errorf("%s has no schema", name)
		}
	}
}

func TestPredictionLines(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	p := &predictionLines{to: &out}
	for _, part := range []string{"1.5\n2\t0.", "25\nlab", "el\nNaN\n"} {
		if n, err := p.Write([]byte(part)); err != nil || n != len(part) {
			t.Fatal(n, err)
		}
	}
	want := `{"row":1,"prediction":1.5}
{"row":2,"prediction":[2,0.25]}
{"row":3,"prediction":"label"}
{"row":4,"prediction":"NaN"}
`
	if out.String() != want {
		t.Errorf("the lines are\n%snot\n%s", out.String(), want)
	}
}

func TestTableColumns(t *testing.T) {
	t.Parallel()
	if got := metricColumns([]string{"train_rmse", "test_rmse"}); !slices.Equal(got, []string{"train", "test"}) {
		t.Errorf("titles of one metric are %q", got)
	}
	if got := metricColumns([]string{"train_logloss", "test_accuracy"}); !slices.Equal(got, []string{"train log-loss", "test accuracy"}) {
		t.Errorf("titles of two metrics are %q", got)
	}
}

// TestLiveLine follows a live line and the table on one terminal: the line is gone before a row is
// written, and at the end.
func TestLiveLine(t *testing.T) {
	t.Parallel()
	var terminal bytes.Buffer
	c := &console{out: &terminal, err: &terminal}
	s := newScreen(c, app.Description{Unit: "ratings", Metrics: []string{"train_rmse"}})
	s.live, s.clears, s.began = true, true, time.Now()
	s.begin("title: ")
	s.headline("rest", "here")
	s.show()
	s.add(progress{Epoch: train.Epoch{Number: 1, Metrics: []train.Metric{{Name: "train_rmse", Value: 0.5}}}, seconds: 1, rate: 10, members: "1w 1s"})
	s.show()
	s.sentence("something happened")
	s.close()
	text := terminal.String()
	want := "title: rest\nhere\nepoch    train     time   ratings/s  wait   members\n"
	if !strings.HasPrefix(text, want) {
		t.Fatalf("the table begins with %q", text)
	}
	for _, line := range strings.SplitAfter(text[len(want):], "\n") {
		if shown := strings.LastIndex(line, "running"); shown >= 0 && strings.LastIndex(line, "\r\x1b[K") < shown {
			t.Errorf("the live line stays before %q", line)
		}
	}
	if !strings.Contains(text, "\r\x1b[K    1   0.5000    1.00s          10    0%     1w 1s\n") {
		t.Errorf("the row is not on a line of its own: %q", text)
	}
}
