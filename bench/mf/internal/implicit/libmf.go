package implicit

import (
	"bufio"
	"bytes"
	"fmt"
	"math"
	"os"
	"strconv"
	"strings"

	"bellows/bench/internal/pair"
	"bellows/bench/internal/sets"
	"bellows/data"
	"bellows/model"
)

// choice is the settings of one LIBMF run.
type choice struct {
	rank, iterations int
	l2, step         float64
}

func (c choice) String() string {
	return fmt.Sprintf("-k %d -t %d -l2 %g -r %g", c.rank, c.iterations, c.l2, c.step)
}

// grid returns what LIBMF is tried with at first: the settings that matter most, in runs that are short.
func grid(full bool) (list []choice) {
	l2s, steps := []float64{0.01, 0.05, 0.1}, []float64{0.1}
	if full {
		l2s, steps = []float64{0.001, 0.01, 0.02, 0.05, 0.1, 0.2}, []float64{0.05, 0.1, 0.2}
	}
	for _, l2 := range l2s {
		for _, step := range steps {
			list = append(list, choice{32, 200, l2, step})
		}
	}
	return list
}

// larger returns what the best of the grid are tried with then.
func larger(c choice) (list []choice) {
	for _, k := range []int{32, 64} {
		for _, t := range []int{200, 600} {
			list = append(list, choice{k, t, c.l2, c.step})
		}
	}
	return list[1:] // the first is c
}

// train trains LIBMF by Bayesian personalised ranking, and puts the factors into a copy of a model of ours of the same data, so that one
// measure judges both.
func (b bench) train(c choice, set *data.Set, like *model.Model) *model.Model {
	in, out := b.shelf.Path("train.libmf"), b.shelf.Path("libmf.model")
	pairs := set.Ratings
	sets.Write(in, func(w *bufio.Writer) {
		for r, u := range pairs.User {
			fmt.Fprintf(w, "%d %d 1\n", u, pairs.Item[r])
		}
	})
	args := append([]string{"-f", "10", "-s", "1", "--quiet"}, strings.Fields(c.String())...)
	pair.RunProgram("LIBMF", b.libmf, []string{"OMP_NUM_THREADS=1"}, append(args, in, out)...)
	m := *like
	m.Tensors = append([]model.Tensor(nil), like.Tensors...)
	users, items := readModel(out, c.rank, len(pairs.Users), len(pairs.Items))
	for k := range m.Tensors {
		switch t := &m.Tensors[k]; t.Name {
		case "user_factors":
			t.Shape, t.Floats = []int{len(pairs.Users), c.rank}, users
		case "item_factors":
			t.Shape, t.Floats = []int{len(pairs.Items), c.rank}, items
		}
	}
	return &m
}

// readModel reads LIBMF's factors. Rows that it has not seen are zeros.
func readModel(path string, rank, users, items int) (p, q []float32) {
	p, q = make([]float32, users*rank), make([]float32, items*rank)
	for line := range bytes.Lines(pair.Must(os.ReadFile(path))) {
		fields := strings.Fields(string(line))
		if len(fields) != rank+2 || fields[1] != "T" {
			continue
		}
		to := p
		if fields[0][0] == 'q' {
			to = q
		}
		row := pair.Must(strconv.Atoi(fields[0][1:]))
		for k, text := range fields[2:] {
			if v := pair.Must(strconv.ParseFloat(text, 32)); !math.IsNaN(v) {
				to[row*rank+k] = float32(v)
			}
		}
	}
	return p, q
}
