package main

import (
	"fmt"
	"math"
	"math/rand/v2"

	"bellows/app"
	"bellows/data"
	"bellows/random"
	"bellows/vec"
)

// unit is the rows of a split in a clock.
type unit struct {
	x      []float32 // rows x features
	square []float32 // the squared length of each row
	class  []int32
}

// walker is one split's memory.
type walker struct {
	local, change []float32 // the split's way in a clock, and what it gives to the momentum
	scores        []float32 // one batch
	spread        []float64
	loss          float64
	correct       int
}

// softmaxLoop is softmax regression by local steps that are averaged with momentum, on plain slices. Like the
// application, a split begins a clock with a batch by chance: batches in the order of their rows are read faster.
type softmaxLoop struct {
	splits, clocks, batch, features, classes int
	units                                    []unit // by split, then clock
	held                                     []unit // by split
	clock                                    int    // of the splits: those of the epochs' visits and scores
	weights, velocity                        []float32
	best                                     float64 // least loss of the held-out rows after an epoch
	bestWeights                              []float32
	walkers                                  []walker
}

func newSoftmaxLoop(set *data.Set, run *app.Run) (loop, error) {
	e := set.Examples
	l := &softmaxLoop{features: e.Features, classes: run.Job.Tables[0].Width}
	if err := chosen(run, map[string]*int{"splits": &l.splits, "clocks": &l.clocks, "batch": &l.batch}); err != nil {
		return nil, err
	}
	if e.Sparse() {
		return nil, fmt.Errorf("the bare loop of mlr is for dense rows")
	}
	size := (l.features + 1) * l.classes
	l.weights, l.velocity, l.walkers = make([]float32, size), make([]float32, size), make([]walker, l.splits)
	l.best, l.bestWeights = math.Inf(1), make([]float32, size)
	for s := range l.walkers {
		l.walkers[s] = walker{local: make([]float32, size), change: make([]float32, size),
			scores: make([]float32, max(64, l.batch)*l.classes), spread: make([]float64, l.classes)}
	}
	l.deal(e)
	return l, nil
}

// deal cuts the rows, in an order by chance, into units.
func (l *softmaxLoop) deal(e *data.ExampleSet) {
	number := data.NewIndex(e.Classes(1 << 10))
	class := e.Number(func(label string) int32 { return number[label] }, 0)
	var train, held []int
	for _, r := range rand.New(rand.NewPCG(1, 1)).Perm(e.Rows()) {
		if data.HeldOut(1, int64(r), heldPercent) {
			held = append(held, r)
		} else {
			train = append(train, r)
		}
	}
	cut := func(rows []int, parts int) []unit {
		units := make([]unit, parts)
		for i := range units {
			for _, r := range rows[len(rows)*i/parts : len(rows)*(i+1)/parts] {
				units[i].x = append(units[i].x, e.Dense[r*l.features:(r+1)*l.features]...)
				units[i].class = append(units[i].class, class[r])
			}
			vec.Scale(1.0/255, units[i].x)
			for x := units[i].x; len(x) > 0; x = x[l.features:] {
				units[i].square = append(units[i].square, vec.SumSquares(x[:l.features]))
			}
		}
		return units
	}
	l.units, l.held = cut(train, l.splits*l.clocks), cut(held, l.splits)
}

func (l *softmaxLoop) visit(threads int) int {
	for clock := range l.clocks {
		each(threads, l.splits, func(s int) { l.walk(&l.walkers[s], &l.units[s*l.clocks+clock], l.start(s)) })
		l.clock++
		// The ways are summed along a binary tree, as commits of a clock are.
		for step := 1; step < l.splits; step *= 2 {
			for s := 0; s+step < l.splits; s += 2 * step {
				vec.Add(l.walkers[s+step].local, l.walkers[s].local)
				vec.Add(l.walkers[s+step].change, l.walkers[s].change)
			}
		}
		vec.Add(l.walkers[0].local, l.weights)
		vec.Add(l.walkers[0].change, l.velocity)
	}
	visited := 0
	for _, u := range l.units {
		visited += len(u.class)
	}
	return visited
}

