package main

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"

	"bellows/bench/internal/pair"
	"bellows/bench/internal/sets"
	"bellows/data"
)

// wabbit is Vowpal Wabbit, one against all, on one set. It reads its own text, written here in an order by chance: learning
// as it reads, it would be lost in a file sorted by class.
type wabbit struct {
	program, train, test, model, cache, answers string
	classes                                     int
	labels                                      []int
}

func newWabbit(b *bench, train, test *data.Set) *wabbit {
	w := &wabbit{program: b.vw, train: b.shelf.Path("train.vw"), test: b.shelf.Path("test.vw"), model: b.shelf.Path("vw.model"),
		cache: b.shelf.Path("vw.cache"), answers: b.shelf.Path("vw.answers")}
	known, tested := train.Examples, test.Examples
	number := data.NewIndex(known.Classes(1 << 10))
	numbers := func(e *data.ExampleSet) (from1 []int) {
		for _, class := range e.Number(func(label string) int32 { return number[label] + 1 }, 0) {
			from1 = append(from1, int(class))
		}
		return from1
	}
	w.classes, w.labels = len(number), numbers(tested)
	writeWabbit(w.train, known, numbers(known), rand.New(rand.NewPCG(1, 2)).Perm(known.Rows()))
	order := make([]int, tested.Rows())
	for i := range order {
		order[i] = i
	}
	writeWabbit(w.test, tested, w.labels, order)
	return w
}

func writeWabbit(path string, e *data.ExampleSet, class, order []int) {
	sets.Write(path, func(text *bufio.Writer) {
		for _, r := range order {
			fmt.Fprintf(text, "%d |", class[r])
			for k := e.Offset[r]; k < e.Offset[r+1]; k++ {
				fmt.Fprintf(text, " %d:%g", e.Index[k]+1, e.Value[k])
			}
			text.WriteByte('\n')
		}
	})
}

func (w *wabbit) fit(passes int) pair.Turn {
	_, t := pair.RunProgram("Vowpal Wabbit", w.program, nil, "--oaa", strconv.Itoa(w.classes), "-d", w.train, "--quiet", "-f", w.model,
		"-k", "--cache_file", w.cache, "--passes", strconv.Itoa(passes))
	return t
}

// side returns reading and training, as its user would start it.
func (w *wabbit) side(passes int) pair.Side {
	name := fmt.Sprintf("Vowpal Wabbit, %d passes", passes)
	if passes == 1 {
		name = "Vowpal Wabbit, 1 pass"
	}
	return pair.Side{Name: name, Run: func() pair.Turn { return w.fit(passes) }}
}

// accuracy trains and scores the test rows.
func (w *wabbit) accuracy(passes int) float64 {
	w.fit(passes)
	pair.RunProgram("Vowpal Wabbit", w.program, nil, "-t", "-i", w.model, "-d", w.test, "-p", w.answers, "--quiet")
	right, lines := 0, bufio.NewScanner(bytes.NewReader(pair.Must(os.ReadFile(w.answers))))
	for _, label := range w.labels {
		if !lines.Scan() {
			pair.Check(fmt.Errorf("vw answered for fewer than %d rows: %w", len(w.labels), io.ErrUnexpectedEOF))
		}
		if x, err := strconv.ParseFloat(strings.Fields(lines.Text() + " ?")[0], 64); err == nil && int(x) == label {
			right++
		}
	}
	return float64(right) / float64(len(w.labels))
}
