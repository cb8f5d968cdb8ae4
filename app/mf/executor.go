package mf

import (
	"math"

	"bellows"
	"bellows/train"
	"bellows/vec"
)

// worker is what the executors of both schedules share. All of it is scratch: the model is rows of
// tables, and the order of visits is the problem's.
type worker struct {
	problem *problem
	share   *share
	factors vec.Factors
}

func newWorker(p *problem, split bellows.SplitID) worker {
	return worker{problem: p, share: &p.shares[split],
		factors: vec.Factors{Rank: p.rank, Stride: p.width, BiasStride: p.width, BiasL2: float32(p.bias)}}
}

// descend visits ratings once, updating both slabs in place. It returns the sum of the squared
// errors, each from before its step.
func (w *worker) descend(c columns, users, items []float32, args []float64) float64 {
	if len(c.rating) == 0 {
		return 0
	}
	f := w.between(users, items)
	f.Step, f.L2 = float32(args[0]), float32(args[1])
	return vec.FactorBlock(f, c.user, c.item, c.rating)
}

// between returns the model between the users and the items of two slabs.
func (w *worker) between(users, items []float32) *vec.Factors {
	f := &w.factors
	f.P, f.Q = users, items
	if w.problem.biases {
		f.UserBias, f.ItemBias = users[f.Rank:], items[f.Rank:]
	}
	return f
}

// score returns the sum of the squared errors of probes, by the slabs of their users and of their items.
func (w *worker) score(g group, users, items []float32) float64 {
	var sum float64
	if len(g.pairs.rating) > 0 {
		sum = vec.FactorScore(w.between(users, items), g.pairs.user, g.pairs.item, g.pairs.rating)
	}
	for j, r := range g.rest.rating {
		e := float64(r - w.problem.predict(g.rest.user[j], g.rest.item[j], users, items))
		sum += e * e
	}
	return sum
}

// scoreAll scores the split's held-out and test ratings: those of one part of the items after the
// other, then those of unseen items.
func (w *worker) scoreAll(t *train.Task, itemsOf func(t *train.Task, part int) []float32) {
	users := t.Lease(usersTable, bellows.PartitionID(t.Split()), train.Shared)
	var held, tested float64
	for part := range w.problem.parts() + 1 {
		h, s := w.share.held.group(part), w.share.test.group(part)
		if h.size()+s.size() == 0 {
			continue
		}
		var items []float32
		if part < w.problem.parts() {
			items = itemsOf(t, part)
		}
		held += w.score(h, users, items)
		tested += w.score(s, users, items)
	}
	t.SignalTaskCompletion(held, tested)
}

// strataExecutor runs the tasks of schedule=strata.
type strataExecutor struct{ worker }

// RunTask visits the ratings between the split's users and one part of the items, in place.
func (e *strataExecutor) RunTask(t *train.Task) error {
	p := e.problem
	phase := p.work().Place(t.Clock())
	if phase == p.clocks {
		e.scoreAll(t, sharedItems)
		return nil
	}
	split, order := int(t.Split()), p.rotation()
	part := order.part(split, phase)
	users := t.Lease(usersTable, bellows.PartitionID(split), train.Exclusive)
	items := t.Lease(itemsTable, bellows.PartitionID(part), train.Exclusive)
	args := t.Args()
	if args[2] != 0 {
		// The first holder of a part in the epoch gives it its first values.
		if phase == 0 {
			p.refill(usersTable, &p.users, split, users)
		}
		if order.first(split, phase) {
			p.refill(itemsTable, &p.items, part, items)
		}
	}
	visits := t.Items()
	t.SignalTaskCompletion(e.descend(e.share.slice(visits.Begin, visits.End), users, items, args))
	return nil
}

func sharedItems(t *train.Task, part int) []float32 {
	return t.Lease(itemsTable, bellows.PartitionID(part), train.Shared)
}

// refill gives the rows of a part their first values: those of the model that the run begins with, where it has them.
func (p *problem) refill(tab train.Table, a *axis, part int, slab []float32) {
	init := p.inits[tab]
	for r := range a.rows(part) {
		row, to := a.bounds[part]+bellows.RowID(r), slab[r*p.width:][:rowUsed(p.rank, p.biases)]
		if p.start == nil || !p.start.fill(int(tab), int(row), p.scale, p.biases, to) {
			init.Fill(row, to)
		}
	}
}

// finite reports whether a sum of errors is a number.
func finite(x float64) bool { return !math.IsNaN(x) && !math.IsInf(x, 0) }
