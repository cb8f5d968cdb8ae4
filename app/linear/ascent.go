package linear

import (
	"math"
	"slices"

	"bellows"
	"bellows/app"
	"bellows/app/examples"
	"bellows/random"
	"bellows/train"
	"bellows/vec"
)

// The arguments of all tasks.
const (
	argL2 = iota
	argL1
	argHold // 1 while some rows are kept aside, which say how good l2 or l1 is
	argCount
)

// The results of a task that measures.
const (
	gotLoss   = iota // of training rows
	gotDual          // likewise
	gotRight         // likewise: rows on the right side, or squared errors
	gotSpread        // likewise: the curvature of the loss
	gotTest          // loss of test rows
	gotTestRight
	gotSquares // of weights
	gotSizes   // of weights
	gotHeld    // loss of training rows that are kept aside
	gotCount   // weights that are not 0
	gotAll
)

// ascent runs the tasks of one split. All that it holds is scratch.
type ascent struct {
	p            *problem
	sums, before []float32
	was, duals   []float32
	row          []float32
	active       []int32 // rows to visit
	groups       []int32 // the places of their first
}

// newExecutor returns one for a split.
func (p *problem) newExecutor() train.Executor {
	switch {
	case p.newton:
		return &newton{p: p}
	case p.steps != "":
		return &steps{p: p}
	}
	return &ascent{p: p}
}

func (p *problem) penalty(args []float64) penalty {
	n := p.trains(args[argHold] != 0)
	return penalty{factor: 1 / (args[argL2] * n), threshold: float32(args[argL1] * n)}
}

// RunTask implements train.Executor.
func (e *ascent) RunTask(t *train.Task) error {
	if at := e.p.Work().Place(t.Clock()); at < e.p.Clocks {
		e.ascend(t, at)
	} else {
		e.measure(t)
	}
	return nil
}

// pull returns the sums that a block uses, in memory of the executor's.
func (e *ascent) pull(t *train.Task, u *block) []float32 {
	if u.rows == nil {
		sums := examples.Reserve(&e.sums, e.p.Features+1)
		t.CopyRange(sumsTable, 0, bellows.RowID(len(sums)), sums)
		return sums
	}
	sums := examples.Reserve(&e.sums, len(u.rows))
	t.Pull(sumsTable, u.rows, sums)
	return sums
}

// ascend brings the dual variables of a block's rows, or of all rows, to their best, one after the other, some times.
func (e *ascent) ascend(t *train.Task, at int) {
	p := e.p
	first, last := int(t.Split())*p.Visits+at, int(t.Split())*p.Visits+at+1
	u := &p.blocks[first]
	if p.lone {
		if t.Split() != 0 {
			t.SignalTaskCompletion()
			return
		}
		u, last = &p.all, p.Splits
	}
	by := p.penalty(t.Args())
	sums := e.pull(t, u)
	e.before = append(e.before[:0], sums...)
	e.was = e.was[:0]
	for home := first; home < last; home++ {
		e.was = append(e.was, t.PullRow(dualsTable, bellows.RowID(home))[:len(p.Visited(home/p.Visits, home%p.Visits))]...)
	}
	duals := append(e.duals[:0], e.was...)
	e.duals = duals
	e.visit(u, sums, duals, by, random.Derive(p.Seed, uint64(t.Split()), uint64(t.Clock())), t.Args()[argHold] != 0)
	vec.Axpy(-1, e.was, duals)
	for home := first; home < last; home++ {
		row := examples.Reserve(&e.row, p.most)
		clear(row)
		n := copy(row, duals[:len(p.Visited(home/p.Visits, home%p.Visits))])
		duals = duals[n:]
		t.PushRow(dualsTable, bellows.RowID(home), row)
	}
	vec.Axpy(-1, e.before, sums)
	for j, k := range u.share {
		sums[j] /= k
	}
	if u.rows == nil {
		t.PushRange(sumsTable, 0, sums)
	} else {
		t.Push(sumsTable, u.rows, sums)
	}
	t.SignalTaskCompletion()
}

