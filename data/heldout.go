package data

import (
	"cmp"
	"math"
	"slices"

	"bellows/progress"
	"bellows/random"
)

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
func HeldRows(seed uint64, rows, percent int) []int32 { return HeldBetween(seed, 0, rows, percent) }

// HeldBetween is the rows from begin to end-1 that are held out, ascending.
func HeldBetween(seed uint64, begin, end, percent int) []int32 {
	rows := end - begin
	held := make([]int32, rows*percent/100+rows/1000+16) // with room for chance
	mixed, n := random.Mix(seed), 0
	for r := begin; r < end; r++ {
		if n == len(held) {
			held = append(held, make([]int32, n/8+1)...)
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

// Last divides rows 0 to rows-1 into those to train on and the last percent in 100 of them: what came last, of rows in the order of time.
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

// Stratified divides rows into those to train on and percent in 100 of those of each label, by a hash of (seed, row), both ascending. Of a label with
// fewer rows than would be one, rounded, none is held out.
func Stratified(seed uint64, set *ExampleSet, percent int) (training, held []int32) {
	of := map[float32][]int32{}
	for r, y := range set.Label {
		of[y] = append(of[y], int32(r))
	}
	out := make([]bool, set.Rows())
	for _, rows := range of { // in any order: each label is by itself
		slices.SortFunc(rows, func(a, b int32) int {
			return cmp.Or(cmp.Compare(random.Of(seed, uint64(a)), random.Of(seed, uint64(b))), cmp.Compare(a, b))
		})
		for _, r := range rows[:(len(rows)*percent+50)/100] {
			out[r] = true
		}
	}
	return apart(out)
}

// Latest divides rows into those to train on and the latest percent in 100 of them, rounded down, both ascending: those with the largest times. Of rows of the
// same time the later ones in the set are later. from is the time of the earliest that is held out.
//
// The least time that is held out is found digit by digit, so that nothing is sorted and no copy made.
func Latest(times []float64, percent int) (training, held []int32, from float64) {
	left := int(int64(len(times)) * int64(percent) / 100)
	least, known := uint64(0), uint64(0) // the least place that is held out, and which of its bits are settled
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
	out := make([]bool, len(times)) // left is now how many of those with the least time are held out
	for r := len(times) - 1; known > 0 && r >= 0; r-- {
		switch at := place(times[r]); {
		case at > least:
			out[r] = true
		case at == least && left > 0:
			out[r], from = true, times[r]
			left--
		}
	}
	training, held = apart(out)
	return training, held, from
}

// apart is the rows that are not held out and those that are, both ascending.
func apart(out []bool) (training, held []int32) {
	for r, is := range out {
		if is {
			held = append(held, int32(r))
		} else {
			training = append(training, int32(r))
		}
	}
	return training, held
}

// place is a number whose order is that of the times.
func place(t float64) uint64 {
	bits := math.Float64bits(t)
	if bits>>63 != 0 {
		return ^bits
	}
	return bits | 1<<63
}

// Divide copies rows into two sets as if they had been in files of their own: the first knows only the users and items that it has, and values
// that are missing become the means of its columns. Between two columns it asks the meter whether to go on.
func (s *Set) Divide(training, held []int32, m *progress.Meter) (first, second *Set, err error) {
	first = s.Select(training)
	if err := m.Err(); err != nil {
		return nil, nil, err
	}
	first.FillBy(func(int) bool { return true })
	if r := first.Ratings; r != nil {
		r.User, r.Users = occurring(r.User, r.Users)
		if err := m.Err(); err != nil {
			return nil, nil, err
		}
		r.Item, r.Items = occurring(r.Item, r.Items)
	}
	second = s.Select(held)
	second.FillAs(first)
	return first, second, m.Err()
}

// occurring numbers ids anew, by their first appearance, in place.
func occurring(column []int32, ids []string) ([]int32, []string) {
	number, known := make([]int32, len(ids)), []string{} // from 1; 0: it has not occurred
	for i, id := range column {
		if number[id] == 0 {
			known = append(known, ids[id])
			number[id] = int32(len(known))
		}
		column[i] = number[id] - 1
	}
	return column, known
}
