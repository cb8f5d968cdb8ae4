// Command linear compares regression and two-class models (app/linear) with normal equations, LIBLINEAR, scikit-learn
// and Vowpal Wabbit; softmax is bench/mlr. Regression runs against ridge regression by normal equations in double
// precision, with a strength tuned by cross-validation of the training rows; two classes run against what a grid over
// the test rows gave scikit-learn on another day. Test rows choose nothing of ours.
//
// The objective that is reached at equal settings is held against LIBLINEAR's, if there is one (Debian's liblinear-tools, or a program named by --liblinear); the time to it against that of its library, called by
// a small C program, embedded here and compiled into a temporary folder (gcc and Debian's liblinear-dev). A lasso's weights, defaults against a C that is tuned by cross-validation, and the time to what SGD comes to against scikit-learn's (Debian's python3-sklearn, or an interpreter
// named by --python), and to what one pass of Vowpal Wabbit comes to against its (a built vw named by --vw).
//
// It needs --data, a folder with abalone, bike, diabetes, kin40k, protein_casp, pumadyn32nm, a9a, w8a, imdb_bow, 20news_tfidf and MNIST.
package main

import (
	_ "embed"
	"errors"
	"flag"
	"fmt"
	"math"
	"os/exec"

	"bellows/app/linear"
	"bellows/bench/internal/pair"
	"bellows/bench/internal/sets"
	"bellows/bench/internal/trial"
	"bellows/data"
	"bellows/random"
	"bellows/vec"
)

// below is how far our R² may be below tuned ridge's.
const below = 0.003

// recorded is scikit-learn's LogisticRegression at its best C, in percent of test rows.
var recorded = []struct {
	name     string
	accuracy float64
}{{"a9a", 85.03}, {"w8a", 98.65}}

// points is how far below it we may be.
const points = 0.3

func main() {
	dir := flag.String("data", "", "folder with the sets")
	program := flag.String("liblinear", "liblinear-train", "LIBLINEAR's train")
	python := flag.String("python", "/usr/bin/python3", "interpreter with sklearn")
	only := flag.String("only", "", "one part: numbers, splits, classes, optimum, lasso, speed, tuned, losses or online")
	vw := flag.String("vw", "", "a built vw of Vowpal Wabbit's (./dev vowpal), for the part online")
	set := flag.String("set", "", "of the part speed: one set, imdb_bow, 20news_tfidf, like-rcv1 or mnist")
	pair.Main(3, 5, func(p *pair.Bench) {
		if *dir == "" {
			pair.Check(errors.New("linear: name the folder of the sets by --data"))
		}
		p.Header("linear: kernels %s, against LIBLINEAR, scikit-learn, ridge by normal equations and recorded figures", vec.Kernels())
		shelf := sets.Open(*dir)
		defer shelf.Close()
		liblinear := func(part func(*pair.Bench, *sets.Shelf, string)) func() {
			return func() {
				path, err := exec.LookPath(*program)
				if err != nil {
					p.Note("LIBLINEAR is not measured: %v; install liblinear-tools, or name its train by --liblinear", err)
					return
				}
				part(p, shelf, path)
			}
		}
		sklearn := func(part func(*pair.Bench, *sets.Shelf, *pair.Child)) func() {
			return func() {
				peer, err := p.Python("scikit-learn", *python, peerSource, "python3-sklearn")
				if err != nil {
					p.Note("scikit-learn is not measured: %v", err)
					return
				}
				part(p, shelf, peer)
				pair.Check(peer.Close())
			}
		}
		p.Parts(*only, pair.Part{Name: "numbers", Run: func() { numbers(p, shelf) }}, pair.Part{Name: "splits", Run: func() { splits(p, shelf) }},
			pair.Part{Name: "classes", Run: func() { classes(p, shelf) }}, pair.Part{Name: "optimum", Run: liblinear(optimum)},
			pair.Part{Name: "lasso", Run: sklearn(lasso)}, pair.Part{Name: "speed", Run: func() { speed(p, shelf, *set) }},
			pair.Part{Name: "tuned", Run: sklearn(against)}, pair.Part{Name: "losses", Run: sklearn(losses)},
			pair.Part{Name: "online", Run: func() {
				if *vw == "" {
					p.Note("Vowpal Wabbit is not measured: name a built vw by --vw")
					return
				}
				wabbit(p, shelf, *vw)
			}})
	})
}

//go:embed peer/peer.py
var peerSource string

// numbersSets is sets of numbers.
var numbersSets = []string{"abalone", "bike", "diabetes", "kin40k", "protein_casp", "pumadyn32nm"}

// numbers measures R² of test rows.
func numbers(b *pair.Bench, shelf *sets.Shelf) {
	ours, theirs := 0.0, 0.0
	for _, name := range numbersSets {
		p := shelf.Find(name)
		train, test := p.Read(data.Examples)
		b.Section(p.Origin + ", " + train.Detected.String())
		out := trial.Setup{App: linear.New(), Data: train, Test: test, Slots: 1, Settings: map[string]string{"loss": "squared"}}.Train()
		r2, strength := tuned(train.Examples, test.Examples)
		got := out.Score(test, "r2")
		b.AddFact(pair.Fact{Figure: "test R², our defaults", Ours: got, Peer: fmt.Sprintf("ridge %.4f at %g, - %g:", r2, strength, below), Bound: r2 - below, Least: true, Exact: true})
		b.Note("%d epochs, %s", len(out.Epochs), out.Times())
		ours, theirs = ours+got/float64(len(numbersSets)), theirs+r2/float64(len(numbersSets))
	}
	b.AddFact(pair.Fact{Figure: "mean test R²", Ours: ours, Peer: fmt.Sprintf("ridge %.4f, - %g:", theirs, below), Bound: theirs - below, Least: true, Exact: true})
}

