package delta

import (
	"bellows/table"
	"bellows/vec"
)

// A list of rows of a large partition ascends as long as what is added ascends: a task that changes rows in their order
// leaves such a list, and the sum of two is another. They are merged in one pass over both. Rows in any other order
// give the list an index (places), which it keeps until it is empty.

// mergeMost is how many times longer than an added list a list may be to be merged with it.
const mergeMost = 8

// index gives a list of rows its places.
func (b *Buffer) index() {
	b.ascends = false
	for i := range b.ids {
		b.places.add(b.ids[:i+1])
	}
}

// unindex removes the places of a list of rows.
func (b *Buffer) unindex() {
	if len(b.ids) > 0 && !b.ascends {
		b.places.reset(b.ids)
	}
}

// ascend reports whether each row of a list is above the previous one.
func ascend[R ~uint32](rows []R) bool {
	for i := 1; i < len(rows); i++ {
		if rows[i] <= rows[i-1] {
			return false
		}
	}
	return true
}

// mergeRows adds an ascending list of rows, counted from the row first, to one that ascends. It works from the end,
// where there is room, so that it needs no other memory.
func mergeRows[R ~uint32](b *Buffer, rows []R, first R, d []float32) {
	w, n := b.width, len(b.ids)
	if n == 0 {
		for _, r := range rows {
			b.ids = append(b.ids, uint32(r-first))
		}
		b.values = append(b.values, d...)
		return
	}
	shared := sharedRows(b.ids, rows, first)
	all := n + len(rows) - shared
	b.reserve(all)
	b.ids = append(b.ids, make([]uint32, all-n)...)
	b.values = append(b.values, make([]float32, (all-n)*w)...)
	b.joined += shared
	ids, values := b.ids, b.values
	i, j := n-1, len(rows)-1
	for to := all - 1; j >= 0; to-- {
		row := uint32(rows[j] - first)
		switch {
		case i >= 0 && ids[i] > row:
			ids[to] = ids[i]
			vec.CopyRow(values[to*w:(to+1)*w], values[i*w:(i+1)*w])
			i--
		case i >= 0 && ids[i] == row:
			ids[to] = row
			at := values[to*w : (to+1)*w]
			vec.CopyRow(at, values[i*w:(i+1)*w])
			b.add(d[j*w:(j+1)*w], at)
			i, j = i-1, j-1
		default:
			ids[to] = row
			vec.CopyRow(values[to*w:(to+1)*w], d[j*w:(j+1)*w])
			j--
		}
	}
}

// sharedRows returns how many rows two ascending lists share, the second of which is counted from the row first.
func sharedRows[R ~uint32](ids []uint32, rows []R, first R) (n int) {
	if len(ids) == 0 || len(rows) == 0 || uint32(rows[0]-first) > ids[len(ids)-1] {
		return 0
	}
	i := 0
	for _, r := range rows {
		row := uint32(r - first)
		for i < len(ids) && ids[i] < row {
			i++
		}
		if i == len(ids) {
			break
		}
		if ids[i] == row {
			n++
		}
	}
	return n
}

// kernelWidth is the number of values from which a vector kernel is faster than a loop.
const kernelWidth = 16

func (b *Buffer) add(x, y []float32) {
	switch {
	case b.counts:
		vec.AddInt32(table.Counts(x), table.Counts(y))
	case len(x) < kernelWidth:
		y = y[:len(x)]
		for i, v := range x {
			y[i] += v
		}
	default:
		vec.Add(x, y)
	}
}
