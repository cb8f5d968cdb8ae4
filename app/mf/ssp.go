package mf

import (
	"slices"

	"bellows"
	"bellows/table"
	"bellows/train"
	"bellows/vec"
)

// pull is what a clock of a split reads of the items: the rows, and how often each is visited.
// The clock's items are positions in rows.
type pull struct {
	rows   []bellows.RowID
	mine   []float32 // visits of the row by this split in this clock, on average over its contributors
	visits []float32 // visits of the row by all splits in this clock
}

// cutClocks deals the training ratings to the splits of their users, in an order by chance, and
// cuts them into equal clocks.
func (p *planner[T]) cutClocks() error {
	items, splits := make([]spot[T], len(p.items.row)), make([]int32, p.splits)
	for split := range splits {
		splits[split] = int32(split)
	}
	for id, row := range p.items.row {
		items[id].local = T(row)
	}
	all, err := p.train(splits, items, func(int) tiling { return whole })
	if err != nil {
		return err
	}
	for split := range p.shares {
		own := blocks{columns: all.block(split)}
		for c := range p.clocks {
			own.ends = append(own.ends, len(own.rating)*(c+1)/p.clocks)
		}
		p.shares[split].blocks = own
	}
	for c := range p.clocks {
		if err := p.meter.Err(); err != nil {
			return err
		}
		p.compact(c)
	}
	return nil
}

// compact makes the pulls of one clock: the items of every split become positions in its rows.
func (p *problem) compact(clock int) {
	visits := make([]float32, len(p.items.row))
	contributors := make([]float32, len(p.items.row))
	for s := range p.shares {
		share := &p.shares[s]
		items := share.block(clock).item
		for _, i := range items {
			visits[i]++
		}
		share.pulls = append(share.pulls, pull{rows: positions(items)})
		for _, r := range share.pulls[clock].rows {
			contributors[r]++
		}
	}
	for s := range p.shares {
		u := &p.shares[s].pulls[clock]
		u.mine, u.visits = make([]float32, len(u.rows)), make([]float32, len(u.rows))
		for j, r := range u.rows {
			u.mine[j], u.visits[j] = visits[r]/contributors[r], visits[r]
		}
	}
}

// positions replaces rows by their positions in the ascending list of distinct rows, which it
// returns.
func positions(items []int32) []bellows.RowID {
	distinct := slices.Clone(items)
	slices.Sort(distinct)
	distinct = slices.Compact(distinct)
	for j, i := range items {
		at, _ := slices.BinarySearch(distinct, i)
		items[j] = int32(at)
	}
	rows := make([]bellows.RowID, len(distinct))
	for j, i := range distinct {
		rows[j] = bellows.RowID(i)
	}
	return rows
}

// damp returns the part of a row's change that its split pushes. Splits that start from one version and
// descend side by side overshoot when their changes are added, where the row is visited often; when
// they are averaged, rows that few splits visit hardly move. In between: n steps of size a on a
// loss of curvature 1 go 1-(1-a)^n of the way, about an/(1+an). Contributors with n/m visits each
// are scaled so that together they go as far as one descent over all n visits would. Stale
// versions add: s+1 clocks of changes may start from the same one.
func damp(step, mine, visits, overlap float32) float32 {
	return (1 + step*mine) / (1 + step*visits*overlap)
}

// sspExecutor runs the tasks of schedule=ssp.
type sspExecutor struct {
	worker
	items, before []float32 // the clock's rows of the items: the working copy, and as pulled
}

func newSSPExecutor(p *problem, split bellows.SplitID) *sspExecutor {
	e := &sspExecutor{worker: newWorker(p, split)}
	most := 0
	for _, u := range e.share.pulls {
		most = max(most, len(u.rows)*p.width)
	}
	e.items, e.before = make([]float32, most), make([]float32, most)
	return e
}

// RunTask descends on a copy of the items' rows, and pushes what changed.
func (e *sspExecutor) RunTask(t *train.Task) error {
	p := e.problem
	phase := p.work().Place(t.Clock())
	if phase == p.clocks {
		e.scoreAll(t, p.pulledItems)
		return nil
	}
	u := &e.share.pulls[phase]
	items, before := e.items[:len(u.rows)*p.width], e.before[:len(u.rows)*p.width]
	t.Pull(itemsTable, u.rows, items)
	copy(before, items)
	users := t.Lease(usersTable, bellows.PartitionID(t.Split()), train.Exclusive)
	visits, args := t.Items(), t.Args()
	sum := e.descend(e.share.slice(visits.Begin, visits.End), users, items, args)
	if !finite(sum) {
		return bellows.Errorf(bellows.Config, "train", "mf", "the error grew beyond all bounds in clock %d of split %d", t.Clock(), t.Split()).
			Hinted("set a smaller lr, or use schedule=strata, which finds one itself")
	}
	vec.Axpy(-1, before, items)
	for j := range u.rows {
		vec.Scale(damp(float32(args[0]), u.mine[j], u.visits[j], p.overlap()), items[j*p.width:(j+1)*p.width])
	}
	t.Push(itemsTable, u.rows, items)
	t.SignalTaskCompletion(sum)
	return nil
}

// overlap returns how many clocks of changes may start from one version. Async has no bound; two is
// what even splits show.
func (p *problem) overlap() float32 {
	if p.consistency == table.Async {
		return 2
	}
	return float32(1 + p.consistency)
}

func (p *problem) pulledItems(t *train.Task, part int) []float32 {
	return t.PullRange(itemsTable, p.items.bounds[part], p.items.bounds[part+1])
}
