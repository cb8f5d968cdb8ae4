package model

import (
	"cmp"
	"slices"

	"bellows"
	"bellows/random"
	"bellows/table"
)

// The sparse table of a job: rows by keys, a column for each split, as in counts and free. Later clocks add to
// rows that no task has touched before, so that keys are created all along.
const (
	WordRows  = 40
	WordStart = 1000 // of every value
)

// Half of the jobs with splits that wait for each other have a rule with memory for it: it steps along the last update,
// so that rows are still sums, and its memory is the last update of each row.
func (j *Job) wordSchema(partitions int, c table.Consistency) table.Schema {
	s := table.Schema{Name: "words", Sparse: true, Rows: WordRows, Width: j.Splits, Partitions: partitions, Consistency: c,
		Init: table.Init{Kind: table.Fixed, Low: WordStart}}
	if j.Shape%2 == 1 && !j.Loose {
		s.Rule = table.Rule{Name: "momentum", Step: 1}
	}
	return s
}

// WordDelta returns what a task that adds so much says to the table: a rule that steps against it adds it.
func (j *Job) WordDelta(amount int32) float32 {
	if !j.WordsAdd() {
		return -float32(amount)
	}
	return float32(amount)
}

// WordsAdd reports whether the rule of words adds, and no more.
func (j *Job) WordsAdd() bool { return j.Schemas[Words].Rule.Name == "" }

// Word returns the key of a row.
func (j *Job) Word(row int) bellows.Key { return bellows.Key(random.Finish(j.Shape<<32 | uint64(row))) }

// vocabulary is how many rows of words a split reads again and again.
const vocabulary = 4

// Vocabulary appends the rows of words that the tasks of a split read again and again. Some are shared with other
// splits, and no task touches some of them before a late clock.
func (j *Job) Vocabulary(s bellows.SplitID, to []bellows.RowID) []bellows.RowID {
	for i := range vocabulary {
		to = append(to, bellows.RowID((int(s)/2*7+i*11)%WordRows))
	}
	return to
}

// WordAmount returns what the task of a unit adds to its split's column of a row of words; 0 leaves it alone.
func (j *Job) WordAmount(u bellows.Unit, row int) int32 {
	if !j.shares(Words, u, row) {
		return 0
	}
	return j.wordAmount(u.Split, u.Clock, row)
}

func (j *Job) wordAmount(s bellows.SplitID, c bellows.Clock, row int) int32 {
	h := j.draw(drawAmount, s, c, int(Words)<<8|row)
	if h%5 > 0 || row > 8+2*int(c) || j.Quiet(s, c) {
		return 0
	}
	return int32(h>>8%AmountMax) + 1
}

// WordDeltas appends the keys that the task touches and what it says to their rows, which is of its split's column alone.
func (j *Job) WordDeltas(u bellows.Unit, list []bellows.Key, deltas []float32) ([]bellows.Key, []float32) {
	for row := range WordRows {
		if n := j.WordAmount(u, row); n > 0 {
			at := len(deltas)
			deltas = slices.Grow(deltas, j.Splits)[:at+j.Splits]
			clear(deltas[at:])
			deltas[at+int(u.Split)] = j.WordDelta(n)
			list = append(list, j.Word(row))
		}
	}
	return list, deltas
}

// WordAdded returns how much a split has added to its column of a row in its first units.
func (j *Job) WordAdded(s, row int, n Step) int32 { return j.wordPrefix[s][row][n] }

// Words returns a partition of words after exactly the commits up to n, given which keys are its own: the keys that
// visible commits have touched, ascending, and their rows.
func (o *Oracle) Words(n bellows.CommitNumber, own func(bellows.Key) bool) (list []bellows.Key, values []float32) {
	j, done := o.job, o.DoneAt[n]
	if j.Schemas[Words].Consistency == table.BSP {
		done = o.whole(n)
	}
	for _, row := range j.wordsByKey() {
		touched := false
		v := make([]float32, j.Splits)
		for split := range v {
			added := j.WordAdded(split, row, done[split])
			touched = touched || added > 0
			v[split] = WordStart + float32(added)
		}
		if touched && own(j.Word(row)) {
			list, values = append(list, j.Word(row)), append(values, v...)
		}
	}
	return list, values
}

// wordsByKey returns the rows of words in the order of their keys.
func (j *Job) wordsByKey() []int {
	rows := make([]int, WordRows)
	for row := range rows {
		rows[row] = row
	}
	slices.SortFunc(rows, func(a, b int) int { return cmp.Compare(j.Word(a), j.Word(b)) })
	return rows
}

// WordSlots returns the rule's memory of the same rows, slot by slot: what the last update of each was. Under BSP that is what came of the last
// clock that touched it, else of the last commit.
func (o *Oracle) WordSlots(n bellows.CommitNumber, list []bellows.Key) [][]float32 {
	j := o.job
	if j.WordsAdd() {
		return nil
	}
	slot := []float32{}
	for _, row := range j.wordsByKey() {
		if !slices.Contains(list, j.Word(row)) {
			continue
		}
		last := make([]float32, j.Splits)
		if j.Schemas[Words].Consistency == table.BSP {
			o.lastClock(row, o.Complete(n), last)
		} else {
			o.lastCommit(row, n, last)
		}
		slot = append(slot, last...)
	}
	return [][]float32{slot}
}

// lastClock finds the last of so many clocks that touched a row, and writes what it added.
func (o *Oracle) lastClock(row int, clocks bellows.Clock, to []float32) {
	for c := clocks - 1; c >= 0; c-- {
		touched := false
		for s := range to {
			if amount := o.job.wordAmount(bellows.SplitID(s), c, row); amount > 0 {
				to[s], touched = o.job.WordDelta(amount), true
			}
		}
		if touched {
			return
		}
	}
}

// lastCommit finds the last commit that touched a row, in this attempt or an earlier one, and writes what it added.
func (o *Oracle) lastCommit(row int, n bellows.CommitNumber, to []float32) {
	for ; n > 0; n-- {
		touched := false
		for _, u := range o.Log[n-1].Units {
			if amount := o.job.WordAmount(u, row); amount > 0 {
				to[u.Split], touched = o.job.WordDelta(amount), true
			}
		}
		if touched {
			return
		}
	}
	if o.wordsBefore != nil {
		copy(to, o.wordsBefore[row*o.job.Splits:])
	}
}

// wordMemory returns the rule's memory of all rows of words after a commit, for the life that continues from there.
func (o *Oracle) wordMemory(at bellows.CommitNumber) []float32 {
	j := o.job
	if j.WordsAdd() || j.Schemas[Words].Consistency == table.BSP {
		return nil
	}
	all := make([]float32, WordRows*j.Splits)
	for row := range WordRows {
		o.lastCommit(row, at, all[row*j.Splits:(row+1)*j.Splits])
	}
	return all
}