// classes measures accuracy of test rows.
func classes(b *pair.Bench, shelf *sets.Shelf) {
	for _, set := range recorded {
		p := shelf.Find(set.name)
		train, test := p.Read(data.Examples)
		b.Section(p.Origin + ", " + train.Detected.String())
		for _, loss := range []string{"logistic", "squared_hinge", "hinge"} {
			out := trial.Setup{App: linear.New(), Data: train, Test: test, Slots: 1, Settings: map[string]string{"loss": loss}}.Train()
			b.AddFact(pair.Fact{Figure: "test accuracy, our defaults, " + loss, Unit: "%", Ours: 100 * out.Score(test, "accuracy"),
				Peer: fmt.Sprintf("recorded scikit-learn - %g:", points), Bound: set.accuracy - points, Least: true, Exact: true})
			b.Note("%d epochs, %s", len(out.Epochs), out.Times())
		}
	}
}

// folds and strengths are what ridge is tuned by: penalties of squared weights of standardised columns, for the sum over the rows.
const folds = 5

var strengths = []float64{1e-3, 1e-2, 1e-1, 1, 10, 100, 1000, 10_000}

// tuned returns R² of test rows, by the strength with the least error over the folds of the training rows.
func tuned(train, test *data.ExampleSet) (r2, strength float64) {
	all := func(int) bool { return true }
	least := math.Inf(1)
	for _, s := range strengths {
		errors := 0.0
		for fold := range folds {
			in := func(r int) bool { return foldOf(r) == fold }
			errors += newRidge(train, s, func(r int) bool { return !in(r) }).errors(train, in)
		}
		if errors < least {
			least, strength = errors, s
		}
	}
	mean, total := 0.0, 0.0
	for _, y := range test.Label {
		mean += float64(y) / float64(len(test.Label))
	}
	for _, y := range test.Label {
		total += (float64(y) - mean) * (float64(y) - mean)
	}
	return 1 - newRidge(train, strength, all).errors(test, all)/total, strength
}

func foldOf(r int) int { return int(random.Derive(5, uint64(r)) % folds) }

// ridge is a linear regression of standardised columns.
type ridge struct {
	mean, unit, weights []float64
	bias                float64
}

func newRidge(e *data.ExampleSet, strength float64, in func(r int) bool) *ridge {
	f := e.Features
	m := &ridge{mean: make([]float64, f), unit: make([]float64, f), weights: make([]float64, f)}
	n := 0.0
	each := func(visit func(x []float32, y float64)) {
		for r, y := range e.Label {
			if in(r) {
				visit(e.Dense[r*f:(r+1)*f], float64(y))
			}
		}
	}
	each(func(x []float32, y float64) {
		n, m.bias = n+1, m.bias+y
		for j, v := range x {
			m.mean[j] += float64(v)
		}
	})
	m.bias /= n
	for j := range m.mean {
		m.mean[j] /= n
	}
	each(func(x []float32, _ float64) {
		for j, v := range x {
			m.unit[j] += (float64(v) - m.mean[j]) * (float64(v) - m.mean[j]) / n
		}
	})
	for j, v := range m.unit {
		if m.unit[j] = math.Sqrt(v); v == 0 {
			m.unit[j] = 1
		}
	}
	a := make([][]float64, f)
	for j := range a {
		a[j] = make([]float64, f+1)
		a[j][j] = strength
	}
	z := make([]float64, f)
	each(func(x []float32, y float64) {
		for j, v := range x {
			z[j] = (float64(v) - m.mean[j]) / m.unit[j]
		}
		for j, v := range z {
			for k, w := range z {
				a[j][k] += v * w
			}
			a[j][f] += v * (y - m.bias)
		}
	})
	m.solve(a)
	return m
}

// solve runs Gauss's elimination on a system with the right side as the last column. The system is positive definite,
// so no row swaps are needed.
func (m *ridge) solve(a [][]float64) {
	f := len(a)
	for j := range f {
		for i := j + 1; i < f; i++ {
			part := a[i][j] / a[j][j]
			for k := j; k <= f; k++ {
				a[i][k] -= part * a[j][k]
			}
		}
	}
	for j := f - 1; j >= 0; j-- {
		sum := a[j][f]
		for k := j + 1; k < f; k++ {
			sum -= a[j][k] * m.weights[k]
		}
		m.weights[j] = sum / a[j][j]
	}
}

// errors returns the sum of squared errors.
func (m *ridge) errors(e *data.ExampleSet, in func(r int) bool) (sum float64) {
	for r, y := range e.Label {
		if !in(r) {
			continue
		}
		d := m.bias - float64(y)
		for j, v := range e.Dense[r*e.Features : (r+1)*e.Features] {
			d += m.weights[j] * (float64(v) - m.mean[j]) / m.unit[j]
		}
		sum += d * d
	}
	return sum
}

func logistic(m float64) float64 {
	if m > 0 {
		return math.Log1p(math.Exp(-m))
	}
	return math.Log1p(math.Exp(m)) - m
}
