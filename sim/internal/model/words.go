package model

import (
	"cmp"
	"slices"

	"bellows"
	"bellows/table"
)

// The sparse table of a job: rows by keys, a column for each split, as in counts and free. Later clocks add to
// rows that no task has touched before, so that keys are created all along.
const (
	WordRows  = 40
	WordStart = 1000 // of every value
)

func (j *Job) wordSchema(partitions int, c table.Consistency) table.Schema {
	return table.Schema{Name: "words", Sparse: true, Rows: WordRows, Width: j.Splits, Partitions: partitions, Consistency: c,
		Init: table.Init{Kind: table.Fixed, Low: WordStart}}
}

// Word is the key of a row.
func (j *Job) Word(row int) bellows.Key { return bellows.Key(mix(j.Shape<<32 | uint64(row))) }

// vocabulary is how many rows of words a split reads again and again.
const vocabulary = 4

// Vocabulary appends the rows of words that the tasks of a split read again and again. Some are shared with other splits, and some of
// them nobody touches before a late clock.
func (j *Job) Vocabulary(s bellows.SplitID, to []bellows.RowID) []bellows.RowID {
	for i := range vocabulary {
		to = append(to, bellows.RowID((int(s)/2*7+i*11)%WordRows))
	}
	return to
}

// WordAmount is what the task adds to its split's column of a row of words; 0 leaves it alone.
func (j *Job) WordAmount(s bellows.SplitID, c bellows.Clock, row int) int32 {
	h := j.draw(drawAmount, s, c, int(Words)<<8|row)
	if h%5 > 0 || row > 8+2*int(c) || j.Quiet(s, c) {
		return 0
	}
	return int32(h>>8%AmountMax) + 1
}

// WordAdded is how much a split has added to its column of a row in its first clocks.
func (j *Job) WordAdded(s, row int, clocks bellows.Clock) int32 { return j.wordPrefix[s][row][clocks] }

// Words is a partition of words after exactly the commits up to n, given which keys are its own: the keys that
// visible commits have touched, ascending, and their rows.
func (o *Oracle) Words(n bellows.CommitNumber, own func(bellows.Key) bool) (list []bellows.Key, values []float32) {
	j, clocks := o.job, o.DoneAt[n]
	if j.Schemas[Words].Consistency == table.BSP {
		for i := range clocks {
			clocks[i] = o.Complete(n)
		}
	}
	rows := make([]int, WordRows)
	for row := range rows {
		rows[row] = row
	}
	slices.SortFunc(rows, func(a, b int) int { return cmp.Compare(j.Word(a), j.Word(b)) })
	for _, row := range rows {
		touched := false
		v := make([]float32, j.Splits)
		for split := range v {
			added := j.WordAdded(split, row, clocks[split])
			touched = touched || added > 0
			v[split] = WordStart + float32(added)
		}
		if touched && own(j.Word(row)) {
			list, values = append(list, j.Word(row)), append(values, v...)
		}
	}
	return list, values
}
