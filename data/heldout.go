package data

import (
	"bellows/data/internal/heldout"
	"bellows/progress"
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
func HeldOut(seed uint64, row int64, percent int) bool { return heldout.Row(seed, row, percent) }

// HeldRows is the rows from 0 to rows-1 that are held out, ascending.
func HeldRows(seed uint64, rows, percent int) []int32 { return heldout.Between(seed, 0, rows, percent) }

// HeldBetween is the rows from begin to end-1 that are held out, ascending.
func HeldBetween(seed uint64, begin, end, percent int) []int32 {
	return heldout.Between(seed, begin, end, percent)
}

// HoldOut divides rows 0 to rows-1 into those to train on and those held out, both ascending.
func HoldOut(seed uint64, rows, percent int) (training, held []int32) {
	return heldout.ByHash(seed, rows, percent)
}

// Last divides rows 0 to rows-1 into those to train on and the last percent in 100 of them: what came last, of rows in the order of time.
func Last(rows, percent int) (training, held []int32) { return heldout.Last(rows, percent) }

// Stratified divides rows into those to train on and percent in 100 of those of each label, by a hash of (seed, row), both ascending. Of a label with
// fewer rows than would be one, rounded, none is held out.
func Stratified(seed uint64, set *ExampleSet, percent int) (training, held []int32) {
	if set.written.row != nil {
		return heldout.Stratified(seed, set.written.row, percent)
	}
	return heldout.Stratified(seed, set.Label, percent)
}

// Latest divides rows into those to train on and the latest percent in 100 of them, rounded down, both ascending: those with the largest times. Of rows of the
// same time the later ones in the set are later. from is the time of the earliest that is held out.
func Latest(times []float64, percent int) (training, held []int32, from float64) {
	return heldout.Latest(times, percent)
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
