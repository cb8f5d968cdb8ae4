package data

import (
	"bellows/data/internal/heldout"
	"bellows/progress"
)

// The shares of rows held out from training, in percent.
const (
	HeldAlone      = 10 // without test rows: held-out rows are scored, and decide when to stop
	HeldBesideTest = 5  // with test rows: held-out rows decide when to stop and are not shown
)

// HeldPercent returns the percentage of rows that a run holds out. tested says whether the run has test rows, stops
// whether held-out rows decide when it stops.
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

// HeldRows returns the rows from 0 to rows-1 that are held out, ascending.
func HeldRows(seed uint64, rows, percent int) []int32 { return heldout.Between(seed, 0, rows, percent) }

// HeldBetween returns the rows from begin to end-1 that are held out, ascending.
func HeldBetween(seed uint64, begin, end, percent int) []int32 {
	return heldout.Between(seed, begin, end, percent)
}

// HoldOut divides rows 0 to rows-1 into training and held-out rows, both ascending.
func HoldOut(seed uint64, rows, percent int) (training, held []int32) {
	return heldout.ByHash(seed, rows, percent)
}

// Last divides rows 0 to rows-1 into training rows and the last percent in 100 of them. In rows ordered by time these
// are the latest.
func Last(rows, percent int) (training, held []int32) { return heldout.Last(rows, percent) }

// Stratified divides rows into training rows and, of each label, percent in 100 of its rows, by a hash of (seed, row).
// Both lists ascend. A label with so few rows that its share rounds to 0 loses none.
func Stratified(seed uint64, set *ExampleSet, percent int) (training, held []int32) {
	if set.written.row != nil {
		return heldout.Stratified(seed, set.written.row, percent)
	}
	return heldout.Stratified(seed, set.Label, percent)
}

// Latest divides rows into training rows and the latest percent in 100 of them, rounded down: those with the largest
// times. Both lists ascend. Among rows of the same time, a later position in the set counts as later. from is the
// earliest time that is held out.
func Latest(times []float64, percent int) (training, held []int32, from float64) {
	return heldout.Latest(times, percent)
}

// Divide copies rows into two sets, as if each had been read from a file of its own: the first has only the users and
// items that occur in it, and missing values become the means of its own columns. Between two columns it checks the
// meter for cancellation.
func (s *Set) Divide(training, held []int32, m *progress.Meter) (first, second *Set, err error) {
	first = s.Select(training)
	if err := m.Err(); err != nil {
		return nil, nil, err
	}
	first.FillBy(func(int) bool { return true })
	if r := first.Ratings; r != nil {
		r.User, r.Users = renumberOccurring(r.User, r.Users)
		if err := m.Err(); err != nil {
			return nil, nil, err
		}
		r.Item, r.Items = renumberOccurring(r.Item, r.Items)
	}
	second = s.Select(held)
	second.FillAs(first)
	return first, second, m.Err()
}

// renumberOccurring renumbers ids by their first appearance in a column, in place.
func renumberOccurring(column []int32, ids []string) ([]int32, []string) {
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