// start returns the batch with which a split begins its clock, modulo their number.
func (l *softmaxLoop) start(split int) int {
	return int(random.Finish(1^uint64(split)<<32^uint64(l.clock)) >> 33)
}

// walk takes local steps from the common weights, beginning with batch start, and leaves the split's way.
func (l *softmaxLoop) walk(w *walker, u *unit, start int) {
	const step, l2, momentum = 0.05, 1e-4, 0.9
	f, c, n := l.features, l.classes, len(u.class)
	copy(w.local, l.weights)
	batches := (n + l.batch - 1) / l.batch
	for i := range batches {
		b := (start + i) % batches
		lo, hi := n*b/batches, n*(b+1)/batches
		x, z := u.x[lo*f:hi*f], l.chances(w.local, w, u, lo, hi)
		l.residuals(w, z, u.class[lo:hi])
		rate := float32(step) / float32(hi-lo)
		l.hold(z, u.square[lo:hi], rate)
		vec.GemmTN(f, c, hi-lo, -rate, x, f, z, c, 1-step*l2, w.local, c)
		for ; len(z) > 0; z = z[c:] {
			vec.Axpy(-rate, z[:c], w.local[f*c:])
		}
	}
	part := 1 / float32(l.splits)
	vec.Axpy(-1, l.weights, w.local)
	vec.Scale(part, w.local)
	copy(w.change, w.local)
	vec.Axpy(part*(momentum-1), l.velocity, w.change)
	vec.Axpy(part*momentum, l.velocity, w.local)
}

// chances returns the softmax of the scores of some rows.
func (l *softmaxLoop) chances(weights []float32, w *walker, u *unit, lo, hi int) []float32 {
	f, c := l.features, l.classes
	z := w.scores[:(hi-lo)*c]
	for i := range hi - lo {
		copy(z[i*c:(i+1)*c], weights[f*c:])
	}
	vec.GemmNN(hi-lo, c, f, 1, u.x[lo*f:hi*f], f, weights, c, 1, z, c)
	vec.Softmax(hi-lo, c, z)
	return z
}

// residuals turns chances into gradients and counts loss, rows named rightly, and each class's spread.
func (l *softmaxLoop) residuals(w *walker, z []float32, class []int32) {
	for i, y := range class {
		p := z[i*l.classes : (i+1)*l.classes]
		w.count(p, y)
		for c, q := range p {
			w.spread[c] += float64(q) * (1 - float64(q))
		}
		p[y]--
	}
}

// hold shortens the residuals of rows that would make too large a step, as the application does.
func (l *softmaxLoop) hold(z, square []float32, rate float32) {
	const most = 4
	for i, s := range square {
		if reach := rate * (1 + s); reach > most {
			vec.Scale(most/reach, z[i*l.classes:(i+1)*l.classes])
		}
	}
}

func (w *walker) count(p []float32, y int32) {
	w.loss -= math.Log(max(1e-15, float64(p[y])))
	best := 0
	for c, v := range p {
		if v > p[best] {
			best = c
		}
	}
	if best == int(y) {
		w.correct++
	}
}

func (l *softmaxLoop) restart() {
	clear(l.weights)
	clear(l.velocity)
	l.clock = 0
	l.best = math.Inf(1)
}

// score scores what is held out, and keeps a copy of the best model so far, as a run that stops early does.
func (l *softmaxLoop) score(threads int) {
	const batch = 64
	each(threads, l.splits, func(s int) {
		w, u := &l.walkers[s], &l.held[s]
		w.loss = 0
		for lo := 0; lo < len(u.class); lo += batch {
			hi := min(len(u.class), lo+batch)
			z := l.chances(l.weights, w, u, lo, hi)
			for i, y := range u.class[lo:hi] {
				w.count(z[i*l.classes:(i+1)*l.classes], y)
			}
		}
	})
	l.clock++
	sum := 0.0
	for s := range l.walkers {
		sum += l.walkers[s].loss
	}
	if sum < l.best {
		l.best = sum
		copy(l.bestWeights, l.weights)
	}
}
