package data

import (
	"fmt"
	"math"
	"slices"

	"bellows/data/internal/columns"
)

// rows is the set's rows as package columns has them; the slices are shared.
func (e *ExampleSet) rows() *columns.Rows {
	return &columns.Rows{Features: e.Features, Dense: e.Dense, Offset: e.Offset, Index: e.Index, Value: e.Value, Weight: e.Weight}
}

// FillBy makes values that are missing the mean of their column over the rows that training says, and keeps these means as what values become
// that are missing in other data. Read takes the mean of all rows: it does not know which are held out. The columns of a model keep what they
// have. Of what is no table it does nothing.
func (s *Set) FillBy(training func(row int) bool) {
	if s.Reading == nil || s.Examples == nil || len(s.Reading.Features) == 0 {
		return
	}
	rows := s.Examples.rows()
	reading := *s.Reading
	reading.Gaps = s.gapsWith(rows.Lacking(reading.Features, s.Examples.gaps))
	reading.Features = columns.Filled(reading.Features, rows.Means(s.Examples.gaps, training), func(i int) bool { return i < s.settled })
	s.Reading = &reading
	s.FillAs(s)
}

// settledAs notes which columns are those of a model.
func (s *Set) settledAs(opt *Options) *Set {
	if opt.As != nil {
		s.settled, s.lacked = len(opt.As.Features), opt.As.Gaps
	}
	return s
}

// gapsWith returns the columns that have missing values here or in the data of the model whose columns these are; nil if that is unknown.
func (s *Set) gapsWith(here []int) []int {
	if s.settled == 0 {
		return here
	}
	if s.lacked == nil {
		return nil
	}
	all := slices.Concat(s.lacked, here)
	slices.Sort(all)
	return append([]int{}, slices.Compact(all)...)
}

// Missing returns the number of missing values of each column of a table, by the column's name, or its number where it has none. Columns without any are left out. It is known of what Texts has read.
func (s *Set) Missing() map[string]int64 {
	out := map[string]int64{}
	for j, n := range s.missing {
		if c := &s.Reading.Features[j]; n > 0 && c.Name != "" {
			out[c.Name] += n
		} else if n > 0 {
			out[fmt.Sprint(c.Number)] += n
		}
	}
	return out
}

// FillAs makes values that are missing what they are in the other set, of the same table.
func (s *Set) FillAs(other *Set) {
	if s.Reading == nil || s.Examples == nil || len(s.Reading.Features) == 0 {
		return
	}
	s.Reading = other.Reading
	s.Examples.rows().Fill(s.Examples.gaps, columns.Fills(s.Reading.Features))
}

// bare takes out what is filled in, while the set is stored: what is missing is stored as that. put brings it back.
func (e *ExampleSet) bare() (put func()) {
	values := e.Dense
	if e.Sparse() {
		values = e.Value
	}
	filled := make([]float32, len(e.gaps))
	for k, at := range e.gaps {
		filled[k], values[at] = values[at], float32(math.NaN())
	}
	return func() {
		for k, at := range e.gaps {
			values[at] = filled[k]
		}
	}
}

// refill fills in what is missing in stored columns, which are copied for it: they are mapped.
func (e *ExampleSet) refill(features []Column) error {
	e.Dense, e.Value = slices.Clone(e.Dense), slices.Clone(e.Value)
	fills := columns.Fills(features)
	if len(fills) != e.Features {
		return fmt.Errorf("the columns are %d features, not %d", len(fills), e.Features)
	}
	rows := e.rows()
	e.gaps = rows.Gaps()
	rows.Fill(e.gaps, fills)
	return nil
}
