package mf

import (
	"iter"
	"slices"

	"bellows/app"
	"bellows/data"
	"bellows/progress"
)

// heldRows are the rows that are held out of training, ascending.
type heldRows []int32

// findHeld finds them, on all processors.
func findHeld(seed uint64, rows, percent int) heldRows {
	found := make([][]int32, pieces(rows))
	app.ForEach(len(found), func(i int) {
		found[i] = data.HeldBetween(seed, app.Share(rows, i, len(found)), app.Share(rows, i+1, len(found)), percent)
	})
	return slices.Concat(found...)
}

// rowsOf returns those rows of a set.
func (h heldRows) rowsOf(set *data.RatingSet) *data.RatingSet {
	out := &data.RatingSet{User: make([]int32, len(h)), Item: make([]int32, len(h)), Rating: make([]float32, len(h)), Users: set.Users, Items: set.Items, Origin: set.Origin}
	for i, row := range h {
		out.User[i], out.Item[i], out.Rating[i] = set.User[row], set.Item[row], set.Rating[row]
	}
	return out
}

// others returns the runs of ratings between the held-out ones, in order.
func (h heldRows) others(rating []float32) iter.Seq[[]float32] {
	return func(yield func([]float32) bool) {
		from := 0
		for _, row := range h {
			if !yield(rating[from:row]) {
				return
			}
			from = int(row) + 1
		}
		yield(rating[from:])
	}
}

// countStep is how many rows are counted between two checks of the context.
const countStep = 1 << 20

// countOthers returns the number of rows by id, without those held out; when the meter's context ends it is any
// numbers. It calls idle whenever it has counted so many.
func (h heldRows) countOthers(m *progress.Meter, idle func(), ids []int32, n int) []int32 {
	c := make([]int32, n)
	for some := range slices.Chunk(ids, countStep) {
		if m.Add(int64(len(some))) != nil {
			return c
		}
		for _, id := range some {
			c[id]++
		}
		if idle != nil {
			idle()
		}
	}
	for _, row := range h {
		c[ids[row]]--
	}
	return c
}

// within returns those from begin to end.
func (h heldRows) within(begin, end int) heldRows {
	first, _ := slices.BinarySearch(h, int32(begin))
	last, _ := slices.BinarySearch(h, int32(end))
	return h[first:last]
}

// runAll runs independent functions on all processors.
func runAll(tasks ...func()) {
	app.ForEach(len(tasks), func(i int) { tasks[i]() })
}
