package mf

import (
	"math"

	"bellows"
	"bellows/app/epochs"
	"bellows/app/mf/internal/ranked"
	"bellows/app/mf/internal/toplist"
	"bellows/train"
	"bellows/vec"
)

// pairsAtATime is how many rows of the other side are gathered for one product of matrices.
const pairsAtATime = 256

// weightedExecutor runs the tasks of loss=weighted. All of it is scratch.
type weightedExecutor struct {
	*weighted
	width  int
	rows   []float32 // new rows of the split's part, then what has changed
	gram   []float32 // rank x rank, times the weight of what is not observed
	change []float32 // of the side's own Gram matrix
	a      []float32 // the system's matrix
	pairs  []float32 // gathered rows
}

func newWeightedExecutor(w *weighted) *weightedExecutor {
	n := w.rank * w.rank
	return &weightedExecutor{weighted: w, width: w.width(), gram: make([]float32, n), a: make([]float32, n),
		change: make([]float32, w.rank*w.width()), pairs: make([]float32, pairsAtATime*w.rank)}
}

// RunTask implements train.Executor.
func (e *weightedExecutor) RunTask(t *train.Task) error {
	switch place := e.work().Place(t.Clock()); place {
	case epochs.Opening:
		rows := e.begin(t)
		clear(e.change)
		e.square(1, rows)
		t.PushRange(gramsTable, e.gramOf(itemsTable), e.change)
		t.SignalTaskCompletion()
	case usersTable, itemsTable:
		loss := e.solveAll(t, place)
		if !finite(loss) {
			return bellows.Errorf(bellows.Config, "train", name, "the systems of clock %d of split %d have no solution", t.Clock(), t.Split()).
				Hinted("set a larger l2")
		}
		t.SignalTaskCompletion(loss)
	default:
		e.score(t)
	}
	return nil
}

// begin returns the split's items at first. Those that the model has which the run begins with are pushed; users
// follow from the items.
func (e *weightedExecutor) begin(t *train.Task) []float32 {
	first, end := e.first(itemsTable, t.Split()), e.first(itemsTable, t.Split()+1)
	old := t.PullRange(itemsTable, first, end)
	if e.start == nil {
		return old
	}
	rows := append([]float32(nil), old...)
	for r := first; r < end; r++ {
		e.start.fill(itemsTable, int(r), scale{0, 1}, false, rows[int(r-first)*e.width:][:e.width])
	}
	change := append([]float32(nil), rows...)
	vec.Axpy(-1, old, change)
	t.PushRange(itemsTable, first, change)
	return rows
}

// first returns the first row of a split's part of a side.
func (w *weighted) first(place int, split bellows.SplitID) bellows.RowID {
	return w.sides[place].bounds[split]
}

// gramOf returns the first row of a side's Gram matrix.
func (w *weighted) gramOf(place int) bellows.RowID { return bellows.RowID(place * w.rank) }

// square adds a multiple of the product of rows with themselves to the change of their Gram matrix.
func (e *weightedExecutor) square(sign float32, rows []float32) {
	n := len(rows) / e.width
	vec.GemmTN(e.rank, e.rank, n, sign, rows, e.width, rows, e.width, 1, e.change, e.width)
}

// solveAll solves the split's rows of one side, and pushes what changed. It returns their part of the loss, where it is the items that
// were solved: then users and items are as they are after the epoch.
func (e *weightedExecutor) solveAll(t *train.Task, place int) (loss float64) {
	own, opposite := &e.sides[place].parts[t.Split()], 1-place
	first, end := e.first(place, t.Split()), e.first(place, t.Split()+1)
	old := t.PullRange(train.Table(place), first, end)
	other := t.PullRange(train.Table(opposite), 0, bellows.RowID(len(e.sides[opposite].row)))
	gram := t.PullRange(gramsTable, e.gramOf(opposite), e.gramOf(opposite)+bellows.RowID(e.rank))
	for k := range e.rank {
		copy(e.gram[k*e.rank:(k+1)*e.rank], gram[k*e.width:])
	}
	vec.Scale(float32(e.unobserved), e.gram)
	if len(e.rows) < len(old) {
		e.rows = make([]float32, len(old))
	}
	rows := e.rows[:len(old)]
	clear(rows)
	all := e.unobserved * float64(len(e.sides[opposite].row))
	for r := first; r < end; r++ {
		idx, weight := own.row(int(r - first))
		if len(idx) == 0 {
			continue
		}
		x := rows[int(r-first)*e.width:][:e.rank]
		l2 := e.solve(x, other, idx, weight, all)
		if place == itemsTable {
			loss += e.loss(x, other, idx, weight) + l2*float64(vec.SumSquares(x))
		}
	}
	clear(e.change)
	e.square(1, rows)
	e.square(-1, old)
	t.PushRange(gramsTable, e.gramOf(place), e.change)
	vec.Axpy(-1, old, rows)
	t.PushRange(train.Table(place), first, rows)
	return loss
}

