package data

import (
	"slices"

	"bellows/data/internal/bags"
	"bellows/data/internal/columns"
	"bellows/data/internal/layout"
)

// Kind is the kind of rows of an input.
type Kind = layout.Kind

// The kinds of input.
const (
	Ratings   = layout.Ratings   // user, item, rating
	Examples  = layout.Examples  // label, features
	Documents = layout.Documents // words and their counts
)

// A Detection describes how an input was understood.
type Detection = columns.Detection

// A Set is the result of Read: the columns of the inputs and how they were understood.
//
// Exactly one of Ratings, Examples and Documents holds columns. The content does not depend on whether a cache was
// used.
type Set struct {
	Kind      Kind
	Ratings   *RatingSet   // nil unless Kind is Ratings
	Examples  *ExampleSet  // nil unless Kind is Examples
	Documents *DocumentSet // nil unless Kind is Documents
	Detected  Detection
	Reading   *Reading // how to read another input in the same way; nil for data that were not read

	// Time is the time of each row, relative to Detected.TimesFrom, in seconds if the column holds dates. It is nil
	// unless Options.Timed is set.
	Time []float64

	unmap   func() error // unmaps the files; nil if columns are on the heap
	idle    func()       // releases their resident memory; nil like unmap
	digest  string       // set by Freeze
	settled int          // tables: the number of leading columns that come from a model
	lacked  []int        // those of them with missing values in the model's data; nil: unknown
	missing []int64      // tables read by Texts: missing values by column
}

// Rows returns the number of rows.
func (s *Set) Rows() int {
	switch {
	case s.Ratings != nil:
		return s.Ratings.Rows()
	case s.Examples != nil:
		return s.Examples.Rows()
	case s.Documents != nil:
		return s.Documents.Rows()
	}
	return 0
}

// Weighted reports whether rows have weights.
func (s *Set) Weighted() bool { return s != nil && s.Examples != nil && s.Examples.Weight != nil }

// Select copies rows, in the given order, into a new set with the same ids, names and vocabulary.
func (s *Set) Select(rows []int32) *Set {
	out := &Set{Kind: s.Kind, Detected: s.Detected, Reading: s.Reading, settled: s.settled, lacked: s.lacked}
	switch {
	case s.Ratings != nil:
		r := *s.Ratings
		r.User, r.Item, r.Rating = pick(r.User, rows), pick(r.Item, rows), pick(r.Rating, rows)
		out.Ratings = &r
	case s.Documents != nil:
		d := *s.Documents
		d.Offset, d.Word, d.Count = pickRuns(d.Offset, d.Word, d.Count, rows)
		out.Documents = &d
	case s.Examples != nil:
		e := *s.Examples
		e.Label, e.gaps = pick(e.Label, rows), e.rows().PickGaps(e.gaps, rows)
		if e.Weight != nil {
			e.Weight = pick(e.Weight, rows)
		}
		if e.written.row != nil {
			e.written.row = pick(e.written.row, rows)
		}
		if e.Sparse() {
			e.Offset, e.Index, e.Value = pickRuns(e.Offset, e.Index, e.Value, rows)
		} else {
			e.Dense = make([]float32, 0, len(rows)*e.Features)
			for _, r := range rows {
				e.Dense = append(e.Dense, s.Examples.Dense[int(r)*e.Features:][:e.Features]...)
			}
		}
		out.Examples = &e
	}
	return out
}

func pick[T any](column []T, rows []int32) []T {
	out := make([]T, len(rows))
	for i, r := range rows {
		out[i] = column[r]
	}
	return out
}

// pickRuns picks rows of two columns in which row r is the range from offset[r] to offset[r+1].
func pickRuns[T any](offset []int64, index []int32, value []T, rows []int32) ([]int64, []int32, []T) {
	ends, i, v := []int64{0}, []int32(nil), []T(nil)
	for _, r := range rows {
		lo, hi := offset[r], offset[r+1]
		i, v = append(i, index[lo:hi]...), append(v, value[lo:hi]...)
		ends = append(ends, int64(len(i)))
	}
	return ends, i, v
}

// Close unmaps files. No slice of the set may be used afterwards; ids and names stay valid. Closing twice is allowed.
func (s *Set) Close() error {
	if s.unmap == nil {
		return nil
	}
	unmap := s.unmap
	s.unmap, s.idle = nil, nil
	return unmap()
}

// Idle lets the system reclaim the resident memory of mapped files. Call it when the set will not be used for some
// time. The set stays valid: its pages are read from the files again.
func (s *Set) Idle() {
	if s.idle != nil {
		s.idle()
	}
}

// Release closes the set but keeps its ids, names, words, digest and Detection. The columns are freed, mapped or not,
// and the set has no rows after that.
func (s *Set) Release() error {
	s.Freeze()
	s.Time = nil
	if r := s.Ratings; r != nil {
		r.User, r.Item, r.Rating = nil, nil, nil
	}
	if e := s.Examples; e != nil {
		e.Released, e.Label, e.Weight, e.Dense, e.written.row = max(e.Released, len(e.Index)), nil, nil, nil, nil
		e.Offset, e.Index, e.Value, e.gaps = nil, nil, nil, nil
	}
	if d := s.Documents; d != nil {
		d.Offset, d.Word, d.Count = nil, nil, nil
	}
	return s.Close()
}

