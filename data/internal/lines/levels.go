package lines

import (
	"slices"

	"bellows/data/internal/missing"
	"bellows/random"
)

// Levels numbers the values of a column of text. There are three ways; the caller fills in the fields of one:
//
//   - open (Max): values are numbered by first appearance; beyond Max they are hashed. MergeLevels joins what several
//     workers have found, in the order of the text.
//   - known (Known): only these have numbers; others get -1.
//   - hashed (Buckets): a value's number is its bucket.
//
// A missing value is the empty text, or keeps its word (missing.Rule.Merged).
type Levels struct {
	Max     int              // open: the number of values that are told apart
	Known   map[string]int32 // known; only read, so that workers may share it
	Buckets int              // hashed, or open: number of buckets for values beyond Max
	Missing *missing.Rule    // which values are missing; nil: the default
	ids     IDs
	gone    int            // number of missing values
	words   map[string]int // the non-empty ones among them, by word
}

// Number returns the number of a value. ok is false if a new value is not printable UTF-8. After more than Max values,
// new ones get Max + 1 plus their bucket.
func (l *Levels) Number(field []byte) (n float32, ok bool) {
	gone := l.Missing.Text(field)
	if gone {
		l.count(field)
		if l.Missing.Merged() {
			field = nil
		}
	}
	switch {
	case l.Known != nil:
		at, known := l.Known[string(field)]
		if !known && gone { // a missing-value word that training did not have
			at, known = l.Known[""]
		}
		if known {
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

// count counts a missing value.
func (l *Levels) count(field []byte) {
	if l.gone++; len(field) == 0 {
		return
	}
	if l.words == nil {
		l.words = map[string]int{}
	}
	l.words[string(field)]++
}

// TakeMissing returns the number of values missing since the last call, and how often each word stood for one.
func (l *Levels) TakeMissing() (n int, words map[string]int) {
	n, words = l.gone, l.words
	l.gone, l.words = 0, nil
	return n, words
}

// Reset forgets the values that an open Levels has met.
func (l *Levels) Reset() {
	l.ids.Reset()
	l.gone, l.words = 0, nil
}

// Bucket returns the bucket of a value: the upper bits of a mixed FNV-1a hash. Models depend on it.
func Bucket(field []byte, buckets int) int {
	h := uint64(14695981039346656037)
	for _, c := range field {
		h = (h ^ uint64(c)) * 1099511628211
	}
	return int(random.Mix(h) >> 32 * uint64(buckets) >> 32)
}

// MergeLevels joins the open levels of one column from several workers. names ascend, and tables[w] maps a worker's
// numbers to the merged ones. If there are more than Max values, names is nil and the merged numbers are buckets; a
// worker's numbers above Max are Max + 1 plus a bucket. The result does not depend on which worker saw which value.
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