// visit goes over the rows of a block in an order that a number fixes, again and again, in another order each time. A row whose dual variable did not move rests until the next clock: of losses with a flat
// piece most rows come to a bound and stay there (what LIBLINEAR calls shrinking; Hsieh et al. 2008, "A dual coordinate descent method for large-scale linear SVM", 3.2). The fewer move, the
// more often they are visited.
//
// Neighbouring rows are visited in groups, since processors fetch memory ahead that is read in its order. Groups are
// small, since rows that often follow each other converge more slowly. While a row is multiplied, the row at its place in
// the next group is fetched.
//
// The dual variable of a row of weight w is that of its loss alone: the sums have it w times, as if its bound C were w C, and so has the square by which its score follows it.
func (e *ascent) visit(u *block, sums, duals []float32, by penalty, fixed uint64, hold bool) {
	active := e.active[:0]
	for i := range u.target {
		if !hold || !e.p.heldAside(u.first+i) {
			active = append(active, int32(i))
		}
	}
	e.active = active
	chance, left := random.Start(fixed, 0), passes*len(active)
	if hold {
		left = passesHeld * len(active)
	}
	for pass := 0; pass < passesMost && left >= len(active) && left > 0; pass++ {
		left -= len(active)
		e.shuffle(len(active), &chance)
		for g, first := range e.groups {
			own, following := group(active, first), group(active, e.groups[min(g+1, len(e.groups)-1)])
			for k, r := range own {
				i := int(r)
				dual, ahead := duals[i], 0
				if k < len(following) {
					ahead = u.Distance(i, int(following[k]))
				}
				next := float32(e.p.loss.Step(float64(dual), u.scoreAhead(sums, i, e.p.bias, by, ahead), by.factor*float64(u.square[i]), float64(u.target[i])))
				if d := next - dual; d != 0 {
					u.step(sums, i, e.p.bias, float32(u.weight.Weight(i))*d)
					duals[i] = next
				} else {
					own[k] = rests
				}
			}
		}
		active = slices.DeleteFunc(active, func(r int32) bool { return r == rests })
	}
}

// rests stands for a row that is not visited any more.
const rests = -1

// group returns the group with this first place. One that begins below 0 has fewer rows.
func group(active []int32, first int32) []int32 {
	return active[max(0, first):min(int(first)+groupRows, len(active))]
}

// shuffle deals the groups of so many rows, by the place of their first. The first of all begins at 0 or below, by chance,
// so that a row follows another one in each pass.
func (e *ascent) shuffle(rows int, chance *random.Stream) {
	e.groups = e.groups[:0]
	for first := -int(chance.Next()>>32) % groupRows; first < rows; first += groupRows {
		e.groups = append(e.groups, int32(first))
	}
	for i := len(e.groups) - 1; i > 0; i-- {
		j := (chance.Next() >> 32) * uint64(i+1) >> 32
		e.groups[i], e.groups[j] = e.groups[j], e.groups[i]
	}
}

// How often a split goes over its rows between two exchanges: so many visits a row, on the average of all, and so often at most. More come closer to what the split alone can reach, and
// exchanges cost more than they do. groupRows is the rows that are visited in the order in which they lie: by 4 the squared hinge loss of 20 Newsgroups takes a quarter longer, by 1 the logistic loss
// of 25,000 reviews a seventh.
const (
	passes     = 4
	passesHeld = 2 // while rows are kept aside: their losses say which strength is best long before its objective is at its least
	passesMost = 16
	groupRows  = 2
)

// coprime returns a number from 1 to n-1 (or 0 of 1) by which one comes to each of n places, from some number on.
func coprime(from, n int) int {
	for k := 1 + from%max(1, n-1); ; k++ {
		if k%n == 0 && n > 1 {
			k = 1
		}
		a, b := k, n
		for b > 0 {
			a, b = b, a%b
		}
		if a == 1 {
			return k % n
		}
	}
}

// examine adds up what test rows come to by the sums, or weights, of their features.
func (p *problem) examine(u *block, sums []float32, by penalty, got *[gotAll]float64) {
	for i, y := range u.target {
		score := u.score(sums, i, p.bias, by)
		got[gotTest] += u.count.Weight(i) * p.cost(score, float64(y))
		got[gotTestRight] += u.count.Weight(i) * p.judge(score, float64(y))
	}
}

// measure scores the split's training rows and its part of the test rows.
func (e *ascent) measure(t *train.Task) {
	var got [gotAll]float64
	by, split, hold := e.p.penalty(t.Args()), int(t.Split()), t.Args()[argHold] != 0
	for at := range e.p.Visits {
		u := &e.p.blocks[split*e.p.Visits+at]
		sums := e.pull(t, u)
		duals := t.PullRow(dualsTable, bellows.RowID(split*e.p.Visits+at))
		for i, y := range u.target {
			score := u.score(sums, i, e.p.bias, by)
			if hold && e.p.heldAside(u.first+i) {
				got[gotHeld] += u.weight.Weight(i) * e.p.loss.Value(score, float64(y))
				continue
			}
			got[gotLoss] += u.weight.Weight(i) * e.p.loss.Value(score, float64(y))
			got[gotDual] += u.weight.Weight(i) * e.p.loss.Dual(float64(duals[i]), float64(y))
			got[gotRight] += u.count.Weight(i) * e.p.judge(score, float64(y))
		}
	}
	if u := &e.p.scored[split]; len(u.target) > 0 {
		e.p.examine(u, e.pull(t, u), by, &got)
	}
	lo, hi := app.Share(e.p.Features+1, split, e.p.Splits), app.Share(e.p.Features+1, split+1, e.p.Splits)
	if lo < hi {
		for j, sum := range t.PullRange(sumsTable, bellows.RowID(lo), bellows.RowID(hi)) {
			w := by.factor * float64(by.soft(sum))
			got[gotCount] += ones(w != 0 && lo+j < e.p.Features)
			got[gotSquares] += w * w
			got[gotSizes] += math.Abs(w)
		}
	}
	t.SignalTaskCompletion(got[:]...)
}
