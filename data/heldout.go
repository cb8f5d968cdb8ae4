package data

import "bellows/random"

// The shares of rows that training does not see, in percent.
const (
	HeldAlone      = 10 // without test rows: they are scored, and stop the run
	HeldBesideTest = 5  // with test rows: they stop the run and are not shown
)

// HeldPercent is the percent of rows that a run holds out: it has test rows or not, and held-out
// rows decide when it stops or not.
func HeldPercent(tested, stops bool) int {
	switch {
	case !tested:
		return HeldAlone
	case stops:
		return HeldBesideTest
	}
	return 0
}

// HeldOut reports whether a row is kept out of training: a fixed choice of
// about percent in 100 rows, by a hash of (seed, row) alone, so that every
// node, resume and rerun makes the same one. percent is 0 to 100.
func HeldOut(seed uint64, row int64, percent int) bool {
	return random.Of(seed, uint64(row))>>32*100>>32 < uint64(percent)
}

// HeldRows is the rows from 0 to rows-1 that are held out, ascending.
func HeldRows(seed uint64, rows, percent int) []int32 {
	held := make([]int32, rows*percent/100+rows/1000+16) // with room for chance
	mixed, n := random.Mix(seed), 0
	for r := range rows {
		if n == len(held) {
			held = append(held, make([]int32, n/8)...)
		}
		held[n] = int32(r)
		if random.Mix(mixed^uint64(r))>>32*100>>32 < uint64(percent) { // HeldOut, but for what all rows share
			n++
		}
	}
	return held[:n]
}

// HoldOut divides rows 0 to rows-1 into those to train on and those held out, both ascending.
func HoldOut(seed uint64, rows, percent int) (training, held []int32) {
	held = HeldRows(seed, rows, percent)
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
