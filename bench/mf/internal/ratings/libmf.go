package ratings

import (
	"bufio"
	"bytes"
	"fmt"
	"math"
	"strconv"
	"strings"

	"bellows/bench/internal/pair"
	"bellows/bench/internal/sets"
	"bellows/data"
)

// peer is LIBMF on one set. LIBMF reads "user item rating" with small numbers, so the set is written anew for it.
type peer struct {
	program           string // empty: none
	train, test, name string
	model             string // its unused output
	ratings           int
}

func newPeer(b bench, name string, train, test *data.Set) *peer {
	p := &peer{program: b.libmf, name: name, ratings: train.Rows()}
	if p.program == "" {
		return p
	}
	p.train, p.test, p.model = b.shelf.Path(name+".libmf"), b.shelf.Path(name+".test.libmf"), b.shelf.Path(name+".model")
	known, tested := train.Ratings, test.Ratings
	writeRatings(p.train, known.User, known.Item, known.Rating, 0, 0)
	user, item := tested.IndicesIn(known)
	writeRatings(p.test, user, item, tested.Rating, int32(len(known.Users)), int32(len(known.Items)))
	return p
}

// writeRatings writes one rating a line. Unknown users and items, -1, get a number that training has not seen.
func writeRatings(path string, user, item []int32, rating []float32, newUser, newItem int32) {
	sets.Write(path, func(w *bufio.Writer) {
		for j, r := range rating {
			u, i := user[j], item[j]
			if u < 0 {
				u = newUser
			}
			if i < 0 {
				i = newItem
			}
			fmt.Fprintf(w, "%d %d %g\n", u, i, r)
		}
	})
}

// side runs LIBMF for a few and for many iterations and takes the difference, so that reading and laying out are not
// counted.
func (p *peer) side(threads, iterations int) pair.Side {
	run := func(n int) pair.Turn {
		_, t := pair.RunProgram("LIBMF", p.program, []string{"OMP_NUM_THREADS=" + strconv.Itoa(threads)},
			"-k", strconv.Itoa(rank), "-s", strconv.Itoa(threads), "-t", strconv.Itoa(n), "--quiet", p.train, p.model)
		return t
	}
	return pair.Side{Name: "LIBMF", Run: func() pair.Turn {
		const few = 2
		start, end := run(few), run(few+iterations)
		return pair.Turn{Work: float64(p.ratings) * float64(iterations), Wall: end.Wall - start.Wall, CPU: end.CPU - start.CPU}
	}}
}

// settings is the strength of L2 and the step size of one LIBMF run.
type settings struct{ l2, step float64 }

// favourites are the settings that won a wide search on the known sets.
var favourites = map[string][]settings{
	"ml-1m-liked": {{0.03, 0.1}},
	"jester1":     {{0.2, 0.1}},
	"ml-100k.ua":  {{0.08, 0.1}},
}

// best is the lowest held-out error found, and among how many settings.
type best struct {
	rmse float64
	of   string
}

// best runs LIBMF over a grid of settings and takes the best iteration of all. The quick form runs only what is known to
// win, where that is known.
func (p *peer) best(full bool) best {
	grid := favourites[p.name]
	if full || grid == nil {
		grid = nil
		l2s, steps := []float64{0.03, 0.1, 0.2}, []float64{0.05, 0.1}
		if full {
			l2s, steps = []float64{0.02, 0.03, 0.05, 0.08, 0.1, 0.15, 0.2, 0.3}, []float64{0.03, 0.05, 0.1, 0.2}
		}
		for _, l2 := range l2s {
			for _, step := range steps {
				grid = append(grid, settings{l2, step})
			}
		}
	}
	found := best{rmse: math.Inf(1), of: fmt.Sprintf("%d settings", len(grid))}
	if len(grid) == 1 {
		found.of = "its best setting"
	}
	for _, s := range grid {
		found.rmse = min(found.rmse, p.lowest(s))
	}
	return found
}

// lowest returns the lowest error on the test ratings over the iterations of one run on one thread, where it repeats.
func (p *peer) lowest(s settings) float64 {
	out, _ := pair.RunProgram("LIBMF", p.program, []string{"OMP_NUM_THREADS=1"}, "-k", strconv.Itoa(rank), "-s", "1", "-t", "60",
		"-l2", fmt.Sprint(s.l2), "-r", fmt.Sprint(s.step), "-p", p.test, p.train, p.model)
	lowest := math.Inf(1)
	for line := range bytes.Lines(out) {
		// iteration, training error, validation error, objective
		if f := strings.Fields(string(line)); len(f) == 4 {
			if rmse, err := strconv.ParseFloat(f[2], 64); err == nil {
				lowest = min(lowest, rmse)
			}
		}
	}
	if math.IsInf(lowest, 1) {
		pair.Check(fmt.Errorf("LIBMF printed no validation error: is %s its mf-train", p.program))
	}
	return lowest
}
