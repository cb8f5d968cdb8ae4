package verbs

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"bellows"
	"bellows/app"
	"bellows/app/mf"
	"bellows/app/mlr"
	"bellows/cli/internal/line"
	"bellows/cli/internal/processes"
	"bellows/cli/internal/screen"
	"bellows/data"
	"bellows/data/folds"
	"bellows/random"
	"bellows/run/event"
)

// jsonOf carries out a training command with --json and returns what it writes. It is interrupted when it has written a text.
func jsonOf(t *testing.T, a app.Application, file string, opt trainOptions, until string) (text string, err error) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	out := &watched{until: until, found: cancel}
	tool, err := New(&screen.Console{Out: out, Err: io.Discard, Name: "bellows", JSON: true}, a)
	if err != nil {
		t.Fatal(err)
	}
	opt.seed, opt.workers, opt.cache, opt.state, opt.epochs = 1, "2", "off", t.TempDir(), 4
	opt.cluster = processes.Options{Servers: "auto", Shape: "off", Transport: "auto", Wire: "fp32", Pairs: "auto"}
	opt.reading.header = "auto"
	err = tool.train(ctx, a, []string{file}, &opt)
	return out.String(), err
}

// watched is a text that is written, and what happens when it holds another.
type watched struct {
	bytes.Buffer
	until string
	found func()
}

func (w *watched) Write(p []byte) (int, error) {
	if w.until != "" && bytes.Contains(p, []byte(w.until)) {
		w.found()
	}
	return w.Buffer.Write(p)
}

// lastLine carries out a training command with --json and returns its last line.
func lastLine[T any](t *testing.T, a app.Application, file string, opt trainOptions) (last T) {
	t.Helper()
	text, err := jsonOf(t, a, file, opt, "")
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(text), "\n")
	if err := json.Unmarshal([]byte(lines[len(lines)-1]), &last); err != nil {
		t.Fatal(err)
	}
	if told := strings.Count(text, `"kind":"`+string(event.Fold)+`"`); opt.cv != "" && fmt.Sprint(told) != opt.cv {
		t.Errorf("%d folds were told of", told)
	}
	return last
}

// TestFoldEqualsASeparateTraining compares a fold with training on files: its rows as the test, the others as data.
func TestFoldEqualsASeparateTraining(t *testing.T) {
	t.Parallel()
	var ratings, rows []string
	for r := range uint64(60) {
		ratings = append(ratings, fmt.Sprintf("u%d\ti%d\t%d", random.Derive(1, r)%12, random.Derive(2, r)%9, 1+random.Derive(3, r)%5))
		rows = append(rows, fmt.Sprintf("%s\t%g\t%g", [3]string{"a", "b", "c"}[r%3], float64(r%3)+random.Uniform(random.Derive(4, r)), random.Uniform(random.Derive(5, r))))
	}
	for _, c := range []struct {
		app  app.Application
		kind data.Kind
		rows []string
	}{{mf.New(), data.Ratings, ratings}, {mlr.New(), data.Examples, rows}} {
		dir := t.TempDir()
		write := func(name string, list []string) string {
			path := filepath.Join(dir, name)
			if err := os.WriteFile(path, []byte(strings.Join(list, "\n")+"\n"), 0o666); err != nil {
				t.Fatal(err)
			}
			return path
		}
		whole := write("whole.tsv", c.rows)
		all := lastLine[validated](t, c.app, whole, trainOptions{cv: "3"})
		set, err := data.Read(t.Context(), []string{whole}, c.kind, data.Options{})
		if err != nil {
			t.Fatal(err)
		}
		d, err := folds.New(1, 3, set, nil)
		if err != nil || len(all.Folds) != 3 || all.Stratified != (c.kind == data.Examples) {
			t.Fatal(err, all)
		}
		for n, f := range all.Folds {
			training, held := d.Divide(n)
			pick := func(list []int32) (out []string) {
				for _, r := range list {
					out = append(out, c.rows[r])
				}
				return out
			}
			one := lastLine[result](t, c.app, write("train.tsv", pick(training)), trainOptions{test: []string{write("test.tsv", pick(held))}, out: filepath.Join(dir, fmt.Sprint("model-", n))})
			if !maps.Equal(f.Metrics, one.Metrics) || f.Epochs != one.Epochs || *f.Baseline != folds.Measure(*one.Baseline) || f.TrainRows != len(training) || f.TestRows != len(held) {
				t.Errorf("fold %d is %+v, a separate training %+v", n+1, f, one.Metrics)
			}
		}
		if left, err := filepath.Glob(filepath.Join(dir, "*")); err != nil || len(left) != 6 { // three files, three models
			t.Errorf("there are %v, %v", left, err)
		}
	}
}

// TestFoldsThatAreDoneAreShown interrupts a cross-validation between two folds: the finished ones are shown.
func TestFoldsThatAreDoneAreShown(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "rows.csv")
	if err := os.WriteFile(file, []byte("label,a\n"+strings.Repeat("x,1\nx,2\ny,3\ny,4\n", 6)), 0o666); err != nil {
		t.Fatal(err)
	}
	text, err := jsonOf(t, mlr.New(), file, trainOptions{cv: "4"}, `"kind":"fold","node":"node-0","sentence":"fold 2 of 4`)
	var told screen.Told
	if line.KindOf(err) != bellows.Interrupted || !errors.As(err, &told) || !strings.Contains(err.Error(), "in fold 3 of 4: nothing is kept") {
		t.Errorf("it ends with %v", err)
	}
	var last validated
	lines := strings.Split(strings.TrimSpace(text), "\n")
	if err := json.Unmarshal([]byte(lines[len(lines)-1]), &last); err != nil || !last.Interrupted || len(last.Folds) != 2 || len(last.Deviations) == 0 {
		t.Errorf("%v, %+v", err, last)
	}
}