// Mapped reports whether the columns lie in mapped files, which must not be written to. Columns of other sets are heap
// memory.
func (s *Set) Mapped() bool { return s.unmap != nil }

// A RatingSet holds ratings in coordinate form: rating r was given by user Users[User[r]] to item Items[Item[r]].
type RatingSet struct {
	User   []int32   // index into Users, one per row
	Item   []int32   // index into Items, one per row
	Rating []float32 // finite, on the scale of the input, less Origin
	Origin float64   // the value that ratings are counted from; 0 unless ratings are far from 0
	Users  []string  // ids as written, by first appearance, no duplicates
	Items  []string
}

// Rows returns the number of ratings.
func (r *RatingSet) Rows() int { return len(r.Rating) }

// CountedFrom returns the ratings counted from another origin. It copies them if the origin differs.
func (r *RatingSet) CountedFrom(origin float64) *RatingSet {
	if r == nil || r.Origin == origin {
		return r
	}
	out := *r
	out.Origin, out.Rating = origin, make([]float32, len(r.Rating))
	for i, v := range r.Rating {
		out.Rating[i] = float32(float64(v) + (r.Origin - origin))
	}
	return &out
}

// IndicesIn returns, for every row, the index of its user and of its item in another set (the one that a model was
// trained on), or -1 if that set lacks the id.
func (r *RatingSet) IndicesIn(train *RatingSet) (user, item []int32) {
	return renumber(r.User, r.Users, train.Users), renumber(r.Item, r.Items, train.Items)
}

// IndicesBy works like IndicesIn with indexes of the other set's users and items, which the caller can use again.
func (r *RatingSet) IndicesBy(users, items Index) (user, item []int32) {
	return pick(users.Numbers(r.Users), r.User), pick(items.Numbers(r.Items), r.Item)
}

// renumber maps each index into from to the index of the same id in to, or -1.
func renumber(column []int32, from, to []string) []int32 {
	if len(from) == len(to) && len(to) > 0 && &from[0] == &to[0] { // held-out rows share their ids with the others
		return slices.Clone(column)
	}
	return pick(bags.Numbers(from, to), column)
}

// ExampleSet is labelled feature vectors, dense or sparse.
//
// Dense: Dense holds Rows x Features values, row-major; Offset, Index, Value
// are nil. Sparse: row r has the features Index[Offset[r]:Offset[r+1]],
// ascending and counted from 0 whatever the file's base, with the Value of the
// same position; Dense is nil.
type ExampleSet struct {
	Label       []float32 // finite, one per row: a number less LabelOrigin, or an index into LabelNames
	LabelOrigin float64   // the value that labels are counted from; 0 unless labels are numbers far from 0
	Weight      []float32 // the weight of each row, above 0; nil: all weights are 1
	LabelNames  []string  // labels that are text, ascending; nil if labels are numbers
	Features    int       // width of every row
	Dense       []float32
	Offset      []int64 // Rows+1
	Index       []int32 // 0 <= index < Features
	Value       []float32
	// Origins lists the features that are not counted from 0, ascending; their values are less this. In sparse sets
	// every row has these features.
	Origins      []Origin
	FeatureNames []string // from a CSV header, else nil; "column=value" for a value of text
	// The base of the file's indices, 0 or 1, 0 for dense input; and the entries of sparse rows that Release has freed.
	IndexBase, Released int

	// gaps lists the places in Dense, or in Value, where values of a table were missing, ascending; see FillBy.
	gaps []int64

	written numerals // how labels that are numbers are written
}

// Rows returns the number of examples.
func (e *ExampleSet) Rows() int { return len(e.Label) }

// Target returns the number that a label stands for: the label plus LabelOrigin.
func (e *ExampleSet) Target(label float32) float64 { return e.LabelOrigin + float64(label) }

// Place returns the address of a feature in row r, nil if the row lacks it.
func (e *ExampleSet) Place(r int, feature int32) *float32 {
	if !e.Sparse() {
		return &e.Dense[r*e.Features+int(feature)]
	}
	lo, hi := e.Offset[r], e.Offset[r+1]
	if at, found := slices.BinarySearch(e.Index[lo:hi], feature); found {
		return &e.Value[lo+int64(at)]
	}
	return nil
}

// Uncentred returns a copy of the set in which the listed features are counted from 0.
func (e *ExampleSet) Uncentred(list []Origin) *ExampleSet {
	if len(list) == 0 {
		return e
	}
	out := *e
	out.Dense, out.Value = slices.Clone(e.Dense), slices.Clone(e.Value)
	out.Origins = slices.DeleteFunc(slices.Clone(e.Origins), func(o Origin) bool { return slices.Contains(list, o) })
	for _, o := range list {
		for r := range e.Rows() {
			if place := out.Place(r, o.Feature); place != nil {
				*place = float32(o.Value + float64(*place))
			}
		}
	}
	return &out
}

// Sparse reports whether the rows are in Offset, Index and Value.
func (e *ExampleSet) Sparse() bool { return e.Offset != nil }
