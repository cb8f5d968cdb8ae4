package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"math"
	"os"
	"strconv"
	"strings"
	"time"

	"bellows/app"
	"bellows/app/linear"
	"bellows/bench/internal/pair"
	"bellows/bench/internal/sets"
	"bellows/bench/internal/trial"
	"bellows/data"
)

// faster is how many times as long online learners may take as we do to their own log-loss; atLeast is the CPU time of a measurement.
const (
	faster  = 1.5
	atLeast = time.Second
)

// onlineSets is the sets of two classes, or two halves of them, that are raced on; a fifth of the rows are tested.
var onlineSets = []string{"a9a", "imdb_bow", "20news_tfidf"}

func onlineRows(b *pair.Bench, shelf *sets.Shelf, name string) (train, test *data.ExampleSet) {
	train, test = parted(halves(readAlone(shelf.Alone(name)).Examples), 1, tested)
	b.Section(fmt.Sprintf("%s: %d rows, two halves of the classes, %d tested", name, train.Rows(), test.Rows()))
	return train, test
}

// towards returns a run with our defaults that ends with the first epoch whose test log-loss is at most the goal.
func towards(train, test *data.Set, goal float64) (out *trial.Outcome, reached bool) {
	out = trial.Setup{App: linear.New(), Data: train, Test: test, Slots: 1, Goal: &app.Goal{Metric: "test_logloss", Below: true, Value: goal}}.Train()
	got, ok := out.Metric("test_logloss", len(out.Epochs))
	return out, ok && got <= goal
}

// raceTo races our side to a goal against a peer's that has come to it. Both give the CPU time of so many runs.
func raceTo(b *pair.Bench, peer string, goal float64, from string, ours func() (out *trial.Outcome, took time.Duration, reached bool), theirs func(times int) time.Duration) {
	out, once, reached := ours()
	if !reached {
		got, _ := out.Metric("test_logloss", len(out.Epochs))
		b.AddFact(pair.Fact{Figure: "test log-loss", Ours: got, Peer: peer, Bound: goal, Exact: true})
		return
	}
	var one time.Duration
	if err := pair.Attempt(func() { one = theirs(1) }); err != nil {
		b.Note("%s is not measured: %v", peer, err)
		return
	}
	epochs, ourTimes, theirTimes := len(out.Epochs), repeats(once), repeats(one)
	b.Race(pair.Row{Figure: fmt.Sprintf("%s to log-loss %.4f", from, goal), Unit: "s", Cost: true, Clock: pair.CPU, Target: faster},
		pair.Side{Name: "bellows", Run: func() pair.Turn {
			t := pair.Turn{Work: float64(ourTimes)}
			for range ourTimes {
				_, took, _ := ours()
				t.CPU += took
			}
			return t
		}},
		pair.Side{Name: peer, Run: func() pair.Turn {
			return pair.Turn{Work: float64(theirTimes), CPU: theirs(theirTimes)}
		}})
	b.Note("%d epochs; %d and %d runs a turn", epochs, ourTimes, theirTimes)
}

// losses races our defaults to the test log-loss that scikit-learn's SGDClassifier has with its own, both from rows in memory.
func losses(b *pair.Bench, shelf *sets.Shelf, python *pair.Child) {
	for _, name := range onlineSets {
		train, test := onlineRows(b, shelf, name)
		a, c := file(shelf, name+".losses.train", train), file(shelf, name+".losses.test", test)
		answer, err := python.Ask(fmt.Sprintf("sgd\t%s\t%s\t1", a, c))
		if err != nil {
			b.Note("scikit-learn is not measured: %v", err)
			return
		}
		goal := answer[3]
		raceTo(b, "SGDClassifier", goal, "from rows", func() (*trial.Outcome, time.Duration, bool) {
			out, reached := towards(setOf(train), setOf(test), goal)
			return out, out.Until(len(out.Epochs)).CPU, reached
		}, func(times int) time.Duration {
			return pair.Seconds(pair.Must(python.Ask(fmt.Sprintf("sgd\t%s\t%s\t%d", a, c, times)))[2])
		})
	}
}

// wabbit races our defaults to the test log-loss of one pass of Vowpal Wabbit's with its own. It learns as it reads: both sides have plain text of the same rows, in an order by chance, and their time is from
// opening it to the model. Of its time that of its start is taken off, which is a run on one row.
func wabbit(b *pair.Bench, shelf *sets.Shelf, program string) {
	for _, name := range onlineSets {
		train, test := onlineRows(b, shelf, name)
		text := file(shelf, name+".online.train", train)
		own, one, exam := shelf.Path("train.vw"), shelf.Path("one.vw"), shelf.Path("test.vw")
		writeWabbit(own, train)
		writeWabbit(one, selected(train, []int{0}))
		writeWabbit(exam, test)
		model := shelf.Path("vw.model")
		fit := func(text string) time.Duration {
			_, turn := pair.RunProgram("Vowpal Wabbit", program, nil, "--loss_function", "logistic", "-d", text, "-f", model, "--quiet")
			return turn.CPU
		}
		fit(own)
		goal := wabbitLoss(program, model, exam, shelf.Path("vw.answers"), test)
		raceTo(b, "Vowpal Wabbit", goal, "from text", func() (*trial.Outcome, time.Duration, bool) {
			began := pair.CPUTime()
			set := pair.Must(data.Read(context.Background(), []string{text}, data.Examples, data.Options{Workers: 1}))
			defer set.Close()
			out, reached := towards(set, setOf(test), goal)
			return out, pair.CPUTime() - began, reached
		}, func(times int) (took time.Duration) {
			for range times {
				took += fit(own) - fit(one)
			}
			return took
		})
	}
}

// writeWabbit writes rows in Vowpal Wabbit's format.
func writeWabbit(path string, e *data.ExampleSet) {
	sets.Write(path, func(w *bufio.Writer) {
		for r, y := range e.Label {
			fmt.Fprint(w, y, " |")
			entries(e, r, func(j int, v float32) { fmt.Fprintf(w, " %d:%g", j+1, v) })
			w.WriteByte('\n')
		}
	})
}

// wabbitLoss returns the mean log-loss of a model on test rows.
func wabbitLoss(program, model, exam, answers string, test *data.ExampleSet) (sum float64) {
	pair.RunProgram("Vowpal Wabbit", program, nil, "-t", "-i", model, "-d", exam, "-p", answers, "--link", "logistic", "--quiet")
	lines := bufio.NewScanner(bytes.NewReader(pair.Must(os.ReadFile(answers))))
	for _, y := range test.Label {
		if !lines.Scan() {
			pair.Check(fmt.Errorf("vw answered for fewer than %d rows: %w", test.Rows(), io.ErrUnexpectedEOF))
		}
		p := pair.Must(strconv.ParseFloat(strings.TrimSpace(lines.Text()), 64))
		if y < 0 {
			p = 1 - p
		}
		sum -= math.Log(max(p, 1e-15)) / float64(test.Rows())
	}
	return sum
}
