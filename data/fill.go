package data

import (
	"fmt"
	"math"
	"slices"

	"bellows/data/internal/columns"
)

// rows returns the set's rows in the form of package columns. The slices are shared.
func (e *ExampleSet) rows() *columns.Rows {
	return &columns.Rows{Features: e.Features, Dense: e.Dense, Offset: e.Offset, Index: e.Index, Value: e.Value, Weight: e.Weight}
}

// FillBy replaces missing values by the mean of their column over the rows for which training returns true. It keeps
// these means as fill values for other data. Read fills in the mean of all rows, because it does not know which rows
// are held out. Columns of a model keep their fill values. On input that is no table FillBy does nothing.
func (s *Set) FillBy(training func(row int) bool) {
	if s.Reading == nil || s.Examples == nil || len(s.Reading.Features) == 0 {
		return
	}
	rows := s.Examples.rows()
	reading := *s.Reading
	reading.Gaps = s.gapsWith(rows.Lacking(reading.Features, s.Examples.gaps))
	reading.Features = columns.Filled(reading.Features, rows.FeatureMeans(s.Examples.gaps, training), func(i int) bool { return i < s.settled })
	s.Reading = &reading
	s.FillAs(s)
}

// withModelColumns notes how many columns come from a model.
func (s *Set) withModelColumns(opt *Options) *Set {
	if opt.As != nil {
		s.settled, s.lacked = len(opt.As.Features), opt.As.Gaps
	}
	return s
}

// gapsWith returns the columns that have missing values here or in the data of the model that these columns come from.
// It returns nil if that is unknown.
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

// Missing returns the number of missing values of each column of a table, by the column's name, or by its number if it
// has no name. Columns without missing values are left out. Only sets that Texts has read know it.
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

// FillAs fills in missing values with the fill values of another set of the same table.
func (s *Set) FillAs(other *Set) {
	if s.Reading == nil || s.Examples == nil || len(s.Reading.Features) == 0 {
		return
	}
	s.Reading = other.Reading
	s.Examples.rows().Fill(s.Examples.gaps, columns.Fills(s.Reading.Features))
}

// unfill undoes the filling while the set is stored, so that missing values are stored as missing. put fills them in
// again.
func (e *ExampleSet) unfill() (put func()) {
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

// refill fills in the missing values of stored columns. It copies the columns first, because they are mapped.
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
