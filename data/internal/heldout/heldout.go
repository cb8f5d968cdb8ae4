// Package heldout chooses the rows that are held out from training: by a hash, by labels, by time, or by their order.
//
// The caller passes the number of rows, or their labels or times, and gets row numbers, ascending. The package knows
// nothing about sets.
package heldout

import (
	"cmp"
	"math"
	"slices"

	"bellows/random"
)

// Row reports whether a row is held out: a fixed choice of about percent in 100 rows, by a hash of (seed, row) alone,
// so that every node, resume and rerun makes the same one. percent is 0 to 100.
func Row(seed uint64, row int64, percent int) bool {
	return random.Derive(seed, uint64(row))>>32*100>>32 < uint64(percent)
}

// Between returns the rows from begin to end-1 that are held out, ascending.
func Between(seed uint64, begin, end, percent int) []int32 {
	rows := end - begin
	held := make([]int32, rows*percent/100+rows/1000+16) // with room for random deviation
	mixed, n := random.Mix(seed), 0
	for r := begin; r < end; r++ {
		if n == len(held) {
			held = append(held, make([]int32, n/8+1)...)
		}
		held[n] = int32(r)
		if random.Mix(mixed^uint64(r))>>32*100>>32 < uint64(percent) { // Row, without the part that all rows share
			n++
		}
	}
	return held[:n]
}

// ByHash divides rows 0 to rows-1 into training and held-out rows, both ascending.
func ByHash(seed uint64, rows, percent int) (training, held []int32) {
	held = Between(seed, 0, rows, percent)
	training = make([]int32, 0, rows-len(held))
	from := int32(0)
	for _, r := range held {
		for ; from < r; from++ {
			training = append(training, from)
		}
		from = r + 1
	}
	for ; from < int32(rows); from++ {
		training = append(training, from)
	}
	return training, held
}

// Last divides rows 0 to rows-1 into training rows and the last percent in 100 of them. In rows ordered by time these
// are the latest.
func Last(rows, percent int) (training, held []int32) {
	from := rows - int(int64(rows)*int64(percent)/100)
	for r := range rows {
		if r < from {
			training = append(training, int32(r))
		} else {
			held = append(held, int32(r))
		}
	}
	return training, held
}

// Stratified divides rows into training rows and, of each label, percent in 100 of its rows, by a hash of (seed, row).
// Both lists ascend. A label with so few rows that its share rounds to 0 loses none.
func Stratified[T comparable](seed uint64, labels []T, percent int) (training, held []int32) {
	of := map[T][]int32{}
	for r, y := range labels {
		of[y] = append(of[y], int32(r))
	}
	out := make([]bool, len(labels))
	for _, rows := range of { // in any order: labels do not affect each other
		slices.SortFunc(rows, func(a, b int32) int {
			first, second := random.Derive(seed, uint64(a)), random.Derive(seed, uint64(b))
			return cmp.Or(cmp.Compare(first, second), cmp.Compare(a, b))
		})
		for _, r := range rows[:(len(rows)*percent+50)/100] {
			out[r] = true
		}
	}
	return separate(out)
}

// Latest divides rows into training rows and the latest percent in 100 of them, rounded down: those with the largest
// times. Both lists ascend. Among rows of the same time, a later position in the set counts as later. from is the
// earliest time that is held out.
//
// The earliest held-out time is found digit by digit, so that nothing is sorted or copied.
func Latest(times []float64, percent int) (training, held []int32, from float64) {
	left := int(int64(len(times)) * int64(percent) / 100)
	least, known := uint64(0), uint64(0) // the least place held out, and a mask of its settled bits
	for shift := 48; left > 0 && shift >= 0; shift -= 16 {
		count := make([]int, 1<<16)
		for _, t := range times {
			if at := place(t); at&known == least {
				count[at>>shift&0xffff]++
			}
		}
		digit := len(count) - 1
		for ; left > count[digit]; digit-- {
			left -= count[digit]
		}
		least, known = least|uint64(digit)<<shift, known|0xffff<<shift
	}
	out := make([]bool, len(times)) // left is now the number of held-out rows with the earliest time
	for r := len(times) - 1; known > 0 && r >= 0; r-- {
		switch at := place(times[r]); {
		case at > least:
			out[r] = true
		case at == least && left > 0:
			out[r], from = true, times[r]
			left--
		}
	}
	training, held = separate(out)
	return training, held, from
}

// separate returns the rows that are not held out and those that are, both ascending.
func separate(out []bool) (training, held []int32) {
	for r, is := range out {
		if is {
			held = append(held, int32(r))
		} else {
			training = append(training, int32(r))
		}
	}
	return training, held
}

// place maps a time to an integer with the same order.
func place(t float64) uint64 {
	bits := math.Float64bits(t)
	if bits>>63 != 0 {
		return ^bits
	}
	return bits | 1<<63
}
