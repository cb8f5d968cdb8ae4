package screen

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"bellows/app"
	"bellows/progress"
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
	if got, sort := metricColumns([]string{"train_rmse", "test_rmse"}); !slices.Equal(got, []string{"train", "test"}) || sort != "RMSE" {
		t.Errorf("titles of one metric are %q, of %q", got, sort)
	}
	if got, sort := metricColumns([]string{"train_logloss", "test_accuracy"}); !slices.Equal(got, []string{"train log-loss", "test accuracy"}) || sort != "" {
		t.Errorf("titles of two metrics are %q, of %q", got, sort)
	}
}

// The applications of this tree, as far as a table knows them.
var (
	ratingsApp = app.Description{Unit: "ratings", Metrics: []string{"train_rmse", "test_rmse"}}
	rowsApp    = app.Description{Unit: "rows", Metrics: []string{"train_accuracy", "train_logloss", "test_accuracy", "test_logloss"}}
	tokensApp  = app.Description{Unit: "tokens", Metrics: []string{"train_loglik_per_token", "test_loglik_per_token"}}
)

// tableOf returns a table on a screen of that width, and what was written.
func tableOf(d app.Description, width int) (*EpochTable, *bytes.Buffer) {
	out := &bytes.Buffer{}
	c := &Console{Out: out, Err: &bytes.Buffer{}}
	return NewEpochTable(c, NewLive(c, progress.New(context.Background())), d, width), out
}

func epochOf(d app.Description, number int, value float64) Row {
	r := Row{Epoch: train.Epoch{Number: number}, Seconds: 12.3, Rate: 2.2e6, Wait: 0.01, Members: "2w 1s"}
	for _, name := range d.Metrics {
		r.Metrics = append(r.Metrics, train.Metric{Name: name, Value: value})
	}
	return r
}

// TestTheTableFitsTheTerminal draws the tables of all applications on narrow and on wide screens, with figures of every size.
func TestTheTableFitsTheTerminal(t *testing.T) {
	t.Parallel()
	const rest, place = "100 000 ratings, 943 × 1 682, triples, tab · rank 32 · 10 % held out (seed 1)", "one process, 2 workers"
	for _, c := range []struct {
		app   app.Description
		width int
		want  string // titles
	}{
		{ratingsApp, 0, "epoch    train     test     time   ratings/s  wait   members"},
		{ratingsApp, 200, "epoch    train     test     time   ratings/s  wait   members"},
		{ratingsApp, 80, "epoch    train     test     time   ratings/s  wait   members"},
		{ratingsApp, 40, "epoch    train     test     time"},
		{rowsApp, 200, "epoch   train accuracy   train log-loss   test accuracy   test log-loss     time   rows/s  wait   members"},
		{rowsApp, 80, "epoch  train acc  train loss  test acc  test loss     time   rows/s  wait"},
		{rowsApp, 40, "epoch  test acc  test loss     time"},
		{rowsApp, 10, "epoch  test loss"},
		{tokensApp, 40, "epoch    train     test     time"},
	} {
		table, out := tableOf(c.app, c.width)
		if c.width == 0 {
			table.Begin("matrix factorisation · ratings.tsv: ")
			table.Headline(rest, place)
		} else {
			table.Headline("matrix factorisation · ratings.tsv: "+rest, place)
		}
		for _, value := range []float64{0.9081, -7.13961, 0, 4521.75, -98671.776, 1832887126.4, -9.8671e-10} {
			table.Add(epochOf(c.app, 1, value))
		}
		text := out.String()
		if !strings.Contains(text, "\n"+c.want+"\n") {
			t.Errorf("at %d the titles are not %q but in\n%s", c.width, c.want, text)
		}
		_, body, _ := strings.Cut(text, c.want+"\n")
		columns := len(strings.Fields(body[:strings.IndexByte(body, '\n')]))
		for line := range strings.Lines(text) {
			line = strings.TrimSuffix(line, "\n")
			if n := utf8.RuneCountInString(line); c.width >= 40 && n > c.width {
				t.Errorf("%d characters on a screen of %d: %q", n, c.width, line)
			}
		}
		for line := range strings.Lines(body) {
			if len(strings.Fields(line)) != columns {
				t.Errorf("columns run together: %q", line)
			}
		}
	}
}

// TestTableNamesTheDataOfItsColumns once if all are of one metric.
func TestTableNamesTheDataOfItsColumns(t *testing.T) {
	t.Parallel()
	for want, d := range map[string]app.Description{
		"here · train and test: log-likelihood per token\n": tokensApp, "here · train and test: RMSE\n": ratingsApp, "here\n": rowsApp} {
		table, out := tableOf(d, 0)
		table.Headline("rest", "here")
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q, without %q", out.String(), want)
		}
	}
}

// TestFastEpochsAreThinned: on a terminal, of many epochs in a second some have a line, and the last one; slow ones all have. Elsewhere all have.
func TestFastEpochsAreThinned(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		width int
		each  time.Duration
		want  string
	}{
		{80, time.Millisecond, "1 2 3 4 5 6 7 8 9 10 15 20 25 30 35 40 45 50 60 70 80 83 "},
		{80, time.Second, "all"},
		{0, time.Millisecond, "all"},
	} {
		table, out := tableOf(ratingsApp, c.width)
		now := time.Unix(1, 0)
		table.now = func() time.Time { return now }
		if c.want == "all" {
			c.want = ""
			for n := range 83 {
				c.want += fmt.Sprint(n+1, " ")
			}
		}
		for n := range 83 {
			now = now.Add(c.each)
			table.Add(epochOf(ratingsApp, n+1, 0.5))
		}
		table.End()
		table.End()
		got := ""
		for line := range strings.Lines(out.String()) {
			got += strings.Fields(line)[0] + " "
		}
		if got != c.want {
			t.Errorf("%+v: epochs %s", c, got)
		}
	}
}
