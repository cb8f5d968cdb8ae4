package columnfile

import (
	"hash/fnv"
	"math"

	"bellows/random"
)

// SampleMost is the maximum number of values of a column that go into a checksum.
const SampleMost = 1 << 16

// Sum is a checksum of columns of values and of lists of names. It uses a sample of them, so its cost does not grow
// with their length. It starts at 0 and depends on their order. It does not resist an attacker who wants two inputs to
// look alike.
type Sum uint64

// Add adds a number.
func (s *Sum) Add(x uint64) { *s = Sum(random.Mix(uint64(*s) + x)) }

// spread adds the length of a column and at most SampleMost of its values, spread evenly, the last one included.
func (s *Sum) spread(n int, at func(i int) uint64) {
	s.Add(uint64(n))
	k := min(n, SampleMost)
	for i := range k {
		s.Add(at(int(int64(i+1)*int64(n)/int64(k)) - 1))
	}
}

// Add adds a column to a sum.
func Add[T int32 | int64 | float32](s *Sum, column []T) {
	s.spread(len(column), func(i int) uint64 {
		if v, ok := any(column[i]).(float32); ok {
			return uint64(math.Float32bits(v))
		}
		return uint64(column[i])
	})
}

// Origin adds the origin of a column. It adds nothing for 0.
func (s *Sum) Origin(x float64) {
	if x != 0 {
		s.Add(math.Float64bits(x))
	}
}

// Names adds a list of names.
func (s *Sum) Names(list []string) {
	s.spread(len(list), func(i int) uint64 {
		h := fnv.New64a()
		h.Write([]byte(list[i]))
		return h.Sum64()
	})
}
