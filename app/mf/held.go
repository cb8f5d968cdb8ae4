package mf

import (
	"iter"
	"slices"

	"bellows/app"
	"bellows/progress"
)

// heldRows are the rows that are held out of training, ascending.
type heldRows []int32

// others is the runs of ratings between the held-out ones, in order.
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

// countStep is how many rows are counted before somebody asks whether to go on.
const countStep = 1 << 20

// countOthers is the number of rows by id, without those held out; when the meter's context ends it is any numbers.
func (h heldRows) countOthers(m *progress.Meter, ids []int32, n int) []int32 {
	c := make([]int32, n)
	for some := range slices.Chunk(ids, countStep) {
		if m.Add(int64(len(some))) != nil {
			return c
		}
		for _, id := range some {
			c[id]++
		}
	}
	for _, row := range h {
		c[ids[row]]--
	}
	return c
}

// strike sets -1 for those held out of the rows from first on.
func (h heldRows) strike(first int, block []int32) {
	from, _ := slices.BinarySearch(h, int32(first))
	for _, row := range h[from:] {
		if int(row)-first >= len(block) {
			return
		}
		block[int(row)-first] = -1
	}
}

// together runs functions that have nothing to do with each other on all processors.
func together(tasks ...func()) {
	app.ForEach(len(tasks), func(i int) { tasks[i]() })
}
