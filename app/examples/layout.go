package examples

// How the rows of a run are laid out, which linear models of one score and of several decide alike.

// denseFilling is the part of sparse rows' cells from which they are laid out as dense ones.
const denseFilling = 1.0 / 8

// fullShare is the part of a table, one in so many rows, from which splits work on all of it: its sums and copies then cost less than lists of rows.
const fullShare = 10

// Packed reports whether rows are laid out as dense ones: those that are, and sparse ones that are filled enough, if
// as dense ones they take no more bytes than the limit.
func (s Source) Packed(limit float64) bool {
	if !s.Sparse() {
		return true
	}
	cells := float64(s.Rows()) * float64(s.Width)
	return float64(len(s.Value)) >= denseFilling*cells && cells*4 <= limit
}

// Whole reports whether splits work on whole tables of features, by what a clock of them all uses: rows are those of
// a split in it.
func (s Source) Whole(splits int, rows func(split int) []int32) bool {
	used, last := 0, make([]int32, s.Width)
	for split := range splits {
		for _, r := range rows(split) {
			index, _ := s.Entries(int(r))
			for _, j := range index {
				if last[j] != int32(split+1) {
					last[j] = int32(split + 1)
					used++
				}
			}
		}
	}
	return used*fullShare >= s.Width*splits
}

// LastUse returns, by feature, 1 + the last clock of an epoch in which some split uses it; 0: none. rows returns those
// of a split in a clock.
func (s Source) LastUse(splits, clocks int, rows func(split, clock int) []int32) []int32 {
	last := make([]int32, s.Width)
	for at := range clocks {
		for split := range splits {
			for _, r := range rows(split, at) {
				index, _ := s.Entries(int(r))
				for _, j := range index {
					last[j] = int32(at + 1)
				}
			}
		}
	}
	return last
}

// AllRows returns the numbers of all rows.
func (s Source) AllRows() []int32 {
	rows := make([]int32, s.Rows())
	for i := range rows {
		rows[i] = int32(i)
	}
	return rows
}

// The bounds of first-order steps: rows of a split in one, at least, and steps of an epoch. Sparse rows push other features each time, and so cost more.
const (
	stepRowsDense   = 16
	stepRowsSparse  = 64
	epochStepsLeast = 2
	epochStepsMost  = 100
)

// Steps returns the default number of first-order steps in an epoch, each over rows of all splits.
func Steps(dense bool, rows, splits int) int {
	each := stepRowsSparse
	if dense {
		each = stepRowsDense
	}
	return min(epochStepsMost, max(epochStepsLeast, rows/(each*splits)))
}

// StrengthDense is the least l2 of dense rows where nothing else chooses it. Weights of scaled features hardly notice it, and dual ascent of many rows needs it.
const StrengthDense = 0.001

// Strength returns the default of l2: 1/rows, like C=1 of LIBLINEAR; for dense rows at least 0.001.
func Strength(dense bool, rows int) float64 {
	l2 := 1 / float64(rows)
	if dense {
		return max(StrengthDense, l2)
	}
	return l2
}