// solve makes x the row that minimises the loss of its pairs, given the other side, and returns the strength of L2 for it. all is the weight of
// the pairs that are not observed.
func (e *weightedExecutor) solve(x, other []float32, idx []int32, weight []float32, all float64) (l2 float64) {
	n, sum := e.rank, 0.0
	copy(e.a, e.gram)
	for at := 0; at < len(idx); at += pairsAtATime {
		some := idx[at:min(len(idx), at+pairsAtATime)]
		for k, i := range some {
			w, row := weight[at+k], e.pairs[k*n:(k+1)*n]
			copy(row, other[int(i)*e.width:][:n])
			vec.Axpy(w, row, x)
			if w != 1 {
				vec.Scale(float32(math.Sqrt(float64(w))), row)
			}
			sum += float64(w)
		}
		vec.GemmTN(n, n, len(some), 1, e.pairs, n, e.pairs, n, 1, e.a, n)
	}
	l2 = e.l2 * (sum + all)
	for k := range n {
		e.a[k*n+k] += float32(l2)
	}
	solveSymmetric(n, e.a, x)
	return l2
}

// loss returns a row's part of the loss but for L2.
func (e *weightedExecutor) loss(x, other []float32, idx []int32, weight []float32) (loss float64) {
	for k, i := range idx {
		miss := 1 - float64(vec.Dot(x, other[int(i)*e.width:][:e.rank]))
		loss += float64(weight[k]) * miss * miss
	}
	for k, v := range x {
		loss += float64(v) * float64(vec.Dot(x, e.gram[k*e.rank:(k+1)*e.rank]))
	}
	return loss
}

// score signals the sums of the figures of the split's users, by held-out pairs and by those of the test.
func (e *weightedExecutor) score(t *train.Task) {
	var sums [2]float64
	list := &e.scored[t.Split()]
	if len(list[0])+len(list[1]) > 0 {
		r := toplist.Ranker{Rank: e.rank, Stride: e.width, Most: rankedFirst,
			Users: t.PullRange(usersTable, e.first(usersTable, t.Split()), e.first(usersTable, t.Split()+1)),
			Items: t.PullRange(itemsTable, 0, bellows.RowID(len(e.sides[itemsTable].row)))}
		for k := range list {
			ndcg := ranked.Metric{Sort: "ndcg", K: rankedFirst}
			_ = r.Judge(list[k], func(u *toplist.User, hits []int) { ndcg.Add(hits, len(u.Relevant)) })
			sums[k] = ndcg.Sum
		}
	}
	t.SignalTaskCompletion(sums[:]...)
}

// solveSymmetric makes x, the right side, the solution of a positive definite system of n equations, by Cholesky's decomposition of its
// lower triangle in place. It is for many small systems, on kernels; one system in double precision is what newSystem is for.
func solveSymmetric(n int, a, x []float32) {
	for i := range n {
		row := a[i*n:][:i+1]
		for j := range i {
			row[j] = (row[j] - vec.Dot(row[:j], a[j*n:][:j])) / a[j*n+j]
		}
		row[i] = float32(math.Sqrt(float64(row[i] - vec.SumSquares(row[:i]))))
		x[i] = (x[i] - vec.Dot(row[:i], x[:i])) / row[i]
	}
	for i := n - 1; i >= 0; i-- {
		x[i] /= a[i*n+i]
		vec.Axpy(-x[i], a[i*n:][:i], x[:i])
	}
}
