package lines

import (
	"slices"

	"bellows/random"
)

// Levels numbers the values of a column of text. There are three ways, and the caller fills in the fields of one:
//
//   - open (Max): values are numbered by first appearance, and those beyond Max are hashed. MergeLevels joins what several
//     workers have found, in the order of the text.
//   - known (Known): only these are numbered, others are -1.
//   - hashed (Buckets): a value's number is its bucket.
//
// A missing value is the empty text.
type Levels struct {
	Max     int              // open: the values that are told apart
	Known   map[string]int32 // known; it is only read, so that workers may share it
	Buckets int              // hashed, or open: of values beyond Max
	Missing int64            // values that were missing, so far
	ids     IDs
}

// Number is the number of a value; ok is false when a new one is not printable UTF-8. A worker that has
// met more than Max values gives Max + 1 and a bucket.
func (l *Levels) Number(field []byte) (n float32, ok bool) {
	if missing(field) {
		field = nil
		l.Missing++
	}
	switch {
	case l.Known != nil:
		if at, known := l.Known[string(field)]; known {
			return float32(at), true
		}
		return -1, true
	case l.Max == 0:
		return float32(Bucket(field, l.Buckets)), true
	case len(l.ids.ends) > l.Max:
		return float32(l.Max + 1 + Bucket(field, l.Buckets)), true
	}
	at, ok := l.ids.text(field, 0)
	return float32(at), ok
}

// Reset forgets the values that an open one has met.
func (l *Levels) Reset() { l.ids.Reset() }

// Bucket is the bucket of a value: the upper bits of a mixed FNV-1a sum. Models rely on it.
func Bucket(field []byte, buckets int) int {
	h := uint64(14695981039346656037)
	for _, c := range field {
		h = (h ^ uint64(c)) * 1099511628211
	}
	return int(random.Mix(h) >> 32 * uint64(buckets) >> 32)
}

// MergeLevels joins the open levels of one column that several workers have numbered: names ascend, and tables[w] has the
// merged number of each of a worker's own. Where there are more than Max values, names is nil and the merged numbers
// are buckets; a worker's numbers above Max are then Max + 1 and a bucket. Nothing depends on which worker saw what.
func MergeLevels(workers []*Levels) (names []string, tables [][]float32) {
	for _, l := range workers {
		names = append(names, l.ids.List()...)
	}
	slices.Sort(names)
	names = slices.Compact(names)
	hashed := len(names) > workers[0].Max
	for _, l := range workers {
		table := make([]float32, len(l.ids.ends))
		for id, name := range l.ids.List() {
			if hashed {
				table[id] = float32(Bucket([]byte(name), l.Buckets))
				continue
			}
			at, _ := slices.BinarySearch(names, name)
			table[id] = float32(at)
		}
		tables = append(tables, table)
	}
	if hashed {
		names = nil
	}
	return names, tables
}

// missing reports whether a field stands for a value that is not there.
func missing(field []byte) bool {
	if len(field) > 4 {
		return false
	}
	switch string(field) {
	case "", "?", "NA", "N/A", "n/a", "#N/A", "<NA>", "NaN", "nan", "NULL", "Null", "null", "None":
		return true
	}
	return false
}

// Sort is what a field of a table is.
type Sort uint8

// The sorts of fields.
const (
	SortMissing Sort = iota
	SortNumber
	SortWord
	SortWrong // nearly a number: with a comma for a point, infinite, too large
)

// SortOf looks at one field.
func SortOf(field []byte) Sort {
	if missing(field) {
		return SortMissing
	}
	_, err := Number(field)
	switch {
	case err == nil:
		return SortNumber
	case err != ErrNotNumber || IsNumber(dotted(field)) || thousands(field):
		return SortWrong
	}
	return SortWord
}
