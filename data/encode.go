package data

import (
	"fmt"
	"slices"
	"strconv"

	"bellows/data/internal/columns"
	"bellows/data/internal/lines"
)

// tableParser makes the parser of one worker.
func (p *layout) tableParser(w *worker) lines.Parser {
	csv := lines.CSV{Separator: p.separator[0], Columns: p.columns, Label: p.label, Names: p.names}
	if p.times == nil && p.table.Weight < 0 && p.table.Plain() {
		return &csv
	}
	return &lines.Mixed{CSV: csv, Times: p.times, Width: len(p.table.Features), Uses: p.uses(w), Weighs: p.table.Weight >= 0, Weight: p.table.Weight}
}

// uses is what becomes of each column, by what a worker numbers values of text with.
func (p *layout) uses(w *worker) []lines.Use {
	t := p.table
	uses := make([]lines.Use, len(t.Place))
	w.levels = make([]*lines.Levels, len(t.Features))
	for j := range t.Features {
		if c := &t.Features[j]; c.Text() {
			w.levels[j] = c.Numbering()
		}
	}
	for i, at := range t.Place {
		u := &uses[i]
		switch {
		case i == p.label:
			*u = lines.Use{Kind: lines.UseLabel, Levels: w.labels}
		case at < 0:
			u.Kind = lines.UseNone
		case w.levels[at] != nil:
			*u = lines.Use{Kind: lines.UseText, Place: at, Levels: w.levels[at]}
		default:
			u.Place = at
		}
	}
	return uses
}

// levelTables are what each worker's numbers of a column's values become, nil where they stay as they are.
type levelTables [][]float32

// merged is the number of a value that worker w has numbered at.
func (t levelTables) merged(w int, at float32) float32 {
	if i := int(at); i < len(t[w]) {
		return t[w][i]
	}
	return at - columns.LevelsMax - 1
}

// join makes numbers among names those among names and known, and returns both together, ascending.
func (t levelTables) join(names, known []string) []string {
	all := slices.Concat(names, known)
	slices.Sort(all)
	all = slices.Compact(all)
	for _, table := range t {
		for i, at := range table {
			n, _ := slices.BinarySearch(all, names[int(at)])
			table[i] = float32(n)
		}
	}
	return all
}

// joinTable joins the pieces of a table: values of text become numbers that all workers share, those that are missing are filled in.
func (r *reader) joinTable(set *Set, rows int, starts []int) error {
	e, t := set.Examples, r.layout.table
	t.Features = slices.Clone(t.Features) // the model's stay as they are
	tables := make([]levelTables, len(t.Features))
	for j := range t.Features {
		c := &t.Features[j]
		if !c.Open {
			continue
		}
		c.Open = false
		known := c.Levels
		c.Levels, tables[j] = r.mergeLevels(func(w *worker) *lines.Levels {
			if w.levels == nil {
				return nil
			}
			return w.levels[j]
		})
		switch {
		case c.Levels == nil && known != nil:
			return &Error{File: r.ins[0].Shown(), What: fmt.Sprintf("column %s has more than %d values, which are not told apart any more; the model tells its %d apart", c.Option(), columns.LevelsMax, len(known)),
				How: "give fewer rows, or train without the model"}
		case c.Levels == nil:
			c.Buckets = columns.Buckets
		case known != nil:
			c.Levels = tables[j].join(c.Levels, known)
		}
	}
	width := len(t.Features)
	e.Dense = make([]float32, rows*width)
	missing := 0
	for _, p := range r.pieces {
		missing += p.Missing
	}
	r.eachPiece(func(n int, p *piece) {
		r.copyLabels(e.Label[starts[n]:], p)
		values := e.Dense[starts[n]*width:][:len(p.Value)]
		copy(values, p.Value)
		for j, table := range tables {
			if table == nil {
				continue
			}
			for i := j; i < len(values); i += width {
				values[i] = table.merged(p.worker, values[i])
			}
		}
		*p = piece{}
	})
	if missing > 0 {
		e.gaps = columns.FillIn(e.Dense, t.Features, e.Weight)
	}
	r.layout.found(&set.Detected, missing)
	constant, counting := columns.Odd(e.Dense, t.Features)
	set.Detected.Constant, set.Detected.Counting = append(set.Detected.Constant, constant...), counting
	e.Features = width
	if slices.ContainsFunc(t.Features, func(c Column) bool { return c.Text() }) {
		s := columns.Encode(e.Dense, t.Features, e.gaps)
		e.Dense, e.Features, e.Offset, e.Index, e.Value = nil, s.Features, s.Offset, s.Index, s.Value
		e.gaps = s.Gaps
		set.Detected.Unknown = s.Unknown
	}
	if r.layout.names != nil || e.Sparse() {
		e.FeatureNames = columns.Names(t.Features)
	}
	return nil
}

