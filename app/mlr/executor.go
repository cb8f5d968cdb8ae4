package mlr

import (
	"math"

	"bellows"
	"bellows/app/epochs"
	"bellows/app/examples"
	"bellows/random"
	"bellows/train"
	"bellows/vec"
)

// The arguments of a training task, and the results of both kinds of task. A training task's results continue with the
// classes' spreads.
const (
	argStep = iota
	argL2
	argMomentum
	argCount
)

const (
	gotLoss = iota
	gotCorrect
	gotSpread
)

const (
	gotHeldLoss = iota
	gotHeldCorrect
	gotHeldWeighed
	gotTestLoss
	gotTestCorrect
	gotSquares
	gotScore // how many; the weighted loss of each block of the held-out rows follows
)

// heldBlocks is the number of separate blocks of held-out rows: those of split s are in block s modulo it.
const heldBlocks = 16

// executor runs the tasks of one split. All that it holds is scratch.
type executor struct {
	scratch
	*buffers
	p      *problem
	unit   denseUnit   // where units are not kept
	pulled [][]float32 // dense: the weights as pulled, by partition
	result []float64
}

// buffers are memory for the weights of a unit. An executor has them while a task runs (problem.buffers): most jobs have
// more splits than run at once.
type buffers struct {
	w     []float32 // sparse: the unit's weights as pulled
	m     []float32 // sparse: the unit's velocities; then what is pushed to them. Charged: rows of the table as they are pulled and pushed
	local []float32 // the copy of the weights that walks, then its way
}

// scratch is what walking over a unit needs.
type scratch struct {
	width int
	z     []float32 // scores of a batch
	tally tally
}

func newExecutor(p *problem) *executor {
	batch := max(batchMost, p.batch)
	return &executor{p: p, scratch: scratch{
		width: p.width, z: make([]float32, batch*p.width),
		tally: tally{spread: make([]float64, p.width)},
	}}
}

// takeBuffers returns memory for the weights of a unit.
func (p *problem) takeBuffers() *buffers {
	if r, ok := p.buffers.Get().(*buffers); ok {
		return r
	}
	return new(buffers)
}

// giveBuffers gives that memory back.
func (e *executor) giveBuffers() {
	e.p.buffers.Put(e.buffers)
	e.buffers = nil
}

// await waits for the rows that a task reads first, if its unit lists rows, before the task takes memory for them.
func (e *executor) await(t *train.Task, split, at int) {
	switch {
	case e.p.full || at == epochs.Opening:
	case at < e.p.Clocks:
		rows := e.p.sparseUnits[split*e.p.Clocks+at].rows
		t.Await(weightsTable, rows)
		if e.p.momentum {
			t.Await(velocityTable, rows)
		}
	default:
		t.Await(weightsTable, e.p.scored[split][0].sparse.rows)
	}
}

// blockOf returns the loss of a split's held-out rows in the place of its block, among zeros.
func blockOf(split int, loss float64) []float64 {
	var blocks [heldBlocks]float64
	blocks[split%heldBlocks] = loss
	return blocks[:]
}

func row(i int) bellows.RowID { return bellows.RowID(i) }

// end returns the number of rows of the tables.
func (e *executor) end() bellows.RowID { return row(e.p.Features + 1) }

