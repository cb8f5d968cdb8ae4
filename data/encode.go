package data

import (
	"fmt"
	"maps"
	"slices"

	"bellows/data/internal/columns"
	"bellows/data/internal/layout"
	"bellows/data/internal/lines"
)

// joinTable joins the pieces of a table. Values of text get numbers that all workers share, and missing values are
// filled in.
func (r *reader) joinTable(set *Set, rows int, starts []int) error {
	e, t := set.Examples, r.layout.Table
	t.Features = slices.Clone(t.Features) // the model's columns stay as they are
	tables := make([]columns.LevelTables, len(t.Features))
	for j := range t.Features {
		c := &t.Features[j]
		if !c.Open {
			continue
		}
		c.Open = false
		known := c.Levels
		c.Levels, tables[j] = r.mergeLevels(func(w *worker) *lines.Levels {
			if w.Levels == nil {
				return nil
			}
			return w.Levels[j]
		})
		switch {
		case c.Levels == nil && known != nil:
			return &Error{File: r.ins[0].Shown(), What: fmt.Sprintf("column %s has more than %d values, which are not told apart any more; the "+
				"model tells its %d apart", c.Option(), columns.LevelsMax, len(known)),
				How: "give fewer rows, or train without the model"}
		case c.Levels == nil:
			c.Buckets = columns.Buckets
		case known != nil:
			c.Levels = tables[j].Join(c.Levels, known)
		}
	}
	width := len(t.Features)
	e.Dense = make([]float32, rows*width)
	numbers := 0
	for _, p := range r.pieces {
		numbers += p.Missing + columns.MissingIn(t.Folders, p.source)*p.rows
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
				values[i] = table.Merged(p.worker, values[i])
			}
		}
		columns.PutFolders(t.Folders, values, width, p.source)
		*p = piece{}
	})
	if numbers > 0 {
		e.gaps = columns.FillIn(e.Dense, t.Features, e.Weight)
	}
	r.layout.Found(&set.Detected, numbers)
	set.missing = r.missing(e.gaps, &set.Detected)
	constant, counting := columns.Odd(e.Dense, t.Features)
	set.Detected.Constant, set.Detected.Counting = append(set.Detected.Constant, constant...), counting
	e.Features, e.Origins = width, columns.Origins(t.Features)
	if slices.ContainsFunc(t.Features, func(c Column) bool { return c.Text() }) {
		s := columns.Encode(e.Dense, t.Features, e.gaps)
		e.Dense, e.Features, e.Offset, e.Index, e.Value = nil, s.Features, s.Offset, s.Index, s.Value
		e.gaps = s.Gaps
		set.Detected.Unknown = s.Unknown
	}
	if r.layout.Names != nil || e.Sparse() {
		e.FeatureNames = columns.Names(t.Features)
	}
	return nil
}

// missing returns the number of missing values of each column of a table: of numbers by the gaps, of text by the
// workers' counts. It also notes in d which default words for a missing value columns of text had.
func (r *reader) missing(gaps []int64, d *Detection) []int64 {
	features := r.layout.Table.Features
	counts := make([]int64, len(features))
	for _, at := range gaps {
		counts[at%int64(len(features))]++
	}
	for j := range features {
		all := map[string]int{}
		for _, w := range r.workers {
			if w.Levels == nil || w.Levels[j] == nil {
				continue
			}
			n, words := w.Levels[j].TakeMissing()
			counts[j] += int64(n)
			d.Missing += n
			for word, n := range words {
				all[word] += n
			}
		}
		// the words were chosen by the user
		if r.opt.Missing != nil {
			continue // the words were chosen
		}
		for _, word := range slices.Sorted(maps.Keys(all)) {
			d.Named = append(d.Named, columns.MissingWord{Column: features[j].Option(), Word: word, Rows: all[word]})
		}
	}
	return counts
}

// mergeLevels joins the levels that the workers found in one column. The tables map each worker's numbers to the merged
// ones.
func (r *reader) mergeLevels(of func(*worker) *lines.Levels) (names []string, tables columns.LevelTables) {
	var all []*lines.Levels
	for _, w := range r.workers {
		if l := of(w); l != nil { // it has parsed something
			all = append(all, l)
		}
	}
	names, merged := lines.MergeLevels(all)
	tables = make(columns.LevelTables, len(r.workers))
	for n, w := range r.workers {
		if of(w) != nil {
			tables[n], merged = merged[0], merged[1:]
		}
	}
	return names, tables
}

// mergeLabels numbers the labels that are text.
func (r *reader) mergeLabels(e *ExampleSet) error {
	if !r.layout.WordLabels {
		return nil
	}
	if e.LabelNames, r.labels = r.mergeLevels(func(w *worker) *lines.Levels { return w.Labels }); e.LabelNames == nil {
		return &Error{File: r.ins[0].Shown(), What: fmt.Sprintf("the labels have more than %d values: they are no classes", layout.ClassesMost), How: "name the label's column with --label"}
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

// Described returns the set's Reading with a fill value for every column of numbers: the value that missing data gets
// at prediction. It is the mean that FillBy found, or else the mean of all rows.
func (s *Set) Described() *Reading {
	if s.Reading == nil || s.Examples == nil || !slices.ContainsFunc(s.Reading.Features, func(c Column) bool { return !c.Text() && c.Fill == nil }) {
		return s.Reading
	}
	out := *s.Reading
	fills := s.Examples.rows().FeatureMeans(s.Examples.gaps, func(int) bool { return true })
	out.Features = columns.Filled(out.Features, fills, func(int) bool { return true })
	return &out
}

// OtherLabel returns, as a flag takes it, the column of features that looks more like the label than the chosen column
// does: the only one of text, else the first with few whole numbers, else the last. It is "" for input that is no
// table.
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
