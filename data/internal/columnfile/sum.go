package columnfile

import (
	"hash/fnv"
	"math"

	"bellows/random"
)

// SampleMost is how many values of a column go into a checksum.
const SampleMost = 1 << 16

// Sum sums columns of values, and lists of names, by a sample of them: as fast however long they are. It begins as 0, and depends on the order of what is added. It promises nothing
// to who wants two inputs to look alike.
type Sum uint64

// Add adds a number.
func (s *Sum) Add(x uint64) { *s = Sum(random.Mix(uint64(*s) + x)) }

// spread adds the length of a column and at most SampleMost values of it, spread evenly, the last among them.
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

// Origin adds what a column is counted from; of 0 nothing.
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
