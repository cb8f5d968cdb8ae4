package sim

import (
	"math"
	"slices"

	"bellows"
	"bellows/store"
	"bellows/table"
	"bellows/wire"
)

// The sparse table of a job: rows by keys, a column for each split, as in counts and free. Later clocks add to
// rows that no task has touched before, so that keys are created all along.
const (
	wordRows  = 40
	wordStart = 1000 // of every value
)

func (j *job) wordSchema(partitions int, c table.Consistency) table.Schema {
	return table.Schema{Name: "words", Sparse: true, Rows: wordRows, Width: j.splits, Partitions: partitions, Consistency: c,
		Init: table.Init{Kind: table.Fixed, Low: wordStart}}
}

// word is the key of a row.
func (j *job) word(row int) bellows.Key { return bellows.Key(mix(j.shape<<32 | uint64(row))) }

// wordAmount is what the task adds to its split's column of a row of words; 0 leaves it alone.
func (j *job) wordAmount(s bellows.SplitID, c bellows.Clock, row int) int32 {
	h := j.draw(drawAmount, s, c, int(words)<<8|row)
	if h%5 > 0 || row > 8+2*int(c) || j.quiet(s, c) {
		return 0
	}
	return int32(h>>8%9) + 1
}

// readWords reads the rows of some keys, in any order and some twice.
func readWords(s *script) bool {
	if !s.drawn {
		s.some(wordRows)
		s.w.rng.Shuffle(len(s.list), func(i, k int) { s.list[i], s.list[k] = s.list[k], s.list[i] })
		s.list = append(s.list, s.list[0])
	}
	keys := make([]bellows.Key, len(s.list))
	for i, row := range s.list {
		keys[i] = s.w.job.word(int(row))
	}
	s.task.Group(words, keys)
	if !s.k.client.ReadKeys(s.task, &s.k.fx) {
		return false
	}
	w := s.w.job.splits
	v := make([]float32, len(keys)*w)
	s.task.GatherKeys(words, keys, v)
	s.sum.Values(v)
	for i, row := range s.list {
		s.checkWord(int(row), v[i*w:(i+1)*w])
	}
	return true
}

// pushWords adds to the split's column of the rows that the task touches.
func pushWords(s *script) bool {
	j := s.w.job
	s.added[words] = true
	var keys []bellows.Key
	var deltas []float32
	for row := range wordRows {
		if n := j.wordAmount(s.unit.Split, s.unit.Clock, row); n > 0 {
			d := make([]float32, j.splits)
			d[s.unit.Split] = float32(n)
			keys, deltas = append(keys, j.word(row)), append(deltas, d...)
		}
	}
	s.task.AddKeys(words, keys, deltas)
	return true
}

// checkWord holds a row of words against the model, as checkColumns does.
func (s *script) checkWord(row int, values []float32) {
	need, known := s.mustSee(words), s.maySee(words)
	seen := &s.k.seenWords[s.unit.Split][row]
	for split, v := range values {
		n, added := int32(v)-wordStart, s.w.job.wordPrefix[split][row]
		least, most := added[need[split]], added[known[split]]
		if split == int(s.unit.Split) {
			clocks := s.unit.Clock
			if s.added[words] {
				clocks++
			}
			least, most = added[clocks], added[clocks]
		}
		if n < least || n > most || n < seen[split] {
			s.w.violated("P1-P4: %v reads column %d of word %d = %d; it must be %d to %d, and its split has seen %d",
				s, split, row, n, least, most, seen[split])
		}
		seen[split] = n
	}
}

// compareWords holds a partition of words against the model after exactly the commits up to n: it has the keys
// that visible commits have touched, ascending, and no others (P1, P7).
func (w *world) compareWords(at wire.Address, ref bellows.PartitionRef, im *store.Image, n bellows.CommitNumber) {
	j := w.job
	clocks := w.oracle.doneAt[n]
	if j.schemas[words].Consistency == table.BSP {
		for i := range clocks {
			clocks[i] = w.oracle.complete(n)
		}
	}
	var rows []int
	for row := range wordRows {
		touched := false
		for split := range j.splits {
			touched = touched || j.wordPrefix[split][row][clocks[split]] > 0
		}
		if touched && w.route.Cut(words).FindKey(j.word(row)) == ref.Partition {
			rows = append(rows, row)
		}
	}
	slices.SortFunc(rows, func(a, b int) int {
		if j.word(a) < j.word(b) {
			return -1
		}
		return 1
	})
	if len(im.Keys) != len(rows) || len(im.Values) != len(rows)*j.splits {
		w.violated("P1: %v has %d keys and %d values in %v; commits up to %d make it %d keys", at, len(im.Keys), len(im.Values), ref, n, len(rows))
		return
	}
	for i, row := range rows {
		if im.Keys[i] != j.word(row) {
			w.violated("P1: %v has key %x in %v; commits up to %d make it %x", at, im.Keys[i], ref, n, j.word(row))
			return
		}
		for split := range j.splits {
			want := wordStart + float32(j.wordPrefix[split][row][clocks[split]])
			if got := im.Values[i*j.splits+split]; math.Float32bits(got) != math.Float32bits(want) {
				w.violated("P1: %v has column %d of word %d = %v; commits up to %d make it %v", at, split, row, got, n, want)
				return
			}
		}
	}
}
