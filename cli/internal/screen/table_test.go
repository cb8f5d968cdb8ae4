package screen

import (
	"bytes"
	"slices"
	"strings"
	"testing"
	"time"

	"bellows/app"
	"bellows/train"
)

func TestShellWords(t *testing.T) {
	t.Parallel()
	for got, want := range map[string]string{
		ShellWord("a b"): "'a b'", ShellWord("it's"): `'it'\''s'`, ShellWord("runs/mf-1"): "runs/mf-1", ShellWord(""): "''",
	} {
		if got != want {
			t.Errorf("%q should be %q", got, want)
		}
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
	c := &Console{Out: &terminal, Err: &terminal}
	s := NewEpochTable(c, app.Description{Unit: "ratings", Metrics: []string{"train_rmse"}})
	s.live, s.clears, s.began = true, true, time.Now()
	s.Begin("title: ")
	s.Headline("rest", "here")
	s.show()
	s.Add(Row{Epoch: train.Epoch{Number: 1, Metrics: []train.Metric{{Name: "train_rmse", Value: 0.5}}}, Seconds: 1, Rate: 10, Members: "1w 1s"})
	s.show()
	s.Sentence("something happened")
	s.Close()
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
