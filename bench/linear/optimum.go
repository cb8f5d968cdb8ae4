package main

import (
	"bufio"
	"fmt"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"

	"bellows/app/linear"
	"bellows/bench/internal/pair"
	"bellows/bench/internal/sets"
	"bellows/bench/internal/trial"
	"bellows/data"
)

// more is how far above LIBLINEAR's our objective may be.
const more = 1.001

// problems are LIBLINEAR's solvers of the same objective: 1/2 |w|², or |w|₁ in its place, + C times the sum of the losses, C 1 and a bias of 1, features as they are.
var problems = []struct {
	loss   string
	solver int
	sparse bool // |w|₁
	cost   func(margin float64) float64
}{
	{"logistic", 0, false, logistic}, {"squared_hinge", 2, false, squaredHinge}, {"hinge", 3, false, hinge},
	{"squared_hinge", 5, true, squaredHinge}, {"logistic", 6, true, logistic},
}

// optimum measures the objective, and the time to reach it from rows in memory, compared with LIBLINEAR's from its
// file.
func optimum(b *pair.Bench, shelf *sets.Shelf, program string) {
	for _, name := range []string{"a9a", "w8a"} {
		p := shelf.Find(name)
		train, _ := p.Read(data.Examples)
		text := shelf.Plain(p.Train)
		b.Section(p.Origin + ", " + train.Detected.String())
		for _, c := range problems {
			model := shelf.Path(fmt.Sprintf("%s.%d.model", name, c.solver))
			_, turn := pair.RunProgram("liblinear", program, nil, "-s", strconv.Itoa(c.solver), "-c", "1", "-B", "1", "-e", "0.0001", "-q", text, model)
			value := func(w []float64) float64 {
				if !c.sparse {
					return objective(train.Examples, w, c.cost)
				}
				sum := objective(train.Examples, w, c.cost)
				for _, v := range w {
					sum += math.Abs(v) - v*v/2
				}
				return sum
			}
			theirs := value(readLiblinear(model, train.Examples.Features))
			// All rows train, so that both have the same objective: the test rows are some of them.
			weight := strconv.FormatFloat(1/float64(train.Rows()), 'g', -1, 64)
			settings := map[string]string{"loss": c.loss, "scale": "none", "gap": "0.001", "l2": weight}
			word := c.loss
			if c.sparse {
				settings["l1"], settings["l2"], word = weight, "0", c.loss+" with l1"
			}
			out := trial.Setup{App: linear.New(), Data: train, Test: setOf(selected(train.Examples, []int{0, 1})), Slots: 1, Settings: settings}.Train()
			b.AddFact(pair.Fact{Figure: "objective, " + word, Ours: value(weights(out)), Peer: fmt.Sprintf("LIBLINEAR -s %d %.2f, times %g:", c.solver, theirs, more), Bound: theirs * more, Exact: true})
			b.Note("%d epochs, %.2f CPU-s; LIBLINEAR %.2f CPU-s with reading", len(out.Epochs), out.Until(len(out.Epochs)).CPU.Seconds(), turn.CPU.Seconds())
		}
	}
}

func doubles(list []float32) []float64 {
	out := make([]float64, len(list))
	for i, v := range list {
		out[i] = float64(v)
	}
	return out
}

// objective returns 1/2 |w|² + the costs of the margins; the last weight is the bias, which counts like the others.
// Labels are -1 and 1.
func objective(e *data.ExampleSet, w []float64, cost func(margin float64) float64) (sum float64) {
	for _, v := range w {
		sum += v * v / 2
	}
	for r, y := range e.Label {
		sum += cost(float64(y) * score(e, r, w))
	}
	return sum
}

// readLiblinear returns the weights and the bias of a model file, for scores that are positive for label 1.
func readLiblinear(file string, features int) []float64 {
	f := pair.Must(os.Open(file))
	defer f.Close()
	sign, inside := 1.0, false
	var w []float64
	for lines := bufio.NewScanner(f); lines.Scan(); {
		line := strings.TrimSpace(lines.Text())
		switch {
		case inside:
			w = append(w, sign*pair.Must(strconv.ParseFloat(line, 64)))
		case line == "label -1 1":
			sign = -1
		case line == "w":
			inside = true
		}
	}
	if n := len(w) - 1; n >= 0 && n < features { // those that are last occur in no row, and so are not in its file
		w = slices.Insert(w, n, make([]float64, features-n)...)
	}
	if len(w) != features+1 {
		pair.Check(fmt.Errorf("linear: LIBLINEAR's model has %d weights for %d features", len(w), features))
	}
	return w
}