// RunTask implements train.Executor.
func (e *executor) RunTask(t *train.Task) error {
	at := e.p.Work().Place(t.Clock())
	split := int(t.Split())
	e.await(t, split, at)
	e.buffers = e.p.takeBuffers()
	defer e.giveBuffers()
	if at == epochs.Opening {
		e.begin(t)
		return nil
	}
	if at == e.p.Clocks {
		s := &e.p.scored[split]
		e.score(t, &s[0])
		weighed := e.tally.weighed
		e.result = append(e.result[:0], e.tally.loss, e.tally.correct, weighed)
		e.score(t, &s[1])
		e.result = append(e.result, e.tally.loss, e.tally.correct, e.squares(t, split))
		e.result = append(e.result, blockOf(split, weighed)...)
		if e.p.charges {
			e.measure(t, split)
		}
		t.SignalTaskCompletion(e.result...)
		return nil
	}
	e.tally.reset()
	if e.p.charges {
		e.charge(t, split, at)
		e.result = append(e.result[:0], e.tally.weighed, e.tally.correct)
		t.SignalTaskCompletion(append(e.result, e.tally.spread...)...)
		return nil
	}
	switch gradient := e.p.rule != ruleAverage; {
	case e.p.full && gradient:
		e.gradientFull(t, e.unitOf(split, at))
	case e.p.full:
		e.walkFull(t, e.unitOf(split, at))
	case gradient:
		e.gradientRows(t, &e.p.sparseUnits[split*e.p.Clocks+at])
	default:
		e.walkRows(t, &e.p.sparseUnits[split*e.p.Clocks+at])
	}
	e.result = append(e.result[:0], e.tally.weighed, e.tally.correct)
	e.result = append(e.result, e.tally.spread...)
	t.SignalTaskCompletion(e.result...)
	return nil
}

// tableUnit is the rows of a clock of a split, to be visited with a whole table of weights.
type tableUnit interface {
	walk(w []float32, s *scratch, step, l2 float64, batch, start int)
	gradient(w, g []float32, s *scratch, rate float32)
	score(w []float32, s *scratch)
}

func (e *executor) unitOf(split, at int) tableUnit {
	if e.p.Dense {
		return e.p.denseUnit(split, at, &e.unit)
	}
	return &e.p.sparseUnits[split*e.p.Clocks+at]
}

// parts calls f for every partition of the tables: its number, its rows, and where its values are.
func (e *executor) parts(f func(p int, first, end bellows.RowID, lo, hi int)) {
	for p := range e.p.cut.Len() {
		first, end := e.p.cut.Rows(bellows.PartitionID(p))
		f(p, first, end, int(first)*e.width, int(end)*e.width)
	}
}

// walkFull takes local steps on a copy of all weights and pushes the split's part of them. The first
// split also pushes what is due to the momentum. The copy becomes the push where the table is one partition.
func (e *executor) walkFull(t *train.Task, u tableUnit) {
	args := t.Args()
	if e.p.momentum && t.Split() == 0 {
		t.Prefetch(velocityTable, 0, e.end()) // on its way while the split walks
	}
	e.pulled = e.pulled[:0]
	e.parts(func(_ int, first, end bellows.RowID, _, _ int) {
		e.pulled = append(e.pulled, t.PullRange(weightsTable, first, end))
	})
	local := t.FillRange(weightsTable, 0, e.end())
	pushed := local != nil
	if !pushed {
		local = examples.Reserve(&e.local, (e.p.Features+1)*e.width)
	}
	e.parts(func(p int, _, _ bellows.RowID, lo, hi int) { copy(local[lo:hi], e.pulled[p]) })
	u.walk(local, &e.scratch, args[argStep], args[argL2], e.p.batch, e.start(t))

	e.parts(func(p int, first, end bellows.RowID, lo, hi int) {
		way := local[lo:hi]
		vec.Axpy(-1, e.pulled[p], way)
		vec.Scale(e.p.part, way)
		if e.p.momentum {
			t.PushRange(velocityTable, first, e.carry(t, way, float32(args[argMomentum]), first, end))
		}
		if !pushed {
			t.PushRange(weightsTable, first, way)
		}
	})
}

// carry returns the change of velocities that belongs to a way, which it turns into the change of
// weights: m' = βm + way, w' = w + m'.
func (e *executor) carry(t *train.Task, way []float32, beta float32, first, end bellows.RowID) []float32 {
	if t.Split() != 0 {
		return way
	}
	m := t.PullRange(velocityTable, first, end)
	change := examples.Reserve(&e.m, len(way))
	copy(change, way)
	vec.Axpy(beta-1, m, change)
	vec.Axpy(beta, m, way)
	return change
}

