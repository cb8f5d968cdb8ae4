package data

import (
	"fmt"
	"hash/fnv"
	"math"

	"bellows/random"
)

// Digest is a line that two readings of the same input have in common, and readings of others hardly: the kind, the numbers
// of rows, names and values, and a checksum of at most 65,536 values of each column, spread evenly. It takes
// a millisecond or two, however large the set is; the price is that a large set in which few rows differ looks the same.
func (s *Set) Digest() string {
	if s.digest != "" {
		return s.digest
	}
	var d checksum
	switch {
	case s.Ratings != nil:
		r := s.Ratings
		addColumn(&d, r.User)
		addColumn(&d, r.Item)
		addColumn(&d, r.Rating)
		d.names(r.Users)
		d.names(r.Items)
	case s.Examples != nil:
		e := s.Examples
		addColumn(&d, e.Label)
		addColumn(&d, e.Dense)
		addColumn(&d, e.Offset)
		addColumn(&d, e.Index)
		addColumn(&d, e.Value)
		d.names(e.LabelNames)
		d.names(e.FeatureNames)
		d.add(uint64(e.Features))
	case s.Documents != nil:
		addColumn(&d, s.Documents.Offset)
		addColumn(&d, s.Documents.Word)
		addColumn(&d, s.Documents.Count)
		d.names(s.Documents.Vocab)
	}
	return fmt.Sprintf("kind %d, %d rows, %016x", s.Kind, s.Rows(), uint64(d))
}

// Freeze finds the digest while there are columns. They must stay as they are from then on, until Release.
func (s *Set) Freeze() { s.digest = s.Digest() }

// sampleMost is how many values of a column go into a checksum.
const sampleMost = 1 << 16

// checksum depends on the order of what is added.
type checksum uint64

func (s *checksum) add(x uint64) { *s = checksum(random.Mix(uint64(*s) + x)) }

// spread adds the length of a column and at most sampleMost values of it, spread evenly, the last among them.
func (s *checksum) spread(n int, at func(i int) uint64) {
	s.add(uint64(n))
	k := min(n, sampleMost)
	for i := range k {
		s.add(at(int(int64(i+1)*int64(n)/int64(k)) - 1))
	}
}

func addColumn[T int32 | int64 | float32](s *checksum, column []T) {
	s.spread(len(column), func(i int) uint64 {
		if v, ok := any(column[i]).(float32); ok {
			return uint64(math.Float32bits(v))
		}
		return uint64(column[i])
	})
}

func (s *checksum) names(list []string) {
	s.spread(len(list), func(i int) uint64 {
		h := fnv.New64a()
		h.Write([]byte(list[i]))
		return h.Sum64()
	})
}