// singularLeast is the number of a column's values from which it is no accident that most rows have their own.
const singularLeast = 20

// found fills in what the layout of a table says, in which so many numbers are missing.
func (p *layout) found(d *Detection, missing int) {
	d.Filled, d.Ignored, d.Choice = missing, len(p.table.Ignored), p.table.Choice
	switch {
	case p.label >= 0 && p.names != nil:
		d.Label = strconv.Quote(p.names[p.label])
	case p.label >= 0:
		d.Label = "column " + strconv.Itoa(p.label+1)
	}
	switch at := p.table.Weight; {
	case at >= 0 && p.names != nil:
		d.Weight = strconv.Quote(p.names[at])
	case at >= 0:
		d.Weight = "column " + strconv.Itoa(at+1)
	}
	for j := range p.table.Features {
		c := &p.table.Features[j]
		if c.Text() {
			d.Texts++
		}
		switch levels := len(c.Levels); {
		case !p.table.Fresh:
		case c.Buckets > 0:
			d.Hashed = append(d.Hashed, c.Option())
		case levels >= singularLeast && 2*levels > d.Rows:
			d.Singular = append(d.Singular, c.Option())
		case levels == 1 && d.Rows > 1:
			d.Constant = append(d.Constant, c.Option())
		}
	}
}

// timesFound fills in where the layout has found times.
func (p *layout) timesFound(d *Detection) {
	switch t := p.times; {
	case t == nil:
	case p.names != nil:
		d.Time, d.Dates = strconv.Quote(p.names[t.At]), t.Dates
	default:
		d.Time, d.Dates = "column "+strconv.Itoa(t.At+1), t.Dates
	}
}

// mergeLevels joins the open levels that workers have of one column; tables turn each worker's numbers into the merged ones.
func (r *reader) mergeLevels(of func(*worker) *lines.Levels) (names []string, tables levelTables) {
	var all []*lines.Levels
	for _, w := range r.workers {
		if l := of(w); l != nil { // it has parsed something
			all = append(all, l)
		}
	}
	names, merged := lines.MergeLevels(all)
	tables = make(levelTables, len(r.workers))
	for n, w := range r.workers {
		if of(w) != nil {
			tables[n], merged = merged[0], merged[1:]
		}
	}
	return names, tables
}

// mergeLabels settles labels that are text.
func (r *reader) mergeLabels(e *ExampleSet) error {
	if !r.layout.wordLabels {
		return nil
	}
	if e.LabelNames, r.labels = r.mergeLevels(func(w *worker) *lines.Levels { return w.labels }); e.LabelNames == nil {
		return &Error{File: r.ins[0].Shown(), What: fmt.Sprintf("the labels have more than %d values: they are no classes", classesMax),
			How: "name the label's column with --label"}
	}
	return nil
}

// copyLabels writes the labels of a piece.
func (r *reader) copyLabels(to []float32, p *piece) {
	if r.labels == nil {
		copy(to, p.Label)
		return
	}
	for i, at := range p.Label {
		to[i] = r.labels[p.worker][int(at)]
	}
}

// Described is the set's Reading with what a value of every column of numbers becomes that is missing in data to predict: what FillBy has found,
// or the mean of all rows.
func (s *Set) Described() *Reading {
	if s.Reading == nil || s.Examples == nil || !slices.ContainsFunc(s.Reading.Features, func(c Column) bool { return !c.Text() && c.Fill == nil }) {
		return s.Reading
	}
	out := *s.Reading
	fills := s.Examples.rows().Means(s.Examples.gaps, func(int) bool { return true })
	out.Features = columns.Filled(out.Features, fills, func(int) bool { return true })
	return &out
}

// OtherLabel is how a flag names a column of features that looks more like the label than the one that was taken: the only one of text, else the first
// of few whole numbers, else the last. It is "" of what is no table.
func (s *Set) OtherLabel() string {
	if s.Reading == nil || len(s.Reading.Features) == 0 {
		return ""
	}
	features := s.Reading.Features
	texts := slices.DeleteFunc(slices.Clone(features), func(c Column) bool { return !c.Text() })
	if len(texts) == 1 {
		return texts[0].Option()
	}
	for j := range features {
		if e := s.Examples; !e.Sparse() && columns.Few(e.Dense, e.Features, j) {
			return features[j].Option()
		}
	}
	return features[len(features)-1].Option()
}