// walkRows works like walkFull, on the rows that the unit uses. The split that leads a row pushes all of the row's
// momentum, and the shrinking by l2 for the clocks since its last use.
func (e *executor) walkRows(t *train.Task, u *sparseUnit) {
	args := t.Args()
	n := len(u.rows) * e.width
	w, m, local := examples.Reserve(&e.w, n), examples.Reserve(&e.m, n), examples.Reserve(&e.local, n)
	t.Gather(weightsTable, u.rows, w)
	if e.p.momentum {
		t.Gather(velocityTable, u.rows, m)
	} else {
		clear(m)
	}
	copy(local, w)
	u.walk(local, &e.scratch, args[argStep], 0, e.p.batch, e.start(t))

	beta := float32(args[argMomentum])
	pull := args[argStep] * args[argL2] * float64(len(u.class)) / float64(e.p.batch)
	for k, gap := range u.gap {
		lo, hi := k*e.width, (k+1)*e.width
		shrink := float32(0)
		if gap > 0 && k < len(u.gap)-1 {
			shrink = float32(-math.Expm1(-pull * float64(gap)))
		}
		finish(local[lo:hi], w[lo:hi], m[lo:hi], e.p.part, shrink, beta, gap > 0)
	}
	t.Push(weightsTable, u.rows, local)
	if e.p.momentum {
		t.Push(velocityTable, u.rows, m)
	}
}

// finish turns a row's walked weights, and its velocity, into the deltas to push.
func finish(local, w, m []float32, part, shrink, beta float32, leads bool) {
	w, m = w[:len(local)], m[:len(local)]
	for i, x := range local {
		way := part * (x - w[i])
		if !leads {
			local[i], m[i] = way, way
			continue
		}
		way -= shrink * w[i]
		local[i] = way + beta*m[i]
		m[i] = way - (1-beta)*m[i]
	}
}

// gradientFull pushes the split's part of the clock's mean gradient, for the table's rule.
func (e *executor) gradientFull(t *train.Task, u tableUnit) {
	w := t.PullRange(weightsTable, 0, e.end())
	g := t.FillRange(weightsTable, 0, e.end())
	pushed := g != nil
	if !pushed {
		g = examples.Reserve(&e.local, len(w))
	}
	clear(g)
	u.gradient(w, g, &e.scratch, e.p.rate())
	bias := len(w) - e.width
	vec.Axpy(float32(t.Args()[argL2])/float32(e.p.Splits), w[:bias], g[:bias])
	if !pushed {
		t.PushRange(weightsTable, 0, g)
	}
}

// gradientRows works like gradientFull, on the rows that the unit uses.
func (e *executor) gradientRows(t *train.Task, u *sparseUnit) {
	n := len(u.rows) * e.width
	w, g := examples.Reserve(&e.w, n), examples.Reserve(&e.local, n)
	t.Gather(weightsTable, u.rows, w)
	clear(g)
	u.gradient(w, g, &e.scratch, e.p.rate())
	for k, gap := range u.gap[:len(u.gap)-1] {
		if gap > 0 {
			lo, hi := k*e.width, (k+1)*e.width
			addTo(float32(t.Args()[argL2])*float32(gap), w[lo:hi], g[lo:hi])
		}
	}
	t.Push(weightsTable, u.rows, g)
}

// rate makes the gradients of a clock's rows, summed over all splits, a mean.
func (p *problem) rate() float32 { return float32(p.Clocks) / float32(len(p.Rows)) }

// start returns the row of the clock's first batch: a function of seed, split and clock.
func (e *executor) start(t *train.Task) int {
	return int(random.Finish(e.p.Seed^uint64(t.Split())<<32^uint64(t.Clock())) >> 33)
}
